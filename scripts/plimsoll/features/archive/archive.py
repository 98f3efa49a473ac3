"""`plimsoll archive`."""

import json as jsons
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from plimsoll import spelling
from plimsoll.cli import options, place
from plimsoll.errors import say


def archive(
    studies: options.Studies = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Its name. Without it: plimsoll-STUDY.zip.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="With the raw outputs of runs, which are many times as large.")] = False,
    small: Annotated[bool, typer.Option("--small", help="Without pictures and pages, which can be made from it.")] = False,
    profile: options.Profile = None,
    directory: options.Directory = None,
    config: options.Config = None,
    json: options.AsJson = False,
) -> None:
    """Write all that was measured and made into one file.

    It measures nothing, and needs no engine.

    Examples:
      plimsoll archive                                  # the studies of config/config.yaml
      plimsoll archive all --file everything.zip --raw
    """
    settings = options.settings(studies, profile, config)
    [target] = place.enter(directory, file and file.absolute() if directory else file)
    made, there, new = _packed(settings, target, raw, small)
    if json:
        told = {"file": str(made.absolute()), "bytes": made.stat().st_size, "new": new, "studies": there}
        return print(jsons.dumps(told, indent=1))
    has, size, named = "has" if new else "already has", f"{made.stat().st_size / 1e6:.1f} MB", place.from_call(made)
    return print(f"{named} ({size}) {has} {', '.join(there)}. {spelling.command('remake', named)} makes all of it again.")


def _packed(settings: list[str], target: Path | None, raw: bool, small: bool) -> tuple[Path, list[str], bool]:
    """Return (file, the studies that it has, whether it is new)."""
    from plimsoll import designs
    from plimsoll.config import configuration
    from plimsoll.config import studies as known
    from plimsoll.features.archive import archive_members, packing
    from plimsoll.measuring import lock

    chosen = sorted(known.select(configuration.read(settings)["studies"]))
    wanted = {name: known.load(name, designs.known()) for name in chosen}
    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder():
        every = archive_members.measured_sessions(wanted, Path("results"))
        there = list(dict.fromkeys(one.study["id"] for one in every))
        _tell_left_out(list(wanted), there)
        target = target or Path(f"plimsoll-{there[0] if len(there) == 1 else 'studies'}.zip")
        return target, there, packing.pack(every, Path("results"), target, raw, not small, partial(say, what="archive"))


def _tell_left_out(wanted: list[str], there: list[str]) -> None:
    """Name the studies that the archive does not have: those without measurements, and those that were not selected."""
    from plimsoll.config import studies
    from plimsoll.measuring import record

    for name in (name for name in wanted if name not in there):
        say(f"{name}: nothing was measured of it, and it is left out.", "archive")
    for name in studies.names(studies.STUDIES):
        if name not in wanted and record.any_below(Path("results", name)):
            everything = spelling.command("archive", "all")
            say(f"{name}: it was measured too, and is left out. {everything} archives everything.", "archive")
