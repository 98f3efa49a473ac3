"""liu2020's figures 4 and 30: the cores and ranks of each container of each scheme on this host."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from plimsoll.designs.splitting.charts import cells
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData
from plimsoll.host import cpulist

CONTAINERS = plt.get_cmap("cividis")
PANEL = ["hardware", "affinity", "scheme", "mode"]
COLUMNS = ("hardware", "scheme", "affinity", "mode", "container", "ranks", "cpus", "nodes", "core_of_rank")


class Scenarios(Chart):
    """Drawing of the design: one panel per setting, affinity and scheme, with the host's sockets and cores.

    Each container is one bar over the cores that it may use. Nothing is measured for this chart.
    """

    name = "scenarios"
    notebook = "hardware"
    metrics = "none"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        """Return one row per setting, scheme, affinity and container.

        A row has the container's ranks, processors and memory nodes, and the cores of its ranks.
        """
        rows, seen = [], set()
        for cell in data.cells:
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
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        return table.sort_values(["hardware", "affinity", "scheme", "container"], ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        sockets = data.options["sockets"]
        panels = list(dict.fromkeys(summary[PANEL].itertuples(index=False, name=None)))
        columns = 2 if len(panels) > 1 else 1
        rows = -(-len(panels) // columns)
        height = min(0.6 + 0.18 * summary.groupby(PANEL)["container"].max().max(), 1.9)
        wide = sum(map(len, sockets.values())) > 8
        # A narrow panel has its title on two lines.
        size = (2 * style.COLUMN_INCHES, 0.2 + height * rows) if wide else (style.COLUMN_INCHES, 0.2 + (height + 0.1) * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for axis in axes.flat:
            axis.axis("off")
        for axis, key in zip(axes.flat, panels, strict=False):
            _panel(axis, bars.only(summary, dict(zip(PANEL, key, strict=True))), sockets)
            setting, level = cells.title(key[0], key[3]), cells.level(key[1])
            axis.set_title(f"{setting},{' ' if wide else chr(10)}{level}", loc="left", fontsize=7, pad=2)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Drawn from the design for this host; nothing is measured for it. White squares: cores, by their number; a "
            "coloured bar: the cores that a container may use (bars of several containers over the same cores: they share "
            "them); a white dot: a rank bound to that core."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        deployments = [part["cpus"] for _, part in summary.groupby(PANEL)]
        sharing = f"{sum(map(_share_cores, deployments))} of {len(deployments)} deployments"
        most = summary["container"].max()
        return f"{data.title}: which cores each of up to {most} containers may use here. Containers share cores in {sharing}."


def _share_cores(lists: pd.Series) -> bool:
    """Return whether a core is in several of the lists of cores of a deployment's containers."""
    each = [set(cpulist.parse(one)) for one in lists]
    return sum(map(len, each)) > len(set().union(*each))


def _panel(axis: Axes, part: pd.DataFrame, sockets: dict[str, list[int]]) -> None:
    where, x = {}, 0.0
    for number, cores in sockets.items():
        axis.add_patch(
            Rectangle((x - 0.1, -1.25), len(cores) + 0.1, 1.2, facecolor="#eeeeee", edgecolor="#888888", linewidth=0.5)
        )
        axis.text(x, -1.7, f"socket {number}", fontsize=style.SMALLEST, va="center")
        for core in cores:
            where[core] = x
            axis.add_patch(Rectangle((x + 0.05, -1.1), 0.8, 0.9, facecolor="white", edgecolor="#888888", linewidth=0.4))
            axis.text(x + 0.45, -0.65, str(core), ha="center", va="center", fontsize=style.SMALLEST)
            x += 1
        x += 0.5
    total = len(part)
    for level, row in enumerate(part.itertuples()):
        colour = CONTAINERS(0.15 + 0.7 * level / max(1, total - 1))
        for left, right in _stretches(row.cpus, sockets, where):
            box = FancyBboxPatch((left, level + 0.2), right - left, 0.6, boxstyle="round,pad=0,rounding_size=0.15")
            box.set(facecolor=colour, edgecolor="none", alpha=0.85)
            axis.add_patch(box)
        words = f"container {row.container}: {'ranks' if '-' in row.ranks else 'rank'} {row.ranks}"
        axis.text(x - 0.3, level + 0.5, words, fontsize=style.SMALLEST, va="center")
        bound = list(map(int, str(row.core_of_rank).split())) if row.core_of_rank else []
        for rank, core in enumerate(bound):
            shift = 0.3 if bound.count(core) > 1 and rank % 2 else 0
            look = {"color": "white", "markersize": style.DOT, "markeredgecolor": "black", "markeredgewidth": 0.6}
            axis.plot(where[core] + 0.3 + shift, level + 0.5, "o", **look)
    axis.set_xlim(-0.4, x + max(7.0, 0.7 * x))
    axis.set_ylim(-2.1, total + 0.2)


def _stretches(cpus: str, sockets: dict[str, list[int]], where: dict[int, float]) -> list[tuple[float, float]]:
    """Return the left and right end of each stretch of neighbouring cores within a socket."""
    runs = [cpulist.parse(run) for run in cpulist.format(cpulist.parse(cpus)).split(",")]
    inside = [[core for core in run if core in socket] for run in runs for socket in sockets.values()]
    return [(where[cores[0]], where[cores[-1]] + 0.9) for cores in inside if cores]


CHARTS = [Scenarios()]
