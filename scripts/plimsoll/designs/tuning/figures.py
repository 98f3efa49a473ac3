"""Options that a tuning study's plan adds to its figures."""

from plimsoll import design
from plimsoll.designs.tuning.run_tables import factors_of
from plimsoll.interchange import Plan


class Figures(design.Figures):
    """Data of the figures of a study of tuning."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return the strategies' labels, the factors of the experiment's factorial design, and the cell keys of its figures."""
        labels = {strategy: known["label"] for strategy, known in study["strategies"].items()}
        experiment = study["figures"][name]["experiment"]
        factors = factors_of(plan, experiment) if "factors" in study["experiments"][experiment] else []
        return {"of_cell": ("workers",), "labels": labels, "factors": factors}
