"""The kinds of tables of a study of tuning.

Planning asks which kinds there are: what makes them is imported when it is needed.
"""

from plimsoll.analysis.tables import Asked, Kind


def settings(asked: Asked):
    """The strategies' settings, beside the paper's."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.settings(asked)


def printed(asked: Asked):
    """The paper's own table."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.printed(asked)


def environment(asked: Asked):
    """What runs, beside the paper's."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.environment(asked)


def acted(asked: Asked):
    """Whether settings acted: what the daemons served, and what the jobs counted."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.acted(asked)


def effects(asked: Asked):
    """Main effects and interactions of a factorial design."""
    from plimsoll.designs.tuning import run_tables

    return run_tables.effects(asked)


KINDS = {
    "settings": Kind(settings, frozenset()),
    "printed": Kind(printed, frozenset()),
    "environment": Kind(environment, frozenset({"image", "host"})),
    "acted": Kind(acted, frozenset({"runs"})),
    "effects": Kind(effects, frozenset({"runs"})),
}
