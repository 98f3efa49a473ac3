"""What the notebooks of an interference study's figures are told of its plan."""

import json

from plimsoll import workloads
from plimsoll.designs.interference import cells, papers
from plimsoll.interchange import Plan


def told(plan: Plan, study: dict, name: str) -> dict:
    """The microservices, which metrics are whose, and what the papers print of them."""
    figure = study["figures"][name]
    experiment = study["experiments"][figure["experiment"]]
    described = workloads.described(cells.parameters(plan))
    metrics = {metric: study["metrics"][metric] for metric in figure["metrics"]}
    printed = papers.printed(study)
    return {
        "of_cell": ("members",),
        "benchmarks": {name: described[name] for name in experiment["benchmark"] if name in described},
        "benchmark_of": {metric: own["benchmark"] for metric, own in metrics.items()},
        "paper": json.loads(printed[printed["metric"].isin(metrics)].to_json(orient="records")),
        # Charts show the first of the study's runtimes.
        "runtime": experiment["runtime"][0],
    }
