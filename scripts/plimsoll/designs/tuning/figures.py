"""What the notebooks of figures about tuning are told of the plan."""

from plimsoll.designs.tuning.run_tables import factors_of
from plimsoll.interchange import Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """The strategies' labels, and the factors of the experiment's design."""
    labels = {strategy: known["label"] for strategy, known in study["strategies"].items()}
    experiment = study["figures"][name]["experiment"]
    factors = factors_of(plan, experiment) if "factors" in study["experiments"][experiment] else []
    return {"of_cell": ("workers",), "labels": labels, "factors": factors}
