"""Time for statistics and verdicts of a hundred thousand observations."""

import time

import numpy as np
import pandas as pd
import yaml
from plimsoll import designs
from plimsoll.analysis import drift
from plimsoll.claims import book, evaluate
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.designs.splitting import tests
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.planning import planner

from tests.conftest import PROJECT, host_of

OBSERVATIONS = 100_000


def main() -> None:
    """Print the seconds that the tests, the verdicts and the description of the machine's behaviour take."""
    loaded = studies.load("liu2020", designs.known())
    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    made = planner.make(loaded, studies.profile("paper"), host_of(2, 18), {**config, "profile": "paper"}, {})
    observations = pretended(made, loaded)
    runs = observations.drop_duplicates(["repetition", *OF_DEPLOYMENT, "section"]).assign(status="valid", transport="TCP")
    print(f"{len(observations)} observations of {len(made['cells'])} cells")
    whole = time.perf_counter()
    for name, stage in (
        (
            "tests of section 4.3",
            lambda: tests.of_cells(observations, loaded["baseline"], 0.05, {"docker-ptrace": "docker"}),
        ),
        (
            "verdicts",
            lambda: evaluate.evaluate(book.load("liu2020"), StudyObservations(loaded, made, observations, runs), 0.05),
        ),
        ("behaviour of the machine", lambda: drift.describe(observations, [*OF_DEPLOYMENT, "section"])),
    ):
        begun = time.perf_counter()
        stage()
        print(f"  {name:<28} {time.perf_counter() - begun:6.1f} s")
    print(f"  {'all':<28} {time.perf_counter() - whole:6.1f} s")


def pretended(made: dict, loaded: dict) -> pd.DataFrame:
    """Return random observations of every cell of a plan, with enough repetitions for OBSERVATIONS rows."""
    random = np.random.default_rng(1)
    keys = [
        {
            **{k: cell[k] for k in (*OF_DEPLOYMENT, "section", "containers", "cores")},
            "metric": name,
            **{k: m[k] for k in ("label", "unit", "better")},
        }
        for cell in made["cells"].values()
        if cell["reason"] is None
        for name, m in loaded["metrics"].items()
        if m["section"] == cell["section"]
        and m.get("sizes", cell["sizes"]) == cell["sizes"]
        and m["instrument"] == cell["instrument"]
    ]
    repetitions = -(-OBSERVATIONS // len(keys))
    table = pd.DataFrame(keys).merge(pd.DataFrame({"repetition": range(1, repetitions + 1)}), how="cross")
    values = random.lognormal(0, 0.05, len(table))
    return table.assign(value=values, censored=False, started=np.arange(len(table)) * 2.0)


if __name__ == "__main__":
    main()
