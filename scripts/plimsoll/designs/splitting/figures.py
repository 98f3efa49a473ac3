"""Options that a splitting study's plan adds to its figures."""

from plimsoll.designs.splitting.factors import SIZES, SplittingPlan


def told(plan: SplittingPlan, study: dict, name: str) -> dict:
    """Return the cores of each socket, and the keys of each cell that its figures need: sizes and places."""
    return {"sockets": plan["sockets"], "of_cell": (*SIZES, "places")}
