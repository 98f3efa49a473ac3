"""What `reproduce`, `session` and `precise` do: check what was typed, install, take images, and run the workflow."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import features, tasks
from plimsoll.cli import names, options, place, steps
from plimsoll.errors import PlimsollError, many

# The profile whose number of repetitions follows from a time.
TIMED = "quick"


class Selection(NamedTuple):
    """What is to be measured: the words of the configuration (`settings`), and what they select."""

    settings: list[str]
    studies: list[str]
    profile: str


def read_selection(
    studies: Iterable[str] | None,
    profile: str | None,
    config: Iterable[str] | None,
    runtimes: Iterable[str] | None = None,
) -> Selection:
    """Return what was typed. Raise PlimsollError for a study, a profile, a runtime or a setting that is not known."""
    from plimsoll.config import configuration
    from plimsoll.config import studies as known

    settings = options.settings(studies, profile, config, runtimes)
    whole = configuration.read(settings)
    known.profile(whole["profile"])
    return Selection(settings, known.select(whole["studies"]), whole["profile"])


def time_of(hours: str | None, minutes: str | None, selection: Selection) -> tasks.Time | None:
    """Return the time that was typed, or None for a profile without a time.

    Raise PlimsollError for a text that is no time, and if both are given.
    """
    from plimsoll.planning import amounts

    if hours or minutes:
        features.require("measure_for")
    if hours and minutes:
        raise PlimsollError(
            "--hours limits the measuring alone, and --minutes everything. Nothing was measured. Give one of them."
        )
    if minutes:
        return tasks.Time(minutes=amounts.minutes(minutes))
    if hours:
        return tasks.Time(amounts.hours(hours))
    return tasks.Time() if selection.profile == TIMED and features.find("measure_for") else None


def figures(selection: Selection, typed: Iterable[str] | None) -> list[str]:
    """Return the files of the figures that were typed. Raise PlimsollError if the study has no such figure."""
    if not (wanted := options.split(typed)):
        return []
    from plimsoll import designs
    from plimsoll.config import studies

    if len(selection.studies) > 1:
        raise PlimsollError(
            f"--figure takes figures of one study, and several are selected: {', '.join(selection.studies)}. "
            "Nothing was measured. Name one of them."
        )
    [study] = selection.studies
    known = list(studies.load(study, designs.known())["figures"])
    return [f"results/{study}/figures/{names.figure_of(study, each, known)}.pdf" for each in wanted]


def measure(
    selection: Selection,
    time: tasks.Time | None,
    targets: Sequence[str],
    directory: Path | None,
    image: Path | None,
    set_up: bool,
    first: Callable[[], None] | None = None,
    verbose: bool = False,
) -> int:
    """Measure, and make the `targets`, or all pages without one. Return the exit status of the workflow.

    `first` is called before anything is measured: it begins again. With targets, nothing else is measured, and their paths
    are printed at the end (`Figure: ...`).
    """
    from plimsoll.terminal import interruption

    with interruption.explain():
        steps.begin()
        image, *_ = place.enter(directory, image)
        if time and time.minutes:
            features.require("check_minutes")(selection.studies, time.minutes, is_new=first is not None)
        if verbose:
            os.environ["PLIMSOLL_VERBOSE"] = "1"
        if set_up:
            # What begins again is foretold when it has begun.
            foretold = None if targets or first or not time else steps.Foretold(selection.studies, time, Path.cwd())
            steps.set_up(selection.settings, image and image.absolute(), foretold)
        if image:
            tasks.take_images(image, selection.settings)
        if first:
            first()
        if targets:
            _ask_for(targets, selection)
        if time and not targets:
            tasks.measure_for(time, selection.settings)
        status = steps.workflow(targets or ["all"], selection.settings)
        if not status:
            print("".join(f"Figure: {target}\n" for target in targets), end="", flush=True)
        return status


def _ask_for(targets: Sequence[str], selection: Selection) -> None:
    """Ask for all runs of figures, and say so if a given time had left some of them out."""
    from plimsoll import designs
    from plimsoll.config import studies
    from plimsoll.planning import figure_request

    [study] = selection.studies
    loaded = studies.load(study, designs.known())
    shown = [Path(target).stem for target in targets]
    if cells := figure_request.ask(Path("results", study), selection.profile, loaded, shown):
        print(
            f"plimsoll: {study}: {many(cells, 'cell')} of the figure had too few runs in the given time: these follow.",
            flush=True,
        )


def refuse_with_archive(*others: object) -> None:
    """Raise PlimsollError if anything else was given with --from: what is made again follows from the archive alone."""
    if any(others):
        raise PlimsollError(
            "--from makes everything that the archive has, and takes no other option than --claims. Nothing "
            "was made. Leave the other options out."
        )
