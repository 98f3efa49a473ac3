"""Variance of the references by metric and level, and the iterations of a run that follow. Measures nothing.

It also prints how often comparisons differ from one session to the next by more than their blocks make one expect
(A/A).

All sessions of an archive count. The time of an iteration, and the time of a run besides its iterations, are those of
the reference.
"""

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from plimsoll import designs
from plimsoll.analysis import levels
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.config import studies
from plimsoll.config.studies import Study

from tests.bench.calibration import write
from tests.conftest import PROJECT

REFERENCES = PROJECT / "results/reference"
# The column that says how long an iteration takes, and the window of each run of the references (s).
SECONDS, WINDOW = "wall_seconds", 3.5
# Repetitions if the next level has no variance: the most that are practical.
UNLIMITED = 50


def main() -> None:
    """Print the levels of each study, and the iterations that its benchmarks should have; write the levels."""
    told = []
    for name in studies.names(studies.STUDIES):
        if (REFERENCES / name).is_dir():
            study = studies.load(name, designs.known())
            rows = pd.DataFrame(levels.describe(observations(study), factors(study), study.design.factors.OF_LEVELS))
            told.append(rows.assign(study=name))
            print(f"\n{name}\n{rows.round(3).to_string(index=False)}", flush=True)
    write(pd.concat(told).round(4), "levels")
    differ = pd.concat([group.assign(archive=archive) for archive, _, group in between_sessions()])
    for archive, group in differ.groupby("archive"):
        shares = ", ".join(f"{(group['p_sessions'] < level).mean():.1%} below {level}" for level in (0.05, 0.01))
        print(f"\n{archive}: p for sessions that differ, of {len(group)} comparisons: {shares}")
    for name in ("jha2021", "jha2018"):
        found = list(iterations(studies.load(name, designs.known())))
        print(f"\n{name}\n{pd.DataFrame(found).round(3).to_string(index=False)}\nenough: {enough(found)}")


def between_sessions() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield (archive, metric, comparisons with `p_sessions`) of every archive of the project that has several sessions."""
    for path in sorted([*REFERENCES.glob("*/reference-*.zip"), *(PROJECT / "docs/reports/evidence").glob("*.zip")]):
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if Path(member).name == "sessions.csv":
                    with archive.open(member) as file:
                        table = pd.read_csv(file).drop_duplicates(["metric", "metric_b", *CELL_COLUMNS])
                    for metric, group in table.dropna(subset="p_sessions").groupby("metric"):
                        yield path.stem, metric, group


def factors(study: Study) -> list[str]:
    """Return the columns that tell a study's cells apart."""
    return list(study.design.factors.FACTORS)


def observations(study: Study) -> pd.DataFrame:
    """Return what was observed in all sessions of a study's reference, numbered from the newest."""
    folder, text = REFERENCES / study["id"], dict.fromkeys(factors(study), str)
    tables = [pd.read_csv(folder / "observations.csv", dtype=text, keep_default_na=False, na_values=[""])]
    with zipfile.ZipFile(folder / f"reference-{study['id']}.zip") as archive:
        for member in archive.namelist():
            if member.startswith("results/sessions/") and Path(member).name == "observations.csv":
                with archive.open(member) as file:
                    tables.append(pd.read_csv(file, dtype=text, keep_default_na=False, na_values=[""]))
    table = pd.concat([one.assign(session=number) for number, one in enumerate(tables)], ignore_index=True)
    return study.design.readings.measuring(table)


def iterations(study: Study) -> Iterator[dict]:
    """Yield for each benchmark of pairs how many iterations a run should have, by metric.

    The variances are those of cells of pairs: of values in a run, and of a run's mean in its block. What all runs share
    is left out.
    """
    table = observations(study)
    pairs = table[table["case"] != "1"]
    runs = pd.read_csv(REFERENCES / study["id"] / "runs.csv", dtype=dict.fromkeys(factors(study), str))
    takes = runs.filter(like="_seconds").drop(columns="idle_seconds").sum(axis=1)[runs["case"] != "1"]
    beside = float(takes.mean()) - WINDOW
    for (benchmark, metric), group in pairs.groupby(["benchmark", "metric"]):
        found = {one.level: one for one in levels.components(levels.numbered(group, factors(study)))}
        if {"value", "block"} <= found.keys():
            seconds = float(group.drop_duplicates([*factors(study), "repetition", "place", "iteration"])[SECONDS].mean())
            value, block = found["value"], found["block"]
            yield {
                **{"benchmark": benchmark, "metric": metric, "iteration_s": round(seconds, 2), "beside_s": round(beside, 2)},
                **{"within": value.variance**0.5, "between": own(block) ** 0.5},
                "iterations": optimum(value, block, seconds, beside),
            }


def optimum(lower: levels.Component, higher: levels.Component, lower_seconds: float, higher_seconds: float) -> int:
    """Return how often a level is repeated within the next one (Kalibera and Jones 2013, equation of section 8).

    r_i = ceil(sqrt(c_{i+1} / c_i * T_i^2 / T_{i+1}^2)), with the seconds c of one repetition of each level and the
    variances of comparisons. The result is UNLIMITED if the next level has no variance.
    """
    if not own(higher):
        return UNLIMITED
    ratio = higher_seconds / lower_seconds * max(0.0, lower.variance) / own(higher)
    return min(UNLIMITED, max(1, math.ceil(math.sqrt(ratio) - 1e-9)))


def own(component: levels.Component) -> float:
    """Return the variance of a level that does not cancel in a comparison of two cells; not below 0."""
    return max(0.0, component.variance - max(0.0, component.shared))


def enough(found: list[dict]) -> dict[str, int]:
    """Return how many iterations suffice, by benchmark: for the metric that takes most.

    A metric that does not vary between runs would take as many as there is time for, and is ignored.
    """
    limited = [row for row in found if row["iterations"] < UNLIMITED]
    return {row["benchmark"]: row["iterations"] for row in sorted(limited, key=lambda row: row["iterations"])}


if __name__ == "__main__":
    main()
