"""The parts of a report that only interference studies have: protocol, limits, recommendations, tables of statistics."""

from pathlib import Path

import pandas as pd

from plimsoll import design, workloads
from plimsoll.analysis import cell_paths
from plimsoll.designs.interference import cells, words
from plimsoll.designs.interference.factors import FREE, InterferenceRecord
from plimsoll.interchange import Plan
from plimsoll.measuring import record, status
from plimsoll.pages import study_tables
from plimsoll.pages.report import Sources


class Report(design.Report):
    """Page of an interference study."""

    TEMPLATE = "interference/report.html.j2"
    GLOSSARY = words.GLOSSARY
    cell_label = staticmethod(words.cell)
    level = staticmethod(words.level)

    def content(
        self, sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
    ) -> dict:
        """Return the template's variables beyond those that the reports of all designs have."""
        parameters = cells.parameters(plan)
        described = workloads.describe(parameters)
        measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
        measured = cells_measured(runs, plan["factors"])
        return {
            "microservices": [{**described[name], "name": name, "parameters": parameters[name]} for name in described],
            "protocol": _protocol(measurable),
            "limits": limits(sources.records, plan, runs),
            "shares": shares(runs),
            "letters": {name: service["letter"] for name, service in described.items()},
            "recommended": recommended(sources.tables / "recommendation.csv", measured),
            "tables": tables(sources.tables, study, described, measured),
        }


def _protocol(measurable: list[dict]) -> dict:
    """Return the numbers of the protocol, read from the cells that can be measured.

    Numbers are the iterations of a microservice alone, the longest and the shortest window of a pair (s), and the time
    limit of an iteration (s). None stands for a number that no cell has. There are also the limits of all containers
    together, and whether a cgroup sets these.
    """
    alone = next((cell for cell in measurable if cell["iterations"]), {})
    pairs = [cell for cell in measurable if cell["window_seconds"]]
    windows = [cell["window_seconds"] for cell in pairs] or [None]
    cell = alone or (pairs or [{}])[0]
    return {
        "iterations": alone.get("iterations"),
        "window_seconds": max(windows),
        "shortest_seconds": min(windows),
        "limit_seconds": cell.get("iteration_limit_seconds"),
        "host_limits": cell.get("host_limits", {}),
        "grouped": cell.get("grouped", True),
    }


def limits(records: Path, plan: Plan, runs: pd.DataFrame) -> list[dict]:
    """Return what containers could use in each case, as read from inside them in every valid run.

    Each row is one set of limits: case, processors, memory nodes, memory, and whether the weight of block I/O applied.
    `containers` is the number of containers that saw this set. `records` is the folder of the study's records.
    """
    seen: dict[tuple, int] = {}
    for run in runs[runs["status"] == status.VALID].to_dict("records"):
        path = cell_paths.of_row(run, plan["factors"])
        recorded = record.read(record.path_of(records, path, run["repetition"]), InterferenceRecord)
        for sight in recorded.get("limits_seen", []):
            memory = sight["memory_bytes"] and f"{sight['memory_bytes'] / 2**20:.0f} MiB"
            weight = {None: "not asked for", True: "applied", False: "not possible here"}[recorded.get("block_io_weight_works")]
            key = (run["case"], sight["cpus"], sight["nodes"], memory or "not visible from inside", weight)
            seen[key] = seen.get(key, 0) + 1
    names = ("case", "cpus", "nodes", "memory", "block_io_weight")
    return [{**dict(zip(names, key, strict=True)), "containers": number} for key, number in sorted(seen.items())]


def shares(runs: pd.DataFrame) -> list[dict]:
    """Return one row per case: how many iterations were `made`, how many `counted`, and the `least` share that counts.

    The numbers are sums over all members of all valid runs. The least share is that of a single member in a single run.
    """
    rows = []
    for case, group in runs[runs["status"] == status.VALID].groupby("case"):
        made, counted = (
            sum(int(number) for text in group[name].astype(str) for number in text.split())
            for name in ("iterations", "counted")
        )
        rows.append({"case": case, "made": made, "counted": counted, "least": group["share_counted"].min()})
    return rows


def cells_measured(runs: pd.DataFrame, factors: list[str]) -> dict[tuple, str]:
    """Map (case, names of the members) to the path of a measured cell.

    Only cells in the papers' placement count. If a case was measured in several runtimes, the path is that of the
    first.
    """
    measured: dict[tuple, str] = {}
    for row in runs.loc[runs["placement"] == FREE, factors].drop_duplicates().to_dict("records"):
        measured.setdefault((row["case"], frozenset(row["pair"].split("+"))), cell_paths.of_row(row, factors))
    return measured


def recommended(path: Path, measured: dict[tuple, str]) -> list[dict]:
    """Return the rows of the recommendation table, each with `cells`: the path of its cell by case (2, 3a, 3b).

    `path` is the table's CSV. `measured` is the result of `cells_measured`. A case without a measured cell has None.
    """
    rows = pd.read_csv(path).to_dict("records")
    cases = ("2", "3a", "3b")
    return [{**row, "cells": {case: measured.get((case, frozenset((row["a"], row["b"])))) for case in cases}} for row in rows]


def tables(folder: Path, study: dict, described: dict[str, dict], measured: dict[tuple, str]) -> list[dict]:
    """Return the papers' tables with our values, as data for the page.

    Each table has `name`, `heading`, `columns` and `rows`. A row has `values`, and as `cell` the path of the cell that
    it is about, or None. `folder` holds the study's tables as CSV, `described` describes the microservices by name, and
    `measured` is the result of `cells_measured`.
    """
    labels = {one: said["label"] for one, said in described.items()}
    labels |= {metric: said["label"] for metric, said in study["metrics"].items()}
    shown = []
    for told, made in study_tables.of_study(folder, study, dtype={"case": str}):
        if "reference" not in study["tables"][told["name"]]:
            continue
        of_cells = {"case", "benchmark", "co_runner"} <= set(made)
        # It repeats what the metric already says.
        made = made.drop(columns="label", errors="ignore")
        rows = []
        for row in study_tables.without_gaps(made).to_dict("records"):
            members = frozenset((row["benchmark"], row["co_runner"])) - {"none"} if of_cells else None
            values = [labels.get(value, value) if isinstance(value, str) else value for value in row.values()]
            rows.append({"values": values, "cell": measured.get((row["case"], members)) if of_cells else None})
        columns = [column.replace("paper_", "paper: ").replace("co_runner", "co-runner").replace("_", " ") for column in made]
        shown.append({**told, "columns": columns, "rows": rows, "of_cells": of_cells})
    return shown
