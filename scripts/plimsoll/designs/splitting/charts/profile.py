"""liu2020's figure 1: the time of each benchmark by the MPI functions that its ranks are in."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting.charts import cells
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData
from plimsoll.instruments.mpi_profile import PATTERNS

# Point-to-point patterns have cold colours, and collective ones warm colours (Tol's muted set, safe for colour-blind readers).
LOOK = {
    "blocking_pingpong_transfer": ("MPI_Send, MPI_Recv", "#332288"),
    "blocking_concurrent_transfer": ("MPI_Sendrecv", "#88ccee"),
    "nonblocking_transfer": ("MPI_Isend, MPI_Irecv", "#44aa99"),
    "nonblocking_synchronise": ("MPI_Wait, MPI_Test", "#117733"),
    "barrier": ("MPI_Barrier", "#999933"),
    "alltoall": ("MPI_Alltoall", "#cc6677"),
    "bcast": ("MPI_Bcast", "#882255"),
    "gather": ("MPI_Gather", "#aa4499"),
    "global_reduce": ("MPI_Reduce, MPI_Allreduce", "#ddcc77"),
}
SECTIONS = {
    "beff": "b_eff",
    "randomaccess": "G-RandomAccess",
    "ptrans": "G-PTRANS",
    "fft": "G-FFT",
    "stream": "EP-STREAM",
    "dgemm": "EP-DGEMM",
}
KEYS = ["hardware", "mode", "section", "what"]


def summarise(profile: pd.DataFrame) -> pd.DataFrame:
    """Return one row per hardware setting, mode, section and pattern (`all` for all patterns together).

    A row has n, the mean share of the ranks' time with its 95 % interval, and the mean seconds per rank. It also has the least
    and the most calls of all ranks together.
    """
    rows = []
    for key, group in profile[profile["what"].isin(["all", *PATTERNS])].groupby(KEYS, sort=False):
        low, high = paper_tests.mean_interval(group["share"].to_numpy(float))
        rows.append(
            {
                **dict(zip(KEYS, key, strict=True)),
                "n": len(group),
                "share": group["share"].mean(),
                "share_low": low,
                "share_high": high,
                "seconds": group["seconds"].mean(),
                "calls_least": int(group["calls"].min()),
                "calls_most": int(group["calls"].max()),
            }
        )
    return pd.DataFrame(rows, columns=[*KEYS, "n", "share", "share_low", "share_high", "seconds", "calls_least", "calls_most"])


class Profile(Chart):
    """Bars of time: one panel per hardware setting and mode, one bar per benchmark; the coloured part is in MPI functions."""

    name = "profile"
    notebook = "why"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return summarise(data.tables["profile"])

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = cells.panels(summary, {"hardware": [], "mode": cells.MODES})
        size = (style.COLUMN_INCHES, 1.2 + 1.35 * len(panels))
        shape = {"squeeze": False, "layout": "constrained", "sharex": True}
        figure, axes = plt.subplots(len(panels), 1, figsize=size, **shape)
        for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
            _panel(axis, bars.only(summary, {"hardware": hardware, "mode": mode}))
            axis.set_title(cells.title(hardware, mode), loc="left")
        axes[-1, 0].set_xlabel("share of the ranks' time (%)")
        handles = [Patch(facecolor=colour, label=label) for label, colour in LOOK.values()]
        handles.append(bars.marks("95 % interval of the whole share")[0])
        style.legend_below(figure, handles, handlelength=1.2, columnspacing=1.0)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Share of the ranks' time inside MPI functions, bare metal, ranks pinned, from runs of their own with the "
            "profiling library; what is grey is spent outside them. Each bar is one section of HPC Challenge, with the "
            f"barrier before it. Numbers: the share in all functions, mean of {cells.sample_size(summary)} runs "
            f"{cells.planned_runs(data, summary)}; whiskers: its 95 % interval (Student's t). Profile {data.profile}."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        whole = summary[summary["what"] == "all"].sort_values("share")
        least, most = (
            f"{_section(row.section)}, {100 * row.share:.0f} % ({cells.title(row.hardware, row.mode)})"
            for row in whole.iloc[[0, -1]].itertuples()
        )
        spans = whole.groupby("section")["share"].agg(["min", "max"])
        widest = spans.loc[(spans["max"] - spans["min"]).idxmax()]
        return (
            f"{data.title}: share of the ranks' time inside MPI functions by benchmark. Most: {most}. Least: {least}. Differs "
            f"most between settings: {_section(widest.name)}, {100 * widest['min']:.0f} % to {100 * widest['max']:.0f} %."
        )


def _section(name: str) -> str:
    """Return the name of a section for people."""
    return SECTIONS.get(name, name)


def _panel(axis: Axes, part: pd.DataFrame) -> None:
    names = style.in_order(SECTIONS, part["section"])[::-1]
    for place, section in enumerate(names):
        own = part[part["section"] == section].set_index("what")
        axis.barh(place, 100, color="#eeeeee", height=0.72, zorder=1)
        left = 0.0
        for pattern, (_, colour) in LOOK.items():
            width = 100 * own["share"].get(pattern, 0.0)
            axis.barh(place, width, left=left, color=colour, height=0.72, zorder=2)
            left += width
        total = own.loc["all"]
        if pd.notna(total["share_low"]):
            error = [[100 * (total["share"] - total["share_low"])], [100 * (total["share_high"] - total["share"])]]
            axis.errorbar(left, place, xerr=error, color="black", linewidth=0.7, capsize=1.5, zorder=4)
        axis.text(101.5, place, f"{100 * total['share']:.0f} %", va="center", fontsize=style.SMALLEST)
    axis.set_yticks(range(len(names)), [SECTIONS.get(name, name) for name in names])
    axis.set_xlim(0, 115)
    axis.set_xticks(range(0, 101, 20))
    axis.grid(False)
    axis.tick_params(axis="y", length=0)


CHARTS = [Profile()]
