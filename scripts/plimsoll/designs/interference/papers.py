"""The values that the papers print (config/reference) by metric and view: means, spreads and interference ratios."""

import pandas as pd

from plimsoll import paths
from plimsoll.designs.interference import statistics
from plimsoll.designs.interference.cells import BASELINE
from plimsoll.designs.interference.tests import OF_PAPER

COLUMNS = ("mean", "median", "trimmed_mean", "max", "min", "sd", "cv", "interference_ratio")
# In the reference tables: the `metric` of rows that hold ratios. Such a ratio belongs to its microservice's only
# metric.
RATIO = "interference_ratio"


def printed_values(study: dict) -> pd.DataFrame:
    """Return the printed values of a study's reference tables: one row per metric, case and co-runner.

    The columns are those of COLUMNS, the unit, and the name of the reference table. The interference ratio is the
    printed one; where the paper prints none, it is computed from the printed means (equation 1).
    """
    of_benchmark: dict[str, list[str]] = {}
    for name, metric in study["metrics"].items():
        if not metric.get("why"):
            of_benchmark.setdefault(metric["benchmark"], []).append(name)
    rows = []
    for reference in study["references"]:
        table = pd.read_csv(paths.REFERENCE / f"{reference}.csv", dtype={"case": str}, keep_default_na=False, na_values=[""])
        for row in table.to_dict("records"):
            metric = row["metric"]
            if metric == RATIO:
                (metric,) = of_benchmark[row["benchmark"]]
            if metric in study["metrics"]:
                known = {column: row.get(column) for column in COLUMNS}
                key = {"metric": metric, "benchmark": row["benchmark"], "case": row["case"], "co_runner": row["co_runner"]}
                rows.append({**key, "unit": row["unit"], "reference": reference, **known})
    return _with_ratios(pd.DataFrame(rows, columns=[*OF_PAPER, "unit", "reference", *COLUMNS]), study)


def _with_ratios(table: pd.DataFrame, study: dict) -> pd.DataFrame:
    alone = table[table["case"] == BASELINE].set_index("metric")["mean"].to_dict()
    computed = [
        statistics.ratio(row.mean_, alone[row.metric], study["metrics"][row.metric]["better"])
        if row.metric in alone and row.case != BASELINE
        else None
        for row in table.rename(columns={"mean": "mean_"}).itertuples()
    ]
    return table.assign(interference_ratio=table["interference_ratio"].astype(float).fillna(pd.Series(computed, dtype=float)))
