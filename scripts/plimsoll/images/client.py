"""The engine that builds and keeps images: Docker, or Podman if Docker does not answer. Both have the same commands."""

from functools import cache

from plimsoll import runtimes
from plimsoll.errors import Unavailable
from plimsoll.runtimes import commands

# Tried in this order.
ENGINES = ("docker", "podman-rootless", "podman")


@cache
def command() -> tuple[str, ...]:
    """Return the words that begin every command to the engine. Raise Unavailable, with one reason per engine, if no
    engine works for this user."""
    reasons = []
    for name in ENGINES:
        runtime = runtimes.find(name)
        try:
            runtime.wake()
            runtime.check_building()
            return runtime.command
        except Unavailable as reason:
            reasons.append(f"{runtime.label}: {reason}")
    raise Unavailable(f"nothing that builds images works here ({'; '.join(reasons)})")


def works() -> bool:
    """Return whether an engine works for this user."""
    try:
        return bool(command())
    except Unavailable:
        return False


def build_options() -> tuple[str, ...]:
    """Return the options with which the steps of a build reach the network."""
    # Rootless container networks need a device that not every user may use.
    return ("--network", "host") if "podman" in command() else ()


def output(*words: str, seconds: float = 60) -> str:
    """Run a command of the engine and return what it prints. Raise Unavailable if it fails or takes longer than
    `seconds`."""
    return commands.output([*command(), *words], seconds)


def image_id(tag: str) -> str | None:
    """Return the engine's digest of an image, as Docker writes it. Return None if no engine works or the engine does
    not have the image."""
    try:
        found = output("image", "inspect", "--format", "{{.Id}}", tag).strip()
    except Unavailable:
        return None
    return f"sha256:{found.removeprefix('sha256:')}"
