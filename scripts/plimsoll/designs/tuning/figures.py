"""Options that a tuning study's plan adds to its figures."""

from plimsoll.designs.tuning.run_tables import factors_of
from plimsoll.interchange import Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """Return the strategies' labels, the factors of the experiment's factorial design, and the cell keys of its figures."""
    labels = {strategy: known["label"] for strategy, known in study["strategies"].items()}
    experiment = study["figures"][name]["experiment"]
    factors = factors_of(plan, experiment) if "factors" in study["experiments"][experiment] else []
    return {"of_cell": ("workers",), "labels": labels, "factors": factors}
