"""Make the machine quiet, and take that back: at the end of a command, or when a user says so.

The settings are those that move numbers and can be changed without stopping anything: frequency governor, turbo, NUMA
balancing and swap space. plimsoll.host.quieted notes what was before.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from plimsoll.errors import PlimsollError, first_of
from plimsoll.host import machine_lock, quieted, system
from plimsoll.host.quieted import Change, Note
from plimsoll.host.topology import read
from plimsoll.measuring import lock

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


class Plan(NamedTuple):
    """What is changed: the `note`, and why other things are not, in words by name. `quiet` are those that need no change."""

    note: Note
    reasons: dict[str, str]
    quiet: list[str]

    @property
    def names(self) -> list[str]:
        """Return the names of what is changed, each once."""
        changed = {Path(change["path"]).name for change in self.note["changes"]}
        named = [one.name for one in SETTINGS if Path(one.files).name in changed]
        return [*dict.fromkeys(named), *([SWAP] if self.note["swaps"] else [])]


def plan(root: Path = Path("/"), kept: bool = False) -> Plan:
    """Return what is to be changed on this machine, or on the one whose /sys and /proc are below `root`."""
    files = {setting: sorted(root.glob(setting.files)) for setting in SETTINGS}
    changes = [change for setting, paths in files.items() for change in _changes(setting, paths)]
    there = {setting.name for setting, paths in files.items() if any(_takes(path, setting.wanted) for path in paths)}
    reasons = {name: "this machine does not let it be set" for name in ALL if name not in there}
    changing = {setting.name for setting, paths in files.items() if _changes(setting, paths)}
    areas, why = _swaps()
    reasons |= {SWAP: why} if why else {}
    quiet = [name for name in ALL if name in there - changing] + ([] if areas or why else [SWAP])
    return Plan({"boot": system.boot(), "kept": kept, "changes": changes, "swaps": areas}, reasons, quiet)


def _changes(setting: Setting, paths: Sequence[Path]) -> list[Change]:
    before = {path: read(path) for path in paths if _takes(path, setting.wanted)}
    return [{"path": str(path), "before": text, "after": setting.wanted} for path, text in before.items() if text != setting.wanted]


def _takes(path: Path, wanted: str) -> bool:
    """Return whether a setting can be read, and knows the text that is wanted."""
    known = read(path.with_name("scaling_available_governors"), wanted) if path.name == "scaling_governor" else wanted
    return bool(read(path)) and wanted in known.split()


def _swaps() -> tuple[dict[str, int], str]:
    """Return the swap areas to switch off, with their priorities, and why none is although some are in use."""
    areas, memory, used = quieted.swaps(), psutil.virtual_memory(), psutil.swap_memory().used
    if areas and memory.available - used < SPARE * memory.total:
        return {}, f"{used / 2**30:.1f} GiB are in it, and {memory.available / 2**30:.1f} GiB of memory are free"
    return areas, ""


def make_quiet(wanted: Plan) -> tuple[int, list[str]]:
    """Change what is planned. Return a descriptor with the note's lock, and in sentences what was done.

    The note is on the disk before anything is changed. Raise PlimsollError, with nothing changed, if another user has
    made the machine quiet, or if this user may not change it.
    """
    _refuse(wanted)
    descriptor = quieted.write({**wanted.note, "kept": False})
    failed = quieted.apply(wanted.note)
    if wanted.note["kept"] and len(failed) < len(wanted.note["changes"]) + len(wanted.note["swaps"]):
        os.close(descriptor)
        descriptor = quieted.write(wanted.note)
    done = [f"changed: {', '.join(wanted.names)}."] if wanted.names else []
    return descriptor, [*done, *said(wanted), *(f"not changed: {problem}." for problem in failed)]


def said(wanted: Plan) -> list[str]:
    """Return, in sentences, what is quiet already and what cannot be changed."""
    already = [f"quiet already: {', '.join(wanted.quiet)}."] if wanted.quiet else []
    return [*already, *(f"not changed: {name}, because {reason}." for name, reason in wanted.reasons.items())]


def _refuse(wanted: Plan) -> None:
    if others := quieted.of_others():
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
    with machine_lock.held(lock.say_whose):
        if quieted.noted():
            raise PlimsollError(f"`plimsoll doctor` has made this machine quiet before. Nothing was changed. Type: {UNDO}")
        wanted = plan(root, kept=True)
        if not wanted.names:
            _tell([*said(wanted), "nothing was changed, and there is nothing to undo."])
            return int(bool(wanted.reasons))
        descriptor, done = make_quiet(wanted)
        os.close(descriptor)
    remember = "Measure all of a study like this, or nothing: runs with other settings are never pooled."
    _tell([*done, f"it stays so until you type {UNDO}, or restart the machine. {remember}"])
    return int(bool(wanted.reasons) or any(line.startswith("not changed") for line in done))


def undo() -> int:
    """Take back what this user has changed. Return the exit status: 1 if not all of it could be taken back."""
    with machine_lock.held(lock.say_whose):
        note = quieted.noted()
        if note is None:
            others = [f"{name} has changed settings, and can take that back." for name in quieted.of_others()]
            _tell(others or ["nothing to undo: this machine is as it was."])
            return int(bool(others))
        failed = quieted.undo(note)
    _tell([f"not taken back: {problem}." for problem in failed] or ["the settings are as they were before."])
    return int(bool(failed))


def during(command: Sequence[str], root: Path = Path("/")) -> int:
    """Make the machine quiet, run a command, and take the changes back. Return the command's exit status.

    Raise PlimsollError, with nothing changed or started, if there is no such program or if this user may not change
    what can be changed. On a machine that is quiet already, or cannot be made so, the command runs as it is.
    """
    if not shutil.which(command[0]):
        raise PlimsollError(f"There is no program {command[0]}. Nothing was changed or measured.")
    with machine_lock.held(lock.say_whose):
        before = quieted.noted()
        wanted = plan(root)
        if before or not wanted.names:
            _tell([*said(wanted), "nothing was changed, and the command runs on the machine as it is."])
            descriptor = None
        else:
            descriptor, done = make_quiet(wanted)
            _tell(done)
    try:
        return _ran(command, [] if descriptor is None else [descriptor])
    finally:
        if descriptor is not None:
            os.close(descriptor)
            undo()


def _ran(command: Sequence[str], descriptors: Sequence[int]) -> int:
    """Run a command, which keeps the descriptors open. Return its exit status, as a shell does.

    Signals that would end this process go to the command, which ends this process then. Ctrl-C reaches the command by
    itself.
    """
    with subprocess.Popen(command, pass_fds=descriptors) as child:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: child.send_signal(number))
        signal.signal(signal.SIGINT, lambda *_: None)
        status = child.wait()
    return BY_SIGNAL - status if status < 0 else status


def undo_left() -> None:
    """Take back what a killed `plimsoll doctor` has left changed, if nobody measures, and say so.

    Every command of a user begins with it.
    """
    if not _is_left():
        return
    if not machine_lock.free():
        _tell(["a killed `plimsoll doctor` has left this machine changed. That is taken back when nobody measures."])
        return
    with machine_lock.held(lock.say_whose):
        _tell(quieted.undo_left())


def _is_left() -> bool:
    with quieted.unlocked() as free:
        note = quieted.noted() if free else None
    return bool(note and not note["kept"])


def _tell(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"plimsoll: {line}", file=sys.stderr, flush=True)


def kept() -> Iterator[str]:
    """Yield a sentence if a user keeps this machine quiet."""
    note = quieted.noted()
    if note and note["kept"]:
        yield f"This machine is kept quiet. {UNDO} takes that back."
