"""All findings about this machine, and how they are shown: as a table for people, or for programs."""

import json
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plimsoll.features.doctor import kernel, memory, neighbours, processors, runtimes, storage
from plimsoll.features.doctor.finding import FINE, NOTE, STOPS, WARNS, Finding, status, worst_first
from plimsoll.features.doctor.readings import Readings

ROOMS = (processors, memory, neighbours, kernel, runtimes, storage)
STYLES = {FINE: "green", NOTE: "cyan", WARNS: "yellow", STOPS: "bold red"}


def show(seen: Readings, for_program: bool) -> int:
    """Print the findings as a table, or as JSON for a program. Return the exit status (finding.status)."""
    found = findings(seen)
    if for_program:
        print(as_json(found))
    else:
        console = Console(highlight=False)
        console.print(table(found))
        console.print(f"\n{summary(found)}", soft_wrap=True)
    return status(found)


def findings(seen: Readings) -> list[Finding]:
    """Return every finding about the machine, the worst first."""
    return worst_first(one for room in ROOMS for one in room.findings(seen))


def table(found: Iterable[Finding]) -> Table:
    """Return the findings as a table for a terminal."""
    made = Table("", "seen", "for verdicts", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for one in found:
        style = STYLES[one.level]
        remedy = f"\n[bold]Do:[/bold] {escape(one.remedy)}" if one.remedy else ""
        made.add_row(f"[{style}]{one.level}[/{style}]", f"{one.name}: {escape(one.value)}", f"{escape(one.means)}{remedy}")
    return made


def summary(found: list[Finding]) -> str:
    """Return one sentence on what all findings mean together."""
    counts = {level: sum(one.level == level for one in found) for level in (STOPS, WARNS)}
    if counts[STOPS]:
        return "Measuring would fail. Do first what the lines that start with `stops` say."
    if counts[WARNS]:
        return "You can measure. What the lines that start with `warns` say makes verdicts slower or less sure."
    return "You can measure. Nothing here makes verdicts wrong or slow."


def as_json(found: list[Finding]) -> str:
    """Return the findings for programs."""
    return json.dumps({"status": status(found), "findings": [one._asdict() for one in found]}, indent=1)
