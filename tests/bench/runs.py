"""Real runs for the benches that need many of one cell."""

import json
from pathlib import Path
from unittest import mock

import yaml
from plimsoll import designs, environments, measure
from plimsoll.config import studies
from plimsoll.environments.base import Environment
from plimsoll.host import inventory
from plimsoll.images import builder
from plimsoll.planning import planner

from tests.conftest import PROJECT


class Runner:
    """Measures cells of a study outside the workflow, one after another, each run through the workflow's own code."""

    def __init__(self, folder: Path, profile: str = "quick", study: str = "liu2020"):
        config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
        self.study = studies.load(study, designs.known())
        self.plan = planner.make(self.study, studies.profile(profile), inventory.here(), {**config, "profile": profile}, {})
        self.folder, self.number, self.last = folder, 0, {}
        (folder / "plan.json").write_text(json.dumps(self.plan))
        self.image = builder.build(self.study["image"], "bootstrap")
        (folder / "image.json").write_text(json.dumps(self.image))

    def measured(self, cell: str, environment: Environment | None = None) -> dict | None:
        """Values of one run, None if it is not valid; `environment` starts it in place of the cell's."""
        self.number += 1
        target = self.folder / f"{self.number}.json"
        with mock.patch("plimsoll.environments.find", (lambda name: environment) if environment else environments.find):
            found = measure.measure(self.folder / "plan.json", cell, 1, target, self.folder / "image.json")
        self.last = found
        return found["values"] if found["status"] == "valid" else None

    def run(self, cell: str, environment: Environment | None = None) -> dict[str, float] | None:
        """Values of the cell's metrics from one run, as `measured`; of studies of splitting."""
        values = self.measured(cell, environment)
        return None if values is None else self.values(cell, values)

    def values(self, cell: str, values: dict) -> dict[str, float]:
        """Values of the cell's metrics from what its run printed."""
        section = self.plan["cells"][cell]["section"]
        metrics = {
            name: m
            for name, m in self.study["metrics"].items()
            if m["section"] == section and "sizes" not in m and m["instrument"] == "plain"
        }
        return {name: sum(values[source] for source in metric["source"]) for name, metric in metrics.items()}
