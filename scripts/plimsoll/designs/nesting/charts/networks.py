"""Chart `networks`: throughput and latency between a client and a server, one row per network.

It draws amaral2015's tables II to V.
"""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plimsoll import runtimes
from plimsoll.analysis import blocks
from plimsoll.designs.nesting import statistics, words
from plimsoll.designs.nesting.charts import lines
from plimsoll.designs.nesting.factors import OPEN_VSWITCH, PLAIN, TWO, of_placement
from plimsoll.figures import drawn_values, findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData
from plimsoll.host import topology

# For each placement: its marker, whether the marker is filled, and how far below the middle of its row it is.
MARKS = {"": ("o", True, -0.24), "same_core": ("s", False, 0.0), "other_core": ("^", False, 0.24)}
PAPER = {"marker": "D", "markersize": 3.4, "markerfacecolor": "white", "markeredgecolor": lines.GREY, "linestyle": ""}
PAPER |= drawn_values.NO_INTERVAL
NAMESPACE = "The second host is a network namespace of this one, behind a link shaped to 1 Gbit/s. "
MANY = 100
KEYS = ["runtime", "server", "network"]
NETWORKS = {"host": "host's network", "bridge": "bridge", OPEN_VSWITCH: "Open vSwitch", PLAIN: "bridge without offloads"}


class Networks(Chart):
    """A panel for throughput and one for latency, in the runtimes' colours."""

    name = "networks"
    notebook = "nesting"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return statistics.of_cells(data.observations[data.observations["metric"].isin(data.metrics)])

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        rows = _rows(summary)
        figure, panels = plt.subplots(
            1, 2, figsize=(2 * style.COLUMN_INCHES, 0.9 + 0.28 * max(4, len(rows))), layout="constrained", sharey=True
        )
        for axis, quantity in zip(panels, ("throughput", "latency"), strict=True):
            self._panel(axis, data, summary, rows, quantity)
        panels[0].set_yticks(range(len(rows)), [_name(*row, data.options["open_vswitch"]) for row in rows])
        panels[0].invert_yaxis()
        handles = [_mark(placement, data) for placement in _placements(data.metrics)]
        whiskers = lines.marks("95 % interval of the mean")[:1]
        style.legend_below(figure, [*handles, *whiskers, Line2D([], [], label="the paper", **PAPER)], ncols=2)
        return figure

    def _panel(self, axis: Axes, data: FigureData, summary: pd.DataFrame, rows: list[tuple], quantity: str) -> None:
        for row in data.options["paper"]:
            key = (row["client"], row["server"], row["network"])
            if row["metric"] == quantity and key in rows:
                axis.plot([row["mean"]], [rows.index(key)], zorder=2, **PAPER)
        placements = _placements(data.metrics)
        for placement in placements:
            marker, filled, below = MARKS[placement]
            own = summary[summary["metric"] == (f"{quantity}_{placement}" if placement else quantity)]
            for one in own.to_dict("records"):
                key = tuple(one[factor] for factor in KEYS)
                colour = style.looks([_environment(*key)])[_environment(*key)].colour
                place = rows.index(key) + (below if len(placements) > 1 else 0)
                if pd.notna(one["mean_low"]):
                    low = max(one["mean_low"], one["minimum"] / 2)
                    cut = drawn_values.NO_INTERVAL if low > one["mean_low"] else {}
                    axis.hlines(place, low, one["mean_high"], color=colour, linewidth=0.9, zorder=3, **cut)
                look = {"marker": marker, "color": colour, "markersize": 3.6, "zorder": 4, **_fill(filled)}
                axis.plot([one["mean"]], [place], label=of_placement(placement, data.options["hosts"]), **look)
        units = [described["unit"] for name, described in data.metrics.items() if name.startswith(quantity)]
        style.say_better(axis, "higher" if quantity == "throughput" else "lower")
        axis.set(xscale="log", xlabel=f"{quantity} ({units[0]})" if units else quantity)
        low, high = axis.get_xlim()
        # Over many decades, more numbers would overlap.
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < MANY * low else (1,)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(axis="y", linewidth=0.3, color="#dddddd")
        axis.set_axisbelow(True)

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Throughput of Netperf's TCP_STREAM, and latency of its TCP_RR with several requests under way, from a client to a "
            "server, on logarithmic axes. Colours are those of the end that is not on bare metal. Diamonds are the paper's "
            f"means, on its host. {switch(data.options, summary)}{second_host(data.options)}{lines.of_how_many(data, summary)}"
        ).replace("; dots are single runs", "")

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        runs = data.observations[data.observations["metric"] == "throughput"]
        if runs.empty:
            return f"{data.title}. {findings.NOTHING}"
        each = {key: blocks.sample(own) for key, own in runs.groupby(KEYS)}
        first, *others = _rows(runs)
        names = {key: _name(*key, data.options["open_vswitch"]) for key in each}
        changes = [findings.Change(names[key], *blocks.change(each[key], each[first])) for key in others]
        reference = "bare metal" if set(first[:2]) == {"bare"} else names[first]
        return f"{data.title}: throughput. {findings.farthest(changes, reference)}"


def switch(options: dict, summary: pd.DataFrame) -> str:
    """Return a sentence on where Open vSwitch switches.

    It is empty if Open vSwitch switches in the kernel, as the paper's does, or is not shown.
    """
    if options["open_vswitch"] == topology.KERNEL or not summary["network"].str.contains(OPEN_VSWITCH).any():
        return ""
    return f"Open vSwitch switches in {options['open_vswitch']} here, and is another switch than the paper's. "


def second_host(options: dict) -> str:
    """Return a sentence on what the second host is; empty if all is on one host."""
    if options["hosts"] != TWO:
        return ""
    return f"The second host is {name}. " if (name := options["second_host"]) else NAMESPACE


def _placements(metrics: dict[str, dict]) -> list[str]:
    """Return the placements of client and server that the metrics show."""
    return [placement for placement in MARKS if not placement or any(name.endswith(f"_{placement}") for name in metrics)]


def _mark(placement: str, data: FigureData) -> Line2D:
    """Return the legend entry of a placement."""
    marker, filled, _ = MARKS[placement]
    label = of_placement(placement, data.options["hosts"])
    return Line2D([], [], color="black", linestyle="", marker=marker, markersize=3.6, label=label, **_fill(filled))


def _rows(summary: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return (client, server, network) of each row: bare metal first, then containers, then nested ones."""
    keys = summary[KEYS].drop_duplicates().itertuples(index=False, name=None)
    order = list(style.looks(runtimes.known()))
    return sorted(keys, key=lambda key: (order.index(_environment(*key)), key))


def _environment(client: str, server: str, network: str) -> str:
    """Return the runtime whose colour a row has: that of the end that is not on bare metal."""
    return server if client == "bare" else client


def _name(client: str, server: str, network: str, open_vswitch: str) -> str:
    short = {"bare": "bare metal", "docker": "Docker", "docker-nested": "nested", "vm": "VM", "vm-emulated": "emulated VM"}
    ends = f"{short.get(client, client)} → {short.get(server, server)}"
    if client == server == "bare":
        return ends
    outer, _, inner = network.partition("+")
    return words.with_switch(f"{ends}, {NETWORKS[outer]}" + (f" + {NETWORKS[inner]}" if inner else ""), open_vswitch)


def _fill(filled: bool) -> dict:
    return {} if filled else {"markerfacecolor": "white"}


CHARTS = [Networks()]
