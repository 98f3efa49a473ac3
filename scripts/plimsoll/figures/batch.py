"""Draw the figures of a study beside each other, each in a process of its own, out of modules that are imported once.

Snakemake starts a job for each figure. The first of these draws all figures that wait. Each of them lies as a draft
below progress/figures until its own job takes it, so Snakemake sees a figure only when its own job has made it. A
figure that could not be drawn has no draft: its own job draws it alone, and says what is wrong.
"""

import contextlib
import fcntl
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from plimsoll import documents
from plimsoll.errors import WORKFLOW, PlimsollError
from plimsoll.host import machine_lock
from plimsoll.measuring import stop

# Environment variable with the name of the folder below PLACE that this start of the workflow uses.
VARIABLE = "PLIMSOLL_FIGURES"
PLACE, QUEUE = Path("progress/figures"), "queue.json"
# Most figures that are drawn at once: each takes some 250 MB of memory.
MOST = 16
# Folders of a study's results in which a figure's files lie.
FOLDERS = ("figures", "notebooks")

# Draws a figure by its name: gets its notebook, and a folder that looks like the folder of the study's results.
Draw = Callable[[str, Path, Path], None]


def begin(results: Path, notebooks: Mapping[tuple[str, str], Path]) -> None:
    """Note which figures this start of the workflow draws: the notebook of each, by study and name.

    Drafts of earlier starts are removed.
    """
    # A job that draws all figures must not outlive its workflow (plimsoll.measuring.stop).
    os.environ[WORKFLOW] = str(os.getpid())
    name = os.environ[VARIABLE] = f"{os.getpid()}-{time.time_ns()}"
    processes = min(MOST, len(os.sched_getaffinity(0)))
    for study in {study for study, _ in notebooks}:
        shutil.rmtree(results / study / PLACE, ignore_errors=True)
        place = results / study / PLACE / name
        place.mkdir(parents=True)
        of_study = {figure: str(path) for (of, figure), path in notebooks.items() if of == study}
        (place / QUEUE).write_text(json.dumps({"processes": processes, "notebooks": of_study}))


class Queue:
    """The figures of a study that this start of the workflow draws. Without such a start there are none."""

    def __init__(self, results: Path):
        self.results = results
        self._place = results / PLACE / os.environ.get(VARIABLE, "")
        try:
            noted = documents.load(self._place / QUEUE, dict)
        except documents.Misfit:
            noted = {}
        self.processes: int = noted.get("processes", 1)
        self.notebooks = {name: Path(path) for name, path in noted.get("notebooks", {}).items()}

    def take(self, name: str) -> bool:
        """Put the draft of a figure into its place among the results. Wait while another job draws it.

        Return whether there is a draft.
        """
        if name not in self.notebooks:
            return False
        with self._locked(name, fcntl.LOCK_EX):
            draft = self._draft(name)
            for path in sorted(path for folder in FOLDERS for path in (draft / folder).glob("*")):
                # Snakemake compares its time with those of the files that it is made from.
                os.utime(path)
                target = self.results / path.parent.name
                target.mkdir(exist_ok=True)
                path.rename(target / path.name)
            return draft.is_dir()

    def draw(self, draw: Draw, can_be_drawn: Callable[[str], bool], says: Callable[[str], object]) -> None:
        """Draw the figures that can be drawn and that no job has begun, beside each other.

        `says` is called with the name of each figure when it begins. What goes wrong is not told.
        """
        running: list[BaseProcess] = []
        with _undisturbing(self.processes) as processes:
            try:
                for name in self.notebooks:
                    if can_be_drawn(name):
                        with self._claimed(name) as claimed:
                            if claimed:
                                says(name)
                                running.append(_started(lambda name=name: self._drawn(name, draw)))
                    while len(running) >= processes:
                        running = _still(running)
                while running:
                    running = _still(running)
            finally:
                for process in running:
                    process.kill()

    def _drawn(self, name: str, draw: Draw) -> None:
        """Draw a figure, and make it a draft in one step."""
        new = self._place / f".{name}"
        for folder in FOLDERS:
            (new / folder).mkdir(parents=True)
        # Tests and verdicts, which a notebook shows beside its figure.
        for path in self.results.iterdir():
            if path.name not in FOLDERS:
                (new / path.name).symlink_to(path.resolve())
        draw(name, self.notebooks[name], new)
        executed = new / "notebooks" / f"{name}.ipynb"
        executed.write_text(executed.read_text().replace(str(new), str(self.results)))
        new.rename(self._draft(name))

    def _draft(self, name: str) -> Path:
        return self._place / name

    @contextlib.contextmanager
    def _locked(self, name: str, how: int) -> Iterator[int]:
        """Hold the lock of a figure during the context, as do processes that are forked in it until they end."""
        descriptor = os.open(self._place / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, how)
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _claimed(self, name: str) -> Iterator[bool]:
        """Hold the lock of a figure, and say whether no process has begun it before: each is tried once."""
        with contextlib.ExitStack() as held:
            try:
                descriptor = held.enter_context(self._locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                fresh = os.fstat(descriptor).st_size == 0
                os.write(descriptor, b"begun\n")
                yield fresh


@contextlib.contextmanager
def _undisturbing(processes: int) -> Iterator[int]:
    """Return how many processes may draw: all of them with the machine's lock, or one while another workflow measures."""
    with contextlib.ExitStack() as held:
        try:
            if processes > 1:
                held.enter_context(machine_lock.hold(_refuse))
        except (PlimsollError, OSError):
            processes = 1
        yield processes


def _refuse(holder: str) -> None:
    raise PlimsollError(holder)


def _started(work: Callable[[], None]) -> BaseProcess:
    """Start a process that does the work and is silent. It sees what this one has imported, and changes nothing in it."""
    process = multiprocessing.get_context("fork").Process(target=_silent, args=(work,), daemon=True)
    process.start()
    return process


def _silent(work: Callable[[], None]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # New streams, because a thread that this process does not have may hold the locks of the old ones.
    sys.stdout = sys.stderr = open(os.devnull, "w")
    stop.with_workflow()
    work()


def _still(running: list[BaseProcess]) -> list[BaseProcess]:
    """Wait until a process ends, and return the others."""
    wait([process.sentinel for process in running])
    for process in running:
        process.join(0)
    return [process for process in running if process.exitcode is None]
