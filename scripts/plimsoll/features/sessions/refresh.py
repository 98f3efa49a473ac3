"""Restart the engine and reload images before another session.

The Docker engine is restarted. Images are loaded and unpacked again from their copies, and keep their digests. What
cannot be renewed is reported.
"""

import json
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.images import client, forms, store
from plimsoll.interchange import Image
from plimsoll.runtimes import docker

ENGINE = "Docker engine"
FRESH = "started again"


def everything(descriptions: list[Path]) -> dict[str, str]:
    """Restart the engine, then load and unpack the images of these description files again.

    Return, by the name of each resource, what was done or why it was not done, in words. An image without a description
    is skipped: the run that needs it first builds it.
    """
    done = {ENGINE: _told(docker.restart_engine, FRESH)}
    for path in descriptions:
        if path.exists():
            image = json.loads(path.read_text())
            # An image that only Docker runs has no unpacked files.
            again = "unpacked again" if "rootfs" in image else "loaded again"
            done[f"image {path.stem}"] = _told(lambda image=image: unpack(image), again)
    return done


def _told(make, done: str) -> str:
    try:
        make()
    except PlimsollError as reason:
        return f"as it was, because {reason}"
    return done


@store.hold()
def unpack(image: Image) -> None:
    """Remove an image from the engine, load it from its copy, and make its unpacked files again if it has any.

    Raise Outage if there is no copy, Unavailable if a step fails. After a failure the next run finds the image missing
    and makes it again.
    """
    store.keep(image)
    client.output("image", "rm", "--force", *store.tags(image))
    store.load(image)
    if "rootfs" in image:
        forms.unpack(image["tag"], store.folder_of(image), image.get("stages", {}))
