"""The paper's statistics, which are means and standard deviations. It makes no tests."""

from plimsoll.designs.nesting import statistics


def tests(study: dict, observations):
    """Return one row per metric and cell (`statistics.of_cells`)."""
    return statistics.of_cells(observations)
