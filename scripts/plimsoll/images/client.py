"""The engine that builds images and keeps them: Docker, or Podman where Docker does not answer. Both have the same commands."""

from functools import cache

from plimsoll import environments
from plimsoll.environments.base import output
from plimsoll.errors import Unavailable

# In the order in which they are asked.
ENGINES = ("docker", "podman-rootless", "podman")


@cache
def command() -> tuple[str, ...]:
    """What begins every command to the engine; Unavailable, with the reason of each, if none works for this user."""
    reasons = []
    for name in ENGINES:
        environment = environments.find(name)
        try:
            environment.wake()
            environment.check_building()
            return environment.command
        except Unavailable as reason:
            reasons.append(f"{environment.label}: {reason}")
    raise Unavailable(f"nothing that builds images works here ({'; '.join(reasons)})")


def build_options() -> tuple[str, ...]:
    """What a build needs so that its steps reach the network."""
    # The network of containers without root takes a device that not every user may use.
    return ("--network", "host") if "podman" in command() else ()


def asked(*words: str, seconds: float = 60) -> str:
    """What the engine prints; Unavailable if it fails."""
    return output([*command(), *words], seconds)


def image_id(tag: str) -> str | None:
    """The engine's digest of an image, as Docker writes it; None if the engine does not have the image, or there is none."""
    try:
        found = asked("image", "inspect", "--format", "{{.Id}}", tag).strip()
    except Unavailable:
        return None
    return f"sha256:{found.removeprefix('sha256:')}"
