"""What both command lines do: the user's, and that of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from plimsoll import features
from plimsoll.errors import PlimsollError

if TYPE_CHECKING:  # a command that only prints its help imports nothing of the configuration
    from plimsoll.config.studies import Study


class Time(NamedTuple):
    """How long studies are measured: `hours` each, or so long that a command takes `minutes` from set-up to the pages.

    Without both, each study has the usual hours of its design.
    """

    hours: float | None = None
    minutes: float | None = None


def measure_for(time: Time, settings: Sequence[str]) -> None:
    """Measure the selected studies that have stages for a time, where they decide most."""
    from plimsoll import minutes
    from plimsoll.config import configuration, studies

    names = studies.selected(configuration.read(settings)["studies"])
    if time.minutes is None:
        minutes.spend_hours(names, time.hours, list(settings))
    else:
        minutes.spend(names, time.minutes, list(settings))


def hours_for(study: Study, time: Time, names: Sequence[str]) -> float | None:
    """Return the hours that a study is measured for beside others; None if it is measured as a whole.

    `names` are all studies that are measured: minutes are shared among them.
    """
    from plimsoll.planning import timetable

    factors = study.design.factors
    if not factors.STAGES:
        return None
    if time.minutes is not None:
        each = timetable.foretell(names, minutes=time.minutes)["measuring"] / len(names)
        return timetable.spent(study["id"]).hours + max(0.0, timetable.hours_of(each))
    return time.hours or factors.USUAL_HOURS


def begin_session(settings: Sequence[str]) -> None:
    """Begin another session of the selected studies: put aside what they have measured, and make engine and images fresh."""
    from plimsoll import designs, runtimes
    from plimsoll.config import configuration, studies
    from plimsoll.images import anew
    from plimsoll.measuring import lock
    from plimsoll.planning import sessions
    from plimsoll.workflow import image_of

    names = studies.selected(configuration.read(settings)["studies"])
    Path(".snakemake").mkdir(exist_ok=True)
    # No process measures while the engine starts again.
    with lock.hold_folder(), lock.machine(runtimes.known):
        begun = {name: sessions.begin(Path("results"), name) for name in names}
        new = {name: session for name, session in begun.items() if not any((session.folder / "runs").rglob("*.json"))}
        images = sorted({image_of(studies.load(name, designs.known())) for name in new})
        fresh = anew.everything([Path(path) for path in images]) if new else {}
        for name, session in begun.items():
            if name in new:
                sessions.note(session, fresh)
            made = "; ".join(f"{what}: {done}" for what, done in fresh.items()) if name in new else "it was begun, and goes on"
            print(f"plimsoll: {name}: session {session.number} ({made})", flush=True)


def take_images(source: Path, settings: Sequence[str]) -> None:
    """Take images from a file, instead of building them. Raise PlimsollError if this version cannot."""
    features.needed("take_images")(source, settings)


def clean_up(everything: bool) -> None:
    """Remove what killed runs have left on this machine and in this folder.

    With `everything`, remove also images and all else that is kept for the next run.
    """
    from plimsoll import clean_up, runtimes
    from plimsoll.host import temporary
    from plimsoll.measuring import lock

    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder(), lock.machine():
        there = runtimes.known().values()
        removed = [
            *clean_up.machine(there),
            *clean_up.store(),
            *temporary.remove_of_killed(),
            *clean_up.results(Path("results")),
        ]
    if everything:
        removed += clean_up.everything(there)
    print("\n".join(f"removed: {what}" for what in removed) or "Nothing was left.")


def refused(problem: OSError) -> PlimsollError | None:
    """Return an error of the operating system as a message for the user; None if the user can do nothing about it."""
    from plimsoll.measuring import means  # here, because what ends well has no use for it

    if outage := means.outage_of(problem):
        return outage
    if problem.filename is not None:
        return PlimsollError(f"{problem.filename}: {problem.strerror}.")
    # Python's own words, when no folder for temporary files can be written.
    if isinstance(problem, FileNotFoundError):
        return PlimsollError(f"{problem.strerror}: make room there, or make /tmp, with the mode 1777.")
    return None
