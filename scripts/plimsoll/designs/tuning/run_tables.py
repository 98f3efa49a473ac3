"""Tables of li2018's second stage: what was set, which settings acted, and what strategies do together."""

import pandas as pd

from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.tuning import judge, readings, statistics, strategies
from plimsoll.designs.tuning.factors import BASELINE, TuningRecord
from plimsoll.interchange import Plan
from plimsoll.measuring import record, status

# A counter differs if its change from the baseline exceeds this share. What a task writes about itself is counted too, so
# small changes say nothing.
SAME = 0.001
COUNTED = ("maps", "spills_per_record", "output_megabytes", "materialized_megabytes", "written_megabytes", "cpu_seconds")


def settings(request: TableRequest) -> pd.DataFrame:
    """Return one row per setting of a strategy: what the paper sets, and what is set here."""
    theirs = request.printed(dtype=str, keep_default_na=False)
    rows = []
    for name, strategy in request.study["strategies"].items():
        of_paper = theirs[theirs["strategy"] == name]
        ours = strategies.settings(request.study["strategies"], name)
        rows += [
            {"strategy": name, "by": "the paper", "key": row.parameter, "from": row.baseline_value, "to": row.strategy_value}
            for row in of_paper.itertuples()
            if row.parameter
        ]
        rows += [{"strategy": name, "by": "here", "key": key, "from": "", "to": value} for key, value in ours.items()]
        if name != BASELINE and "workers" in strategy:
            before = str(request.study["strategies"][BASELINE]["workers"])
            rows.append({"strategy": name, "by": "here", "key": "workers", "from": before, "to": str(strategy["workers"])})
    return pd.DataFrame(rows)


def printed(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table as printed."""
    return request.printed(dtype=str, keep_default_na=False)


def environment(request: TableRequest) -> pd.DataFrame:
    """Return the paper's table of its environment, with what runs here beside each item."""
    image, host = request.read("image"), request.read("host")
    ours = {
        "physical machine": f"{host['cpu_model']}, {len(host['usable'])} logical processors",
        "operating system": f"{host['distribution']} (of the nodes: Debian 12)",
        "java environment": f"OpenJDK {image['versions']['Java']}",
        "mapreduce framework": f"Apache Hadoop {image['versions']['Hadoop']}",
    }
    theirs = printed(request)
    return theirs.rename(columns={"specification": "paper"}).assign(here=[ours[item] for item in theirs["item"]])


def acted(request: TableRequest) -> pd.DataFrame:
    """Return one row per strategy and size of data, from the runs that count.

    A row has the tasks and counters (means), and the values that the daemons served for the strategy's settings. `acted` names
    the counters that differ from the baseline's.
    """
    rows = []
    for cell in request.cells:
        for size, jobs in _jobs(request, cell["path"], cell["repetitions"]).items():
            served = {key: jobs[0]["served"].get(key, judge.ABSENT) for key in cell["settings"]}
            rows.append(
                {"strategy": cell["strategy"], "size": size, "runs": len(jobs), **_counted(jobs), "served": _told(served)}
            )
    table = pd.DataFrame(rows, columns=["strategy", "size", "runs", *COUNTED, "served"])
    return table.assign(acted=[_acted(table, row) for row in table.to_dict("records")])


def _jobs(request: TableRequest, path: str, repetitions: int) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for repetition in range(1, repetitions + 1):
        try:
            recorded = record.read(record.path_of(request.folder / "runs", path, repetition), TuningRecord)
        except record.DamagedFile:
            continue
        if recorded["status"] == status.VALID:
            for job in recorded.get("jobs", []):
                found.setdefault(job["size"], []).append(job)
    return found


def _counted(jobs: list[dict]) -> dict[str, float]:
    own = pd.DataFrame([readings.values(job) for job in jobs]).mean()
    bytes_ = {f"{name}_megabytes": own[name] / 1e6 for name in ("output", "materialized", "written")}
    return {"maps": own["maps"], "spills_per_record": own["spills"], **bytes_, "cpu_seconds": own["cpu"]}


def _told(served: dict[str, str]) -> str:
    return "; ".join(f"{key} = {value}" for key, value in served.items())


def _acted(table: pd.DataFrame, row: dict) -> str:
    """Return the counters of amounts that differ from the baseline's at the same size, in words."""
    baseline = table[(table["strategy"] == BASELINE) & (table["size"] == row["size"])]
    if row["strategy"] == BASELINE or baseline.empty:
        return ""
    names = [name for name in COUNTED if name not in ("maps", "cpu_seconds")]
    before = baseline.iloc[0]
    differing = [name for name in names if abs(row[name] / before[name] - 1) > SAME]
    told = ", ".join(f"{name.replace('_', ' ')} {row[name] / before[name] - 1:+.0%}" for name in differing)
    return told or "no counter differs"


def effects(request: TableRequest) -> pd.DataFrame:
    """Return main effects and interactions on the metrics of the table (`statistics.effects`)."""
    observations = request.observations()
    own = observations[observations["metric"].isin(request.table["metrics"])]
    return statistics.effects(own, factors_of(request.plan, request.table["experiment"]))


def factors_of(plan: Plan, experiment: str) -> list[str]:
    """Return the strategies that a factorial experiment of a plan combines, in the study's order."""
    there = {
        part
        for cell in plan["cells"].values()
        if experiment in cell["experiments"] and cell["reason"] is None
        for part in strategies.parts(cell["strategy"])
    }
    return [name for name in plan["strategies"] if name in there and name != BASELINE]
