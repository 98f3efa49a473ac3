"""Options that several commands have, and the settings that they stand for."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import names

Studies = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STUDY",
        help="Studies, or all. Without one: those of config/config.yaml.",
        show_default=False,
        autocompletion=names.studies,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sizes and repetitions: a file of config/profiles/.", autocompletion=names.profiles),
]
Directory = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="The folder of the results, which is made. Without it: the clone."),
]
Runtimes = Annotated[
    list[str] | None,
    typer.Option(
        "--runtimes",
        metavar="NAME",
        help="Only this runtime, bare metal, and those that a study is about. Repeatable.",
        autocompletion=names.runtimes,
    ),
]
Config = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY=VALUE", help="A setting in place of config/config.yaml's. Repeatable."),
]
Image = Annotated[
    Path | None,
    typer.Option("--image", metavar="FILE", help="Take the images from a file that `plimsoll image` has written."),
]
SetUp = Annotated[bool, typer.Option("--set-up/--no-set-up", help="Install first what is missing.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show all lines of Snakemake and of the runs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a program.")]


def settings(
    studies: Iterable[str] | None = None,
    profile: str | None = None,
    config: Iterable[str] | None = None,
    runtimes: Iterable[str] | None = None,
) -> list[str]:
    """Return options as settings of the configuration: words such as `profile=paper` (plimsoll.config.configuration).

    Raise PlimsollError for a runtime that is not known.
    """
    chosen = ",".join(split(studies))
    words = [f"studies={chosen}"] if chosen else []
    words += [f"profile={profile}"] if profile else []
    return [*words, *(config or ()), *_only(split(runtimes))]


def split(words: Iterable[str] | None) -> list[str]:
    """Return words that were typed one by one, or with commas between them."""
    return [name for word in words or () for name in word.replace(",", " ").split()]


def _only(chosen: list[str]) -> list[str]:
    """Return the setting that measures only these runtimes, and bare metal, to which they are compared."""
    if not chosen:
        return []
    from plimsoll import runtimes
    from plimsoll.config import configuration

    for name in chosen:
        runtimes.find(name)
    others = configuration.read([])["runtimes"]
    wishes = {name: "off" for name in others if name not in ("bare", *chosen)}
    wishes |= {name: "optional" for name in chosen if others.get(name, "off") == "off"}
    return [f"runtimes={{{', '.join(f'{name}: {wish}' for name, wish in wishes.items())}}}"] if wishes else []
