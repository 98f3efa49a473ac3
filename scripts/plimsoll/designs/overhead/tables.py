"""Kinds of tables of a study of overhead."""

from plimsoll import design
from plimsoll.analysis.tables import Kind


class Tables(design.Tables):
    """Versions of the benchmarks, what each of them does, and their means and scores by runtime."""

    KINDS = {
        "versions": Kind("run_tables.versions", {"image"}),
        "described": Kind("run_tables.described"),
        "means": Kind("run_tables.means", {"runs"}),
        "scores": Kind("run_tables.scores", {"runs"}),
    }
