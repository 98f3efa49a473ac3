"""From a study, a profile and a host to the cells to measure, each with everything that a run needs to know.

Pure: the plan of any host can be made on any machine.
"""

import hashlib
import json
import os
from pathlib import Path

from plimsoll import affinity, benchmarks, cpulist, order, runtimes, scheme, topology
from plimsoll.errors import Unavailable


def make(study: dict, profile: dict, host: dict, config: dict, unavailable: dict[str, str]) -> dict:
    """The plan: `cells` by path, `order` of the runs, and what they were made from.

    `host` is a topology (plimsoll.topology.discover), `unavailable` gives the reason for each runtime that does not work
    here. A cell that cannot be measured is in the plan with a `reason`; it has no runs.
    """
    repetitions = config.get("repetitions") or profile["repetitions"]
    cells: dict[str, dict] = {}
    for name, experiment in study["experiments"].items():
        for hardware in experiment["hardware"]:
            for cell in _cells(study, profile, host, config, unavailable, experiment, hardware):
                cells.setdefault(cell["path"], cell)["experiments"].append(name)
    measurable = [path for path, cell in cells.items() if cell["reason"] is None]
    return {
        "study": study["id"],
        "benchmark": study["benchmark"],
        "image": study["image"],
        "seed": config["seed"],
        "repetitions": repetitions,
        "profile": config["profile"],
        "limits": {key: profile[key] for key in ("attempts", "idle", "neighbours")},
        "cells": cells,
        "order": order.blocks(measurable, repetitions, config["seed"]),
    }


def _cells(study, profile, host, config, unavailable, experiment, hardware) -> list[dict]:
    largest = study["factors"]["processes"]
    try:
        setting = scheme.setting(hardware, host, largest)
        rows, reason = scheme.schemes(setting), None
    except Unavailable as missing:
        # The names of the cells that a host with this setting would have: so that they can be listed.
        setting, rows, reason = None, scheme.schemes(_paper_setting(hardware, largest)), str(missing)
    cells = []
    for row in rows:
        if row.mode not in experiment["mode"] or (experiment["schemes"] == "single" and row.containers > 1):
            continue
        for runtime in experiment["runtime"]:
            if config["runtimes"].get(runtime, "off") == "off" or (
                row.containers > 1 and not runtimes.find(runtime).containers
            ):
                continue
            for level in experiment["affinity"]:
                for section in experiment["sections"]:
                    cell = _cell(study, row, hardware, runtime, level, section)
                    cell["reason"] = reason or unavailable.get(runtime)
                    cell["host"] = topology.identity(host)
                    if setting is not None:
                        cell.update(_details(study, profile, host, setting, row, level, section))
                        cell["fingerprint"] = fingerprint(cell)
                    cells.append(cell)
    return cells


def _paper_setting(hardware: str, largest: int) -> scheme.Setting:
    count = scheme.SOCKETS[hardware]
    return scheme.Setting(hardware, tuple(tuple(range(largest)) for _ in range(count)), tuple(range(count)), largest)


def _cell(study: dict, row: scheme.Scheme, hardware: str, runtime: str, level: str, section: str) -> dict:
    return {
        "path": f"{hardware}/{row.mode}/{row.name}/{runtime}/{level}/{section}",
        "hardware": hardware,
        "mode": row.mode,
        "scheme": row.name,
        "runtime": runtime,
        "affinity": level,
        "section": section,
        "containers": row.containers,
        "ranks": row.ranks,
        "ranks_per_container": row.ranks_per_container,
        "mpi_parameters": study["mpi_parameters"].get(row.mode, {}),
        "experiments": [],
    }


def _details(study, profile, host, setting, row, level, section) -> dict:
    places = affinity.LEVELS[level](setting, row)
    memory = min(node["memory_bytes"] or host["memory_bytes"] for node in host["nodes"])
    everything = sorted(cpu["cpu"] for cpu in host["cpus"])
    return {
        "cores": row.cores,
        "places": [{"cpus": cpulist.format(p.cpus), "nodes": cpulist.format(p.nodes)} for p in places],
        # A cpuset that leaves nothing out is not set: it would be one more difference between the runtimes.
        "restricted": any(sorted(place.cpus) != everything for place in places),
        "parameters": benchmarks.find(study["benchmark"]).parameters(
            section, profile, row.ranks, memory, topology.last_level_cache_bytes(host)
        ),
        "time_limit_seconds": profile["time_limit_seconds"][row.mode],
    }


def fingerprint(cell: dict) -> str:
    """Identifies what is measured: two runs with the same fingerprint are repetitions of each other."""
    keys = ("path", "host", "containers", "ranks", "places", "mpi_parameters", "parameters")
    return hashlib.sha256(json.dumps([cell[key] for key in keys], sort_keys=True).encode()).hexdigest()[:16]


def runs(plan: dict, sections: set[str] | None = None, experiments: set[str] | None = None) -> list[tuple[str, int]]:
    """The plan's runs (cell path, repetition) in order; only those of some sections or experiments if given."""
    return [
        (path, repetition)
        for path, repetition in plan["order"]
        if (sections is None or plan["cells"][path]["section"] in sections)
        and (experiments is None or experiments & set(plan["cells"][path]["experiments"]))
    ]


def digest(plan: dict) -> str:
    """Changes when the plan does."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]


def settings(values: dict) -> str:
    """The part of the configuration that a plan is made from, as one JSON argument."""
    keys = ("profile", "seed", "repetitions", "runtimes")
    return json.dumps(
        {key: value for key, value in values.items() if key in keys or key in runtimes.known()},
        sort_keys=True,
    )


def write(plan: dict, path: Path) -> None:
    """Put a plan in place in one step; a file that holds it already is left alone."""
    text = json.dumps(plan, separators=(",", ":")) + "\n"
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.rename(path)
