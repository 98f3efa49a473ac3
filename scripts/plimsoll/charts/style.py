"""How every figure looks: one colour a runtime everywhere (Okabe and Ito's set, safe for colour-blind readers)."""

import textwrap

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

COLOURS = {
    "bare": "#4d4d4d",
    "docker": "#0072b2",
    "docker-ptrace": "#56b4e9",
    "singularity": "#009e73",
    "singularity-cgroup": "#cc79a7",
    "singularity-instance": "#e69f00",
}
# A second sign beside the colour, for prints in grey.
HATCHES = {
    "bare": "",
    "docker": "",
    "docker-ptrace": "..",
    "singularity": "//",
    "singularity-cgroup": "xx",
    "singularity-instance": "\\\\",
}
COLUMN_INCHES = 3.5


def apply() -> None:
    """Fonts that stay readable at column width, and text as text in PDFs."""
    mpl.rcParams.update(
        {
            "font.size": 7.5,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "legend.fontsize": 6.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.linewidth": 0.6,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "grid.linewidth": 0.4,
            "grid.color": "#d0d0d0",
            "hatch.linewidth": 0.4,
            "pdf.fonttype": 42,
            "savefig.bbox": "tight",
            "savefig.pad_inches": 0.03,
            "figure.dpi": 150,
        }
    )


def save(figure: Figure, stem: str) -> None:
    """Write <stem>.pdf and <stem>.png, without the moment of writing, so that the same data give the same file."""
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    figure.savefig(f"{stem}.png", dpi=300)


def statement(title: str, reason: str) -> Figure:
    """In place of a figure that this host cannot give: which, and why."""
    apply()
    figure = plt.figure(figsize=(COLUMN_INCHES, 1.2))
    text = f"{title}\n\n" + textwrap.fill(f"Not measured here: {reason}.", 62)
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=7.5)
    return figure
