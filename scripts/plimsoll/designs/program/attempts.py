"""Attempt at a run: the program runs several times in a node that was started for it, and is timed in there.

The first run warms up and does not count. What it maps, and what it sees of the machine, is noted. Each run has a folder of its
own with a copy of the user's folder. Large files are hard links.
"""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from plimsoll import paths, runtimes
from plimsoll.designs.program import neighbour, outputs, process_view, quotas, ranks, watched_run
from plimsoll.designs.program.factors import HOST, LOOK, OTHER, SAME, ProgramCell
from plimsoll.errors import Unavailable
from plimsoll.host import disk
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import Node, Runtime, Spec
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.services.attempts import Run, ServiceAttempts
from plimsoll.services.containers import Services, all_counted
from plimsoll.services.snapshots import snapshots
from plimsoll.workloads.base import InvalidOutput

# The program that times, in the image and below its unpacked files.
TIMED = "opt/plimsoll/bin/timed"
# A file of the user's folder that is at least this long is not copied for each run (bytes).
LINKED_BYTES = 2**20
# Limit for what is around the program's runs (s).
AROUND = 30.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Attempts(ServiceAttempts):
    """Attempts at runs of a study of a program."""

    def start(self, attempt: Attempt) -> "ProgramRun":
        """Return the run of an attempt."""
        return (RanksRun if "ranks" in attempt.cell["parameters"] else ProgramRun)(attempt)


class ProgramRun(Run):
    """An attempt in progress."""

    def __init__(self, attempt: Attempt):
        self.attempt, self.folder, self.image = attempt, attempt.folder, attempt.image
        self.cell: ProgramCell = attempt.cell
        self.runtime: Runtime = runtimes.find(self.cell["runtime"])
        self.services = Services(self.runtime, attempt.identity, self.folder) if self.runtime.services else None
        self.nodes: list[Node] = []
        self.spans: noise.Spans = []
        # For a quota of the container (s).
        self.waited = 0.0
        self.linked: dict[Path, tuple] = {}
        self.looks = self.cell["stage"] == LOOK
        # Runs that count and the one that warms up. A watched run is alone.
        self.number = 1 if self.looks else self.cell["runs"] + 1

    @property
    def counted(self) -> bool:
        """Whether the processor time of the program is counted."""
        return all_counted(self.services)

    def measure(self) -> dict:
        """Run the program, and return what was measured. InvalidOutput if it does not count, Unavailable if it was not run."""
        self._prepare()
        begun = time.monotonic()
        if self.services:
            with snapshots(self.attempt, self.services) as snapshot:
                node = self._node()
                started = time.monotonic() - begun
                took = self._timed(node, snapshot)
        else:
            node = self._node()
            started = time.monotonic() - begun
            took = self._timed(node, lambda: self.attempt.snapshot(node.groups, ()))
        if self.given:
            refuse_changed(self.linked, self.given)
        if self.looks:
            return self._looked(node)
        made = self._made()
        parameters = self.cell["parameters"]
        values = {"start": started + self._around(took, made)}
        timed = [outputs.read(self.folder / str(one["run"]), one, values, parameters) for one in made[1:]]
        outputs.refuse_others(timed, parameters)
        return {"timed": timed, "throttled_seconds": round(self.waited, 3), **self._seen(), **self._more(made)}

    def _seen(self) -> dict:
        node_files = None if self.cell["runtime"] == HOST else Path(self.image["rootfs"])
        noted = self.noted
        return {"inside": process_view.inside(noted), **process_view.mapped(noted, node_files)}

    @property
    def noted(self) -> Path:
        """Folder with what the program saw of the machine."""
        return self.folder

    @property
    def watched(self) -> list[Path]:
        """Folders with what the timer wrote of each program that it watched."""
        return [self.noted]

    def _made(self) -> list[dict]:
        """Return what was logged of each run, with the warm-up. InvalidOutput if one of them went wrong."""
        return outputs.run_logs(self.folder, self.cell)

    def _around(self, took: float, made: list[dict]) -> float:
        """Return the seconds that the command took beside the program's runs."""
        return max(0.0, took - sum(one["wall"] for one in made))

    def _more(self, made: list[dict]) -> dict:
        """Return what else belongs into the record."""
        return {}

    def _looked(self, node: Node) -> dict:
        """Return what a watched run showed. It has no times."""
        known = self._seen()
        looked = watched_run.read(self.folder, self.watched, known["mapped"], lambda words: self._inside(node, words))
        return {"timed": [], **known, "looked": looked}

    def take_down(self) -> None:
        """Stop the node, and remove what was made for it, with the working folders: a program may write until it is stopped."""
        try:
            if self.services:
                self.services.take_down()
            elif self.nodes:
                self.runtime.stop(self.nodes)
        finally:
            self._clean()

    def _node(self) -> Node:
        if self.services:
            self.attempt.watch.room.watch({disk.CONTAINERS: self.runtime.storage()})
            names = ("c0", "c1") if self.cell["stage"] == OTHER else ("c0",)
            more = {"command": (f"/{TIMED}", "--pause"), "volumes": tuple(self.cell["parameters"].get("written", ()))}
            specs = [self.services.spec(name, self.image, **more) for name in names]
            node, *others = self.services.start(specs)
            self.beside = others[0] if others else node
        else:
            spec = Spec(self.attempt.identity, "program", self.image, self.folder, temporary=self.attempt.temporary)
            (node,) = self.nodes = self.runtime.start([spec])
            self.beside = node
        return node

    def _timed(self, node: Node, snapshot) -> float:
        """Run the program in the node. Return the seconds from the command to its end, with what is around the program."""
        number, limit = self.number, self.cell["parameters"]["limit_seconds"]
        count = watched_run.COUNT if self.looks else str(number)
        words = self._inside(node, [str(self.folder), f"{limit:g}", count, *self.cell["command"]])
        printed = [self.folder / str(run) / name for run in range(number) for name in outputs.PRINTED]
        with self._neighbour():
            before, begun = snapshot(), time.monotonic()
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                ended = ended_within(process.pid, limit * number + AROUND, printed, self.attempt.watch)
            finally:
                took = time.monotonic() - begun
                code = kill(process)
            self._note_span(before, snapshot)
        if not ended:
            raise InvalidOutput(f"it did not end within {limit:g} s")
        if code:
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise Unavailable(f"it could not be started: {said[-1] if said else f'exit status {code}'}")
        return took

    def _note_span(self, before, snapshot) -> None:
        """Note what the machine did from the snapshot `before` to now, without waits for the container's own quota."""
        after = snapshot()
        if self.looks:
            # It is not timed, so nothing disturbs it. The kernel shows a program that is watched as stopped.
            before, after = after, snapshot()
        span, self.waited = quotas.apart(before, after, self.attempt.machine.mounted)
        self.spans.append(span)

    @property
    def given(self) -> Path | None:
        """The study's copy of the user's folder; None for a program that needs no folder."""
        return paths.CONFIG / "folder" if self.cell["parameters"].get("folder") else None

    @property
    def path(self) -> str:
        """PATH of the program on this host."""
        return self.cell["parameters"].get("variables", {}).get("PATH", PATH)

    def timer(self, node: Node) -> str:
        """Return the path of the program that times, as a node sees it."""
        return f"/{TIMED}" if node.kind != "host" else str(Path(self.image["rootfs"], TIMED))

    def _neighbour(self) -> contextlib.AbstractContextManager:
        """Return a context in which the study's neighbour runs, if this run has one."""
        if self.cell["stage"] not in (SAME, OTHER):
            return contextlib.nullcontext()
        command = self.cell["parameters"]["beside"]
        return neighbour.run_repeatedly(lambda words: self._inside(self.beside, words), self.folder / neighbour.FOLDER, command)

    def _inside(self, node: Node, words: list[str]) -> list[str]:
        """Return a command that starts the timer in the node with these words."""
        # Without a folder: the timer needs none, and an image's `env` may not know --chdir.
        where = None if node.kind == ChangedRoot.kind else self.folder
        return node.inside([self.timer(node), *words], where)

    def _prepare(self) -> None:
        """Make a working folder for each run, and write the variables of the program."""
        parameters = self.cell["parameters"]
        self.linked = linked_files(self.given) if self.given else {}
        for run in range(self.number):
            make_work(self.given, self.folder / str(run) / "work")
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        of_image = {} if self.cell["runtime"] == HOST else parameters.get("image_variables", {})
        own = variables(home, of_image, parameters.get("variables", {})) | (watched_run.VARIABLES if self.looks else {})
        own |= {name: value for name, value in os.environ.items() if name == "PLIMSOLL_RUN"}
        text = as_text(own)
        (self.folder / "variables").write_text(text)
        if self.cell["stage"] in (SAME, OTHER):
            neighbour.prepare(self.folder, self.given, text)
        (self.folder / "command.json").write_text(json.dumps(self.cell["command"]))

    def _clean(self) -> None:
        """Remove the working folders: there may be many, and each has a copy of the user's folder."""
        for run in range(self.number):
            shutil.rmtree(self.folder / str(run) / "work", ignore_errors=True)
        shutil.rmtree(self.folder / neighbour.FOLDER, ignore_errors=True)


class RanksRun(ranks.OfRanks, ProgramRun):
    """An attempt in progress whose program is started as MPI ranks."""


def variables(home: Path, of_image: dict[str, str], of_user: dict[str, str]) -> dict[str, str]:
    """Return the variables of a program: the usual ones, then those of its image, then the user's."""
    return {"PATH": PATH, "LANG": "C.UTF-8", **of_image, "HOME": str(home), **of_user}


def as_text(variables: Mapping[str, str]) -> str:
    """Return variables as the program that times reads them."""
    return "".join(f"{name}={value}\0" for name, value in variables.items())


def make_work(given: Path | None, work: Path) -> None:
    """Make the folder that a run works in: a copy of the user's folder `given`, or an empty folder. Large files are linked."""
    if given:
        shutil.copytree(given, work, symlinks=True, copy_function=_copy)
    else:
        work.mkdir(parents=True)


def linked_files(folder: Path) -> dict[Path, tuple]:
    """Return the state of each file of a folder that is not copied for each run."""
    states = {path: _state(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    return {path: state for path, state in states.items() if state[0] >= LINKED_BYTES}


def refuse_changed(linked: Mapping[Path, tuple], folder: Path) -> None:
    """Raise InvalidOutput if a program changed one of the `linked` files of the user's folder, which later runs would read."""
    if changed := [path for path, state in linked.items() if _state(path) != state]:
        name = changed[0].relative_to(folder)
        raise InvalidOutput(f"it changed {name}, which all runs share because it has 1 MiB or more: let it write elsewhere")


def _state(path: Path) -> tuple | None:
    """Return size, time of the last change (ns) and mode of a file; None if it is gone."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_mode


def _copy(source: str, target: str) -> None:
    if os.path.getsize(source) < LINKED_BYTES:
        shutil.copy2(source, target)
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
