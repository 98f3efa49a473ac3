"""`plimsoll show`."""

import json as jsons
import re
from typing import Annotated, NamedTuple

import typer

from plimsoll import spelling
from plimsoll.cli import names, options, place
from plimsoll.cli.statuses import Status
from plimsoll.errors import PlimsollError

# [results/]<study>/[runs/]<cell>/<repetition>[.json]
RUN = re.compile(r"(?:\./)?(?:results/)?(?P<study>[^/]+)/(?:runs/)?(?P<cell>.+/.+)/(?P<repetition>\d+)(?:\.json)?")


class Thing(NamedTuple):
    """What is shown: its `kind` (study, claim, figure or run), its study, and its name."""

    kind: str
    study: str
    name: str


def show(
    thing: Annotated[
        str,
        typer.Argument(metavar="STUDY|CLAIM|FIGURE|RUN", help="What is shown.", autocompletion=names.shown, show_default=False),
    ],
    directory: options.Directory = None,
    config: options.Config = None,
    json: options.AsJson = False,
) -> int | None:
    """Show a study's answer, a claim, a figure or a run.

    A study is shown with its recommendation, its answer and its most telling claims. A claim is shown with its verdict,
    numbers and runs. A figure is shown with its caption, files and command, and a run with its record in words. The exit
    status is 1 if it was not measured or drawn here.

    Examples:
      plimsoll show liu2020
      plimsoll show liu2020-c26
      plimsoll show c26                         # of the study of config/config.yaml
      plimsoll show liu2020/fig06
      plimsoll show results/liu2020/runs/uma/exact/E1/docker/any/default/standard/plain/beff/1.json
    """
    from plimsoll import designs
    from plimsoll.cli import result_facts
    from plimsoll.config import configuration, studies
    from plimsoll.terminal import screen

    selected = studies.select(configuration.read(config or [])["studies"])
    place.enter(directory)
    found = find(thing, selected)
    study = studies.load(found.study, designs.known())
    if found.kind == "run":
        cell, _, repetition = found.name.rpartition("/")
        told = result_facts.run(study, cell, int(repetition))
    elif found.kind == "study":
        told = result_facts.study(study)
    else:
        told = (result_facts.claim if found.kind == "claim" else result_facts.figure)(study, found.name)
    # JSON has no NaN: what is not known is null.
    facts = jsons.loads(jsons.dumps(told.facts, default=str), parse_constant=lambda _: None)
    screen.tell(lambda width: jsons.dumps(facts, indent=1) if json else "\n".join(_wrapped(told.lines, width)))
    return Status.DONE if told.there else Status.INCOMPLETE


def find(typed: str, selected: list[str]) -> Thing:
    """Return what was typed. A name without a study is of a selected one, or else of the only study that has it.

    Raise PlimsollError with the nearest name if there is no such thing.
    """
    if (run := RUN.fullmatch(typed)) and run["study"] in names.studies():
        return Thing("run", run["study"], f"{run['cell']}/{run['repetition']}")
    things = {**_studies(), **_claims(), **_figures()}
    for each in (typed, *(form for study in ("", *selected) for form in _forms(study, typed))):
        if each in things:
            return things[each]
    others = [thing for thing in things.values() if thing.kind == "figure" and thing.name == typed]
    if len(others) == 1:
        return others[0]
    near = spelling.hint(typed, [*things, *(name for study in selected for name in _short(study, things))])
    lists = f"{spelling.command('list', 'all')} lists figures"
    raise PlimsollError(f"There is no study, claim, figure or run {typed}{near}: {lists}.")


def _short(study: str, things: dict[str, Thing]) -> list[str]:
    """Return the names of a study's claims and figures, without the study."""
    return [name[len(study) + 1 :] for name, thing in things.items() if thing.study == study and thing.kind != "study"]


def _forms(study: str, typed: str) -> list[str]:
    """Return what may be meant in a study: a claim or a figure by its name or number. A study may be typed with it."""
    if not study:
        study, _, typed = typed.rpartition("/" if "/" in typed else "-")
    number = typed.removeprefix("fig")
    figure = f"fig{int(number):02}" if number.isdecimal() else typed
    claim = f"c{int(typed[1:]):02}" if typed[:1] == "c" and typed[1:].isdecimal() else typed
    return [f"{study}-{claim}", f"{study}/{figure}"]


def _studies() -> dict[str, Thing]:
    return {name: Thing("study", name, name) for name in names.studies() if name != "all"}


def _claims() -> dict[str, Thing]:
    return {name: Thing("claim", study, name) for name, study in names.claims_of_studies()}


def _figures() -> dict[str, Thing]:
    return {f"{study}/{name}": Thing("figure", study, name) for name, study in names.figures_of_studies()}


def _wrapped(lines: list[str], width: int) -> list[str]:
    """Return lines that are no wider than the terminal, unless a single word is."""
    import textwrap

    from plimsoll.terminal.listing import WHOLE_WORDS

    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, subsequent_indent="    " if line.startswith(" ") else "", **WHOLE_WORDS) or [""]
    ]
