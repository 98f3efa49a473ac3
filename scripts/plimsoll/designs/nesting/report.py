"""The parts of a report that only studies of nesting have: programs, the paper's tables with ours, and statistics."""

from pathlib import Path

import pandas as pd

from plimsoll import design
from plimsoll.analysis import blocks
from plimsoll.designs.nesting import words
from plimsoll.designs.nesting.factors import CPU, NETWORK, OPEN_VSWITCH, PLAIN, of_placement
from plimsoll.interchange import ABSENT, Plan
from plimsoll.measuring import plan_file, status
from plimsoll.pages import study_tables
from plimsoll.pages.report import Sources
from plimsoll.planning.virtual_machines import EMULATED_MACHINE


class Report(design.Report):
    """Page of a study of nesting."""

    TEMPLATE = "nesting/report.html.j2"
    GLOSSARY = words.GLOSSARY
    cell_label = staticmethod(words.cell)
    level = staticmethod(words.level)
    row = staticmethod(words.row)

    def content(
        self, sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
    ) -> dict:
        """Return the template's variables beyond those that the reports of all designs have."""
        return {
            "programs": plan_file.image(sources.image)["files"],
            "cores": plan["cores"],
            "apart": apart(runs),
            "tables": tables(sources.tables, study),
            "statistics": [_in_words(row, plan["open_vswitch"]) for row in _rows(tests)],
            "open_vswitch": plan["open_vswitch"],
            "switches": switches(study, observations, plan),
            "sizes": parameters(plan, CPU),
            "of_networks": parameters(plan, NETWORK),
            "second_host": plan.get("second_host"),
        }


def apart(runs: pd.DataFrame) -> list[dict]:
    """Return how far apart instances began (s): one row per task, runtime and number of instances.

    A row has the median and the largest value of the valid runs with several instances.
    """
    valid = runs[(runs["status"] == status.VALID) & ~runs["instances"].isin([ABSENT, "1"])]
    rows = []
    for (task, runtime, instances), group in valid.groupby(["task", "runtime", "instances"], sort=False):
        times = group["apart"].astype(float)
        row = {"task": words.level("task", task), "runtime": words.level("runtime", runtime), "instances": int(instances)}
        rows.append({**row, "runs": len(group), "median": times.median(), "largest": times.max()})
    return sorted(rows, key=lambda one: (one["task"], one["runtime"], one["instances"]))


def tables(folder: Path, study: dict) -> list[dict]:
    """Return the paper's tables with our values, as data for the page. `folder` holds the study's tables as CSV."""
    shown = []
    for told, made in study_tables.of_study(folder, study):
        rows = _rows(made)
        emulated = any(EMULATED_MACHINE in (row.get("client"), row.get("server")) and not row.get("not_here") for row in rows)
        placed = {"placed": of_placement("", rows[0]["hosts"])} if rows and "hosts" in rows[0] else {}
        shown.append({**told, "rows": [_in_words(row, row.get("switch")) for row in rows], "emulated": emulated, **placed})
    return shown


def _rows(table: pd.DataFrame) -> list[dict]:
    """Return the rows of a table as dicts, with an empty text for each missing value."""
    return study_tables.without_gaps(table).to_dict("records")


def _in_words(row: dict, switch: str | None) -> dict:
    """Return a row with its levels in words. `switch` says where Open vSwitch switches, if the row is about it."""
    factors = {"client": "runtime", "runtime": "runtime", "server": "runtime", "network": "network"}
    told = {key: words.level(factor, row[key]) for key, factor in factors.items() if key in row}
    return {**row, **told, **({"network": words.with_switch(told["network"], switch)} if switch else {})}


def switches(study: dict, observations: pd.DataFrame, plan: Plan) -> list[dict]:
    """Return Open vSwitch relative to a bridge with equal offloads: one row per metric and pair of ends.

    Only pairs of ends that were measured over both have a row. It has the `ratio` of the blocks' means, its 95 %
    interval (`low`, `high`), the number `n` of blocks, and its levels in words.
    """
    ends = ["metric", "runtime", "server", "hosts"]
    over = {name: observations[observations["network"] == name].groupby(ends, sort=False) for name in (OPEN_VSWITCH, PLAIN)}
    rows = []
    for key, own in over[OPEN_VSWITCH]:
        if key not in over[PLAIN].groups:
            continue
        samples = blocks.sample(own), blocks.sample(over[PLAIN].get_group(key))
        ratio, low, high = (1 + change for change in blocks.change(*samples))
        metric, client, server, _ = key
        told = {"metric": study["metrics"][metric]["label"], "client": client, "server": server, "network": OPEN_VSWITCH}
        n = len(blocks.within_blocks(*samples)[0])
        rows.append(_in_words({**told, "n": n, "ratio": ratio, "low": low, "high": high}, plan["open_vswitch"]))
    return rows


def parameters(plan: Plan, task: str) -> dict:
    """Return the parameters of the first planned cell of a task; empty if the plan has none."""
    return next((cell["parameters"] for cell in plan["cells"].values() if cell["task"] == task), {})
