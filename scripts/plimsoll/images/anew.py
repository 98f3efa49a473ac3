"""Means of measuring made fresh for another session: the Docker engine is started again, and images are loaded and unpacked
again from their copies, with the same digests. What cannot be made fresh is said."""

import json
from pathlib import Path

from plimsoll.environments import docker
from plimsoll.errors import PlimsollError
from plimsoll.images import client, forms, store
from plimsoll.interchange import Image

ENGINE = "Docker engine"
FRESH = "started again"


def everything(descriptions: list[Path]) -> dict[str, str]:
    """Start the engine again, and load and unpack the images of these descriptions; in words, by what it is, what was done or
    why not. What is not there yet is made fresh by whoever needs it first."""
    done = {ENGINE: _told(docker.restart_engine, FRESH)}
    for path in descriptions:
        if path.exists():
            image = json.loads(path.read_text())
            # One that Docker alone runs has no files.
            again = "unpacked again" if "rootfs" in image else "loaded again"
            done[f"image {path.stem}"] = _told(lambda image=image: unpack(image), again)
    return done


def _told(make, done: str) -> str:
    try:
        make()
    except PlimsollError as reason:
        return f"as it was, because {reason}"
    return done


@store.alone()
def unpack(image: Image) -> None:
    """Remove an image from the engine, load it from its copy, and make its files again, if it has any. Outage if there is no
    copy, Unavailable if a step fails; a run that finds the image gone makes it again."""
    store.keep(image)
    client.asked("image", "rm", "--force", *store.tags(image))
    store.load(image)
    if "rootfs" in image:
        forms.unpack(image["tag"], store.folder_of(image), image.get("stages", {}))
