"""`plimsoll session`."""

from functools import partial
from typing import Annotated

import typer

from plimsoll.cli import measure_commands, options
from plimsoll.features.sessions import stages


def session(
    studies: options.Studies = None,
    hours: Annotated[str | None, typer.Option(metavar="NUMBER", help="Hours of measuring in this session.")] = None,
    minutes: Annotated[str | None, typer.Option(metavar="NUMBER", help="Minutes in all, from set-up to the pages.")] = None,
    profile: options.Profile = None,
    directory: options.Directory = None,
    image: options.Image = None,
    config: options.Config = None,
    set_up: options.SetUp = True,
    verbose: options.Verbose = False,
) -> int | None:
    """Measure studies once more, after a restart of the engine.

    Images are unpacked again, too. Another session shows what one day cannot. A session that was begun and not finished
    goes on.

    Examples:
      plimsoll session                      # the studies of config/config.yaml
      plimsoll session liu2020 --hours 1
    """
    selection = measure_commands.read_selection(studies, profile, config)
    time = measure_commands.time_of(hours, minutes, selection)
    first = partial(stages.begin_session, selection.settings)
    return measure_commands.measure(selection, time, [], directory, image, set_up, first, verbose)
