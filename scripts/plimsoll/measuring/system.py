"""The system that a study was measured on. Runs of two systems are never pooled.

A system is this host's kernel, processor, firmware and settings, and the versions of what starts a runtime's nodes. The
file system.json in a study's folder has these, and the identity that the records of each runtime carry.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Protocol, TypedDict

from plimsoll import documents, spelling
from plimsoll.errors import Outage, Unavailable, first_of, shorten
from plimsoll.host import system as of_host
from plimsoll.measuring import record

FILE = "system.json"
HOST = "this host"
# Limits for a message: characters of a version, and number of changes.
LONGEST, MOST = 120, 5
NEW = f"type {spelling.command('new-system')}, which puts aside what it has measured, with its figures and pages"


class QuickFacts(TypedDict):
    """Facts about a system that are quick to look at."""

    boot: str
    settings: dict[str, str]
    programs: dict[str, list[int] | None]


class Noted(TypedDict):
    """Content of system.json."""

    identities: dict[str, str]
    parts: dict[str, dict[str, str]]
    seen: QuickFacts


class VersionedRuntime(Protocol):
    """A runtime, as far as this module needs it."""

    name: str

    def versions(self) -> dict[str, str]:
        """Return the version of each program that the runtime's nodes depend on. Raise Unavailable if one does not answer."""

    def programs(self) -> tuple[str, ...]:
        """Return the names, or paths, of these programs, and paths of their settings."""


class Another(Outage):
    """This host is no longer the system that a study was measured on."""

    def __init__(self, study: str, changes: list[str]):
        said = " ".join(first_of(changes, MOST, "; ").split())
        super().__init__(f"{study} was measured on another system ({said})", NEW)


def identity(folder: Path, runtime: VersionedRuntime) -> str:
    """Return the identity of the system that the records of a runtime carry.

    Raise Another if the system is no longer that of the study's records. Every run calls this. So the whole system is
    looked at only if a program, a setting, or the time of the last boot has changed since it was noted.
    """
    noted = read(folder)
    if noted and runtime.name in noted["identities"] and noted["seen"] == _seen(noted["seen"]["programs"]):
        return noted["identities"][runtime.name]
    return note(folder, [runtime])[runtime.name]


def note(folder: Path, runtimes: Iterable[VersionedRuntime]) -> dict[str, str]:
    """Look at the whole system, write it into a study's folder, and return the identity by runtime.

    Raise Another if the study has records of another system, or records that do not say which system. Raise Unavailable
    if a runtime does not answer.
    """
    runtimes = list(runtimes)
    return _note(folder, runtimes, now(runtimes))


def note_answering(folder: Path, runtimes: Iterable[VersionedRuntime]) -> None:
    """Do as `note` does, with the runtimes that answer.

    An engine that does not answer is started by the first run that needs it.
    """
    parts, there = now([]), []
    for runtime in runtimes:
        with contextlib.suppress(Unavailable):
            parts[runtime.name] = runtime.versions()
            there.append(runtime)
    _note(folder, there, parts)


def _note(folder: Path, runtimes: list[VersionedRuntime], parts: dict[str, dict[str, str]]) -> dict[str, str]:
    noted = read(folder) or {"parts": {}, "identities": {}, "seen": {"programs": {}}}
    if not noted["parts"] and any((folder / "runs").rglob("*.json")):
        raise Another(folder.name, ["its records do not say on which"])
    if changes := differences(noted["parts"], parts):
        raise Another(folder.name, changes)
    merged = {**noted["parts"], **parts}
    known = {runtime.name: _identity_of(merged, runtime.name) for runtime in runtimes}
    programs = [*noted["seen"]["programs"], *(path for each in runtimes for path in _paths(each))]
    whole = {"identities": {**noted["identities"], **known}, "parts": merged, "seen": _seen(programs)}
    record.write(folder / FILE, whole)
    return whole["identities"]


def now(runtimes: Iterable[VersionedRuntime]) -> dict[str, dict[str, str]]:
    """Return the present facts about this host, and the versions of each runtime. Raise Unavailable if a runtime does
    not answer."""
    return {HOST: of_host.facts(), **{runtime.name: runtime.versions() for runtime in runtimes}}


def differences(old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> list[str]:
    """Return in words what differs between two systems, in the parts that both have."""
    return [
        f"{name if part == HOST else f'{part}, {name}'}: {_change(old[part].get(name, 'none'), new[part].get(name, 'none'))}"
        for part in old.keys() & new.keys()
        for name in sorted(old[part].keys() | new[part].keys())
        if old[part].get(name) != new[part].get(name)
    ]


def _change(then: str, now: str) -> str:
    """Return two values in words. Of long values only the text around their first difference is shown."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(then, now, strict=False))))
    first = max(0, same - LONGEST // 4) if max(len(then), len(now)) > LONGEST else 0
    before, after = (shorten(("…" if first else "") + value[first:], LONGEST) for value in (then, now))
    return f"{before} then, {after} now"


def read(folder: Path) -> Noted | None:
    """Return what a study's folder says about its system; None if it has no system.json that can be read."""
    try:
        return documents.load(folder / FILE, Noted)
    except documents.Misfit:
        return None


def _identity_of(parts: dict[str, dict[str, str]], runtime: str) -> str:
    return record.fingerprint([parts[HOST], parts[runtime]])


def look(runtime: VersionedRuntime) -> QuickFacts:
    """Return the facts about this host and a runtime that are quick to look at."""
    return _seen(_paths(runtime))


def _paths(runtime: VersionedRuntime) -> list[str]:
    """Return the paths of a runtime's programs and settings.

    Settings are included even if they are not there, because they may be made later.
    """
    found = (name if os.path.isabs(name) else shutil.which(name) for name in runtime.programs())
    return [path for path in found if path]


def _seen(programs: Iterable[str]) -> QuickFacts:
    """Return the facts that are quick to look at. If none of them has changed, nothing else has."""
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
