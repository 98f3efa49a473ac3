"""The paper makes no tests: its statistics are means, standard deviations and overheads."""

from plimsoll.designs.overhead import statistics


def tests(study: dict, observations):
    """One row per metric and cell (`statistics.of_cells`)."""
    return statistics.of_cells(observations)
