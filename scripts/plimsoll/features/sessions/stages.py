"""Begin another session, as a stage and as a step of a command."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.interchange import Image


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    stage(_new_session).add_argument("settings", nargs="*", help="the configuration, as after --config")


def _new_session(options: argparse.Namespace) -> None:
    """begin another session of the selected studies: put aside what they have measured, and make engine and images fresh"""
    begin_session(options.settings)


def begin_session(settings: Sequence[str]) -> None:
    """Begin another session of the selected studies: put aside what they have measured, and make engine and images fresh."""
    from plimsoll import designs, runtimes
    from plimsoll.config import configuration, studies
    from plimsoll.measuring import lock
    from plimsoll.planning import sessions
    from plimsoll.target_paths import image_of

    names = studies.select(configuration.read(settings)["studies"])
    Path(".snakemake").mkdir(exist_ok=True)
    # No process measures while the engine starts again.
    with lock.hold_folder(), lock.machine(runtimes.known):
        begun = {name: sessions.begin(Path("results"), name) for name in names}
        new = {name: session for name, session in begun.items() if not any((session.folder / "runs").rglob("*.json"))}
        images = sorted({image_of(studies.load(name, designs.known())) for name in new})
        fresh = refresh([Path(path) for path in images]) if new else {}
        for name, session in begun.items():
            if name in new:
                sessions.note(session, fresh)
            made = "; ".join(f"{what}: {done}" for what, done in fresh.items()) if name in new else "it was begun, and goes on"
            print(f"plimsoll: {name}: session {session.number} ({made})", flush=True)


def refresh(descriptions: Sequence[Path]) -> dict[str, str]:
    """Restart the engine, then load and unpack the images of these description files again from their copies.

    Return, by the name of each resource, what was done or why it was not done, in words. An image without a description
    is skipped: the run that needs it first builds it.
    """
    from plimsoll.runtimes import docker

    done = {"Docker engine": _told(docker.restart_engine, "started again")}
    for path in descriptions:
        if path.exists():
            image = json.loads(path.read_text())
            # An image that only Docker runs has no unpacked files.
            again = "unpacked again" if "rootfs" in image else "loaded again"
            done[f"image {path.stem}"] = _told(lambda image=image: _unpack(image), again)
    return done


def _told(make: Callable[[], None], done: str) -> str:
    try:
        make()
    except PlimsollError as reason:
        return f"as it was, because {reason}"
    return done


def _unpack(image: Image) -> None:
    """Remove an image from the engine, load it from its copy, and make its unpacked files again if it has any.

    The image keeps its digest. Raise Outage if there is no copy, Unavailable if a step fails. After a failure the next run
    finds the image missing and makes it again.
    """
    from plimsoll.images import client, forms, store

    with store.hold():
        store.keep(image)
        client.output("image", "rm", "--force", *store.tags(image))
        store.load(image)
        if "rootfs" in image:
            forms.unpack(image["tag"], store.folder_of(image), image.get("stages", {}))
