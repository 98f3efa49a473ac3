"""liu2020's figure 1: where the time of each benchmark goes, by the MPI functions that its ranks are in."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll import statistics
from plimsoll.charts import bars, cells, style
from plimsoll.instruments.mpi import PATTERNS

# Point-to-point patterns in cold colours, collective ones in warm (Tol's muted set, safe for colour-blind readers).
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
    """One row a hardware setting, mode, section and pattern (`all` for all of them): mean share of the ranks' time with its
    95 % interval, mean seconds a rank, least and most calls of all ranks together, and n."""
    rows = []
    for key, group in profile[profile["what"].isin(["all", *PATTERNS])].groupby(KEYS, sort=False):
        low, high = statistics.mean_interval(group["share"].to_numpy(float))
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


def draw(summary: pd.DataFrame) -> Figure:
    """A panel a hardware setting and mode; in it a bar a benchmark, of which the coloured part is spent in MPI functions."""
    style.apply()
    present = set(summary[["hardware", "mode"]].itertuples(index=False, name=None))
    panels = [(h, mode) for h in sorted({p[0] for p in present}) for mode in cells.MODES if (h, mode) in present]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(style.COLUMN_INCHES, 1.1 + 1.35 * len(panels)),
        squeeze=False,
        layout="constrained",
        sharex=True,
    )
    for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
        _panel(axis, bars.only(summary, {"hardware": hardware, "mode": mode}))
        axis.set_title(f"{hardware.upper()}, {cells.MODES[mode]}", loc="left")
    axes[-1, 0].set_xlabel("share of the ranks' time (%)")
    handles = [Patch(facecolor=colour, label=label) for label, colour in LOOK.values()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handlelength=1.2, columnspacing=1.0)
    return figure


def _panel(axis: Axes, part: pd.DataFrame) -> None:
    names = [section for section in reversed(SECTIONS) if section in set(part["section"])]
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
        axis.text(101.5, place, f"{100 * total['share']:.3g} %", va="center", fontsize=6)
    axis.set_yticks(range(len(names)), [SECTIONS[name] for name in names])
    axis.set_xlim(0, 115)
    axis.set_xticks(range(0, 101, 20))
    axis.grid(False)
    axis.tick_params(axis="y", length=0)


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the bars, whiskers and numbers are, and how many runs there are."""
    return (
        "Share of the ranks' time inside MPI functions, bare metal, PIN, from runs of their own with the profiling library; "
        "what is grey is spent outside them. Each bar is one section of HPC Challenge, with the barrier before it. Numbers: "
        f"the share in all functions, mean of {cells.sample_size(summary)} runs ({plan['repetitions']} planned); whiskers: its "
        f"95 % interval (Student's t). Profile {plan['profile']}."
    ) + cells.not_measured(plan)
