"""Measure in rounds until every comparison's interval is narrow enough. Each round starts the workflow again."""

from pathlib import Path

import pandas as pd

from plimsoll import paths
from plimsoll.analysis import independence
from plimsoll.errors import Incomplete
from plimsoll.measuring import failing_groups, plan_file
from plimsoll.planning import precision, repetitions
from plimsoll.terminal import interruption, snakemake_command
from plimsoll.terminal.live import call


def make(targets: list[str], settings: list[str]) -> None:
    """Start the workflow in the working directory for these targets. `settings` are the words after --config.

    Raise Incomplete if the workflow fails.
    """
    failing_groups.begin()
    command = snakemake_command.of_project(targets, settings)
    if interruption.run(command, {**paths.environment(), call.FOLLOWED: "1"}):
        raise Incomplete(
            "The workflow failed. Its messages are above. What was measured is kept: type the command again "
            "when the cause is removed."
        )


def reach(study: str, target: float, maximum: int, settings: list[str]) -> None:
    """Measure a study round after round. At the end results/<study>/precision.csv says which comparisons reached the
    target.

    `target` is the width of intervals, `maximum` the most repetitions of a cell. Raise Incomplete if the workflow
    fails.
    """
    folder = Path("results") / study
    while True:
        make([f"{folder}/claims.json", f"{folder}/tables/tests.csv"], settings)
        plan = plan_file.read(folder / "plan.json")
        now = {path: cell["repetitions"] for path, cell in plan["cells"].items() if cell["reason"] is None}
        compared = pd.read_csv(folder / "comparisons.csv")
        compared["degrees"] = independence.degrees(compared["n"])
        intervals = precision.widths(compared, _read(folder / "tables/tests.csv"))
        wanted = precision.next_repetitions(now, intervals, target, maximum)
        if wanted == now:
            break
        more = sum(wanted.values()) - sum(now.values())
        wide = (precision.cautious(intervals) > target).sum()
        print(
            f"plimsoll: {wide} of {len(intervals)} intervals are wider than {target:g}, or may well be: {more} more runs.",
            flush=True,
        )
        hours = repetitions.read_request(folder, plan["profile"]).hours
        repetitions.ask(folder, plan["profile"], repetitions.RequestedRepetitions(wanted, hours=hours))
    reached = intervals.assign(
        reached=precision.cautious(intervals) <= target, target=target, repetitions=intervals["a"].map(now)
    )
    reached.to_csv(folder / "precision.csv", index=False)
    count = reached["reached"].sum()
    print(f"plimsoll: {count} of {len(reached)} intervals are narrow enough ({target:g}); {folder}/precision.csv has each.")


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
