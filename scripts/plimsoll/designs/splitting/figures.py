"""What the notebooks of a splitting study's figures are told of its plan."""

from plimsoll.designs.splitting.factors import SIZES, SplittingPlan


def told(plan: SplittingPlan, study: dict, name: str) -> dict:
    """The cores of each socket, and where each cell's ranks go."""
    return {"sockets": plan["sockets"], "of_cell": (*SIZES, "places")}
