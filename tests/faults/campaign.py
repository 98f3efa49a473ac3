"""A campaign of faults. Each strikes a workflow, the same command runs again, and what is left is compared."""

import functools
import json
import operator
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from plimsoll.host import machine_lock
from plimsoll.images import builder

from tests.faults import beside, leftovers, outcome, processes, striking
from tests.faults.apart import Machine
from tests.faults.drawing import CUT, Fault
from tests.faults.scenes import SCENES, Scene
from tests.project import Project

# A workflow hangs if it takes longer than TIMES the undisturbed time, and MORE_SECONDS in addition.
TIMES, MORE_SECONDS = 3.0, 150.0
# How often the command is started after a fault at most, where a hypervisor disturbs runs.
STARTS = 3


@dataclass
class Undisturbed:
    """A scene's project, what its workflow does without a fault, and what was there before it: `empty`."""

    scene: Scene
    project: Project
    seconds: float
    wanted: tuple[set[str], set[str]]
    left: Counter[str]
    empty: Counter[str]


@dataclass
class Result:
    """Result of a fault. `struck` names its victim, and is empty if there was no victim.

    `wrong` are verdicts, and tables for verdicts, that differ from what the records give.
    """

    fault: Fault
    struck: str = ""
    codes: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        return not self.problems and not self.left and not self.wrong

    def line(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps({**asdict(self), "fault": self.fault._asdict()})


class Campaign:
    """Faults on a machine of its own, whose files are in `folder`."""

    def __init__(self, folder: Path, scenes: Mapping[str, Scene] = SCENES):
        self.folder, self.scenes = folder, scenes
        self.machine: Machine | None = None
        self.undisturbed: dict[str, Undisturbed] = {}

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        if self.machine:
            self.machine.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, fault: Fault) -> Result:
        """Make a fault while holding this machine's lock: nothing else measures or removes what the fault leaves."""
        image = self.scenes[fault.scene].image
        builder.build(image, "bootstrap")
        with machine_lock.hold(lambda holder: print(f"waiting for {holder}", file=sys.stderr, flush=True)):
            return self._run(fault)

    def _run(self, fault: Fault) -> Result:
        if self.machine is None:
            self.machine = Machine(self.folder / "machine")
        if fault.scene not in self.undisturbed:
            self.undisturbed[fault.scene] = self._undisturbed(fault.scene)
        known, begun = self.undisturbed[fault.scene], time.monotonic()
        project, result = known.project.folder, Result(fault)
        _empty(project)
        with beside.watched() as strays:
            before = self._struck_and_again(known, result)
        result.problems += [*strays, *outcome.problems(project, known.wanted, before), *_tracebacks(project)]
        result.wrong = outcome.wrong_verdicts(project, known.scene.study) if known.scene.judged else []
        everything = functools.reduce(operator.or_, (one.left for one in self.undisturbed.values()))
        result.left = leftovers.left(self.machine, project, everything)
        result.seconds = round(time.monotonic() - begun, 1)
        if not result.good:
            self._clean_up(known, result, everything)
        return result

    def _struck_and_again(self, known: Undisturbed, result: Result) -> list[outcome.Kept]:
        """Run the workflow, strike it, and run the same command again.

        Return what counted just before the fault, and just before the second command.
        """
        fault, project, before = result.fault, known.project.folder, []
        process = self._start(known, "first.txt")
        result.struck = striking.strike(
            fault, self.machine, project, process, known.seconds, lambda: before.append(outcome.kept(project))
        )
        limit = TIMES * known.seconds + MORE_SECONDS
        if fault.how == CUT and result.struck:
            process.wait()
            self.machine.switch_on()
        else:
            result.codes.append(self._end(process, limit, result, "the workflow that was struck"))
        before.append(outcome.kept(project))
        self._again(known, limit, result)
        return before

    def _again(self, known: Undisturbed, limit: float, result: Result) -> None:
        """Run the same command again. It waits while a part of the first one still runs.

        A hypervisor that disturbs a run of it is no work of the fault. So it runs once more while that is all that went
        wrong: every record is there, and no output has a traceback.
        """
        for _ in range(STARTS):
            code = self._end(self._start(known, "again.txt"), limit, result, "the next start")
            result.codes.append(code)
            project = known.project.folder
            if not code or _tracebacks(project) or not outcome.hypervisor_disturbed(project, known.wanted[0]):
                break
        if code:
            said = (known.project.folder / "again.txt").read_text(errors="replace")
            result.problems.append(f"the next start ended with {code}: {_last(said)}")

    def _undisturbed(self, name: str) -> Undisturbed:
        scene = self.scenes[name]
        folder = self.folder / "scenes" / name.replace(", ", "-")
        project = scene.prepare(folder)
        empty = leftovers.seen(self.machine, folder)
        # The image is loaded into the engine beforehand, because that takes as long as all the rest.
        words = ("-m", "plimsoll", "image", "--name", scene.image, "--base", "bootstrap", "--output", "/dev/null")
        warm = self.machine.start(".venv/bin/python", *words, folder=folder, out=subprocess.DEVNULL, PYTHONPATH="scripts")
        assert warm.wait(600) == 0
        known = Undisturbed(scene, project, 0.0, (set(), set()), empty, empty)
        for _ in range(STARTS):
            _empty(project.folder)
            begun = time.monotonic()
            code = self._start(known, "first.txt").wait(600)
            if not code or not outcome.hypervisor_disturbed(folder):
                break
        text = (folder / "first.txt").read_text(errors="replace")
        assert code == 0, text
        known.seconds = time.monotonic() - begun
        known.wanted = outcome.expected(folder)
        wrong = outcome.problems(folder, known.wanted, [])
        wrong += outcome.wrong_verdicts(folder, known.scene.study) if known.scene.judged else []
        assert not wrong and known.wanted[0], wrong
        known.left = leftovers.seen(self.machine, folder)
        print(
            f"{name}: undisturbed {known.seconds:.0f} s, {len(known.wanted[0])} records; it leaves "
            f"{self._told(known.left - empty)}",
            file=sys.stderr,
            flush=True,
        )
        return known

    def _told(self, left: Counter[str]) -> str:
        """Return what is left as one line, without the machine's own folder."""
        return "; ".join(sorted(name.replace(str(self.machine.folder), "~") for name in left.elements())) or "nothing"

    def _start(self, known: Undisturbed, said: str) -> subprocess.Popen:
        folder = known.project.folder
        with open(folder / said, "w") as out:
            return self.machine.start(*known.scene.typed, folder=folder, out=out, PYTHONPATH=str(folder / "scripts"))

    def _end(self, process: subprocess.Popen, limit: float, result: Result, what: str) -> int:
        """Return the exit code of a command. A command that hangs is a problem of the result, and is killed."""
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            there = [f"{one.name} ({' '.join(one.words)[:100]})" for one in processes.below([process.pid])]
            result.problems.append(f"{what} hangs: {'; '.join(there)}")
            for one in processes.below([process.pid]):
                striking._send(one.number, signal.SIGKILL)
            return process.wait(30)

    def _clean_up(self, known: Undisturbed, result: Result, everything: Counter[str]) -> None:
        """Remove what is left as a user would. The next fault is not blamed for what stays.

        If that hangs or fails, there is a new machine.
        """
        words = ("-m", "plimsoll", "clean-up")
        folder = known.project.folder
        done = self.machine.start(".venv/bin/python", *words, folder=folder, out=subprocess.DEVNULL, PYTHONPATH="scripts")
        if self._end(done, MORE_SECONDS, result, "clean-up") == 0:
            stays = leftovers.left(self.machine, folder, everything)
            result.problems += [f"clean-up leaves {what}" for what in stays]
            known.left |= Counter(stays)
            return
        self.machine.remove()
        self.machine = None
        self.undisturbed.clear()
        shutil.rmtree(self.folder / "scenes", ignore_errors=True)


def _empty(project: Path) -> None:
    """Remove all that a workflow has made."""
    for path in (project / "results").iterdir():
        if path.name not in ("reference", "README.md"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(project / ".snakemake", ignore_errors=True)


def _tracebacks(project: Path) -> list[str]:
    """Return a problem for each output with a traceback: users must get sentences, whatever was killed."""
    logs = (f"results/logs/{name}" for name in ("workflow.log", "workflow.before.log"))
    names = ["first.txt", "again.txt", *(name for name in logs if (project / name).is_file())]
    texts = {name: (project / name).read_text(errors="replace") for name in names}
    return [f"traceback in {name}: {_last(text)}" for name, text in texts.items() if "Traceback (most recent" in text]


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith("plimsoll: ")] or said.strip().splitlines() or [""]
    return lines[-1]


COLUMNS = ("injected", "good at first", "completed", "records lost", "wrong verdicts", "leftovers", "nobody there")


def identity(result: dict) -> tuple[int, int]:
    """Return the seed and the number of a fault."""
    return result["fault"]["seed"], result["fault"]["number"]


def last(results: Iterable[dict]) -> list[dict]:
    """Return the last result of each fault. A good result without a victim does not replace one that has a victim."""
    kept: dict[tuple[int, int], dict] = {}
    for one in results:
        if one["struck"] or not good(one) or not kept.get(identity(one), one)["struck"]:
            kept[identity(one)] = one
    return list(kept.values())


def good_at_first(results: Iterable[dict]) -> set[tuple[int, int]]:
    """Return the faults whose results were all good until, and when, they struck a victim for the first time."""
    first: dict[tuple[int, int], bool] = {}
    struck: set[tuple[int, int]] = set()
    for one in results:
        if (fault := identity(one)) not in struck:
            first[fault] = first.get(fault, True) and good(one)
        if one["struck"]:
            struck.add(fault)
    return {fault for fault, was_good in first.items() if was_good}


def good(result: dict) -> bool:
    """Return whether a fault has left everything as it should be."""
    return not result["problems"] and not result["left"] and not result["wrong"]


def summary(results: Iterable[dict]) -> str:
    """Return a table of results by kind of fault. `results` are in the order in which the faults were made.

    It counts the injected faults, and how many of them left everything as it should be when they were first made. It
    uses the last result of each fault for the workflows that the next start completed, and for what was lost, wrong or
    left.
    """
    results = list(results)
    at_first = good_at_first(results)
    rows: dict[str, Counter[str]] = {}
    for one in last(results):
        row = rows.setdefault(f"{one['fault']['victim']}, {one['fault']['how']}", Counter())
        if not one["struck"]:
            row["nobody there"] += 1
            continue
        row["injected"] += 1
        row["good at first"] += identity(one) in at_first
        row["completed"] += not one["problems"]
        row["records lost"] += sum(problem.startswith(outcome.LOST) for problem in one["problems"])
        row["wrong verdicts"] += len(one["wrong"])
        row["leftovers"] += len(one["left"])
    total = sum(rows.values(), Counter())
    lines = [f"| fault | {' | '.join(COLUMNS)} |", f"|{' --- |' * (1 + len(COLUMNS))}"]
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        lines.append(f"| {kind} | {' | '.join(str(row[name]) for name in COLUMNS)} |")
    return "\n".join(lines)
