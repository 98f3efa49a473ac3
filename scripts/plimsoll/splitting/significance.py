"""liu2020's own tests: every cell against its references, by the tests of section 4.3."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from plimsoll import statistics
from plimsoll.splitting.cells import FACTORS


def references(cell: dict, baseline: str, variants: dict[str, str], others: list[dict]) -> Iterator[tuple[str, dict]]:
    """(name of the comparison, factors that the reference has otherwise than the cell) for every comparison of a cell.

    Every container cell against bare metal (with the same cores if bare metal has such a cell, otherwise its one scheme a
    mode), several containers against one, more containers than cores against as many, a level of affinity against ANY, of
    yielding against yielding, UMA against NUMA, and a variant of a runtime against that runtime. `others` are all cells of
    the cell's mode and hardware setting.
    """
    single = cell["scheme"][0] + "1"
    if cell["runtime"] != baseline:
        same = any(
            o["runtime"] == baseline and o["scheme"] == cell["scheme"] and o["affinity"] == cell["affinity"] for o in others
        )
        yield "against bare metal", {"runtime": baseline, "scheme": cell["scheme"] if same else single}
    if cell["scheme"] != single:
        yield "against one container", {"scheme": single}
    if cell["containers"] > cell["cores"]:
        for scheme in {o["scheme"] for o in others if o["containers"] == o["cores"]}:
            yield "against as many containers as cores", {"scheme": scheme}
    if cell["affinity"] != "any":
        yield "against ANY", {"affinity": "any"}
    if cell["yield"] != "enabled":
        yield "against yielding enabled", {"yield": "enabled"}
    if cell["hardware"] == "uma":
        yield "against NUMA", {"hardware": "numa"}
    if cell["runtime"] in variants:
        yield f"against {variants[cell['runtime']]}", {"runtime": variants[cell["runtime"]]}


def pairs(cells: pd.DataFrame, baseline: str, variants: dict[str, str]) -> list[tuple[str, tuple, tuple]]:
    """(comparison, cell, reference cell) for every comparison of the study; a cell is its factors in the order of FACTORS.
    `variants` maps a runtime to the one that it is a variant of."""
    columns = [*FACTORS, "containers", "cores"]
    known = cells[columns].drop_duplicates().sort_values(list(FACTORS)).to_dict("records")
    keys = {tuple(cell[factor] for factor in FACTORS): cell for cell in known}
    found = []
    for key, cell in keys.items():
        others = [o for o in known if (o["hardware"], o["mode"]) == (cell["hardware"], cell["mode"])]
        for name, changed in references(cell, baseline, variants, others):
            reference = tuple({**cell, **changed}[factor] for factor in FACTORS)
            if reference in keys:
                found.append((name, key, reference))
    return found


def tests(observations: pd.DataFrame, baseline: str, alpha: float, variants: dict[str, str]) -> pd.DataFrame:
    """One row a metric and comparison: the cell, its reference, and what `compare` gives (`compare_censored` where runs hit
    their limit); with p adjusted by Holm's method over the comparisons of the same kind and metric."""
    rows = []
    for metric, of_metric in observations.groupby("metric", sort=False):
        groups = {tuple(key): group for key, group in of_metric.groupby(list(FACTORS))}
        unit, better, label, section = of_metric[["unit", "better", "label", "section"]].iloc[0]
        for comparison, cell, reference in pairs(of_metric, baseline, variants):
            row = dict(zip(FACTORS, cell, strict=True))
            row.update(metric=metric, label=label, unit=unit, better=better, comparison=comparison)
            row.update(cell="/".join((*cell, section)), reference="/".join((*reference, section)))
            row.update(_compare(groups[cell], groups[reference], alpha))
            rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table["p_holm"] = np.nan
    for _, group in table[table["p"].notna()].groupby(["metric", "comparison"]):
        table.loc[group.index, "p_holm"] = statistics.holm(group["p"])
    table["significant"] = table["p"].lt(alpha).where(table["p"].notna())
    return table


def _compare(cell: pd.DataFrame, reference: pd.DataFrame, alpha: float) -> dict:
    a, b = cell["value"].to_numpy(float), reference["value"].to_numpy(float)
    censored_a, censored_b = cell["censored"].to_numpy(bool), reference["censored"].to_numpy(bool)
    if censored_a.any() or censored_b.any():
        return statistics.compare_censored(a, b, censored_a, censored_b)
    return {**statistics.compare(a, b, alpha), "censored_a": 0, "censored_b": 0}
