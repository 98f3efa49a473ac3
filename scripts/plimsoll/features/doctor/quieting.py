"""Make the machine quiet, and take that back: at the end of a command, or when a user says so.

The settings are those that move numbers and can be changed without stopping anything: frequency governor, turbo, NUMA
balancing and swap space. plimsoll.host.quiet_settings notes what was before.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from plimsoll.errors import PlimsollError, first_of, say
from plimsoll.host import machine_lock, quiet_settings, system
from plimsoll.host.quiet_settings import Change, Note
from plimsoll.host.topology import read
from plimsoll.measuring import failing_groups, lock

UNDO = "./plimsoll doctor --undo"
# Share of all memory that must be left when what is in swap space has come back.
SPARE = 0.1
# A shell's status of a program that a signal has ended is the signal's number above this.
BY_SIGNAL = 128


class Setting(NamedTuple):
    """A setting that is changed: its name, the pattern of its files below the root folder, and the text that is wanted."""

    name: str
    files: str
    wanted: str


SETTINGS = (
    Setting("frequency governor", "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance"),
    Setting("turbo", "sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    Setting("turbo", "sys/devices/system/cpu/cpufreq/boost", "0"),
    Setting("NUMA balancing", "proc/sys/kernel/numa_balancing", "0"),
)
ALL = tuple(dict.fromkeys(setting.name for setting in SETTINGS))
SWAP = "swap"
# Beginnings of messages, and messages.
NOT = "not changed"
NOTHING = "Nothing was changed, and there is nothing to undo."
AS_IT_IS = "The command runs on the machine as it is."
KEPT = f"this machine is quiet already, until you type {UNDO}."
ALL_OF_A_STUDY = "Measure all of a study like this, or nothing: runs with other settings are never pooled."


class Plan(NamedTuple):
    """What is changed: the `note`, and why other things are not, in words by name. `quiet` are those that need no change."""

    note: Note
    reasons: dict[str, str]
    quiet: list[str]

    @property
    def names(self) -> list[str]:
        """Return the names of the settings that are changed, each once."""
        changed = {Path(change["path"]).name for change in self.note["changes"]}
        named = [one.name for one in SETTINGS if Path(one.files).name in changed]
        return [*dict.fromkeys(named), *([SWAP] if self.note["swaps"] else [])]


def plan(root: Path = Path("/")) -> Plan:
    """Return what is to be changed on this machine, or on the one whose /sys and /proc are below `root`."""
    files = {setting: sorted(root.glob(setting.files)) for setting in SETTINGS}
    changes = [change for setting, paths in files.items() for change in _changes(setting, paths)]
    there = {setting.name for setting, paths in files.items() if any(_takes(path, setting.wanted) for path in paths)}
    reasons = {name: "this machine does not let it be set" for name in ALL if name not in there}
    changing = {setting.name for setting, paths in files.items() if _changes(setting, paths)}
    areas, why = _swaps()
    reasons |= {SWAP: why} if why else {}
    quiet = [name for name in ALL if name in there - changing] + ([] if areas or why else [SWAP])
    return Plan({"boot": system.boot(), "kept": False, "changes": changes, "swaps": areas}, reasons, quiet)


def _changes(setting: Setting, paths: Sequence[Path]) -> list[Change]:
    before = {path: read(path) for path in paths if _takes(path, setting.wanted)}
    return [
        {"path": str(path), "before": text, "after": setting.wanted} for path, text in before.items() if text != setting.wanted
    ]


def _takes(path: Path, wanted: str) -> bool:
    """Return whether a setting can be read, and knows the text that is wanted."""
    known = read(path.with_name("scaling_available_governors"), wanted) if path.name == "scaling_governor" else wanted
    return bool(read(path)) and wanted in known.split()


def _swaps() -> tuple[dict[str, int], str]:
    """Return the swap areas to switch off, with their priorities, and why none is although some are in use."""
    areas, memory, used = quiet_settings.swaps(), psutil.virtual_memory(), psutil.swap_memory().used
    if areas and memory.available - used < SPARE * memory.total:
        return {}, f"{used / 2**30:.1f} GiB are in it, and {memory.available / 2**30:.1f} GiB of memory are free"
    return areas, ""


def make_quiet(wanted: Plan) -> tuple[int | None, list[str]]:
    """Change what is planned. Return a descriptor with the note's lock, and in sentences what was done.

    The note is on the disk before anything is changed. Without a descriptor nothing could be changed, and there is no
    note. Raise PlimsollError, with nothing changed, if this user may not change the machine, or if another user has.
    """
    if not wanted.names:
        return None, said(wanted)
    _refuse(wanted)
    descriptor = quiet_settings.write(wanted.note)
    failed = quiet_settings.apply(wanted.note)
    told = [*said(wanted), *(f"{NOT}: {problem}." for problem in failed)]
    if len(failed) == len(wanted.note["changes"]) + len(wanted.note["swaps"]):
        quiet_settings.undo(wanted.note)
        os.close(descriptor)
        return None, told
    return descriptor, [f"changed: {', '.join(wanted.names)}.", *told]


def said(wanted: Plan) -> list[str]:
    """Return, in sentences, what is quiet already and what cannot be changed."""
    already = [f"quiet already: {', '.join(wanted.quiet)}."] if wanted.quiet else []
    return [*already, *(f"{NOT}: {name}, because {reason}." for name, reason in wanted.reasons.items())]


def _refuse(wanted: Plan) -> None:
    if others := quiet_settings.of_others():
        raise PlimsollError(f"{first_of(others)} has made this machine quiet. Nothing was changed: {UNDO} is theirs to type.")
    if closed := [one["path"] for one in wanted.note["changes"] if _is_refused(Path(one["path"]))]:
        raise PlimsollError(
            f"Nothing was changed, because only root may write {closed[0]}. Type: sudo ./plimsoll doctor --quiet-machine; then "
            f"what you measure, as yourself; then sudo {UNDO}"
        )


def _is_refused(path: Path) -> bool:
    """Return whether a file may not be written by this user, and could be by root."""
    return os.geteuid() != 0 and not os.access(path, os.W_OK)


def keep_quiet(root: Path = Path("/")) -> int:
    """Make the machine quiet until a user takes that back. Return the exit status: 1 if not all of it could be done."""
    with machine_lock.hold(lock.say_whose):
        if quiet_settings.read_note():
            raise PlimsollError(f"`plimsoll doctor` has made this machine quiet before. Nothing was changed. Type: {UNDO}")
        wanted = plan(root)
        descriptor, told = make_quiet(wanted)
        if descriptor is None:
            _tell([*told, NOTHING])
            return int(any(line.startswith(NOT) for line in told))
        os.close(quiet_settings.write({**wanted.note, "kept": True}))
        os.close(descriptor)
    _tell([*told, f"it stays so until you type {UNDO}, or restart the machine. {ALL_OF_A_STUDY}"])
    return int(any(line.startswith(NOT) for line in told))


def undo() -> int:
    """Take back what this user has changed. Return the exit status: 1 if not all of it could be taken back."""
    with machine_lock.hold(lock.say_whose):
        note = quiet_settings.read_note()
        if note is None:
            others = [f"{name} has changed settings, and can take that back." for name in quiet_settings.of_others()]
            _tell(others or ["nothing to undo: this machine is as it was."])
            return int(bool(others))
        failed = quiet_settings.undo(note)
    _tell([f"not taken back: {problem}." for problem in failed] or ["the settings are as they were before."])
    return int(bool(failed))


def during(command: Sequence[str], root: Path = Path("/")) -> int:
    """Make the machine quiet, run a command, and take the changes back. Return the command's exit status.

    Raise PlimsollError, with nothing changed or started, if there is no such program or if this user may not change
    what can be changed. If nothing can be changed, or a user keeps the machine quiet, the command runs nevertheless.
    """
    if not shutil.which(command[0]):
        raise PlimsollError(f"There is no program {command[0]}. Nothing was changed or measured.")
    with machine_lock.hold(lock.say_whose):
        kept = quiet_settings.read_note()
        descriptor, told = (None, [KEPT]) if kept else make_quiet(plan(root))
    _tell([*told, *([ALL_OF_A_STUDY] if descriptor else [] if kept else [f"{NOTHING} {AS_IT_IS}"])])
    with contextlib.ExitStack() as at_end:
        if descriptor is not None:
            at_end.callback(undo)
            at_end.callback(os.close, descriptor)
        return _ran(command, [] if descriptor is None else [descriptor])


def _ran(command: Sequence[str], descriptors: Sequence[int]) -> int:
    """Run a command, which keeps the descriptors open. Return its exit status, as a shell does.

    Signals that would end this process go to the command, which ends this process then. A terminal sends Ctrl-C
    to both. Each command below it is a start of its own (plimsoll.measuring.failing_groups).
    """
    variables = {name: value for name, value in os.environ.items() if name != failing_groups.VARIABLE}
    with subprocess.Popen(command, pass_fds=descriptors, env=variables) as child, _signals_to(child):
        status = child.wait()
    return BY_SIGNAL - status if status < 0 else status


@contextlib.contextmanager
def _signals_to(child: subprocess.Popen) -> Iterator[None]:
    def send(number: int, _: object) -> None:
        if number != signal.SIGINT:
            child.send_signal(number)

    before = {number: signal.signal(number, send) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(lines: Sequence[str]) -> None:
    for line in lines:
        say(line)
