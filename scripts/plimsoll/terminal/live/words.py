"""Names of jobs, for people: runs by their cells, and other jobs by their rules."""

from collections.abc import Mapping
from typing import NamedTuple

from plimsoll.config.studies import Study
from plimsoll.interchange import Cell

MEASURE, BUNDLE = "measure", "bundle"
# Rules whose jobs are no steps: runs are counted in place of the first one's, and the others do nothing.
UNCOUNTED = (MEASURE, BUNDLE, "all", "measurements", "plan")
MEASURING, PREPARING, WRITING, WAITING = "measuring", "preparing", "writing", "waiting"


class Stage(NamedTuple):
    """What a rule's job does, in words with the job's wildcards.

    `seconds` is how long one takes on an ordinary machine. It is used until one of them has ended.
    """

    words: str
    seconds: float
    phase: str = WRITING


STAGES = {
    "image": Stage("building the image {image}", 60, PREPARING),
    "runtimes": Stage("trying the runtimes", 15, PREPARING),
    "host": Stage("describing this machine", 2, PREPARING),
    "sbom": Stage("listing the packages of the image {image}", 5, PREPARING),
    "write_plan": Stage("writing the plan of {study}", 2, PREPARING),
    "collect": Stage("collecting the records of {study}", 4),
    "tests": Stage("testing {study}", 4),
    "variance": Stage("finding where {study} varies", 4),
    "table": Stage("table {table} of {study}", 1),
    "claims": Stage("judging the claims of {study}", 8),
    "sessions": Stage("joining the sessions of {study}", 4),
    "figure": Stage("{figure} of {study}", 1),
    "report": Stage("the report of {study}", 8),
    "verdicts": Stage("the page of claims", 5),
    "complete": Stage("checking that every cell of {study} has a run", 2),
}
# What is made of a study after its last stage of measuring, besides its figures and tables.
PAGES = ("collect", "tests", "variance", "claims", "sessions", "report", "verdicts", "complete")


def own(rule: str) -> str:
    """Return the project's name of a rule. A workflow with this one as a module puts its own word before it."""
    known = [name for name in (*UNCOUNTED, *STAGES) if rule == name or rule.endswith(f"_{name}")]
    return max(known, key=len, default=rule)


def of_job(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return what a job does. A rule without words here is called by its name."""
    if rule in STAGES:
        return STAGES[rule].words.format_map(wildcards)
    return " ".join([rule.replace("_", " "), *wildcards.values()])


def phase(rule: str) -> str:
    """Return what the jobs of a rule are for."""
    return MEASURING if rule == MEASURE else STAGES[rule].phase if rule in STAGES else WRITING


def of_cell(study: Study, cell: Cell) -> str:
    """Return the name of a cell: where it runs, its section if it has one, and what else makes it different.

    What matters most comes first, because a narrow terminal shows only the beginning.
    """
    whole = study.design.report.cell_label(cell["path"], {})
    if not (section := cell.get("section")):
        return whole
    where = study.design.report.row({}, cell["path"])
    return f"{where}, {_section(study, section)}{whole.removeprefix(where)}"


def _section(study: Study, section: str) -> str:
    """Return the name of a section: the word with which the labels of its metrics begin."""
    labels = (metric["label"] for metric in study["metrics"].values() if metric.get("section") == section)
    return next((label.split()[0] for label in labels), section)
