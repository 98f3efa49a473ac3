"""Kinds of tables of a study of tuning.

Planning needs only the list of kinds, so each function imports what makes its table.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def settings(asked: TableRequest):
    """Return the strategies' settings, with the paper's."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.settings(asked)


def printed(asked: TableRequest):
    """Return the paper's own table."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.printed(asked)


def environment(asked: TableRequest):
    """Return what the cluster runs on, with the paper's values."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.environment(asked)


def acted(asked: TableRequest):
    """Return whether settings acted: what the daemons served, and what the jobs counted."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.acted(asked)


def effects(asked: TableRequest):
    """Return the main effects and interactions of a factorial design."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.effects(asked)


class Tables(design.Tables):
    """Kinds of tables of a study of tuning."""

    KINDS = {
        "settings": Kind(settings, frozenset()),
        "printed": Kind(printed, frozenset()),
        "environment": Kind(environment, frozenset({"image", "host"})),
        "acted": Kind(acted, frozenset({"runs"})),
        "effects": Kind(effects, frozenset({"runs"})),
    }
