"""Kinds of tables of a study of tuning."""

from plimsoll import design
from plimsoll.analysis.tables import Kind


class Tables(design.Tables):
    """The strategies' settings, the paper's own table, what the cluster runs on, whether settings acted, and their effects."""

    KINDS = {
        "settings": Kind("run_tables.settings"),
        "printed": Kind("run_tables.printed"),
        "environment": Kind("run_tables.environment", {"image", "host"}),
        "acted": Kind("run_tables.acted", {"runs"}),
        "effects": Kind("run_tables.effects", {"runs"}),
    }
