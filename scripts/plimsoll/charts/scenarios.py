"""liu2020's figures 4 and 30: which cores and ranks each container of each scheme has on this host."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from plimsoll import cpulist
from plimsoll.charts import bars, cells, style

CONTAINERS = plt.get_cmap("cividis")


def summarise(observations: pd.DataFrame, metric: object, plan: dict) -> pd.DataFrame:
    """One row a setting, scheme, affinity and container: its ranks, processors, memory nodes and the cores of its ranks."""
    rows, seen = [], set()
    for cell in plan["cells"]:
        key = (cell["hardware"], cell["scheme"], cell["affinity"])
        if key in seen or cell["runtime"] == "bare":
            continue
        seen.add(key)
        each = cell["ranks_per_container"]
        for number, place in enumerate(cell["places"]):
            cores = " ".join(map(str, place["cores"]))
            row = {"hardware": key[0], "scheme": key[1], "affinity": key[2], "mode": cell["mode"], "container": number + 1}
            ranks = f"{number * each}-{(number + 1) * each - 1}" if each > 1 else str(number)
            rows.append({**row, "ranks": ranks, "cpus": place["cpus"], "nodes": place["nodes"], "core_of_rank": cores})
    return pd.DataFrame(rows).sort_values(["hardware", "affinity", "scheme", "container"], ignore_index=True)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: object, sockets: dict[int, list[int]]) -> Figure:
    """A panel a setting, affinity and scheme: the host's sockets and cores, and a bar a container over the cores it may use."""
    style.apply()
    panels = list(dict.fromkeys(summary[["hardware", "affinity", "scheme"]].itertuples(index=False, name=None)))
    columns = 2 if len(panels) > 1 else 1
    rows = -(-len(panels) // columns)
    tallest = summary.groupby(["hardware", "affinity", "scheme"])["container"].max().max()
    height = min(0.55 + 0.16 * tallest, 1.8)
    wide = sum(map(len, sockets.values())) > 8
    size = (2 * style.COLUMN_INCHES if wide else style.COLUMN_INCHES, 0.2 + height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat:
        axis.axis("off")
    for axis, key in zip(axes.flat, panels, strict=False):
        part = bars.only(summary, dict(zip(("hardware", "affinity", "scheme"), key, strict=True)))
        _panel(axis, part, sockets)
        axis.set_title(f"{key[2]}, {cells.LEVELS[key[1]]}, {key[0].upper()}", loc="left", fontsize=7, pad=2)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, sockets: dict[int, list[int]]) -> None:
    where, x = {}, 0.0
    for number, cores in sockets.items():
        axis.add_patch(
            Rectangle((x - 0.1, -1.25), len(cores) + 0.1, 1.2, facecolor="#eeeeee", edgecolor="#888888", linewidth=0.5)
        )
        axis.text(x, -1.7, f"socket {number}", fontsize=5, va="center")
        for core in cores:
            where[core] = x
            axis.add_patch(Rectangle((x + 0.05, -1.1), 0.8, 0.9, facecolor="white", edgecolor="#888888", linewidth=0.4))
            axis.text(x + 0.45, -0.65, str(core), ha="center", va="center", fontsize=4.6)
            x += 1
        x += 0.5
    total = len(part)
    for level, row in enumerate(part.itertuples()):
        colour = CONTAINERS(0.15 + 0.7 * level / max(1, total - 1))
        cores = cpulist.parse(row.cpus)
        for run in cpulist.format(cores).split(","):
            members = cpulist.parse(run)
            for socket in sockets.values():
                inside = [core for core in members if core in socket]
                if inside:
                    left, right = where[inside[0]], where[inside[-1]] + 0.9
                    box = FancyBboxPatch((left, level + 0.2), right - left, 0.6, boxstyle="round,pad=0,rounding_size=0.15")
                    box.set(facecolor=colour, edgecolor="none", alpha=0.85)
                    axis.add_patch(box)
        axis.text(x - 0.3, level + 0.5, f"container {row.container}: ranks {row.ranks}", fontsize=5, va="center")
        for rank, core in enumerate(map(int, str(row.core_of_rank).split()) if row.core_of_rank else []):
            shift = 0.3 if list(map(int, str(row.core_of_rank).split())).count(core) > 1 and rank % 2 else 0
            axis.plot(where[core] + 0.3 + shift, level + 0.5, "o", color="white", markersize=2.4, markeredgewidth=0)
    axis.set_xlim(-0.4, x + max(5.5, 0.6 * x))
    axis.set_ylim(-2.1, total + 0.2)


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the drawing shows."""
    return (
        "Drawn from the design for this host; nothing is measured for it. White squares: cores, by their number; a coloured "
        "bar: the cores that a container may use (bars of several containers over the same cores: they share them); a white "
        "dot: a rank bound to that core."
    ) + cells.not_measured(plan)
