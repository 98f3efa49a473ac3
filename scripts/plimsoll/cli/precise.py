"""`plimsoll precise`."""

from functools import partial
from typing import Annotated

import typer

from plimsoll.cli import measure_commands, options


def precise(
    studies: options.Studies = None,
    width: Annotated[str, typer.Option(metavar="SHARE", help="Width of an interval that is narrow enough.")] = "0.1",
    maximum: Annotated[str, typer.Option(metavar="NUMBER", help="Most repetitions of a cell.")] = "30",
    profile: options.Profile = None,
    directory: options.Directory = None,
    config: options.Config = None,
    set_up: options.SetUp = True,
) -> int | None:
    """Repeat what is uncertain until every interval is narrow enough.

    Each round repeats the cells whose intervals are too wide. At the end everything is made from them.

    Examples:
      plimsoll precise                                  # intervals of 10 %, at most 30 repetitions
      plimsoll precise liu2020 --width 0.05 --maximum 50
    """
    from plimsoll.planning import precision

    selection, wanted = (
        measure_commands.read_selection(studies, profile, config),
        (precision.width_of(width), precision.maximum_of(maximum)),
    )
    return measure_commands.measure(selection, None, [], directory, None, set_up, first=partial(_rounds, selection, *wanted))


def _rounds(selection: measure_commands.Selection, width: float, maximum: int) -> None:
    from plimsoll import rounds

    for study in selection.studies:
        rounds.reach(study, width, maximum, selection.settings)
