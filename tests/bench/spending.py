"""What hours of measuring decide of a study: both stages, on runs that are drawn from its reference measurements.

A drawn run of a cell is one of the reference's runs of it. Its deviation from their mean is stretched, because the mean
of five runs makes it too small. No neighbour disturbs it. What is true of the drawn study is therefore what the
reference estimates. The numbers say what hours would decide on a machine like that of the reference, and not what is
true. Measures nothing.
"""

import math

import numpy as np
import pandas as pd
import yaml
from plimsoll import designs, paths
from plimsoll.analysis import cell_paths, collect
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.features.time_budget import costs, needs, study_state, two_stages
from plimsoll.interchange import Plan
from plimsoll.planning import planner

from tests.conftest import PROJECT, small

STUDIES = ("jha2021", "jha2018", "liu2020")
HOURS = (0.15, 0.67, 1.0, 2.0)
DRAWS = 2
# Time from the end of a run to the start of the next one (s).
BETWEEN = 0.16


class Drawn:
    """Runs that are drawn from those of a study's reference measurements."""

    def __init__(self, study: Study, plan: Plan, seed: int):
        self.study, self.plan, self.seed = study, plan, seed
        folder = paths.PROJECT / "results/reference" / study["id"]
        observations, runs = (collect.table(folder / name, plan["factors"]) for name in ("observations.csv", "runs.csv"))
        self.observations = {path: _spread_out(group) for path, group in _by_cell(observations, plan)}
        self.runs = dict(iter(_by_cell(runs.assign(attempts=1), plan)))

    def measured(self, blocks: dict[str, int]) -> study_state.StudyState:
        """Return what is judged with so many blocks of each cell."""
        observed, made = [], []
        for path, number in blocks.items():
            runs = self.runs[path].sort_values("repetition")
            for block in range(1, number + 1):
                chosen = np.random.default_rng([self.seed, *path.encode(), block]).integers(len(runs))
                row = runs.iloc[[chosen]]
                made.append(row.assign(repetition=block, place=block))
                of_run = self.observations[path]
                observed.append(of_run[of_run["repetition"] == row["repetition"].iloc[0]].assign(repetition=block, block=block))
        table = pd.concat(made).sort_values("place", kind="stable")
        seconds = table.filter(like="_seconds").sum(axis=1) + BETWEEN
        return study_state.of_tables(
            self.study, _planned(self.plan, blocks), pd.concat(observed), table.assign(started=seconds.cumsum() - seconds)
        )


def _by_cell(table: pd.DataFrame, plan: Plan):
    known = table.assign(path=cell_paths.of_table(table, plan["factors"]))
    return known[known["path"].isin(set(plan["cells"]))].groupby("path")


def _spread_out(of_cell: pd.DataFrame) -> pd.DataFrame:
    """Return the observations of a cell, stretched so that its runs deviate from their mean as much as new ones would."""
    number = of_cell["repetition"].nunique()
    wider = math.sqrt(number / max(1, number - 1))
    logs = np.log(of_cell["value"].clip(lower=1e-9))
    keys = [key for key in ("metric", "benchmark", "co_runner") if key in of_cell]
    of_run = logs.groupby([of_cell[key] for key in (*keys, "repetition")]).transform("mean")
    middle = of_run.groupby([of_cell[key] for key in keys]).transform("mean")
    return of_cell.assign(value=of_cell["value"] * np.exp((wider - 1) * (of_run - middle)))


def _planned(plan: Plan, blocks: dict[str, int]) -> Plan:
    cells = {
        path: {**cell, "repetitions": blocks.get(path, 0) * cell.get("per_block", 1) if cell["reason"] is None else 0}
        for path, cell in plan["cells"].items()
    }
    return {**plan, "cells": cells}


def plan_of(study: Study) -> Plan:
    """Return the study's plan for the host of the reference, with the baseline once in a block, as it was measured."""
    config = {**yaml.safe_load((PROJECT / "config/config.yaml").read_text()), "profile": "quick"}
    return planner.make(study, {**studies.profile("quick"), "baseline": "once"}, small(), config, {})


def main() -> None:
    """Print what each number of hours decides."""
    for name in STUDIES:
        study = studies.load(name, designs.known())
        plan = plan_of(study)
        other = study_state.reference(study, plan)
        print(f"{name}: {_said(other)} in the reference itself")
        for given in HOURS:
            spent = [_spend(Drawn(study, plan, seed), given, other) for seed in range(DRAWS)]
            print(f"  {given:5.2f} h: " + "; ".join(spent), flush=True)


def _said(judged: study_state.StudyState) -> str:
    decided, testable = needs.decided_counts(judged.results)
    ratios = f"{judged.answered} of {len(judged.ratios)} ratios"
    return f"{ratios} and {decided} of {testable} claims"


def _spend(drawn: Drawn, given: float, other: study_state.StudyState) -> str:
    first = two_stages.first_stage(drawn.study, drawn.plan, given * 3600)
    begun = drawn.measured(first)
    blocks, _, _ = two_stages.second_stage(begun, other, given, 0.0)
    judged = drawn.measured({path: number for path, number in blocks.items() if number})
    took = costs.of_plan(judged.plan, judged.runs).seconds(two_stages.blocks_of(judged.plan)) / 3600
    return f"{_said(begun)}, then {_said(judged)} ({took:.2f} h)"


if __name__ == "__main__":
    main()
