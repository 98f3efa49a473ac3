"""Kinds of tables of a study of overhead.

Planning needs only the list of kinds, so each function imports what makes its table.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def versions(request: TableRequest):
    """Return the versions of the benchmarks, with the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.versions(request)


def described(request: TableRequest):
    """Return what each benchmark of HardInfo does, in the paper's words, and its unit here."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.described(request)


def means(request: TableRequest):
    """Return means and standard deviations by runtime, with the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.means(request)


def scores(request: TableRequest):
    """Return standardised scores by runtime, with the paper's."""
    from plimsoll.designs.overhead import run_tables

    return run_tables.scores(request)


class Tables(design.Tables):
    """Kinds of tables of a study of overhead."""

    KINDS = {
        "versions": Kind(versions, frozenset({"image"})),
        "described": Kind(described, frozenset()),
        "means": Kind(means, frozenset({"runs"})),
        "scores": Kind(scores, frozenset({"runs"})),
    }
