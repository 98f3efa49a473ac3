"""The kinds of tables of a study of nesting.

Planning asks which kinds there are: what makes them is imported when it is needed.
"""

from plimsoll.analysis.tables import Asked, Kind


def creation(asked: Asked):
    """Table I: creation by parents and children, beside the paper's."""
    from plimsoll.designs.nesting import run_tables

    return run_tables.creation(asked)


def networks(asked: Asked):
    """Tables II to V: throughput and latency between environments, beside the paper's."""
    from plimsoll.designs.nesting import run_tables

    return run_tables.networks(asked)


KINDS = {"creation": Kind(creation, frozenset({"runs"})), "networks": Kind(networks, frozenset({"runs"}))}
