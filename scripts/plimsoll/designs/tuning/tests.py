"""The paper makes no tests, and prints no number: what strategies change, with intervals, and a factorial's effects."""

from plimsoll.designs.tuning import statistics


def tests(study: dict, observations):
    """One row per metric and strategy (`statistics.changes`)."""
    return statistics.changes(observations)
