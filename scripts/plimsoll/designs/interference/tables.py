"""The kinds of tables of an interference study: those of jha2018 and jha2021, and which pairs may share a container.

Planning only asks which kinds there are. So the code that makes tables, and pandas with it, is imported when a table is
made.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def operations(request: TableRequest):
    """Return the table of STREAM's operations, ours beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.operations(request)


def versions(request: TableRequest):
    """Return the table of the microservices' versions, ours beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.versions(request)


def statistics(request: TableRequest):
    """Return the statistics of the table's metrics, ours beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.statistics(request.observations(), request.study, request.table)


def recommendation(request: TableRequest):
    """Return the table of pairs of microservices that may share a container."""
    from plimsoll.designs.interference import run_tables

    return run_tables.recommendation(request)


class Tables(design.Tables):
    """Kinds of tables of an interference study."""

    KINDS = {
        "operations": Kind(operations, frozenset()),
        "versions": Kind(versions, frozenset({"image"})),
        "statistics": Kind(statistics, frozenset({"runs"})),
        "recommendation": Kind(recommendation, frozenset({"runs"})),
    }
