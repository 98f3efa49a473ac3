"""The data that the notebooks of an interference study's figures get from the plan."""

import json

from plimsoll import design, workloads
from plimsoll.designs.interference import cells, papers
from plimsoll.interchange import Plan


class Figures(design.Figures):
    """Data of the figures of an interference study."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return a figure's options from the plan: microservices, the metrics of each, and the papers' values.

        `of_cell` names the keys of each cell that the figure needs. `runtime` is the runtime that the charts show.
        """
        figure = study["figures"][name]
        experiment = study["experiments"][figure["experiment"]]
        described = workloads.describe(cells.parameters(plan))
        metrics = {metric: study["metrics"][metric] for metric in figure["metrics"]}
        printed = papers.printed_values(study)
        return {
            "of_cell": ("members",),
            "benchmarks": {name: described[name] for name in experiment["benchmark"] if name in described},
            "benchmark_of": {metric: own["benchmark"] for metric, own in metrics.items()},
            "paper": json.loads(printed[printed["metric"].isin(metrics)].to_json(orient="records")),
            # Charts show one runtime only: the study's first.
            "runtime": experiment["runtime"][0],
        }
