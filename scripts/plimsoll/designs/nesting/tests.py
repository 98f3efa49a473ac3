"""The paper makes no tests: its statistics are means and standard deviations."""

from plimsoll.designs.nesting import statistics


def tests(study: dict, observations):
    """One row per metric and cell (`statistics.of_cells`)."""
    return statistics.of_cells(observations)
