"""Changes by strategy, in the place of tests: the paper makes none, and prints no number."""

from plimsoll.designs.tuning import statistics


def tests(study: dict, observations):
    """Return one row per metric, runtime and strategy (`statistics.changes`)."""
    return statistics.changes(observations)
