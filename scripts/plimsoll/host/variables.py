"""Environment variables of what a run starts. They are made from nothing, so that none of the user's reaches what is
measured."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from plimsoll import paths

# The user's variables that say where programs, running services and ssh's keys are. Clients of engines need them; no
# measured program reads them.
KEPT = (
    *("PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "KRB5CCNAME"),
    *("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
)
# Prefix of the names of this project's own variables.
OURS = "PLIMSOLL_"
# Context that Docker's client uses if none is named: the engine of this machine.
DEFAULT = "default"
ANSWER_SECONDS = 10.0


def home_of(folder: Path) -> Path:
    """Return the HOME of programs that run in a folder."""
    return folder / "home"


def of_run(given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the variables for programs that a process with the variables `given` starts in a run's folder."""
    kept = {name: value for name, value in given.items() if name in KEPT or name.startswith(OURS)}
    engine = {"DOCKER_HOST": host} if (host := docker_host(given)) else {}
    # The store may be in the user's home, which these programs no longer know.
    return {**kept, **engine, "HOME": str(home_of(folder)), "LANG": "C.UTF-8", "PLIMSOLL_IMAGES": str(paths.image_store())}


def docker_host(given: Mapping[str, str]) -> str:
    """Return the address of the Docker engine that the user has chosen by a variable or a context; an empty text if
    none is chosen."""
    if host := given.get("DOCKER_HOST"):
        return host
    configuration = Path(given.get("DOCKER_CONFIG") or Path(given.get("HOME", "/"), ".docker"))
    context = given.get("DOCKER_CONTEXT") or _current_context(configuration)
    return "" if context == DEFAULT else _address(context, str(configuration))


def _current_context(configuration: Path) -> str:
    with suppress(OSError, ValueError, AttributeError):
        return json.loads((configuration / "config.json").read_text()).get("currentContext") or DEFAULT
    return DEFAULT


@cache
def _address(context: str, configuration: str) -> str:
    """Return the address in a context of Docker; an empty text if Docker's client does not know the context.

    Its other commands report that.
    """
    words = ["docker", "--config", configuration, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}", context]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS)
        return done.stdout.strip()
    return ""
