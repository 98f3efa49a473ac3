"""Options of the figures of a study of a program."""

from plimsoll import design
from plimsoll.designs.program.factors import FIRST, HOST
from plimsoll.interchange import Plan


class Figures(design.Figures):
    """Data of the figures of a study of a program."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return the runtime that all others are compared with, in words."""
        return {"of_cell": (), "baseline": study["answer"]["baseline"]["runtime"][0], "stage": FIRST, "host": HOST}
