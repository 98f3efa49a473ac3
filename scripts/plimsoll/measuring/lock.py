"""One measurement at a time on a machine, and a clean start after a killed one."""

import contextlib
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TextIO

from plimsoll.errors import PlimsollError, Unavailable, say
from plimsoll.host import cgroup, machine_lock, private, processes, quiet_settings, variables

# Every process of a run has this variable, so that processes of a killed run can be found.
VARIABLE = "PLIMSOLL_RUN"
# Lock file of a workflow, in its folder.
FOLDER_LOCK = Path(".snakemake/plimsoll.lock")
# Folder for runs and nothing else, because all that a killed run left in it is removed.
TEMPORARY = Path(f"/tmp/.plimsoll-{os.geteuid()}")


class Sweepable(Protocol):
    """Something that a killed run can leave behind, and that can be swept. `has_containers` says whether it is containers."""

    has_containers: bool

    def sweep(self) -> None:
        """Remove the leftovers of killed runs. Raise Unavailable if that fails."""


@contextlib.contextmanager
def machine(runtimes: Callable[[], Mapping[str, Sweepable]] = dict) -> Iterator[None]:
    """Hold the machine's lock during the context. Wait, with a message, while another workflow holds it.

    Sweep first if this user's last measurement was killed, or may have been (machine_lock.due). Root sweeps after all
    users. `runtimes` returns the runtimes whose nodes may be left. It is called for a sweep alone. Settings that a
    killed `plimsoll doctor` left changed are taken back before.
    """
    with _alone():
        if machine_lock.due():
            left = machine_lock.to_sweep()
            # Without a marker there is probably nothing to remove. A runtime that does not answer is then not worth a message.
            sweep(runtimes().values(), aloud=bool(left))
            machine_lock.swept(left)
        machine_lock.mark()
        # Not in a finally: after an error the marker stays, and the next start sweeps.
        yield
        machine_lock.unmark()


def undo_left() -> None:
    """Take back the settings that a killed `plimsoll doctor` has left changed, and say so.

    Do nothing during a measurement, because settings stay the same while it lasts.

    Every command of a user begins with it. It takes 0.1 ms if nothing is left.
    """
    if not quiet_settings.is_left():
        return
    if not machine_lock.free():
        say(
            "a killed `plimsoll doctor` has left settings changed. "
            "They are taken back when the measurement that is running now has ended."
        )
        return
    with _alone():
        pass


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold the machine's lock, with settings taken back that a killed `plimsoll doctor` left changed."""
    waited_for: list[str] = []
    with machine_lock.hold(lambda holder: waited_for.append(holder) or say_whose(holder)):
        if waited_for:
            # For the line of the terminal, which says that this process waits.
            print("the machine is free", file=sys.stderr, flush=True)
        for line in quiet_settings.undo_left():
            say(line)
        yield


def say_whose(holder: str) -> None:
    """Print that this process waits for another workflow; `holder` names its user and process."""
    say(f"another workflow is measuring on this machine ({holder}); waiting for it.")


class Busy(PlimsollError):
    """Another workflow runs in a folder; `whose` says which."""

    def __init__(self, whose: str, path: Path):
        super().__init__(f"{whose}: wait for it to end, or stop it.")
        self.whose, self._path = whose, path

    def wait(self) -> None:
        """Wait until the other workflow has ended."""
        with open(self._path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def hold_folder(path: Path = FOLDER_LOCK) -> TextIO:
    """Keep a second workflow out of a folder, by a lock on a file in it. Return the open file; closing it releases the lock.

    The lock is the kernel's, so a killed holder cannot leave it behind. Raise Busy if another workflow has it.
    """
    file = open(path, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        by = machine_lock.holder(file.fileno())
        file.close()
        raise Busy(f"Another workflow is running in this folder ({by})", path) from None
    return file


def left_by_others() -> str:
    """Return a message about killed measurements of other users whose leftovers this user may not remove.

    It is empty if there are no such measurements, or while the machine's lock is held.
    """
    others = machine_lock.of_others()
    if not others or not machine_lock.free():
        return ""
    return (
        f"a measurement of {', '.join(others)} on this machine was killed. You can measure. Its leftovers are removed when "
        "that user or root measures next (Podman's containers: only by that user). Until then they may disturb your runs."
    )


def sweep(runtimes: Iterable[Sweepable], aloud: bool = True) -> None:
    """Remove what killed runs left behind: processes, folders, and what the runtimes know of (containers, instances,
    cgroups).

    The lock must be held. With `aloud`, print what could not be removed. A later run tries to remove it again.
    """
    kill_strays()
    remove_folders()
    cgroup.put_back(cgroup.mounts())
    problems = {}
    # Containers go first: a cgroup can be removed when no container is in it any more.
    for runtime in sorted(runtimes, key=lambda each: not each.has_containers):
        try:
            runtime.sweep()
        except (Unavailable, OSError) as problem:
            problems[str(problem)] = None
    for problem in problems if aloud else ():
        say(f"left over from a killed run, and not removed: {problem}. The next run tries again.")
    machine_lock.note_sweep(not problems)


def take_down(stop: Callable[[], None], runtimes: Callable[[], Mapping[str, Sweepable]]) -> float:
    """Stop what a run has started, and return how long that took (s).

    If `stop` fails, print why, and remove what can be removed. `runtimes` returns the runtimes whose nodes may be left.
    It is called for that alone.
    """
    begun = time.monotonic()
    try:
        stop()
    except Unavailable as problem:
        say(f"{problem}. The next run removes what is left.")
        sweep(runtimes().values())
    return round(time.monotonic() - begun, 4)


@contextlib.contextmanager
def run(identity: str, folder: Path) -> Iterator[None]:
    """Give every process that is started in this context the variables of a run in `folder`, and its `identity`.

    No other place keeps the user's variables from what is measured, and from what starts it.
    """
    before = dict(os.environ)
    _become({**variables.of_run(before, folder), VARIABLE: identity})
    home = variables.home_of(folder)
    home.mkdir(exist_ok=True)
    try:
        yield
    finally:
        private.remove(home)
        # What this process starts later belongs to no run. With the run's variable the next sweep would kill it.
        _become(before)


def _become(environment: Mapping[str, str]) -> None:
    """Replace all environment variables of this process by these."""
    os.environ.clear()
    os.environ.update(environment)


def temporary_folder(identity: str) -> Path:
    """Make a new folder for a run, with a path that is short enough for sockets, and return its path."""
    folder = private.make(TEMPORARY) / identity
    folder.mkdir(mode=0o700)
    return folder


def remove_folders() -> None:
    """Remove the temporary folders of this user's runs, except the one of this process's run."""
    for folder in TEMPORARY.glob("*") if private.is_own(TEMPORARY) else ():
        if folder.name != os.environ.get(VARIABLE):
            private.remove(folder)


def kill_strays() -> None:
    """Kill every process of a run that is not this process's."""
    mine = os.environ.get(VARIABLE)
    _kill(number for number, identity in of_runs().items() if identity != mine)


def kill_run(identity: str) -> None:
    """Kill every process that is left of the run `identity`."""
    _kill(number for number, its in of_runs().items() if its == identity)


def of_runs() -> dict[int, str]:
    """Return the identity of the run that each process was started for, by PID.

    Processes of other users are left out, because their variables cannot be read. So is this process, which was not
    started with a run in its variables.
    """
    found = {number: identity_of(number) for number in processes.numbers() if number != os.getpid()}
    return {number: identity for number, identity in found.items() if identity is not None}


def identity_of(process: int) -> str | None:
    """Return the identity of the run that a process was started for.

    Return None if it was started for no run, has ended, or is another user's.
    """
    identity = processes.environment(process).get(VARIABLE.encode())
    return None if identity is None else os.fsdecode(identity)


def _kill(numbers: Iterable[int]) -> None:
    for number in numbers:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
