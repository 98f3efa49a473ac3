"""The kinds of tables of a study of overhead.

Planning asks which kinds there are: what makes them is imported when it is needed.
"""

from plimsoll.analysis.tables import Asked, Kind


def versions(asked: Asked):
    """Versions of the benchmarks, beside the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.versions(asked)


def described(asked: Asked):
    """What each benchmark of HardInfo does, in the paper's words, and its unit here."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.described(asked)


def means(asked: Asked):
    """Means and standard deviations by environment, beside the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.means(asked)


def scores(asked: Asked):
    """Standardised scores by environment, beside the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.scores(asked)


KINDS = {
    "versions": Kind(versions, frozenset({"image"})),
    "described": Kind(described, frozenset()),
    "means": Kind(means, frozenset({"runs"})),
    "scores": Kind(scores, frozenset({"runs"})),
}
