"""Kinds of tables of an interference study: those of jha2018 and jha2021, and which pairs may share a container."""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def statistics(request: TableRequest):
    """Return the statistics of the table's metrics, ours beside the paper's."""
    from plimsoll.designs.interference import run_tables

    return run_tables.statistics(request.observations(), request.study, request.table)


class Tables(design.Tables):
    """STREAM's operations, versions of the microservices, statistics of metrics, and recommended pairs."""

    KINDS = {
        "operations": Kind("run_tables.operations"),
        "versions": Kind("run_tables.versions", {"image"}),
        "statistics": Kind("tables.statistics", {"runs"}),
        "recommendation": Kind("run_tables.recommendation", {"runs"}),
    }
