"""Tables with one row per cell, made from observations: the start of every chart of measurements."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, paper_tests
from plimsoll.designs.splitting import scheme, words
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, style
from plimsoll.figures.data import FigureData

MODES = {"exact": "exactly subscribed", "over": "over-subscribed", "halved": "over-subscribed on half of the cores"}
LEVELS = {
    "any": "any processor",
    "pin": "ranks pinned",
    "mem": "memory bound",
    "cpu": "own cores",
    "cpumem": "own cores and memory",
    "cpumempin": "own cores and memory, pinned",
}
# What the names of schemes on an axis are.
SHAPE = "containers x ranks in each"
COLUMNS = (
    *OF_DEPLOYMENT,
    *("containers", "ranks_per_container", "n", "censored", "planned", "mean", "median", "minimum", "maximum", "sd"),
    *("mean_low", "mean_high", "ratio_to_bare"),
)


def summarise(data: FigureData, metric: str, planned: list[dict] | None = None) -> pd.DataFrame:
    """Return one row per cell of the plan, or per cell of `planned`.

    A row has n, the number of runs that reached their limit (`censored`), mean, median, minimum, maximum, SD, and the mean's
    95 % interval. `ratio_to_bare` is the ratio to bare metal with the same cores, or to bare metal's only scheme if there is
    no such cell.

    A cell without runs that count has n = 0. If runs reached their limit, the mean is only a bound and has no interval.
    """
    observations = data.observations
    chosen = observations[observations["metric"] == metric]
    groups = {tuple(key): group for key, group in chosen.groupby(list(OF_DEPLOYMENT))}
    rows = [_row(cell, groups) for cell in (data.cells if planned is None else planned)]
    unit = chosen["unit"].iloc[0] if len(chosen) else ""
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS)).assign(metric=metric, unit=unit)
    return table.sort_values(["hardware", "mode", "affinity", "scheme", "runtime", "yield"], ignore_index=True)


def _row(cell: dict, groups: dict[tuple, pd.DataFrame]) -> dict:
    group = groups.get(tuple(cell[factor] for factor in OF_DEPLOYMENT))
    row = {**cell, "n": 0 if group is None else len(group), "planned": cell["repetitions"]}
    if group is None:
        return row
    values = group["value"].to_numpy(float)
    low, high = paper_tests.mean_interval(values)
    row.update(
        censored=int(group["censored"].sum()),
        mean=values.mean(),
        median=np.median(values),
        minimum=values.min(),
        maximum=values.max(),
        sd=values.std(ddof=1) if len(values) > 1 else np.nan,
    )
    if not row["censored"]:
        row.update(mean_low=low, mean_high=high)
    for key in bare_metal(cell):
        if key in groups:
            with np.errstate(all="ignore"):  # counts may be 0 on both sides
                row["ratio_to_bare"] = values.mean() / groups[key]["value"].mean()
            break
    return row


def measuring(data: FigureData, metric: str) -> list[dict]:
    """Return the planned cells of the sections in which a metric was measured."""
    observed = data.observations
    sections = set(observed.loc[observed["metric"] == metric, "section"])
    return [cell for cell in data.cells if cell["section"] in sections]


def bare_metal(cell: dict) -> list[tuple]:
    """Return the cells of bare metal to compare a cell with: the same cores first, then bare metal's only scheme.

    The first of them that was measured is used.
    """
    likes = ({**cell, "runtime": "bare", "scheme": name} for name in scheme.of_bare_metal(cell["scheme"]))
    return [tuple(like[factor] for factor in OF_DEPLOYMENT) for like in likes]


def ratio_to(table: pd.DataFrame, reference: pd.Series, keys: list[str]) -> pd.Series:
    """Return the ratio of each row's mean to the mean of its reference; NaN without a reference.

    `reference` marks the rows that can be references. A row's reference has the same values of `keys`.
    """
    means = table[reference].set_index(keys)["mean"]
    return table["mean"] / [means.get(key, np.nan) for key in table[keys].itertuples(index=False, name=None)]


def with_ratio(
    observations: pd.DataFrame, summary: pd.DataFrame, ratio: str, references: Callable[[dict], list[tuple]]
) -> pd.DataFrame:
    """Return the summary with its column `ratio` as `ratio`, and its 95 % interval, `ratio_low` to `ratio_high`.

    `references` lists the cells that a row may be compared with; the first that was measured is used. The interval is
    Student's, of the logarithms of ratios within blocks, as in the verdicts. It is NaN for fewer than three blocks, for runs
    that reached their limit, and for values that have no logarithm.
    """
    runs = dict(iter(observations.groupby(["metric", *OF_DEPLOYMENT])))
    ends = []
    for row in summary.to_dict("records"):
        own = runs.get((row["metric"], *(row[factor] for factor in OF_DEPLOYMENT)))
        keys = [(row["metric"], *key) for key in references(row)]
        other = next((runs[key] for key in keys if key in runs), None)
        ends.append(_interval(own, other, row[ratio]))
    low, high = zip(*ends, strict=True) if ends else ((), ())
    return summary.assign(ratio=summary[ratio], ratio_low=np.array(low, float), ratio_high=np.array(high, float))


def _interval(own: pd.DataFrame | None, other: pd.DataFrame | None, ratio: float) -> tuple[float, float]:
    nothing = (np.nan, np.nan)
    if own is None or other is None or own is other or own["censored"].any() or other["censored"].any():
        return nothing
    a, b = blocks.within_blocks(*(_sample(group) for group in (own, other)))
    if not len(a) or (a <= 0).any() or (b <= 0).any():
        return nothing
    # The interval belongs to the geometric mean. It is moved to the ratio of the means, which is what charts print.
    middle, low, high = blocks.t_interval(np.log(a / b))
    return ratio * np.exp(low - middle), ratio * np.exp(high - middle)


def _sample(runs: pd.DataFrame) -> blocks.Sample:
    runs = runs.sort_values("repetition")
    each = blocks.Sample(runs["value"].to_numpy(), blocks.numbers(runs), runs["censored"].to_numpy())
    return blocks.by_block(each, blocks.geometric_mean)


def panels(summary: pd.DataFrame, columns: dict[str, Iterable[str]]) -> list[tuple]:
    """Return the combinations of the columns' values in the summary, as tuples, in the given order of each column.

    Values that the order does not list come last.
    """
    present = set(summary[list(columns)].itertuples(index=False, name=None))
    places = {name: style.in_order(order, summary[name]) for name, order in columns.items()}
    return sorted(present, key=lambda key: [places[name].index(value) for name, value in zip(columns, key, strict=True)])


def title(hardware: str, mode: str) -> str:
    """Return a panel's title: 'UMA, over-subscribed'."""
    return f"{hardware.upper()}, {MODES.get(mode, mode)}"


def level(name: str) -> str:
    """Return a level of affinity for people: 'own cores and memory'."""
    return LEVELS.get(name, name.upper())


def scheme_names(part: pd.DataFrame) -> list[str]:
    """Return the schemes in order for people, as SHAPE says: '2 x 8' is two containers of eight ranks each."""
    counts = part.groupby("scheme")[["containers", "ranks_per_container"]].first().sort_index()
    return [f"{row.containers} x {row.ranks_per_container}" for row in counts.itertuples()]


def sample_size(summary: pd.DataFrame) -> str:
    """Return the number of runs per cell that has any: 'n = 5' or 'n = 3 to 5'."""
    return f"n = {_span([number for number in summary['n'] if number] or [0])}"


def planned_runs(data: FigureData, summary: pd.DataFrame) -> str:
    """Return the number of planned runs per cell: '(5 planned)' or '(4 to 12 planned)', and how many bars have no run.

    The planned number comes from the summary, or from the figure's cells if the summary does not have it.
    """
    numbers = summary["planned"] if "planned" in summary else [cell["repetitions"] for cell in data.cells]
    none = int((summary["n"] == 0).sum())
    return f"({_span(numbers)} planned{f'; none for {none} of {len(summary)} bars' if none else ''})"


def _span(counts: Iterable[float]) -> str:
    # pandas keeps counts as 2.0 if they are unknown for other cells.
    least, most = int(min(counts := list(counts))), int(max(counts))
    return f"{least}" if least == most else f"{least} to {most}"


def not_measured(data: FigureData) -> str:
    """Return sentences for the end of a caption: what could not be measured here, and why."""
    return "".join(f" Not measured, {reason}." for reason in data.missing)


def axis_label(label: str, unit: str) -> str:
    """Return a metric with its unit for an axis, on two lines if it is long."""
    return f"{label}\n({unit})" if len(label) > 18 else f"{label} ({unit})"


def bars_are(data: FigureData, summary: pd.DataFrame, reference: str) -> str:
    """Return what bars, whiskers, dots and numbers are, for a caption. `reference` names what the numbers are ratios to."""
    return (
        f"Bars: mean of {sample_size(summary)} valid runs per cell {planned_runs(data, summary)}; whiskers: 95 % interval of "
        f"the mean (Student's t); dots: single runs. Numbers above bars: ratio of the mean to {reference}, where its 95 % "
        f"interval leaves out 1 (Student's t of the logarithms of ratios within blocks){too_few(data)}. Profile {data.profile}."
    )


def too_few(data: FigureData) -> str:
    """Return the end of a sentence of a caption: no ratio is printed if there are too few blocks for an interval."""
    return "" if data.repetitions >= blocks.SMALLEST else f"; none with fewer than {blocks.SMALLEST} repetitions"


def described(cell: dict) -> str:
    """Return a cell for people: 'two Docker containers (UMA, exactly subscribed, any processor)'."""
    deployed = words.deployment(cell["scheme"], cell["runtime"])
    unusual = [words.level("yield", cell["yield"])] if cell["sizes"] != words.STANDARD else []
    return f"{deployed} ({', '.join([title(cell['hardware'], cell['mode']), level(cell['affinity']), *unusual])})"


def findings(data: FigureData, compared: pd.DataFrame, reference: str) -> str:
    """Return sentences on what a figure shows: the ratio farthest from 1, and how many ratios differ from 1.

    Only ratios whose interval leaves out 1 are considered.
    """
    rows = [row for row in compared.to_dict("records") if np.isfinite(row["ratio_low"])]
    if not rows:
        return f"Too few valid runs to compare cells with {reference}."
    telling = [row for row in rows if bars.excludes_one(row)]
    count = bars.how_many_differ(len(telling), f"{len(rows)} cells", reference)
    if not telling:
        return count
    most = max(telling, key=lambda row: abs(np.log(row["ratio"])))
    label = f"{data.metrics[most['metric']]['label']} of " if len(data.metrics) > 1 else ""
    interval = f"{bars.factor(most['ratio_low'])} to {bars.factor(most['ratio_high'])}"
    return f"Farthest from {reference}: {label}{described(most)} with {bars.factor(most['ratio'])} [{interval}]. {count}"
