"""`plimsoll reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll import features
from plimsoll.cli import measure_commands, names, options, place
from plimsoll.cli.plan import tell
from plimsoll.errors import PlimsollError


def reproduce(
    studies: options.Studies = None,
    hours: Annotated[str | None, typer.Option(metavar="NUMBER", help="Hours of measuring in all, for each study.")] = None,
    minutes: Annotated[str | None, typer.Option(metavar="NUMBER", help="Minutes in all, from set-up to the pages.")] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER", help="Measure and draw only this figure of the study. Repeatable.", autocompletion=names.figures
        ),
    ] = None,
    profile: options.Profile = None,
    directory: options.Directory = None,
    image: options.Image = None,
    runtimes: options.Runtimes = None,
    config: options.Config = None,
    archive: Annotated[
        Path | None, typer.Option("--from", metavar="ARCHIVE", help="Make everything from an archive, and measure nothing.")
    ] = None,
    claims: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="With --from: judge by claims of your own. Repeatable.")
    ] = None,
    fail_above: Annotated[
        str | None, typer.Option(metavar="SHARE", help="With a file of `plimsoll try`: as that command has it.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export-hyperfine", metavar="FILE", help="With a file of `plimsoll try`: as that command has it."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With a file of `plimsoll try`: as that command has it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With a file of `plimsoll try`: print JSON, for a program.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would be measured, and how long.")] = False,
    set_up: options.SetUp = True,
    verbose: options.Verbose = False,
) -> int | None:
    """Measure studies on this machine, judge their claims, and write their pages.

    Time that was measured before counts: a larger number of hours goes on from there. Without hours, the profile `quick`
    takes the usual time of each study; other profiles say how often everything is repeated.

    Examples:
      plimsoll reproduce                               # the studies of config/config.yaml
      plimsoll reproduce --minutes 12                  # twelve minutes, from set-up to the pages
      plimsoll reproduce jha2021 jha2018 --hours 2     # two studies, two hours each
      plimsoll reproduce liu2020 --figure 6            # what figure 6 shows
      plimsoll reproduce liu2020 --runtimes docker     # bare metal and Docker
      plimsoll reproduce --profile paper --dry-run     # what that would take
      plimsoll reproduce --directory /data/run2        # results in another folder
      plimsoll reproduce my-study.yaml                 # a study that `plimsoll try` has written
      plimsoll reproduce --from plimsoll-liu2020.zip   # everything from an archive
    """
    of_file = any(each.endswith(".yaml") for each in studies or ())
    of_answer = {"fail_above": fail_above, "json": json, "export": export, "junit": junit}
    if any(of_answer.values()) and not of_file:
        raise PlimsollError(
            "--fail-above, --json, --junit and --export-hyperfine are about a study that `plimsoll try` has written. Nothing "
            "was measured. Name its file, such as my-study.yaml."
        )
    if archive:
        measure_commands.refuse_with_archive(
            studies, hours, minutes, figure, profile, directory, image, runtimes, config, dry_run
        )
        if remake := features.find("remake"):
            return remake(archive, claims or [])
        raise PlimsollError(
            "--from needs scripts/plimsoll/features/archive, which is not there. Nothing was made. Put it back."
        )
    if claims:
        raise PlimsollError(
            "--claims needs --from. Nothing was made. Name the archive whose measurements are judged by these "
            "claims: --from FILE."
        )
    measure_own = features.find("measure_own")
    if measure_own and of_file:
        others = (hours, minutes, figure, profile, directory, image, runtimes, config)
        return measure_own(studies, any(others), dry_run, **of_answer)
    selection = measure_commands.read_selection(studies, profile, config, runtimes)
    time = measure_commands.time_of(hours, minutes, selection)
    targets = measure_commands.figures(selection, figure)
    if targets and (hours or minutes):
        raise PlimsollError(
            "--figure measures what the figure shows, however long that takes. Nothing was measured. Leave "
            "--hours and --minutes out."
        )
    if dry_run:
        place.enter(directory)
        return tell(selection.settings, time, targets)
    return measure_commands.measure(selection, time, targets, directory, image, set_up, verbose=verbose)
