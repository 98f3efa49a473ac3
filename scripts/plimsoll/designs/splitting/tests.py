"""liu2020's own tests: every cell against its references, by the tests of section 4.3."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from plimsoll import runtimes
from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting import scheme
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT


def references(cell: dict, baseline: str, variants: dict[str, str], others: list[dict]) -> Iterator[tuple[str, dict]]:
    """Yield (name of the comparison, factors that differ in the reference) for every comparison of a cell.

    The comparisons are:
    - a container cell with bare metal: with the same cores if bare metal has such a cell, else with its one scheme per mode;
    - several containers with one;
    - more containers than cores with as many containers as cores;
    - a level of affinity with ANY;
    - a level of yielding with yielding enabled;
    - UMA with NUMA;
    - a variant of a runtime with that runtime.

    `others` are all cells of the cell's mode and hardware setting.
    """
    single = scheme.single(cell["scheme"])
    if cell["runtime"] != baseline:
        there = {o["scheme"] for o in others if (o["runtime"], o["affinity"]) == (baseline, cell["affinity"])}
        names = scheme.of_bare_metal(cell["scheme"])
        yield "against bare metal", {"runtime": baseline, "scheme": next((name for name in names if name in there), single)}
    if cell["scheme"] != single:
        yield "against one container", {"scheme": single}
    if cell["containers"] > cell["cores"]:
        for name in {o["scheme"] for o in others if o["containers"] == o["cores"]}:
            yield "against as many containers as cores", {"scheme": name}
    if cell["affinity"] != "any":
        yield "against ANY", {"affinity": "any"}
    if cell["yield"] != "enabled":
        yield "against yielding enabled", {"yield": "enabled"}
    if cell["hardware"] == "uma":
        yield "against NUMA", {"hardware": "numa"}
    if cell["runtime"] in variants:
        yield f"against {variants[cell['runtime']]}", {"runtime": variants[cell["runtime"]]}


def pairs(cells: pd.DataFrame, baseline: str, variants: dict[str, str]) -> list[tuple[str, tuple, tuple]]:
    """Return (comparison, cell, reference cell) for every comparison of the study.

    A cell is a tuple of its factors (OF_DEPLOYMENT). `variants` maps a runtime to the runtime that it is a variant of.
    """
    columns = [*OF_DEPLOYMENT, "containers", "cores"]
    known = cells[columns].drop_duplicates().sort_values(list(OF_DEPLOYMENT)).to_dict("records")
    keys = {tuple(cell[factor] for factor in OF_DEPLOYMENT): cell for cell in known}
    named = []
    for key, cell in keys.items():
        others = [o for o in known if (o["hardware"], o["mode"]) == (cell["hardware"], cell["mode"])]
        for name, changed in references(cell, baseline, variants, others):
            reference = tuple({**cell, **changed}[factor] for factor in OF_DEPLOYMENT)
            if reference in keys:
                named.append((name, key, reference))
    return named


def of_study(study: dict, observations: pd.DataFrame) -> pd.DataFrame:
    """Return the tests of a study (`of_cells`). The observations are of runs without an instrument."""
    variants = {name: runtime.variant_of for name, runtime in runtimes.known().items() if runtime.variant_of}
    return of_cells(observations, study["baseline"], study["alpha"], variants)


def of_cells(observations: pd.DataFrame, baseline: str, alpha: float, variants: dict[str, str]) -> pd.DataFrame:
    """Return one row per metric and comparison: the cell, its reference, and the result of `paper_tests.compare`.

    Where runs reached their limit, the result comes from `paper_tests.compare_censored`. `p_holm` is p adjusted by Holm's
    method over the comparisons of the same kind and metric. A row is `significant` if `p_holm` is below `alpha`.
    """
    rows = []
    for metric, of_metric in observations.groupby("metric", sort=False):
        groups = {tuple(key): group for key, group in of_metric.groupby(list(OF_DEPLOYMENT))}
        unit, better, label, section = of_metric[["unit", "better", "label", "section"]].iloc[0]
        for comparison, cell, reference in pairs(of_metric, baseline, variants):
            row = dict(zip(OF_DEPLOYMENT, cell, strict=True))
            row.update(metric=metric, label=label, unit=unit, better=better, comparison=comparison)
            row.update(cell="/".join((*cell, section)), reference="/".join((*reference, section)))
            row.update(_compare(groups[cell], groups[reference], alpha))
            rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table["p_holm"] = np.nan
    for _, group in table[table["p"].notna()].groupby(["metric", "comparison"]):
        table.loc[group.index, "p_holm"] = paper_tests.holm(group["p"])
    table["significant"] = table["p_holm"].lt(alpha).where(table["p"].notna())
    return table


def _compare(cell: pd.DataFrame, reference: pd.DataFrame, alpha: float) -> dict:
    a, b = cell["value"].to_numpy(float), reference["value"].to_numpy(float)
    censored_a, censored_b = cell["censored"].to_numpy(bool), reference["censored"].to_numpy(bool)
    if censored_a.any() or censored_b.any():
        return paper_tests.compare_censored(a, b, censored_a, censored_b)
    return {**paper_tests.compare(a, b, alpha), "censored_a": 0, "censored_b": 0}
