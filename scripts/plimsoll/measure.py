"""Measure one run of a cell, or all runs of one launch, and write a record of each.

If a resource that measuring needs (engine, image, network, disk) fails and does not come back, no record is written and
the workflow stops. The module imports only the standard library and what measuring needs, because every run pays for
its start-up.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from plimsoll import designs, runtimes, spelling
from plimsoll.errors import Lasting, Outage, PlimsollError, Unavailable, run_guarded
from plimsoll.host import cgroup, disk, private, threads
from plimsoll.interchange import Cell, Plan, Record
from plimsoll.measuring import lock, noise, plan_file, process, progress, record, staleness, status, stop, system, watch
from plimsoll.measuring.attempt import Attempt, Run, folder_of

# After this many interrupted attempts at a run, the run itself is assumed to break the resource.
INTERRUPTIONS = 3


def measure(
    plan_path: Path, cell_path: str, repetition: int, target: Path, image_path: Path, fingerprint: str | None = None
) -> Record:
    """Measure one run, write its record to `target`, and return the record.

    Other cells of the same deployment that wait to be measured in the same block are measured in the same launch
    (`_together`). Their records are written beside this one.

    A record with the same fingerprint is kept instead, if it counts or was tried often enough. It may lie at `target`
    or in the archive. A record with another fingerprint is first moved to the archive.

    Raise PlimsollError if the cell is not in the plan, or if a `fingerprint` is given and the plan has another one.
    Raise Outage, with no record written, if a resource failed and did not come back.
    """
    plan = plan_file.of_run(plan_path, cell_path, repetition)
    study_folder, cell = plan_path.parent, plan["cells"][cell_path]
    if fingerprint and cell["fingerprint"] != fingerprint:
        raise PlimsollError(
            f"{plan_path} was written again while this workflow ran, and {cell_path} is another cell in it. This run was not "
            "measured. Type the command again."
        )
    together = _together(plan, cell, repetition, study_folder)
    places = {one["path"]: record.path_of(study_folder / "runs", one["path"], repetition) for one in together}
    targets = {**places, cell_path: target}
    with _outages():
        plan_file.refuse_misfits(plan_path, plan, [one["path"] for one in together], designs.find(plan["design"]).factors.CELL)
        found, tried = _kept(plan, together, repetition, study_folder, targets)
        if cell_path in tried:
            image = plan_file.image(image_path)
            with lock.machine(runtimes.known):
                # The process that held the lock before may have measured some of them, such as one that outlived its
                # workflow.
                more, tried = _kept(plan, [plan["cells"][path] for path in tried], repetition, study_folder, targets)
                found |= more
                runs = {path: Run(plan, plan["cells"][path], repetition, study_folder, image) for path in tried}
                found |= _measure_all(runs, tried, targets) if runs else {}
    return found[cell_path]


def _kept(
    plan: Plan, cells: list[Cell], repetition: int, study_folder: Path, targets: dict[str, Path]
) -> tuple[dict[str, Record], dict[str, Record | None]]:
    """Return (records of runs that need no measuring, records by earlier starts of the runs to measure), both by cell.

    Runs that need no measuring are crossed off the queue.
    """
    found, tried = {}, {}
    for one in cells:
        path = one["path"]
        kept, before = staleness.usable_record(study_folder, one, repetition, targets[path], plan["limits"]["starts"])
        if kept:
            progress.skip(study_folder / "progress", f"{path}/{repetition}")
            found[path] = kept
        else:
            tried[path] = before
    return found, tried


def _together(plan: Plan, cell: Cell, repetition: int, study_folder: Path) -> list[Cell]:
    """Return the cells to measure in one launch, in the order that the plan has drawn.

    They are this cell, and those cells of its deployment that this start of the workflow has yet to measure in the same
    block.
    """
    if "launch" not in cell:
        return [cell]
    waiting = progress.waiting(study_folder / "progress")
    of_launch = [one for one in plan["cells"].values() if one.get("launch") == cell["launch"] and not one["reason"]]
    together = {one["path"]: one for one in of_launch if one is cell or f"{one['path']}/{repetition}" in waiting}
    drawn = [path for path, number in plan["order"] if number == repetition and path in together]
    return [together[path] for path in dict.fromkeys([*drawn, cell["path"]])]


def _measure_all(runs: dict[str, Run], tried: dict[str, Record | None], targets: dict[str, Path]) -> dict[str, Record]:
    """Measure the runs of a launch, write their records, and return these by cell.

    `tried` has the records of earlier starts. The machine's lock must be held.
    """
    written = {}
    begun = time.monotonic()
    known = _system(next(iter(runs.values())))
    for done in _until_valid(runs, tried):
        since, begun = begun, time.monotonic()
        for path, recorded in done.items():
            written[path] = {**recorded, "system": known}
            _write(targets[path], written[path])
            seconds = (begun - since) / len(done)
            progress.finish(runs[path].study_folder / "progress", runs[path].name, seconds, written[path])
        if not any(one["status"] in status.COUNTED for one in done.values()):
            _repair_module().skip_failing(runs[next(iter(done))])
    return written


def _system(run: Run) -> str:
    """Return the identity of the system that the run is measured on.

    Raise Outage if it differs from the system of the study's records, or if the runtime does not answer.
    """
    runtime = runtimes.find(run.cell["runtime"])
    try:
        return system.identity(run.study_folder, runtime)
    except Unavailable as problem:
        _repair_module().repair(
            run,
            Outage(f"{runtime.label} does not answer ({problem})", f"install it again ({spelling.command('setup')} does)"),
        )
        return system.identity(run.study_folder, runtime)


def _until_valid(runs: dict[str, Run], tried: dict[str, Record | None]) -> Iterator[dict[str, Record]]:
    """Attempt the runs of a launch until each is valid, or until the profile's number of attempts is used up.

    After each attempt, yield the records of the runs that are finished by it, by cell. A record contains its run's
    earlier attempts, including those of earlier starts (`tried`).

    A resource that interrupted an attempt is repaired before the next one. Interrupted attempts do not count towards
    the profile's number. A run that an attempt did not reach stays open.
    """
    earlier = {path: staleness.attempts_of(before) if before else [] for path, before in tried.items()}
    made, interrupted = dict.fromkeys(runs, 0), 0
    while earlier:
        attempts, problem = make_attempt([runs[path] for path in earlier])
        if isinstance(problem, Lasting):
            raise problem
        done: dict[str, Record] = {}
        for path, attempt in attempts.items():
            made[path] += not problem
            over = made[path] == runs[path].plan["limits"]["attempts"]
            if not problem and (over or attempt["status"] in status.COUNTED):
                before = earlier.pop(path)
                history = {"attempts": len(before) + 1, "invalid_attempts": before}
                done[path] = {**_of_the_run(runs[path], tried[path]), **history, **attempt}
            else:
                earlier[path].append(attempt)
        if problem:
            interrupted += 1
            first = runs[next(iter(earlier))]
            if interrupted > INTERRUPTIONS:
                raise Outage(f"{problem.cause}, in {interrupted} attempts at {first.cell['path']}", problem.remedy)
            _repair_module().repair(first, problem)
        if done:
            yield done


def _of_the_run(run: Run, tried: dict | None) -> dict:
    """Return the part of the record that is the same for every attempt."""
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
    """Write a record in one step. If the disk is full, wait for space, because the run is measured already."""
    try:
        record.keep(target, result)
    except OSError as error:
        from plimsoll.measuring import resources

        resources.restore(_outage_of(error), lambda: resources.refuse_full(target.parent), lambda _: None)
        record.keep(target, result)


def _raw_folder(runs: list[Run]) -> Path:
    """Make a new folder for the raw output of one attempt at a launch.

    Its name is unused in the folder of each of its cells too.
    """
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
    """Return the path of a cell's raw output after its launch, relative to the study's folder.

    A cell that is a part of a launch gets a folder of its own: its output moves there from the launch's `folder`.
    """
    if "part" in cell:
        own = study_folder.resolve() / "raw" / cell["path"] / folder.name
        own.parent.mkdir(exist_ok=True)
        # A cell that the launch did not reach has no output.
        with contextlib.suppress(OSError):
            folder_of(folder, cell).rename(own)
        with contextlib.suppress(OSError):
            folder.rmdir()  # succeeds when the last cell's output has moved
        folder = own
    return str(folder.relative_to(study_folder.resolve()))


def make_attempt(runs: list[Run]) -> tuple[dict[str, dict], Outage | None]:
    """Attempt the runs of a launch once.

    Return (by cell, the part of the record that is the attempt's own; the Outage that interrupted the attempt, or
    None).
    """
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
        # Results of an interrupted attempt are not used.
        nothing = {"status": status.INTERRUPTED, "reason": problem.cause}
        found, interrupted = dict.fromkeys((each.cell["path"] for each in runs), nothing), problem
    cells = {each.cell["path"]: each.cell for each in runs}
    known = {path: {**notes, "raw": _own_raw(run.study_folder, folder, cells[path]), **found[path]} for path in found}
    return known, interrupted


def _made(identity: str, runs: list[Run], folder: Path, notes: dict) -> dict[str, dict]:
    """Return what an attempt has found for each cell. Raise Outage if a resource failed, OSError if the host did."""
    run, limits = runs[0], runs[0].plan["limits"]
    mounted = cgroup.mounts()
    machine = noise.Machine(mounted)
    # Entering a cgroup waits some 10 ms in the kernel without using a processor, so it runs while the machine is
    # observed.
    accounts: list = []
    entering = threads.start(lambda: accounts.append(cgroup.account(mounted)))
    notes["noise"] = {"before": noise.wait_until_idle(machine, **limits["idle"])}
    entering.join()
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
        found = attempts.launch(given)
    finally:
        private.remove(temporary)
    if any(outcome["status"] not in (status.VALID, status.DISTURBED) for outcome in found.values()):
        # A program that prints without end goes on until it is stopped, so its output is cut.
        process.cut(folder)
        if room.refused:
            for cell in cells:
                if found.get(cell["path"], {}).get("status") == status.FAILED:
                    process.cut(folder_of(folder, cell), process.LEFT_BYTES)
            room.refuse_filled()
        _repair_module().examine(run, None if attempts.LIMITS_MEMORY else killed)
        if any(outcome["status"] == status.FAILED for outcome in found.values()):
            # A killed engine may have started a container after the attempt gave it up.
            lock.sweep(runtimes.known().values())
    return found


def _repair_module() -> ModuleType:
    """Return the module that is needed only after something went wrong. A successful run does not import it."""
    from plimsoll import run_repair

    return run_repair


@contextlib.contextmanager
def _outages() -> Iterator[None]:
    """Convert errors of the operating system that are the host's fault into Outages."""
    try:
        yield
    except OSError as error:
        raise _outage_of(error) from error


def _outage_of(error: OSError) -> Outage:
    """Return the Outage for an error of the operating system. Raise the error again if it is not the host's fault."""
    from plimsoll.measuring import resources

    if outage := resources.outage_of(error):
        return outage
    raise error


def main(arguments: list[str]) -> int:
    """Command line of one run.

    It is separate from the other stages, because it is called for every run: importing argparse alone would take longer
    than all of this module.
    """
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
                f"{problem.cause[0].upper()}{problem.cause[1:]}: {problem.remedy}, then type the command again; "
                f"what was measured is kept, and {cell}/{repetition} is measured then."
            )
            stop.workflow(Path(plan).parent, reason)
            raise PlimsollError(reason) from problem

    return run_guarded(measure_or_stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
