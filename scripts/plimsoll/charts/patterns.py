"""liu2020's figures 7 and 8: time in the functions of a communication pattern by number of containers."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll.charts import bars, cells, profile, style

# Colours as in figure 1.
LOOK = {
    "beff_pingpong_seconds": ("blocking_pingpong_transfer", ""),
    "beff_sendrecv_seconds": ("blocking_concurrent_transfer", ""),
    "beff_transfer_seconds": ("nonblocking_transfer", "//"),
    "beff_wait_seconds": ("nonblocking_synchronise", "xx"),
}


def summarise(observations: pd.DataFrame, metrics: list[str], plan: dict) -> pd.DataFrame:
    """One row a metric and cell, with `ratio_to_one`: its mean over that of the same ranks in one container."""
    parts = []
    for metric in metrics:
        table = cells.summarise(observations, metric, plan)
        keys = ["hardware", "mode", "runtime", "affinity"]
        parts.append(table.assign(ratio_to_one=cells.ratio_to(table, table["containers"] == 1, keys)))
    return pd.concat(parts, ignore_index=True)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metrics: list[str]) -> Figure:
    """A panel a hardware setting and mode; in it a group a scheme, and in that a bar a pattern."""
    style.apply()
    present = list(summary[["hardware", "mode"]].drop_duplicates().itertuples(index=False, name=None))
    figure, axes = plt.subplots(1, len(present), figsize=(style.COLUMN_INCHES, 2.3), squeeze=False, layout="constrained")
    labels = observations.groupby("metric")["label"].first()
    for axis, (hardware, mode) in zip(axes.flat, present, strict=True):
        part = bars.only(summary, {"hardware": hardware, "mode": mode})
        schemes, width, top = sorted(part["scheme"].unique()), 0.84 / len(metrics), bars.top(part)
        for place, scheme in enumerate(schemes):
            for number, metric in enumerate(metrics):
                chosen = {"scheme": scheme, "metric": metric}
                own = bars.only(observations, {**chosen, "hardware": hardware, "mode": mode})
                pattern, hatch = LOOK[metric]
                look = (profile.LOOK[pattern][1], hatch)
                x = place + (number - (len(metrics) - 1) / 2) * width
                bars.bar(axis, x, width, bars.only(part, chosen).iloc[0], own["value"], look, top, "ratio_to_one")
        axis.set_xticks(range(len(schemes)), cells.scheme_names(part))
        axis.tick_params(axis="x", length=0)
        axis.set_ylim(0, top * 1.3)
        axis.set_title(f"{hardware.upper()}, {cells.MODES[mode]}", loc="left")
    axes[0, 0].set_ylabel("time a rank (s)")
    handles = [
        Patch(facecolor=profile.LOOK[LOOK[m][0]][1], hatch=LOOK[m][1], edgecolor="white", label=labels.get(m, m))
        for m in metrics
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handlelength=1.4)
    return figure


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers, dots and numbers are, and how many runs there are."""
    return (
        "Time that a rank of b_eff spends in these functions, Docker, PIN, by number of containers (below: containers x ranks "
        f"per container), from runs of their own with the profiling library. Bars: mean of {cells.sample_size(summary)} runs a "
        f"cell ({plan['repetitions']} planned); whiskers: 95 % interval of the mean (Student's t); dots: single runs. Numbers "
        f"above bars: ratio of the mean to one container's, where it differs by more than {bars.LABELLED:.0%}. b_eff repeats "
        "its patterns the more often the faster they are: times of schemes are not times of the same number of calls. Profile "
        f"{plan['profile']}."
    ) + cells.not_measured(plan)
