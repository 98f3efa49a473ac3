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
    """Measures cells of liu2020 outside the workflow, one after another, each run through the workflow's own code."""

    def __init__(self, folder: Path, profile: str = "quick"):
        config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
        self.study = studies.load("liu2020", designs.known())
        self.plan = planner.make(self.study, studies.profile(profile), inventory.here(), {**config, "profile": profile}, {})
        self.folder, self.number, self.last = folder, 0, {}
        (folder / "plan.json").write_text(json.dumps(self.plan))
        (folder / "image.json").write_text(json.dumps(builder.build("hpcc", "bootstrap")))

    def run(self, cell: str, environment: Environment | None = None) -> dict[str, float] | None:
        """Values of the cell's metrics from one run, None if it gave none; `environment` starts it in place of the
        cell's."""
        self.number += 1
        target = self.folder / f"{self.number}.json"
        with mock.patch("plimsoll.environments.find", (lambda name: environment) if environment else environments.find):
            found = measure.measure(self.folder / "plan.json", cell, 1, target, self.folder / "image.json")
        self.last = found
        if found["status"] != "valid":
            return None
        section = self.plan["cells"][cell]["section"]
        metrics = {
            name: m
            for name, m in self.study["metrics"].items()
            if m["section"] == section and "sizes" not in m and m["instrument"] == "plain"
        }
        return {name: sum(found["values"][source] for source in metric["source"]) for name, metric in metrics.items()}
