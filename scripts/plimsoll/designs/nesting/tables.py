"""Kinds of tables of a study of nesting."""

from plimsoll import design
from plimsoll.analysis.tables import Kind


class Tables(design.Tables):
    """Table I (creation time by parents and children), and Tables II to V (throughput and latency between two runtimes)."""

    KINDS = {"creation": Kind("run_tables.creation", {"runs"}), "networks": Kind("run_tables.networks", {"runs"})}
