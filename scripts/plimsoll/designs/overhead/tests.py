"""Statistics of the paper, which makes no tests: means, standard deviations and overheads."""

from plimsoll.designs.overhead import statistics


def tests(study: dict, observations):
    """Return one row per metric and cell (`statistics.of_cells`)."""
    return statistics.of_cells(observations)
