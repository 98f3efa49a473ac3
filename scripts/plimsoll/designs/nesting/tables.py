"""The kinds of tables of a study of nesting.

Planning only asks which kinds there are. So the code that makes tables, and pandas with it, is imported when a table is
made.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def creation(request: TableRequest):
    """Return Table I: creation time by parents and children, ours beside the paper's."""
    from plimsoll.designs.nesting import run_tables

    return run_tables.creation(request)


def networks(request: TableRequest):
    """Return one of Tables II to V: throughput and latency between two runtimes, ours beside the paper's."""
    from plimsoll.designs.nesting import run_tables

    return run_tables.networks(request)


class Tables(design.Tables):
    """Kinds of tables of a study of nesting."""

    KINDS = {"creation": Kind(creation, frozenset({"runs"})), "networks": Kind(networks, frozenset({"runs"}))}
