"""How an image is built and in which forms it is kept: containers/<image>/image.yaml, where there is one."""

from pathlib import Path

from plimsoll import paths
from plimsoll.config import yaml_files

ALL = {"forms": ["docker", "sif", "rootfs"], "stages": [], "from": None, "jars": None}


def of(name: str) -> dict:
    """`forms`, `stages`, `from` and `jars` of containers/<name>/: every form, no stage, no other image and no jars, unless its
    file says more.
    PlimsollError if that is misspelt."""
    path = paths.PROJECT / "containers" / name / "image.yaml"
    return {**ALL, **(yaml_files.load(path, "image") if path.is_file() else {})}


def sources(name: str) -> list[Path]:
    """The files that an image is made from, those of the image that it is built on included."""
    below = of(name)["from"]
    own = sorted((paths.PROJECT / "containers" / name).iterdir())
    return own + (sources(below["image"]) if below else [])
