"""Begin another session, as a stage and as a step of a command."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path


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
    from plimsoll.features.sessions import refresh
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
        fresh = refresh.everything([Path(path) for path in images]) if new else {}
        for name, session in begun.items():
            if name in new:
                sessions.note(session, fresh)
            made = "; ".join(f"{what}: {done}" for what, done in fresh.items()) if name in new else "it was begun, and goes on"
            print(f"plimsoll: {name}: session {session.number} ({made})", flush=True)
