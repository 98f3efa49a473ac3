"""Made-up results: records of a study's plan with invented numbers, and what the stages make from them.

As a program (`python -m tests.made_up STUDY SESSIONS`, in a copy of the project) it writes to results/ what the
workflow would leave after this number of sessions.
"""

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import yaml
from plimsoll import __main__ as stages
from plimsoll import designs, paths
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.designs.tuning.judge import COUNTERS
from plimsoll.figures import sources
from plimsoll.host import inventory
from plimsoll.instruments.events import COUNTERS as COUNTED
from plimsoll.instruments.mpi_profile import GROUPS, PATTERNS
from plimsoll.measuring import record, status
from plimsoll.planning import planner, sessions
from plimsoll.planning.repetitions import NOTHING, RequestedRepetitions
from plimsoll.runtimes.isolation import NAMESPACES

BLOCKS = 3
BEGUN = 1_790_000_000.0
# Every FAILS-th run of a plan fails, and every REPEATED-th one has an earlier attempt that was disturbed.
FAILS, REPEATED = 23, 7
# As many files as an image has programs and libraries.
BITS = {f"usr/lib/lib{number}.so": hashlib.sha256(str(number).encode()).hexdigest() for number in range(80)}
VERSIONS = (
    *("BLAS", "Bonnie++", "HPCC", "Hadoop", "HardInfo", "Java", "Linpack", "Netperf", "Open MPI", "STREAM", "compiler"),
    *("iperf", "pi", "sysbench"),
)
SEEN = {
    **{"namespaces": list(NAMESPACES), "separate_namespaces": list(NAMESPACES), "cgroup": "/", "own_cgroup": True},
    **{"file_system": "overlay", "network": "bridge docker0", "seccomp": "2", "capabilities": "0"},
}


def image_of(study: Study) -> dict:
    """Return the description of an image that was never built."""
    name = study["image"]
    return {
        "tag": f"plimsoll/{name}:0123456789abcdef",
        "id": f"sha256:{hashlib.sha256(name.encode()).hexdigest()}",
        "files": {path: {"sha256": checksum, "build_id": checksum[:40]} for path, checksum in BITS.items()},
        "versions": {name: f"{number}.0" for number, name in enumerate(VERSIONS, 1)},
    }


def plan_of(
    study: Study, host: dict, blocks: int = BLOCKS, off: Iterable[str] = (), asked: RequestedRepetitions = NOTHING
) -> dict:
    """Return a plan on the ci profile. Every runtime of the configuration works, except those that are `off`."""
    config = yaml.safe_load((paths.PROJECT / "config/config.yaml").read_text())
    config |= {"profile": "ci", "repetitions": None if asked.exact else blocks}
    config["runtimes"] |= dict.fromkeys(off, "off")
    return planner.make(study, studies.profile("ci"), host, config, {}, asked)


# Returns the record to write in place of a record; None to leave it out.
Kept = Callable[[dict], dict | None]


def write(folder: Path, study: Study, plan: dict, session: int = 1, kept: Kept = lambda told: told) -> None:
    """Write to a study's results folder its plan, the records of a session that are `kept`, and its system. Write host
    and image beside the folder."""
    results = folder.parent
    planner.write(plan, folder / "plan.json")
    for path, repetition, told in _records(study, json.loads((folder / "plan.json").read_text()), session):
        if found := kept(told):
            record.keep(record.path_of(folder / "runs", path, repetition), found)
    seen = {"boot": f"of session {session}", "settings": {}, "programs": {}}
    (folder / "system.json").write_text(json.dumps({"identities": {}, "parts": {}, "seen": seen}))
    tried = {name: {"works": True, "version": "1.0", "features": SEEN} for name in ("bare", "docker", "singularity")}
    (results / "images").mkdir(exist_ok=True)
    (results / f"images/{study['image']}.json").write_text(json.dumps(image_of(study)))
    (results / f"images/{study['image']}.runtimes.json").write_text(json.dumps(tried))
    (results / f"images/{study['image']}.sbom.json").write_text(json.dumps({"bomFormat": "CycloneDX"}))
    host = {**inventory.discover(tried, designs.known().values()), "cpu_model": "a processor"}
    (results / "host.json").write_text(json.dumps(host))
    (results / "host.txt").write_text(inventory.table(host))


def _records(study: Study, plan: dict, session: int) -> Iterator[tuple[str, int, dict]]:
    image = image_of(study)
    for place, (path, repetition) in enumerate(plan["order"], 1):
        cell, begun = plan["cells"][path], BEGUN + 86400.0 * session + 10.0 * place
        random = np.random.default_rng([session, zlib.crc32(f"{path} {repetition}".encode())])
        of_the_run = {
            "format": record.FORMAT,
            "study": plan["study"],
            "cell": {key: value for key, value in cell.items() if key != "reason"},
            "repetition": repetition,
            "block": record.block_of(cell, repetition),
            "place_in_order": place,
            **{key: plan[key] for key in ("seed", "profile")},
            "fingerprint": cell["fingerprint"],
            "image": {key: image[key] for key in ("tag", "id")},
        }
        earlier = [_tried(path, repetition, 1, begun - 5, status.DISTURBED, "others used 30 % of the processors")]
        earlier *= place % REPEATED == 0
        number = len(earlier) + 1
        if place % FAILS == 0:
            tried = _tried(path, repetition, number, begun, status.FAILED, "mpirun ended with 1: it said why")
        else:
            found = FOUND[plan["design"]](study, cell, random)
            tried = {**_tried(path, repetition, number, begun, status.VALID, None), **found, "bits": BITS}
        history = {"attempts": number, "invalid_attempts": earlier}
        yield path, repetition, {**of_the_run, **history, **tried, "system": f"of {cell['runtime']}"}


def _tried(path: str, repetition: int, number: int, begun: float, found: str, reason: str | None) -> dict:
    during = {"seconds": 2.0, "neighbour_share": 0.01, "stolen_seconds": 0.0, "apart": True}
    return {
        "started": begun,
        "seconds": {"idle": 0.01, "run": 2.0, "remove": 0.5},
        "noise": {"before": {"idle": True, "busy_share": 0.01}, "during": {**during, "disturbed": found == status.DISTURBED}},
        "raw": f"raw/{path}/{repetition}-{number}",
        "status": found,
        "reason": reason,
    }


def _value(random: np.random.Generator, share: bool = False) -> float:
    return float((0.2 if share else 100.0) * np.exp(0.05 * random.normal()))


def _splitting(study: Study, cell: dict, random: np.random.Generator) -> dict:
    own = [metric for metric in study["metrics"].values() if metric["section"] == cell["section"]]
    own = [metric for metric in own if metric["instrument"] in ("plain", cell["instrument"])]
    values = {name: _value(random, "share" in name or "rate" in name) for metric in own for name in metric["source"]}
    if cell["instrument"] == "mpi":
        names = ("all", *GROUPS, *PATTERNS, "MPI_Send")
        kinds = [(unit, name) for unit in ("share", "calls", "seconds") for name in names]
        values |= {f"mpi_{unit}/{name}": _value(random, unit == "share") for unit, name in kinds}
    carried = "TCP" if cell["containers"] > 1 and cell["runtime"] == "docker" else "shared memory"
    transport = {"carried_by": carried, "single_copy": "allowed", "network_bytes": 0, "shared_memory_segments": [2]}
    measured = {"values": {"benchmark_seconds": 2.0, **values}, "transport": transport, "kernels": {"OpenBLAS": "Zen"}}
    return {**measured, "launch": [cell["section"]]}


def _iterations(study: Study, benchmark: str, random: np.random.Generator) -> list[dict]:
    names = [metric["source"] for metric in study["metrics"].values() if metric["benchmark"] == benchmark]
    return [
        {
            "iteration": number,
            "counts": number > 1,
            "moment": BEGUN + number,
            **{"begin": float(number), "end": number + 0.9, "user_seconds": 0.5, "system_seconds": 0.25},
            "values": {name: _value(random) for name in names if name not in ("processors_used", "in_an_hour")},
        }
        for number in range(1, 5)
    ]


def _interference(study: Study, cell: dict, random: np.random.Generator) -> dict:
    members = [
        {"benchmark": name, "place": place, "iterations": _iterations(study, name, random)}
        for place, name in enumerate(cell["members"])
    ]
    sights = [{"cpus": "0", "nodes": "0", "memory_bytes": 2**30} for _ in cell["containers"]]
    return {"iterations": members, "limits_seen": sights, "block_io_weight_works": None}


def _nesting(study: Study, cell: dict, random: np.random.Generator) -> dict:
    own = [metric["source"] for metric in study["metrics"].values() if cell["task"] in metric["task"]]
    return {"values": {name: _value(random) for name in own}, "apart": 0.01}


def _overhead(study: Study, cell: dict, random: np.random.Generator) -> dict:
    return {"iterations": _iterations(study, cell["benchmark"], random), "seen": {"cpus": "0-1"}}


def _tuning(study: Study, cell: dict, random: np.random.Generator) -> dict:
    keys = {key for strategy in study["strategies"].values() for key in strategy.get("settings", {})}
    jobs = []
    for size, number in cell["sizes"].items():
        counters = {name: {"map": round(1000 * _value(random)), "reduce": round(1000 * _value(random))} for name in COUNTERS}
        told = {"size": size, "bytes": number, "records": 1000, "distinct": 900, "seconds": _value(random), "maps": 4}
        jobs.append({**told, "counters": counters, "served": {**dict.fromkeys(keys, "0"), **cell["settings"]}})
    return {"jobs": jobs, "lost": []}


FOUND = {
    "splitting": _splitting,
    "interference": _interference,
    "nesting": _nesting,
    "overhead": _overhead,
    "tuning": _tuning,
}


# Draws the figure with this name of a study.
Drawing = Callable[[Study, str], None]


def by_stage(study: Study, figure: str) -> None:
    """Draw a figure as the workflow does."""
    folder, notebook = f"results/{study['id']}", str(sources.notebook(chart_of(study, figure)))
    drawn = {"output": f"{folder}/figures/{figure}", "executed": f"{folder}/notebooks/{figure}.ipynb"}
    given = {"study": f"config/studies/{study['id']}.yaml", "plan": f"{folder}/plan.json", "results": folder}
    _stage("figure", figure=figure, **given, notebook=notebook, **drawn)


def chart_of(study: Study, figure: str) -> sources.Source:
    """Return the chart of a study's figure, read from its source file."""
    charts = sources.charts(paths.PROJECT / f"scripts/plimsoll/designs/{study['design']}/charts")
    return charts[study["figures"][figure]["chart"]]


def make(study: Study, draw: Drawing = by_stage, shown: bool = True) -> None:
    """Make in results/ of the working directory everything that the workflow makes from a study's records. If it is not
    `shown`, no figure is drawn, and the report is empty."""
    name, folder = study["id"], f"results/{study['id']}"
    for place in ("tables", "figures", "notebooks"):
        Path(folder, place).mkdir(exist_ok=True)
    image = f"results/images/{study['image']}.json"
    observed = {"observations": f"{folder}/observations.csv", "runs": f"{folder}/runs.csv"}
    judged = {"verdicts": f"{folder}/claims.json", "comparisons": f"{folder}/comparisons.csv", "answer": f"{folder}/answer.csv"}
    plan, tests = f"{folder}/plan.json", f"{folder}/tables/tests.csv"
    csvs = {"csv": observed["observations"], "parquet": f"{folder}/observations.parquet", "runs": observed["runs"]}
    _stage("collect", study=name, plan=plan, records=f"{folder}/runs", **csvs)
    _stage("tests", study=name, **observed, output=tests)
    described = {"image": image, "host": "results/host.json", "environments": image.replace(".json", ".runtimes.json")}
    for table, content in study.get("tables", {}).items():
        needs = study.design.tables.KINDS[content["kind"]].needs
        options = needs | {"image"} if "runs" in needs else needs
        needed = {option: path for option, path in described.items() if option in options}
        _stage("table", study=name, name=table, results=folder, **needed, output=f"{folder}/tables/{table}.csv")
    variance = f"{folder}/variance.csv"
    _stage("variance", study=name, plan=plan, results="results", output=variance)
    _stage("claims", study=name, plan=plan, **observed, **judged)
    together = f"{folder}/sessions.json"
    over = {"verdicts": f"{folder}/together.json", "comparisons": f"{folder}/together.csv"}
    _stage("sessions", study=name, plan=plan, results="results", output=together, means=f"{folder}/sessions.csv", **over)
    if not shown:
        # A session that has no report would go on.
        Path(folder, "report.html").touch()
        return
    for figure in study["figures"]:
        draw(study, figure)
    folders = {"figures": f"{folder}/figures", "tables": f"{folder}/tables", "records": f"{folder}/runs"}
    made = {"plan": plan, "host": "results/host.json", "image": image, "tests": tests, "sessions": together}
    made["variance"] = variance
    _stage("report", study=name, **made, **observed, **{**judged, **over}, **folders, output=f"{folder}/report.html")


def _stage(stage: str, /, **options: str) -> None:
    words = [word for option, value in options.items() for word in (f"--{option}", value)]
    assert stages.main([stage, *words]) == 0, (stage, options)


def main(name: str, number: int) -> None:
    from tests.conftest import host_of

    counted = {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}
    host = {**host_of(1, 2, memory=24 * 2**30, l3=32 * 2**20), "events": {**dict.fromkeys(COUNTED), **counted}}
    study = studies.load(name, designs.known())
    for session in range(1, number + 1):
        folder = sessions.begin(Path("results"), name).folder
        write(folder, study, plan_of(study, host), session)
        # An archive has no figure and no report of a session before the last.
        make(study, shown=session == number)


if __name__ == "__main__":
    # Waiting for the disk after each record takes most of the time.
    os.fsync = lambda number: None
    main(sys.argv[1], int(sys.argv[2]))
