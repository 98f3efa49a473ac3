"""liu2020's tables 1 and 6, made from runs, with the paper's values beside ours."""

import pandas as pd

from plimsoll.analysis import paper_tests
from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.splitting import profiles
from plimsoll.designs.splitting.charts import profile
from plimsoll.errors import Unavailable
from plimsoll.planning import availability

# The paper's names of HPCC's sections, where they differ from ours.
PRINTED_SECTION = {"beff": "b_eff"}
# The paper's over-subscribed runs have the same ranks as its others, on half of their cores.
PRINTED_MODE = {"halved": "over"}
NO_RUN = "no run that it is made from counts"
KEYS = ["hardware", "mode", "section"]


def profiled(request: TableRequest) -> pd.DataFrame:
    """Return table 1 from the records.

    If nothing in it was measured, return the paper's values, with the reason in a column `not_here`.
    """
    if unavailable := availability.table(request.plan, request.study, request.name):
        return request.printed().assign(not_here=unavailable.reason)
    runs = availability.runs(request.plan, request.study, request.name)
    ours = profile.summarise(profiles.gather(request.folder, request.plan, runs))
    return request.printed().assign(not_here=NO_RUN) if ours.empty else mpi_profile(ours, request.printed())


def located(request: TableRequest) -> pd.DataFrame:
    """Return table 6 from the observations.

    If nothing in it was measured, return the paper's values, with the reason in a column `not_here`.
    """
    if unavailable := availability.table(request.plan, request.study, request.name):
        return request.printed().assign(not_here=unavailable.reason)
    observations = request.observations()
    if observations.empty:
        return request.printed().assign(not_here=NO_RUN)
    return locality(
        observations, request.printed(), availability.metrics(request.plan, request.study, list(request.study["metrics"]))
    )


def mpi_profile(ours: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return table 1, one row per hardware setting, benchmark, mode and pattern.

    A row has our share of time in percent with its interval, our number of calls of all ranks, and the paper's values.
    `certain` is false where the paper's table is garbled; `note` says how.
    """
    theirs = printed.set_index(["benchmark", "mode", "pattern"])
    rows = []
    for row in ours[ours["what"] != "all"].to_dict("records"):
        mode = PRINTED_MODE.get(row["mode"], row["mode"])
        paper = theirs.loc[(PRINTED_SECTION.get(row["section"], row["section"]), mode, row["what"])]
        calls = {row["calls_least"], row["calls_most"]}
        rows.append(
            {
                **{key: row[key] for key in KEYS},
                **{"group": paper["group"], "pattern": row["what"], "functions": paper["mpi_functions"], "n": row["n"]},
                **{f"share_percent{part}": 100 * row[f"share{part}"] for part in ("", "_low", "_high")},
                "calls": " to ".join(str(number) for number in sorted(calls)),
                "paper_share_percent": paper["time_share_percent"],
                "paper_below": paper["below"],
                "paper_calls": paper["invocations"],
                "certain": paper["certain"],
                "note": paper["note"],
            }
        )
    return pd.DataFrame(rows)


def locality(observations: pd.DataFrame, printed: pd.DataFrame, unavailable: dict[str, Unavailable]) -> pd.DataFrame:
    """Return table 6, one row per benchmark, mode and affinity.

    A row has the share of memory loads that were local in percent, and the same of page allocations, each with its 95 %
    interval. The paper's value stands beside them. `not_here` says what this host does not count.
    """
    theirs = printed.set_index(["benchmark", "mode"])["value"]
    rows = []
    for (section, mode, affinity), group in observations.groupby(["section", "mode", "affinity"], sort=False):
        row = {"section": section, "mode": mode, "affinity": affinity}
        for kind in ("rate", "allocation"):
            values = 100 * group.loc[group["metric"] == f"{section}_local_{kind}", "value"].to_numpy(float)
            low, high = paper_tests.mean_interval(values)
            row.update({f"{kind}_n": len(values), f"{kind}_percent": values.mean() if len(values) else None})
            row.update({f"{kind}_low": low, f"{kind}_high": high})
        paper = theirs.get((PRINTED_SECTION.get(section, section), mode)) if affinity == "any" else None
        rows.append({**row, "paper_percent": paper, "not_here": str(unavailable.get(f"{section}_local_rate", ""))})
    return pd.DataFrame(rows)


def _percent(share: float) -> str:
    """Return a share in percent as the paper prints it."""
    return "<0.01 %" if share < 0.01 else f"{share:.2f} %"


def as_printed(table: pd.DataFrame) -> list[dict]:
    """Return the rows of table 1 in the paper's layout: `setting`, `benchmark`, and `cells`, one dictionary per pattern.

    A cell has `E` and `O` (exactly subscribed and over-subscribed), each with `ours`, `paper`, `calls`, `paper_calls` and
    `note` as text.
    """
    rows = []
    for (hardware, section), group in table.groupby(["hardware", "section"], sort=False):
        cells: dict[str, dict] = {pattern: {} for pattern in profile.LOOK}
        for row in group.sort_values("mode", kind="stable").to_dict("records"):
            below, share = row["paper_below"] is True or row["paper_below"] == "True", row["paper_share_percent"]
            printed = "" if pd.isna(share) else f"{'<' if below else ''}{share:g} %"
            calls = "" if pd.isna(row["paper_calls"]) else f"{row['paper_calls']:.0f}"
            ours = "" if row["calls"] == "0" else _percent(row["share_percent"])
            of_mode = {"ours": ours, "paper": printed, "calls": row["calls"], "paper_calls": calls, "note": row["note"]}
            cells[row["pattern"]][PRINTED_MODE.get(row["mode"], row["mode"])[0].upper()] = of_mode
        rows.append({"setting": hardware, "benchmark": profile.SECTIONS[section], "cells": cells})
    return sorted(rows, key=lambda row: list(profile.SECTIONS.values()).index(row["benchmark"]), reverse=True)
