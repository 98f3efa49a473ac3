"""List what can be made, each with its state on this machine and the command that makes it.

The functions are pure: they use plans, and lists of what exists.
"""

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from plimsoll import spelling
from plimsoll.analysis.tables import of_runs
from plimsoll.config import studies
from plimsoll.errors import Unavailable
from plimsoll.interchange import Plan
from plimsoll.measuring import status
from plimsoll.planning import availability
from plimsoll.terminal import measured_runs, request

Run = tuple[str, int]
GAP = 2
# Options of textwrap: names are never broken.
WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
# With less room than this, the last column goes below the line.
LAST = 30
COMMAND = "snakemake -c1 ..."
# The profile of config/config.yaml.
USUAL_PROFILE = "quick"
DONE, MADE, MISSING, LEFT_OUT, OFF = "measured", "made", "missing", "left out", "off"
COLUMNS = (DONE, LEFT_OUT)


class Section(NamedTuple):
    """A table of things of one kind: the head of each column, and one row of texts per thing.

    The first head names the kind.
    """

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Runtime(NamedTuple):
    """What is known of a runtime.

    `wish` is `required`, `optional` or `off`. `version` is its version, and `reason` says why it does not work.
    """

    wish: str
    version: str = ""
    reason: str = ""


@dataclass
class Reasons:
    """Reasons in the order in which they were met, each with a number that stands for it."""

    numbers: dict[str, int] = field(default_factory=dict)

    def mark(self, cells: Iterable[dict]) -> str:
        """Return the number of cells that are not measured here, with the numbers of their reasons; empty if all are."""
        reasons = [unavailable.reason for cell in cells if (unavailable := availability.cell(cell))]
        return f"{len(reasons)} {self.of(reasons)}" if reasons else ""

    def of(self, reasons: Iterable[str]) -> str:
        """Return the numbers of reasons, in brackets. A reason that is met for the first time gets a new number."""
        numbers = sorted({self.numbers.setdefault(reason, len(self.numbers) + 1) for reason in reasons})
        return f"[{','.join(map(str, numbers))}]"


class State(NamedTuple):
    """How far some cells are measured.

    - `cells`: those that can be measured here; `measured`: those of them that have a run that counts.
    - `runs`: planned runs; `counted`: those that count; `left`: those that the next start measures.
    """

    cells: int
    measured: int
    runs: int
    counted: int
    left: int

    @property
    def words(self) -> str:
        """Return the state in words. Cells are counted, because all planned runs may be those of a few cells.

        Runs are counted once every cell has one that counts.
        """
        if self.left == self.runs:
            return MISSING
        if self.measured < self.cells:
            words = f"{self.measured} of {self.cells} cells"
        else:
            words = f"{self.counted} of {self.runs} runs" if self.left else DONE
        invalid = self.runs - self.left - self.counted
        return f"{words}, {invalid} invalid" if invalid else words


def state(cells: Iterable[dict], runs: Iterable[Run], there: dict[Run, str]) -> State:
    """Return how far cells are measured, of which these runs are planned.

    `there` has the standing of each run that has a record (plimsoll.terminal.measured_runs).
    """
    runs, here = list(runs), {cell["path"] for cell in cells if cell["reason"] is None}
    counted = [run for run in runs if there.get(run) in status.COUNTED]
    left = sum(there.get(run) in measured_runs.LEFT for run in runs)
    return State(len(here), len(here & {cell for cell, _ in counted}), len(runs), len(counted), left)


def of_study(study: dict, plan: Plan, there: dict[Run, str], made: set[str]) -> list[Section]:
    """Return the experiments, instruments, figures and tables of a study, and the reasons for what is unavailable here.

    `there` has the standings of its runs. `made` has the paths below its results that exist, such as figures/fig09.pdf.
    """
    reasons = Reasons()
    outcomes = {kind: [_outcome(study, plan, there, made, reasons, kind, name) for name in kind.names(study)] for kind in KINDS}
    groups = {
        "experiments": [(name, _of(name), _figures_of(study, name)) for name in study["experiments"]],
        "instruments": [(name, _by(name), _watched(study, plan, name)) for name in _instruments(plan)],
    }
    sections = [
        Section((kind, *COLUMNS, "shown in"), [_group(plan, there, reasons, *group) for group in of_kind])
        for kind, of_kind in groups.items()
    ]
    sections += [Section((kind.name, *COLUMNS, COMMAND), rows) for kind, rows in outcomes.items()]
    legend = [(f"[{number}]", reason) for reason, number in reasons.numbers.items()]
    return [section for section in (*sections, Section(("why", LEFT_OUT), legend)) if section.rows]


def _of(name: str) -> Callable[[dict], bool]:
    return lambda cell: name in cell["experiments"]


def _by(name: str) -> Callable[[dict], bool]:
    return lambda cell: cell["instrument"] == name


def _instruments(plan: Plan) -> list[str]:
    if "instrument" not in plan["factors"]:
        return []
    return list(dict.fromkeys(cell["instrument"] for cell in plan["cells"].values()))


def _figures_of(study: dict, experiment: str) -> list[str]:
    """Return the figures and tables that show an experiment."""
    outcomes = {**study["figures"], **of_runs(study)}
    return [
        name
        for name, shown in outcomes.items()
        if experiment in (shown.get("experiment", experiment), *shown.get("beside", []))
    ]


def _watched(study: dict, plan: Plan, instrument: str) -> list[str]:
    """Return the figures that show cells under an instrument."""

    def shows(name: str) -> bool:
        return any(cell["instrument"] == instrument for cell in availability.shown_cells(plan, study, name))

    return [name for name in study["figures"] if shows(name)]


def _group(plan: Plan, there: dict[Run, str], reasons: Reasons, name: str, has, figures: list[str]) -> tuple[str, ...]:
    """Return the row of some of a plan's cells: those for which `has` is true."""
    cells = [cell for cell in plan["cells"].values() if has(cell)]
    paths = {cell["path"] for cell in cells}
    runs = [run for run in plan["order"] if run[0] in paths]
    words = state(cells, runs, there).words if runs else LEFT_OUT
    return name, words, reasons.mark(cells), request.ranges(figures)


def _outcome(
    study: dict, plan: Plan, there: dict[Run, str], made: set[str], reasons: Reasons, kind: "Kind", name: str
) -> tuple[str, ...]:
    """Return the row of a figure or a table."""
    unavailable, runs, cells = kind.takes(study, plan, name)
    if unavailable:
        return name, LEFT_OUT, reasons.of([unavailable.reason]), ""
    path = f"{kind.name}/{name}{kind.ending}"
    known = state(cells, runs, there)
    words = known.words if runs else MADE if path in made else MISSING
    if runs and not known.left and path not in made:
        words = f"{words}, not {MADE}"
    return name, words, reasons.mark(cells), f"results/{plan['study']}/{path}"


def _figure(study: dict, plan: Plan, name: str) -> tuple[Unavailable | None, list[Run], list[dict]]:
    """Return (unavailable, runs, cells) of a figure: why nothing of it can be measured here, the runs that it takes, its cells.

    A drawing of the design has no runs and no cells.
    """
    runs = availability.figure_runs(plan, study, name)
    return availability.figure(plan, study, name), runs, availability.shown_cells(plan, study, name) if runs else []


def _table(study: dict, plan: Plan, name: str) -> tuple[Unavailable | None, list[Run], list[dict]]:
    """Return (unavailable, runs, cells) of a table, as for a figure.

    A table of the design, the host or the image has no runs.
    """
    if name not in of_runs(study):
        return None, [], []
    runs = availability.runs(plan, study, name)
    return availability.table(plan, study, name), runs, availability.shown_cells(plan, study, name) if runs else []


class Kind(NamedTuple):
    """A kind of outcome, figures or tables.

    `name` is the folder of its files, and `ending` their ending. `names` returns their names in a study, and `takes`
    what one needs.
    """

    name: str
    ending: str
    names: Callable[[dict], Iterable[str]]
    takes: Callable[[dict, dict, str], tuple[Unavailable | None, list[Run], list[dict]]]


KINDS = (
    Kind("figures", ".pdf", lambda study: study["figures"], _figure),
    Kind("tables", ".csv", lambda study: sorted(request.tables(study)), _table),
)


class Whole(NamedTuple):
    """A study as a whole: its state, the seconds that are left to measure, and the command that measures it."""

    name: str
    state: State
    seconds: float
    command: str


def wholes(plans: dict[str, Plan], there: dict[str, dict[Run, str]], profile: str) -> list[Whole]:
    """Return each study as a whole.

    The command also measures the paper's other study, if there is one, so the time includes it.
    """
    chosen = None if profile == USUAL_PROFILE else profile

    def left(name: str) -> float:
        runs = [run for run in plans[name]["order"] if there[name].get(run) in measured_runs.LEFT]
        return request.seconds(plans[name], runs) if runs else 0.0

    return [
        Whole(
            name,
            state(plan["cells"].values(), plan["order"], there[name]),
            sum(left(brought) for brought in studies.select(name) if brought in plans),
            spelling.command("reproduce", name, profile=chosen),
        )
        for name, plan in plans.items()
    ]


def of_studies(plans: dict[str, Plan], there: dict[str, dict[Run, str]], profile: str) -> Section:
    """Return the state of each study, with the command that measures it and the time that is left for it."""
    rows = [
        (
            whole.name,
            whole.state.words if whole.state.runs else LEFT_OUT,
            request.duration(whole.seconds) if whole.seconds else "",
            whole.command,
        )
        for whole in wholes(plans, there, profile)
    ]
    return Section(("studies", *COLUMNS[:1], "left", "command"), rows)


def of_runtimes(plans: dict[str, Plan], there: dict[str, dict[Run, str]], runtimes: dict[str, Runtime]) -> Section:
    """Return each runtime: how far its cells are measured, and whether it works here."""
    rows = []
    for name, known in runtimes.items():
        cells, runs, standings = [], [], {}
        for study, plan in plans.items():
            own = [cell for cell in plan["cells"].values() if cell.get("runtime") == name]
            cells += [{**cell, "path": f"{study}/{cell['path']}"} for cell in own]
            of_study = [run for run in plan["order"] if plan["cells"][run[0]].get("runtime") == name]
            runs += [(f"{study}/{cell}", number) for cell, number in of_study]
            standings.update({(f"{study}/{run[0]}", run[1]): there[study].get(run) for run in of_study})
        words = state(cells, runs, standings).words if runs else OFF if known.wish == OFF else "not planned"
        rows.append((name, words, _works(name, known)))
    return Section(("runtimes", *COLUMNS[:1], "here"), rows)


def _works(name: str, known: Runtime) -> str:
    if known.wish == OFF:
        return spelling.command("add", name)
    return f"does not work: {known.reason}; {spelling.command('setup')} installs what it can" if known.reason else known.version


def text(sections: Iterable[Section], width: int) -> str:
    """Return sections as aligned text. No line is wider than `width`, unless a single word is."""
    return "\n\n".join("\n".join(_lines(section, width)) for section in sections)


def wrapped(words: str, width: int) -> str:
    """Return a sentence in lines of at most `width` characters."""
    return textwrap.fill(words, width, **WHOLE_WORDS)


def _lines(section: Section, width: int) -> list[str]:
    columns = [max(map(len, column)) for column in zip(section.head, *section.rows, strict=True)][:-1]
    lines = []
    for *first, last in (section.head, *section.rows):
        start = "".join(f"{word:<{column + GAP}}" for word, column in zip(first, columns, strict=True))
        lines += _hang("  " + start, last, width) if lines else [(start + "  " + last).rstrip()]
    return lines


def _hang(start: str, words: str, width: int) -> list[str]:
    """Return words after the start of a line, wrapped below themselves.

    If too little room is left, they get lines of their own.
    """
    if not words or len(start) + max(min(LAST, len(words)), *map(len, words.split())) > width:
        below = textwrap.wrap(words, width, initial_indent=" " * 4, subsequent_indent=" " * 4, **WHOLE_WORDS)
        return [start.rstrip(), *below]
    return textwrap.wrap(words, width, initial_indent=start, subsequent_indent=" " * len(start), **WHOLE_WORDS)
