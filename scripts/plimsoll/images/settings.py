"""How an image is built and which forms it has: containers/<image>/image.yaml, if that file exists."""

from pathlib import Path

from plimsoll import paths
from plimsoll.config import yaml_files

ALL = {"forms": ["docker", "sif", "rootfs"], "stages": [], "from": None, "jars": None, "root": {}}


def of_image(name: str) -> dict:
    """Return `forms`, `stages`, `from`, `jars` and `root` of containers/<name>/image.yaml.

    The defaults are every form, no stage, no other image, no jars and no files. Raise PlimsollError if the file does not fit
    its schema.
    """
    path = paths.recipe(name) / "image.yaml"
    return {**ALL, **(yaml_files.load(path, "image") if path.is_file() else {})}


def sources(name: str) -> list[Path]:
    """Return the files that an image is built from, including those of the image that it is built on."""
    below = of_image(name)["from"]
    own = sorted(paths.recipe(name).iterdir())
    return own + (sources(below["image"]) if below else [])
