"""Options that a splitting study's plan adds to its figures."""

from pathlib import Path

from plimsoll import design
from plimsoll.designs.splitting import profiles
from plimsoll.designs.splitting.factors import Factors, SplittingPlan


class Figures(design.Figures):
    """Data of the figures of a splitting study."""

    def figure_options(self, plan: SplittingPlan, study: dict, name: str) -> dict:
        """Return the cores of each socket, and the keys of each cell that its figures need: sizes and places."""
        return {"sockets": plan["sockets"], "of_cell": (*Factors.SIZES, "places")}

    def figure_tables(self, study: dict, plan: SplittingPlan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
        """Return the functions of each run's MPI profile as the table `profile`, if the figure is made from such runs."""
        experiment = study["experiments"][study["figures"][name]["experiment"]]
        return {"profile": profiles.gather(folder, plan, runs)} if experiment.get("instrument") == "mpi" else {}
