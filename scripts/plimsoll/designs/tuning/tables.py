"""Kinds of tables of a study of tuning.

Planning needs only the list of kinds, so each function imports what makes its table.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def settings(request: TableRequest):
    """Return the strategies' settings, with the paper's."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.settings(request)


def printed(request: TableRequest):
    """Return the paper's own table."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.printed(request)


def environment(request: TableRequest):
    """Return what the cluster runs on, with the paper's values."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.environment(request)


def acted(request: TableRequest):
    """Return whether settings acted: what the daemons served, and what the jobs counted."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.acted(request)


def effects(request: TableRequest):
    """Return the main effects and interactions of a factorial design."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.effects(request)


class Tables(design.Tables):
    """Kinds of tables of a study of tuning."""

    KINDS = {
        "settings": Kind(settings, frozenset()),
        "printed": Kind(printed, frozenset()),
        "environment": Kind(environment, frozenset({"image", "host"})),
        "acted": Kind(acted, frozenset({"runs"})),
        "effects": Kind(effects, frozenset({"runs"})),
    }
