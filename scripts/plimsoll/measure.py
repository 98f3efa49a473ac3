"""Measures one run of one cell, or those of one launch, and leaves a record of each, unless the means of measuring fail for
good: then the workflow stops.

Imports nothing but the standard library and what measuring needs: its start-up is part of every run's cost.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from plimsoll import designs, environments
from plimsoll.errors import ImageGone, Lasting, Outage, PlimsollError, Unavailable, guarded
from plimsoll.host import cgroup, disk, private, threads
from plimsoll.interchange import Cell, Image, Plan, Record
from plimsoll.measuring import lock, noise, planned, process, progress, record, staleness, status, stop, system, watch
from plimsoll.measuring.attempt import Attempt, folder_of

# After this many interrupted attempts at one run, the run itself is taken to end what it needs.
INTERRUPTIONS = 3


class Run(NamedTuple):
    """A run to measure: a repetition of a cell of the plan, with the description of the image that it runs."""

    plan: Plan
    cell: Cell
    repetition: int
    study_folder: Path
    image: Image

    @property
    def name(self) -> str:
        """What the run is called: the path of its record below runs/, without its ending."""
        return f"{self.cell['path']}/{self.repetition}"


def measure(
    plan_path: Path, cell_path: str, repetition: int, target: Path, image_path: Path, fingerprint: str | None = None
) -> Record:
    """Measure one run and write its record to `target`; with it, in the same launch, what else of its deployment waits to be
    measured in the same block (`_together`), whose records lie where this one's does.

    A record with the same fingerprint that is there already, or in the archive, is kept instead if it counts or was tried
    often enough; one with another fingerprint is moved to the archive first. Raises PlimsollError for a cell that is not in
    the plan, or that is another one than `fingerprint` says (if it is given), and Outage, with no record written, if the means
    of measuring failed and did not come back.
    """
    plan = planned.of_run(plan_path, cell_path, repetition)
    study_folder, cell = plan_path.parent, plan["cells"][cell_path]
    if fingerprint and cell["fingerprint"] != fingerprint:
        raise PlimsollError(f"{plan_path} was made anew meanwhile, and {cell_path} is another cell in it: start again.")
    together = _together(plan, cell, repetition, study_folder)
    places = {one["path"]: record.path_of(study_folder / "runs", one["path"], repetition) for one in together}
    targets = {**places, cell_path: target}
    with _outages():
        planned.refuse_misfits(plan_path, plan, [one["path"] for one in together], designs.find(plan["design"]).factors.CELL)
        found, tried = _kept(plan, together, repetition, study_folder, targets)
        if cell_path in tried:
            image = planned.image(image_path)
            with lock.machine(environments.known):
                # Who had the lock may have measured some of them: a process that outlived its workflow, say.
                more, tried = _kept(plan, [plan["cells"][path] for path in tried], repetition, study_folder, targets)
                found |= more
                runs = {path: Run(plan, plan["cells"][path], repetition, study_folder, image) for path in tried}
                found |= _measure_all(runs, tried, targets) if runs else {}
    return found[cell_path]


def _kept(
    plan: Plan, cells: list[Cell], repetition: int, study_folder: Path, targets: dict[str, Path]
) -> tuple[dict[str, Record], dict[str, Record | None]]:
    """By cell, (the records of runs that need not be measured, which are crossed off; of those that are to be, what earlier
    starts have left)."""
    found, tried = {}, {}
    for one in cells:
        path = one["path"]
        kept, before = staleness.kept(study_folder, one, repetition, targets[path], plan["limits"]["starts"])
        if kept:
            progress.skip(study_folder / "progress", f"{path}/{repetition}")
            found[path] = kept
        else:
            tried[path] = before
    return found, tried


def _together(plan: Plan, cell: Cell, repetition: int, study_folder: Path) -> list[Cell]:
    """The cells that are measured in one launch, in the order that the plan has drawn: this one, and those of its deployment
    that this start of the workflow has yet to measure in the same block."""
    if "launch" not in cell:
        return [cell]
    waiting = progress.waiting(study_folder / "progress")
    of_launch = [one for one in plan["cells"].values() if one.get("launch") == cell["launch"] and not one["reason"]]
    together = {one["path"]: one for one in of_launch if one is cell or f"{one['path']}/{repetition}" in waiting}
    drawn = [path for path, number in plan["order"] if number == repetition and path in together]
    return [together[path] for path in dict.fromkeys([*drawn, cell["path"]])]


def _measure_all(runs: dict[str, Run], tried: dict[str, Record | None], targets: dict[str, Path]) -> dict[str, Record]:
    """Measure the runs of a launch and write their records, which are returned by cell; `tried` are those of earlier starts.
    The machine's lock must be held."""
    written = {}
    begun = time.monotonic()
    known = _system(next(iter(runs.values())))
    for settled in _until_valid(runs, tried):
        since, begun = begun, time.monotonic()
        for path, recorded in settled.items():
            written[path] = {**recorded, "system": known}
            _write(targets[path], written[path])
            seconds = (begun - since) / len(settled)
            progress.finish(runs[path].study_folder / "progress", runs[path].name, seconds, written[path])
        if not any(one["status"] in status.COUNTED for one in settled.values()):
            _give_up_failing(runs[next(iter(settled))])
    return written


def _system(run: Run) -> str:
    """The identity of the system that the run is measured on. Outage if it is another than that of the study's records, or if
    what runs the nodes does not answer."""
    environment = environments.find(run.cell["runtime"])
    try:
        return system.identity(run.study_folder, environment)
    except Unavailable as problem:
        repair(run, Outage(f"{environment.label} does not answer ({problem})", "install it again (make setup does)"))
        return system.identity(run.study_folder, environment)


def _until_valid(runs: dict[str, Run], tried: dict[str, Record | None]) -> Iterator[dict[str, Record]]:
    """Attempts at the runs of a launch until each is valid or the profile's number is used up. After each attempt it gives the
    records of those that are settled, by cell; a record keeps its run's earlier attempts inside it.

    `tried` has the record of earlier starts, if there is one, whose attempts are kept too. Whatever interrupts an attempt is
    mended before the next one; interrupted attempts do not count towards the profile's number. What an attempt did not come to
    is open as before.
    """
    earlier = {path: staleness.attempts_of(before) if before else [] for path, before in tried.items()}
    made, interrupted = dict.fromkeys(runs, 0), 0
    while earlier:
        attempts, problem = make_attempt([runs[path] for path in earlier])
        if isinstance(problem, Lasting):
            raise problem
        settled: dict[str, Record] = {}
        for path, attempt in attempts.items():
            made[path] += not problem
            over = made[path] == runs[path].plan["limits"]["attempts"]
            if not problem and (over or attempt["status"] in status.COUNTED):
                before = earlier.pop(path)
                history = {"attempts": len(before) + 1, "invalid_attempts": before}
                settled[path] = {**_of_the_run(runs[path], tried[path]), **history, **attempt}
            else:
                earlier[path].append(attempt)
        if problem:
            interrupted += 1
            first = runs[next(iter(earlier))]
            if interrupted > INTERRUPTIONS:
                raise Outage(f"{problem.cause}, in {interrupted} attempts at {first.cell['path']}", problem.remedy)
            repair(first, problem)
        if settled:
            yield settled


def _of_the_run(run: Run, tried: dict | None) -> dict:
    """The part of the record that is the same for every attempt."""
    cell, plan = run.cell, run.plan
    return {
        "format": record.FORMAT,
        "study": plan["study"],
        "cell": {key: value for key, value in cell.items() if key != "reason"},
        "repetition": run.repetition,
        "block": record.block_of(cell, run.repetition),
        "place_in_order": plan["order"].index([cell["path"], run.repetition]) + 1,
        "seed": plan["seed"],
        "profile": plan["profile"],
        "fingerprint": cell["fingerprint"],
        "image": {"tag": run.image["tag"], "id": run.image["id"]},
        **({"starts": staleness.starts_of(tried) + 1} if tried else {}),
    }


def _write(target: Path, result: Record) -> None:
    """Put the record in place; where the disk is full, wait for room: the run is measured."""
    try:
        record.keep(target, result)
    except OSError as error:
        from plimsoll.measuring import means

        means.restore(_outage_of(error), lambda: means.refuse_full(target.parent), lambda _: None)
        record.keep(target, result)


def _raw_folder(runs: list[Run]) -> Path:
    """A new folder for the raw output of one attempt at a launch, whose name is free in the folder of each of its cells too."""
    first, raw = runs[0], runs[0].study_folder / "raw"
    parent = raw / first.cell.get("launch", first.cell["path"])
    places = [parent, *(raw / run.cell["path"] for run in runs)]
    number = 1
    while any((place / f"{first.repetition}-{number}").exists() for place in places):
        number += 1
    folder = parent / f"{first.repetition}-{number}"
    folder.mkdir(parents=True)
    return folder.resolve()


def _own_raw(study_folder: Path, folder: Path, cell: Cell) -> str:
    """Where the raw output of a cell lies, below its study's folder, when a launch has ended: in a folder of the cell, to which
    what it has in the launch's `folder` is moved."""
    if "part" in cell:
        own = study_folder.resolve() / "raw" / cell["path"] / folder.name
        own.parent.mkdir(exist_ok=True)
        # There is none of a cell that the launch did not come to.
        with contextlib.suppress(OSError):
            folder_of(folder, cell).rename(own)
        with contextlib.suppress(OSError):
            folder.rmdir()  # when the last one has left
        folder = own
    return str(folder.relative_to(study_folder.resolve()))


def make_attempt(runs: list[Run]) -> tuple[dict[str, dict], Outage | None]:
    """One attempt at the runs of a launch: by cell the part of the record that is the attempt's own, and what interrupted the
    attempt, if the means of measuring failed."""
    identity = f"{os.getpid():x}{time.time_ns() >> 20 & 0xFFFFFF:06x}"
    run, folder = runs[0], _raw_folder(runs)
    notes: dict = {"started": time.time(), "seconds": {}}
    if "launch" in run.cell:
        notes["launch"] = [each.cell["part"] for each in runs]
    interrupted = None
    try:
        with _outages(), lock.run(identity, folder):
            found = _made(identity, runs, folder, notes)
    except Outage as problem:
        process.cut(folder)
        # Nothing that they seemed to find.
        nothing = {"status": status.INTERRUPTED, "reason": problem.cause}
        found, interrupted = dict.fromkeys((each.cell["path"] for each in runs), nothing), problem
    cells = {each.cell["path"]: each.cell for each in runs}
    known = {path: {**notes, "raw": _own_raw(run.study_folder, folder, cells[path]), **found[path]} for path in found}
    return known, interrupted


def _made(identity: str, runs: list[Run], folder: Path, notes: dict) -> dict[str, dict]:
    """What an attempt has found of each cell. Outage if the means of measuring failed, OSError if the host did."""
    run, limits = runs[0], runs[0].plan["limits"]
    mounted = cgroup.mounts()
    machine = noise.Machine(mounted)
    # Entering a cgroup waits some 10 ms in the kernel and uses no processor: it goes on beside the look at the machine.
    accounts: list = []
    with threads.beside(lambda: accounts.append(cgroup.account(mounted))):
        notes["noise"] = {"before": noise.wait_until_idle(machine, **limits["idle"])}
    notes["seconds"]["idle"] = notes["noise"]["before"]["waited_seconds"]
    if not notes["noise"]["before"]["idle"]:
        reason = noise.not_idle(notes["noise"]["before"])
        return {each.cell["path"]: {"status": status.INVALID, "reason": reason} for each in runs}
    attempts = designs.find(run.plan["design"]).attempts
    killed = noise.killed_for_memory()
    temporary = lock.temporary_folder(identity)
    room = disk.Room({"the results": folder, "temporary files": temporary})
    looks = watch.Watch(room, watch.Stops(mounted))
    try:
        cells = tuple(each.cell for each in runs)
        neighbours = limits["neighbours"]
        given = Attempt(identity, run.plan, cells, run.image, folder, temporary, machine, accounts[0], neighbours, looks, notes)
        found = attempts.launch(given) if attempts.LAUNCHES else {run.cell["path"]: attempts.attempt(given)}
    finally:
        private.remove(temporary)
    if any(outcome["status"] not in (status.VALID, status.DISTURBED) for outcome in found.values()):
        # Whoever printed without end has gone on until it was taken down.
        process.cut(folder)
        if room.refused:
            for cell in cells:
                if found.get(cell["path"], {}).get("status") == status.FAILED:
                    process.cut(folder_of(folder, cell), process.LEFT_BYTES)
            room.refuse_filled()
        _examine(run, None if attempts.LIMITS_MEMORY else killed)
        if any(outcome["status"] == status.FAILED for outcome in found.values()):
            # An engine that was killed may have started a container after that had been given up.
            lock.sweep(environments.known().values())
    return found


@contextlib.contextmanager
def _outages() -> Iterator[None]:
    """Have errors of the operating system that are the host's come out as Outages."""
    try:
        yield
    except OSError as error:
        raise _outage_of(error) from error


# What follows is done only when something went wrong, and imports what it needs then: a run that ends well does not pay for it.


def _give_up_failing(run: Run) -> None:
    """If the runs of a runtime all fail alike, skip its other runs in this start. The workflow restarts without them; raise
    PlimsollError, which says so."""
    from plimsoll.measuring import given_up

    kind = designs.find(run.plan["design"]).cells.kind

    def group_of(cell: Cell) -> given_up.Group:
        return given_up.Group(cell["runtime"], kind(cell))

    group = group_of(run.cell)
    if reason := given_up.reason(run.study_folder, run.plan, group, group_of):
        given_up.note(run.study_folder, group, reason)
        stop.restart(run.study_folder)
        raise PlimsollError(
            f"{run.plan['study']}: {group.text}: {reason}. Its other runs are skipped in this start, and the others go on. "
            f"To try them again, start again; to leave the runtime out: make without RUNTIMES={group.runtime}."
        )


def _outage_of(error: OSError) -> Outage:
    """The Outage that an error stands for; raises the error again if it is not the host's."""
    from plimsoll.measuring import means

    if outage := means.outage_of(error):
        return outage
    raise error


def _examine(run: Run, killed: int | None = None) -> None:
    """Outage if there is no room for what the run writes, if what its containers need is not there, or if the kernel has killed
    more programs than the `killed` ones of before."""
    from plimsoll.measuring import means

    if killed is not None:
        means.refuse_killed(killed)
    means.refuse_undying()
    private.refuse_missing(lock.TEMPORARY.parent)
    for folder in (run.study_folder / "raw", lock.TEMPORARY.parent):
        means.refuse_full(folder)
    for one in _means(run):
        one.examine(run.image)


def _means(run: Run) -> list:
    """What a run needs: its environment, and what its design says besides."""
    others = designs.find(run.plan["design"]).attempts.others(run.cell)
    return list(dict.fromkeys([environments.find(run.cell["runtime"]), *others]))


def repair(run: Run, problem: Outage) -> None:
    """Have mended, or wait for, what interrupted an attempt, and remove what the attempt left. Outage if it stays away, or
    comes back as another version."""
    from plimsoll.measuring import means

    def examine() -> None:
        # As an attempt would find it: with the user's variables an engine may do something else.
        with lock.run(f"{os.getpid():x}", run.study_folder):
            _examine(run)

    means.restore(problem, examine, lambda outage: _mend(run, outage))
    lock.sweep(environments.known().values())
    system.note(run.study_folder, [one for one in _means(run) if isinstance(one, environments.Environment)])


def _mend(run: Run, problem: Outage) -> None:
    """Do what can be done from here about an Outage."""
    if isinstance(problem, ImageGone):
        from plimsoll.images import restore

        restore.restore(run.image)
    else:
        for one in _means(run):
            one.revive()


def main(arguments: list[str]) -> int:
    """Command line of one run, kept apart from the other stages': it is called for every run, and argparse alone would take
    longer to import than all of this."""
    if len(arguments) != 6:
        print("usage: python -m plimsoll.measure PLAN IMAGE CELL REPETITION FINGERPRINT[,start=NUMBER] RECORD", file=sys.stderr)
        return 2
    plan, image, cell, repetition, asked, target = arguments

    def measure_or_stop() -> None:
        try:
            with _outages():
                stop.with_workflow()
                measure(Path(plan), cell, int(repetition), Path(target), Path(image), asked.partition(",")[0])
        except Outage as problem:
            reason = (
                f"{problem.cause[0].upper()}{problem.cause[1:]}: {problem.remedy}, then start again; what was measured is "
                f"kept, and {cell}/{repetition} is measured then."
            )
            stop.workflow(Path(plan).parent, reason)
            raise PlimsollError(reason) from problem

    return guarded(measure_or_stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
