"""`plimsoll image`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll import spelling
from plimsoll.cli import measure_commands, options, place, steps
from plimsoll.features.image_file import stages


def image(
    studies: options.Studies = None,
    file: Annotated[Path, typer.Option(metavar="FILE", help="The file that is written.")] = Path("plimsoll-images.tar.gz"),
    profile: options.Profile = None,
    config: options.Config = None,
    set_up: options.SetUp = True,
) -> None:
    """Write the images of studies into one file.

    It is for a machine that cannot build them. They are built here, by Docker or Podman.

    Examples:
      plimsoll image                              # plimsoll-images.tar.gz
      plimsoll image all --file images.tar.gz
    """
    settings = measure_commands.read_selection(studies, profile, config).settings
    if set_up:
        steps.set_up(settings)
    [target] = place.enter(None, file)
    stages.write_images(target, settings)
    print(f"On the other machine: {spelling.command('reproduce', *options.split(studies), image=file)}")
