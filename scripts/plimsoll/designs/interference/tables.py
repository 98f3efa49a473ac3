"""The kinds of tables of an interference study: those of jha2018 and jha2021, and which pairs may share a container.

Planning asks which kinds there are: what makes them is imported when it is needed.
"""

from plimsoll.analysis.tables import Asked, Kind


def operations(asked: Asked):
    """STREAM's operations, beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.operations(asked)


def versions(asked: Asked):
    """Versions of the microservices, beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.versions(asked)


def statistics(asked: Asked):
    """Statistics of the table's metrics, beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.statistics(asked.observations(), asked.study, asked.table)


def recommendation(asked: Asked):
    """Which pairs may share a container."""
    from plimsoll.designs.interference import run_tables

    return run_tables.recommendation(asked)


KINDS = {
    "operations": Kind(operations, frozenset()),
    "versions": Kind(versions, frozenset({"image"})),
    "statistics": Kind(statistics, frozenset({"runs"})),
    "recommendation": Kind(recommendation, frozenset({"runs"})),
}
