"""Tables of docs/reports/verdicts.md: the worst world of each kind of claim, power, and answers about the size, in percent."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from plimsoll.claims import verdicts

DIFFERENCE, LIKENESS = "expected in ('higher', 'better')", "expected == 'no_difference'"
AVERAGE = "family == 'several' and holds == 'average'"
BOTH = "family == 'mixed directions'"
ARRANGED = "family == 'arrangements'"
RUN = "family == 'metrics of one run'"
SPREAD = "family in ('spread, 2 in a block', 'spread, 6 in a block') and quantity == 'dispersion'"
ALONE = "family == 'spread, 1 in a block'"
VARIATION = "quantity == 'variation'"
ODD = "noise in ('bimodal', 'skewed')"
# Claims whose verdicts are wrong as seldom as they should be, and the query that selects their rows.
SOUND = {
    "one comparison: a difference": f"family == 'one comparison' and noise != 'lasting deviations' and {DIFFERENCE}",
    "one comparison: likeness": f"family == 'one comparison' and noise != 'lasting deviations' and {LIKENESS}",
    "one comparison: not lower": "family == 'by effect' and cells == 1 and expected == 'not_lower'",
    "each of 4 to 64: a difference": f"family == 'several' and holds == 'each' and {DIFFERENCE}",
    "each of 4 to 64: likeness, not lower": f"family == 'several' and holds == 'each' and not {DIFFERENCE}",
    "most, some of 4 to 64": "family == 'several' and holds in ('most', 'some')",
    "average of 4 to 64: a difference": f"{AVERAGE} and {DIFFERENCE}",
    "average of 4 to 64: likeness, not lower": f"{AVERAGE} and not {DIFFERENCE}",
    "average over metrics of both directions: a difference": f"{BOTH} and {DIFFERENCE}",
    "average over metrics of both directions: likeness": f"{BOTH} and {LIKENESS}",
    "metrics of one run: most": f"{RUN} and holds == 'most'",
    "metrics of one run: average, a difference": f"{RUN} and holds == 'average' and {DIFFERENCE}",
    "metrics of one run: average, likeness": f"{RUN} and {LIKENESS}",
    "best of four, order of four": "family == 'orders'",
    "a rule with an exception": "family == 'parts'",
    "each of three arrangements: a difference": f"{ARRANGED} and {DIFFERENCE}",
    "each of three arrangements: likeness": f"{ARRANGED} and {LIKENESS}",
    "relative loss, memory contention": "quantity in ('relative loss', 'memory contention ratio')",
    "trend; runs at their limit": "family in ('trend', 'at their limit')",
    "dispersion, two or six values in a block: a difference": f"{SPREAD} and {DIFFERENCE}",
    "dispersion, two or six values in a block: likeness, not higher": f"{SPREAD} and not {DIFFERENCE}",
}
# Claims that are wrong more often.
WORSE = {
    "variation, six values in a block": f"{VARIATION} and family == 'spread, 6 in a block' and noise == 'log-normal'",
    "variation, two values in a block": f"{VARIATION} and family == 'spread, 2 in a block'",
    "variation, six values, bimodal or skewed": f"{VARIATION} and family == 'spread, 6 in a block' and {ODD}",
    "dispersion, one value in a block": f"{ALONE} and quantity == 'dispersion' and noise == 'log-normal'",
    "dispersion, one value, bimodal or skewed": f"{ALONE} and quantity == 'dispersion' and {ODD}",
    "variation, one value in a block": f"{ALONE} and {VARIATION} and noise == 'log-normal'",
    "variation, one value, bimodal or skewed": f"{ALONE} and {VARIATION} and {ODD}",
    "deviations that last, 3 blocks": "noise == 'lasting deviations' and blocks == 3",
    "deviations that last, 20 blocks": "noise == 'lasting deviations' and blocks == 20",
}
# Comparisons that others lend a spread to, by the noise of the cells.
LENT = {
    "one of 42 cells: a difference": f"family == 'one of many cells' and {DIFFERENCE}",
    "one of 42 cells: likeness, not lower": f"family == 'one of many cells' and not {DIFFERENCE}",
    "each of 64 comparisons": "family == 'many cells' and holds == 'each'",
    "most, some of 64 comparisons": "family == 'many cells' and holds in ('most', 'some')",
}
SMALL = {
    "one comparison": "family == 'one comparison' and noise != 'lasting deviations'",
    "each, most, some of 4 to 64": "family == 'several' and holds != 'average'",
    "average of 4 to 64": AVERAGE,
    "average over metrics of both directions": BOTH,
    "metrics of one run": RUN,
    "one of 42 cells": "family == 'one of many cells'",
    "dispersion, two or six values in a block": SPREAD,
}


def show(table: pd.DataFrame) -> None:
    """Print all tables whose worlds are there."""
    for title, kinds in (("worst world", SOUND), ("worst world, where too often", WORSE)):
        _print(title, [{"claim": name, **_worst(rows)} for name, rows in _chosen(table, kinds)])
    lent = [
        {"claim": name, "noise": noise, **_worst(own)}
        for name, rows in _chosen(table, LENT)
        for noise, own in rows.groupby("noise", sort=False)
    ]
    _print("spreads that many comparisons lend", lent)
    small = [
        {"claim": name, "wrongly (5)": _percent(rows["wrongly_alike"].max())}
        for name, rows in _chosen(table, SMALL)
        if rows["wrongly_alike"].notna().any()
    ]
    _print("no difference of 5 % or more, said of an inconclusive claim; worst world", small)
    _print("power, by blocks", _power(table))
    _print("sizes, for a printed 10 %", _sizes(table))


def _chosen(table: pd.DataFrame, kinds: dict[str, str]) -> Iterable[tuple[str, pd.DataFrame]]:
    found = ((name, table.query(query, engine="python")) for name, query in kinds.items())
    return ((name, rows) for name, rows in found if len(rows))


def _worst(rows: pd.DataFrame) -> dict[str, object]:
    """Return the worst rates of rows, and the number of draws and of worlds with claims that they are from."""
    return {
        "wrongly reproduced": _percent(rows["wrongly_found"].max()),
        "nominal": _percent(rows["nominal_found"].max()),
        "wrongly contradicted (2.5)": _percent(rows["wrongly_refused"].max()),
        "interval covers (95)": _percent(rows["covers"].min()),
        "draws": "; ".join(map(str, sorted(set(rows["draws"])))),
        "rows": len(rows),
    }


def _power(table: pd.DataFrame) -> list[dict]:
    """Return how often a difference of 10 % is found, and likeness where there is no difference."""
    of_one = table[(table["family"] == "by effect") & (table["cells"] == 1) & (table["named"] == "")]
    asked = (("10 % found", "+10%", "higher"), ("likeness shown", "+0%", "no_difference"))
    rows = []
    for blocks, own in of_one.groupby("blocks"):
        found = {
            what: own[(own["truth"] == truth) & (own["expected"] == said)][verdicts.REPRODUCED].max()
            for what, truth, said in asked
        }
        rows.append({"blocks": blocks, **{what: _percent(rate) for what, rate in found.items()}})
    return rows


def _sizes(table: pd.DataFrame) -> list[dict]:
    chosen = table[(table["family"] == "by effect") & (table["cells"] == 1) & (table["named"] == "0.1 to 0.1")]
    sizes = (verdicts.AS_LARGE, verdicts.SMALLER, verdicts.LARGER, verdicts.CONTRADICTED)
    wanted = chosen[chosen["truth"].isin(("+0%", "+5%", "+10%", "+20%")) & (chosen["blocks"] > 3)]
    return [
        {"true difference": row["truth"], "blocks": row["blocks"], **{size: _percent(row[size]) for size in sizes}}
        for row in wanted.to_dict("records")
    ]


def _percent(rate: float) -> str:
    return "" if np.isnan(rate) else f"{100 * rate:.1f}"


def _print(title: str, rows: list[dict]) -> None:
    """Print rows as a table of Markdown."""
    if rows:
        lines = [[*rows[0]], ["---"] * len(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]
        print(f"\n{title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
