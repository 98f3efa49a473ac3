"""Real runs for the benches that need many of one cell."""

import json
from pathlib import Path
from unittest import mock

import pandas as pd
import yaml
from plimsoll import designs, measure, runtimes
from plimsoll.config import studies
from plimsoll.host import inventory
from plimsoll.images import builder
from plimsoll.measuring import status
from plimsoll.planning import planner
from plimsoll.runtimes.base import Runtime

from tests.conftest import PROJECT


class Runner:
    """Measures cells of a study outside the workflow, one after another, each run through the workflow's own code."""

    def __init__(self, folder: Path, profile: str = "quick", study: str = "liu2020"):
        self.study, self.profile = studies.load(study, designs.known()), profile
        self.plan = self.planned()
        self.folder, self.number, self.last = folder, 0, {}
        self.limit()
        self.image = builder.build(self.study["image"], "bootstrap")
        (folder / "image.json").write_text(json.dumps(self.image))

    def planned(self, **may: bool) -> dict:
        """Return the study's plan for this machine. `may` is what this user, or another one, may do
        (plimsoll.host.inventory)."""
        config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
        host = {**inventory.here(), **may}
        return planner.make(self.study, studies.profile(self.profile), host, {**config, "profile": self.profile}, {})

    def limit(self, **limits: object) -> None:
        """Write the plan, with other limits of runs than the profile's."""
        self.plan["limits"].update(limits)
        (self.folder / "plan.json").write_text(json.dumps(self.plan))

    def measured(self, cell: str, runtime: Runtime | None = None) -> dict | None:
        """Return the values of one run, or None if it is not valid. `environment` starts it in place of the cell's runtime."""
        self.number += 1
        target = self.folder / f"{self.number}.json"
        with mock.patch("plimsoll.runtimes.find", (lambda name: runtime) if runtime else runtimes.find):
            found = measure.measure(self.folder / "plan.json", cell, 1, target, self.folder / "image.json")
        self.last = found
        return found.get("values") if found["status"] == status.VALID else None

    def run(self, cell: str, runtime: Runtime | None = None) -> dict[str, float] | None:
        """Return the mean of each metric over one run's observations, or None if it is not valid; `environment` as in
        `measured`."""
        self.measured(cell, runtime)
        return self.values(self.last) if self.last["status"] == status.VALID else None

    def values(self, record: dict) -> dict[str, float]:
        """Return the mean of each metric over a record's observations."""
        rows = self.study.design.readings.observations(self.study, record["cell"], record)
        return pd.DataFrame(rows).groupby("metric", sort=False)["value"].mean().to_dict()
