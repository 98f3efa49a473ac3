"""A check for people, as tables for a terminal, and for programs."""

import json
from collections.abc import Iterable, Iterator, Mapping

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from plimsoll.features.check.artifact import SUCCESS, Outcome
from plimsoll.features.check.study import ALIKE, CONDITIONS, HERE, NEITHER, REVERSED, THERE, CheckedStudy, Claim
from plimsoll.pages.formats import prose

STYLES = {REVERSED: "bold red", CONDITIONS: "yellow", HERE: "cyan", THERE: "cyan", ALIKE: "green", NEITHER: "dim"}


def text(checked: Mapping[str, CheckedStudy], ended: Outcome) -> None:
    """Print a check for people. The last line says how it ended."""
    console = Console(highlight=False)
    for name, one in checked.items():
        console.print(f"[bold]{name}[/bold]\n")
        for part in _parts(one):
            console.print(part)
            console.print()
    console.print(escape(ended.says), style="bold green" if ended.status == SUCCESS else "bold red", soft_wrap=True)


def _parts(one: CheckedStudy) -> Iterator[RenderableType]:
    """Yield a table of claims for each standing, and a table of differences to expect."""
    for standing, number in one.counts.items():
        claims = [claim for claim in one.claims if claim.standing == standing]
        yield f"[{STYLES[standing]}]{standing}: {number}[/]"
        if claims and standing != NEITHER:
            yield _claims(claims)
    if one.machines or one.unavailable:
        table = _table("expected to differ", "here", "there")
        for fact in one.machines:
            table.add_row(fact.name, escape(prose(fact.b)), escape(prose(fact.a)))
        for runtime, reason in one.unavailable.items():
            table.add_row(f"runtime {runtime}", f"unavailable: {escape(prose(reason))}", "")
        yield table


def _claims(claims: Iterable[Claim]) -> Table:
    table = _table("claim", "here", "there", "")
    for claim in claims:
        says = [claim.statement, *([f"({claim.expected})"] if claim.expected else [])]
        table.add_row(claim.id, claim.here, claim.there, escape(prose(" ".join(says))))
    return table


def _table(*columns: str) -> Table:
    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def as_json(checked: Mapping[str, CheckedStudy], ended: Outcome) -> str:
    """Return a check for programs."""
    studies = {
        name: {
            "counts": one.counts,
            "claims": [claim._asdict() for claim in one.claims],
            "machines": [{"name": fact.name, "here": fact.b, "there": fact.a} for fact in one.machines],
            "unavailable": one.unavailable,
        }
        for name, one in checked.items()
    }
    return json.dumps({**ended._asdict(), "studies": studies}, indent=1)
