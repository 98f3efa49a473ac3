"""The system that a study was measured on: runs of two systems are never pooled.

A system is this host's kernel, processor, firmware and settings, and the versions of what starts a runtime's nodes. The file
system.json in a study's folder has these, and the identity that the records of each runtime carry.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Protocol, TypedDict

from plimsoll import documents
from plimsoll.errors import Outage, Unavailable, begun, first_of
from plimsoll.host import system as of_host
from plimsoll.measuring import record

FILE = "system.json"
HOST = "this host"
# Of a sentence: characters of a version, and changes.
LONGEST, MOST = 120, 5
NEW = "put aside what it has measured, with its figures and pages (make new-system does)"


class Seen(TypedDict):
    """What is quick to look at."""

    boot: str
    settings: dict[str, str]
    programs: dict[str, list[int] | None]


class Noted(TypedDict):
    """What system.json holds."""

    identities: dict[str, str]
    parts: dict[str, dict[str, str]]
    seen: Seen


class Asked(Protocol):
    """An environment, as far as it is asked here."""

    name: str

    def versions(self) -> dict[str, str]:
        """The version of each program that its nodes depend on; Unavailable if one does not answer."""

    def programs(self) -> tuple[str, ...]:
        """The names, or paths, of these programs, and paths of their settings."""


class Another(Outage):
    """This host is no longer the system that a study was measured on."""

    def __init__(self, study: str, changes: list[str]):
        said = " ".join(first_of(changes, MOST, "; ").split())
        super().__init__(f"{study} was measured on another system ({said})", NEW)


def identity(folder: Path, environment: Asked) -> str:
    """What the records of a runtime carry. Another if the system is no longer that of the study's records.

    Asked for every run: the whole system is looked at only if a program, a setting, or the time of the last boot has changed
    since it was noted.
    """
    noted = read(folder)
    if noted and environment.name in noted["identities"] and noted["seen"] == _seen(noted["seen"]["programs"]):
        return noted["identities"][environment.name]
    return note(folder, [environment])[environment.name]


def note(folder: Path, environments: Iterable[Asked]) -> dict[str, str]:
    """Look at the whole system and write it into a study's folder; the identity by runtime.

    Another if the study has records of another system, or records that do not say of which. Unavailable if an environment does
    not answer.
    """
    environments = list(environments)
    return _note(folder, environments, now(environments))


def note_answering(folder: Path, environments: Iterable[Asked]) -> None:
    """`note`, with those environments that answer: an engine that does not is started by the first run that needs it."""
    parts, there = now([]), []
    for environment in environments:
        with contextlib.suppress(Unavailable):
            parts[environment.name] = environment.versions()
            there.append(environment)
    _note(folder, there, parts)


def _note(folder: Path, environments: list[Asked], parts: dict[str, dict[str, str]]) -> dict[str, str]:
    noted = read(folder) or {"parts": {}, "identities": {}, "seen": {"programs": {}}}
    if not noted["parts"] and any((folder / "runs").rglob("*.json")):
        raise Another(folder.name, ["its records do not say on which"])
    if changes := differences(noted["parts"], parts):
        raise Another(folder.name, changes)
    merged = {**noted["parts"], **parts}
    known = {environment.name: _identity_of(merged, environment.name) for environment in environments}
    programs = [*noted["seen"]["programs"], *(path for each in environments for path in _paths(each))]
    whole = {"identities": {**noted["identities"], **known}, "parts": merged, "seen": _seen(programs)}
    record.write(folder / FILE, whole)
    return whole["identities"]


def now(environments: Iterable[Asked]) -> dict[str, dict[str, str]]:
    """The facts about this host, and the versions of each environment, as they are. Unavailable if one does not answer."""
    return {HOST: of_host.facts(), **{environment.name: environment.versions() for environment in environments}}


def differences(old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> list[str]:
    """In words, what differs between the parts that both have."""
    return [
        f"{name if part == HOST else f'{part}, {name}'}: {_change(old[part].get(name, 'none'), new[part].get(name, 'none'))}"
        for part in old.keys() & new.keys()
        for name in sorted(old[part].keys() | new[part].keys())
        if old[part].get(name) != new[part].get(name)
    ]


def _change(then: str, now: str) -> str:
    """Two values in words; of long ones what is about where they differ."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(then, now, strict=False))))
    first = max(0, same - LONGEST // 4) if max(len(then), len(now)) > LONGEST else 0
    before, after = (begun(("…" if first else "") + value[first:], LONGEST) for value in (then, now))
    return f"{before} then, {after} now"


def read(folder: Path) -> Noted | None:
    """What a study's folder says about its system; None if it says nothing that can be read."""
    try:
        return documents.of(folder / FILE, Noted)
    except documents.Misfit:
        return None


def _identity_of(parts: dict[str, dict[str, str]], runtime: str) -> str:
    return record.fingerprint([parts[HOST], parts[runtime]])


def look(environment: Asked) -> Seen:
    """What is quick to look at of this host and an environment."""
    return _seen(_paths(environment))


def _paths(environment: Asked) -> list[str]:
    """Of its programs, and of its settings whether they are there or not: they may come later."""
    found = (name if os.path.isabs(name) else shutil.which(name) for name in environment.programs())
    return [path for path in found if path]


def _seen(programs: Iterable[str]) -> Seen:
    """What is quick to look at: if none of it has changed nothing else has."""
    return {
        "boot": of_host.boot(),
        "settings": of_host.settings(),
        "programs": {path: _signature(path) for path in sorted(set(programs))},
    }


def _signature(path: str) -> list[int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]
