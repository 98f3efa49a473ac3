"""Write the images of studies into one file, and take them from there, as stages and as steps of commands."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from plimsoll.errors import say


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    for one, path in ((_image_file, "output"), (_take_images, "file")):
        stage(one, paths=(path,)).add_argument("settings", nargs="*", help="the configuration, as after --config")


def _image_file(options: argparse.Namespace) -> None:
    """write the images of the selected studies into one file, for a machine that cannot build them"""
    write_images(options.output, options.settings)


def _take_images(options: argparse.Namespace) -> None:
    """take images from a file, instead of building them"""
    take_images(options.file, options.settings)


def write_images(target: Path, settings: Sequence[str]) -> None:
    """Write the images of the selected studies into one file, for a machine that cannot build them."""
    from plimsoll import designs
    from plimsoll.config import configuration, studies
    from plimsoll.features.image_file import portable
    from plimsoll.images import builder

    config = configuration.read(settings)
    chosen = studies.select(config["studies"])
    names = dict.fromkeys(studies.load(name, designs.known())["image"] for name in chosen)
    images = [(name, builder.build(name, config["base_image"])) for name in names]
    portable.write(images, target, partial(say, what="images"))


def take_images(source: Path, settings: Sequence[str]) -> None:
    """Take images from a file, instead of building them."""
    from plimsoll import runtimes
    from plimsoll.config import configuration
    from plimsoll.features.image_file import portable
    from plimsoll.measuring import lock

    base = configuration.read(settings)["base_image"]
    # No process measures an image while it is replaced.
    with lock.machine(runtimes.known):
        for tag, compared in portable.take(source, base).items():
            for said in (f"{tag} is taken from {source}", *compared):
                say(said, "images")
