"""What the papers print of a study of interference, by metric and view: means, spreads and interference ratios."""

import pandas as pd

from plimsoll import paths
from plimsoll.designs.interference import statistics
from plimsoll.designs.interference.cells import BASELINE
from plimsoll.designs.interference.tests import OF_PAPER

COLUMNS = ("mean", "median", "trimmed_mean", "max", "min", "sd", "cv", "interference_ratio")
# A table of ratios: each is of the only metric of its microservice.
RATIO = "interference_ratio"


def printed(study: dict) -> pd.DataFrame:
    """One row per metric, case and co-runner of the study's reference tables, with what they print of it (COLUMNS), the unit,
    and the interference ratio: as printed, or from the printed means (equation 1)."""
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
