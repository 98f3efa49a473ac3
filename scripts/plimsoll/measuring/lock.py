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

from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import cgroup, machine_lock, private, variables

# Every process of a run carries it, so that those of a killed run can be found.
VARIABLE = "PLIMSOLL_RUN"
# Of a workflow, in its folder.
FOLDER_S = Path(".snakemake/plimsoll.lock")
# Of runs and nothing else, as all that a killed run left in it is removed.
TEMPORARY = Path(f"/tmp/.plimsoll-{os.geteuid()}")


class Sweepable(Protocol):
    """Something that can be left behind, and swept; `containers` says whether it is containers."""

    containers: bool

    def sweep(self) -> None:
        """Remove what a killed run left behind; Unavailable if that fails."""


@contextlib.contextmanager
def machine(environments: Callable[[], Mapping[str, Sweepable]] = dict) -> Iterator[None]:
    """Hold the machine's lock, waiting (and saying so) for another workflow. Sweeps first if this user's last measurement was
    killed, or may have been (machine_lock.due); root sweeps after everybody's as well.

    `environments` gives those that it may have left nodes of. They are asked for only then.
    """
    with machine_lock.held(say_whose):
        if machine_lock.due():
            left = machine_lock.to_sweep()
            # Where nothing is marked probably nothing is left, and what does not answer is no news.
            sweep(environments().values(), aloud=bool(left))
            machine_lock.swept(left)
        machine_lock.mark()
        # Not in a finally: after an error the mark stays, and the next start sweeps.
        yield
        machine_lock.unmark()


def say_whose(holder: str) -> None:
    """Tell who is waited for, by name and number of process."""
    print(
        f"plimsoll: another workflow is measuring on this machine ({holder}); waiting for it.",
        file=sys.stderr,
        flush=True,
    )


class Busy(PlimsollError):
    """Another workflow is at work in a folder; `whose` says which."""

    def __init__(self, whose: str, path: Path):
        super().__init__(f"{whose}: wait for it to end, or stop it.")
        self.whose, self._path = whose, path

    def wait(self) -> None:
        """Wait until nobody is."""
        with open(self._path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def hold_folder(path: Path = FOLDER_S) -> TextIO:
    """Keep a second workflow out of a folder, by a file in it, as long as the file that is returned is open. The lock is the
    kernel's, so a killed holder cannot leave it behind. Busy if another workflow has it."""
    file = open(path, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        by = machine_lock.holder(file.fileno())
        file.close()
        raise Busy(f"Another workflow is running in this folder ({by})", path) from None
    return file


def left_by_others() -> str:
    """What is to be said of measurements of other users that were killed, if what they left is not this user's to remove."""
    others = machine_lock.of_others()
    if not others or not machine_lock.free():
        return ""
    return (
        f"a measurement of {', '.join(others)} on this machine was killed. What it left keeps nobody from measuring, unless it "
        "is still at work; it goes when its user measures again, and but for Podman's containers when root does."
    )


def sweep(environments: Iterable[Sweepable], aloud: bool = True) -> None:
    """Remove the processes, folders, and what the environments know of (containers, instances, cgroups) that a killed run left
    behind. The lock must be held. What could not be removed is said `aloud`, and tried again by a later run."""
    kill_strays()
    remove_folders()
    cgroup.put_back(cgroup.mounts())
    problems = {}
    # A cgroup can be removed when no container is in it any more.
    for environment in sorted(environments, key=lambda each: not each.containers):
        try:
            environment.sweep()
        except (Unavailable, OSError) as problem:
            problems[str(problem)] = None
    for problem in problems if aloud else ():
        print(f"plimsoll: left over from a killed run, and not removed: {problem}.", file=sys.stderr, flush=True)
    machine_lock.note_sweep(not problems)


def take_down(stop: Callable[[], None], environments: Iterable[Sweepable]) -> float:
    """Stop what a run has started, and return how long that took in seconds. If it fails, say why, and remove what can be
    removed."""
    begun = time.monotonic()
    try:
        stop()
    except Unavailable as problem:
        print(f"plimsoll: {problem}; the next run removes what is left.", file=sys.stderr, flush=True)
        sweep(environments)
    return round(time.monotonic() - begun, 4)


@contextlib.contextmanager
def run(identity: str, folder: Path) -> Iterator[None]:
    """Give every process that is started in this context the variables of a run in a folder, and the mark of the run
    `identity`.

    This is the one place that keeps the user's variables from what is measured, and from what starts it.
    """
    before = dict(os.environ)
    _become({**variables.of_run(before, folder), VARIABLE: identity})
    home = variables.home_of(folder)
    home.mkdir(exist_ok=True)
    try:
        yield
    finally:
        private.remove(home)
        # What this process starts later is of no run: the next one's sweep would kill it.
        _become(before)


def _become(environment: Mapping[str, str]) -> None:
    """Have these variables, and no others."""
    os.environ.clear()
    os.environ.update(environment)


def temporary_folder(identity: str) -> Path:
    """A new folder for a run, with a path that is short enough for sockets."""
    folder = private.make(TEMPORARY) / identity
    folder.mkdir(mode=0o700)
    return folder


def remove_folders() -> None:
    """Remove the temporary folders of this user's runs but that of this process's."""
    for folder in TEMPORARY.glob("*") if private.is_own(TEMPORARY) else ():
        if folder.name != os.environ.get(VARIABLE):
            private.remove(folder)


def kill_strays() -> None:
    """Kill every process of a run that is not this process's."""
    mine = os.environ.get(VARIABLE)
    _kill(number for number, identity in of_runs().items() if identity != mine)


def kill_run(identity: str) -> None:
    """Kill every process that this process has started for a run and that is still there."""
    _kill(number for number, its in of_runs().items() if its == identity)


def of_runs() -> dict[int, str]:
    """The identity of the run that each process was started for, by the process's number; without those of other users, whose
    variables cannot be read, and without this process, which has no run in what it was started with."""
    numbers = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    found = {number: identity_of(number) for number in numbers if number != os.getpid()}
    return {number: identity for number, identity in found.items() if identity is not None}


def identity_of(process: int) -> str | None:
    """The identity of the run that a process was started for; None if there is none, it has ended, or is another user's."""
    try:
        entries = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    marks = (entry.partition(b"=") for entry in entries)
    return next((os.fsdecode(identity) for name, _, identity in marks if name == VARIABLE.encode()), None)


def _kill(processes: Iterable[int]) -> None:
    for number in processes:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
