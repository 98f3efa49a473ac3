"""Measures one run of one cell and leaves one record, unless the means of measuring fail for good: then the workflow stops.

Imports nothing but the standard library and what measuring needs: its start-up is part of every run's cost.
"""

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from plimsoll import designs, environments
from plimsoll.errors import ImageGone, Outage, PlimsollError, Unavailable, guarded
from plimsoll.host import cgroup
from plimsoll.interchange import Cell, Image, Plan, Record
from plimsoll.measuring import lock, noise, progress, record, staleness, status, system
from plimsoll.measuring.attempt import Attempt

# After this many interrupted attempts at one run, the run itself is taken to end what it needs.
INTERRUPTIONS = 3


class Run(NamedTuple):
    """A run to measure: a repetition of a cell of the plan, with the description of the image that it runs."""

    plan: Plan
    cell: Cell
    repetition: int
    study_folder: Path
    image: Image


def measure(
    plan_path: Path, cell_path: str, repetition: int, target: Path, image_path: Path, fingerprint: str | None = None
) -> Record:
    """Measure one run and write its record to `target`.

    A record with the same fingerprint that is there already, or in the archive, is kept instead if it counts or was tried
    often enough; one with another fingerprint is moved to the archive first. Raises PlimsollError for a cell that is not in
    the plan, or that is another one than `fingerprint` says (if it is given), and Outage, with no record written, if the means
    of measuring failed and did not come back.
    """
    plan = json.loads(plan_path.read_text())
    study_folder = plan_path.parent
    try:
        cell = plan["cells"][cell_path]
    except KeyError:
        raise PlimsollError(f"{plan_path} has no cell {cell_path}.") from None
    if cell["reason"]:
        raise PlimsollError(f"The cell {cell_path} cannot be measured here: {cell['reason']}.")
    if fingerprint and cell["fingerprint"] != fingerprint:
        raise PlimsollError(f"{plan_path} was made anew meanwhile, and {cell_path} is another cell in it: start again.")
    name = f"{cell_path}/{repetition}"
    try:
        kept, tried = staleness.kept(study_folder, cell, repetition, target, plan["limits"]["starts"])
        if kept:
            progress.skip(study_folder / "progress", name)
            return kept
        run = Run(plan, cell, repetition, study_folder, json.loads(image_path.read_text()))
        with lock.machine(environments.known):
            begun = time.monotonic()
            known = _system(run)
            result = {**_until_valid(run, tried), "system": known}
            _write(target, result)
        progress.finish(study_folder / "progress", name, time.monotonic() - begun, result)
    except OSError as error:
        raise _outage_of(error) from error
    return result


def _system(run: Run) -> str:
    """The identity of the system that the run is measured on. Outage if it is another than that of the study's records, or if
    what runs the nodes does not answer."""
    environment = environments.find(run.cell["runtime"])
    try:
        return system.identity(run.study_folder, environment)
    except Unavailable as problem:
        _restore(run, Outage(f"{environment.label} does not answer ({problem})", "install it again (make setup does)"))
        return system.identity(run.study_folder, environment)


def _until_valid(run: Run, tried: dict | None) -> dict:
    """The record after attempts until one is valid or the profile's number is used up; it keeps the earlier ones inside it.

    `tried` is the record of earlier starts, whose attempts are kept too. Whatever interrupts an attempt is mended before the
    next one; interrupted attempts do not count towards the profile's number.
    """
    earlier = staleness.attempts_of(tried) if tried else []
    made = interrupted = 0
    while True:
        attempt, problem = _attempt(run)
        if problem:
            interrupted += 1
            if interrupted > INTERRUPTIONS:
                raise Outage(f"{problem.cause}, in {interrupted} attempts at {run.cell['path']}", problem.remedy)
            _restore(run, problem)
        else:
            made += 1
            if attempt["status"] in status.COUNTED or made == run.plan["limits"]["attempts"]:
                break
        earlier.append(attempt)
    return {**_of_the_run(run, tried), "attempts": len(earlier) + 1, "invalid_attempts": earlier, **attempt}


def _of_the_run(run: Run, tried: dict | None) -> dict:
    """The part of the record that is the same for every attempt."""
    cell, plan = run.cell, run.plan
    return {
        "format": record.FORMAT,
        "study": plan["study"],
        "cell": {key: value for key, value in cell.items() if key != "reason"},
        "repetition": run.repetition,
        "block": run.repetition,
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
        record.write(target, result)
    except OSError as error:
        from plimsoll.measuring import means

        means.restore(_outage_of(error), lambda: means.refuse_full(target.parent), lambda _: None)
        record.write(target, result)


def _raw_folder(run: Run) -> Path:
    """A new folder for the raw output of one attempt."""
    parent = run.study_folder / "raw" / run.cell["path"]
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / f"{run.repetition}-{number}"
        try:
            folder.mkdir()
            return folder.resolve()
        except FileExistsError:
            number += 1


def _attempt(run: Run) -> tuple[dict, Outage | None]:
    """One attempt: the part of the record that is its own, and what interrupted it, if the means of measuring failed."""
    identity = f"{os.getpid():x}{time.time_ns() >> 20 & 0xFFFFFF:06x}"
    with lock.run(identity):
        return _attempt_as(identity, run)


def _attempt_as(identity: str, run: Run) -> tuple[dict, Outage | None]:
    folder = _raw_folder(run)
    attempt: dict = {
        "started": time.time(),
        "raw": str(folder.relative_to(run.study_folder.resolve())),
        "seconds": {},
    }
    limits = run.plan["limits"]
    mounted = cgroup.mounts()
    machine = noise.Machine(mounted)
    # Entering a cgroup waits some 10 ms in the kernel and uses no processor: it goes on beside the look at the machine.
    entering = threading.Thread(target=lambda: accounts.append(cgroup.account(mounted)))
    accounts: list = []
    entering.start()
    attempt["noise"] = {"before": noise.wait_until_idle(machine, **limits["idle"])}
    entering.join()
    attempt["seconds"]["idle"] = attempt["noise"]["before"]["waited_seconds"]
    if not attempt["noise"]["before"]["idle"]:
        return {**attempt, "status": status.INVALID, "reason": noise.not_idle(attempt["noise"]["before"])}, None
    attempts = designs.find(run.plan["design"]).attempts
    killed = noise.killed_for_memory()
    try:
        temporary = lock.temporary_folder(identity)
        try:
            given = Attempt(
                identity, run.plan, run.cell, run.image, folder, temporary, machine, accounts[0], limits["neighbours"], attempt
            )
            attempt.update(attempts.attempt(given))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        if attempt["status"] not in (status.VALID, status.DISTURBED):
            _examine(run, None if attempts.LIMITS_MEMORY else killed)
    except Outage as problem:
        return _interrupted(attempt, problem)
    except OSError as error:
        return _interrupted(attempt, _outage_of(error))
    return attempt, None


def _interrupted(attempt: dict, problem: Outage) -> tuple[dict, Outage]:
    """An attempt whose means failed: what is known of it, and nothing that it seemed to find."""
    own = {key: attempt[key] for key in ("started", "raw", "seconds", "noise")}
    return {**own, "status": status.INTERRUPTED, "reason": problem.cause}, problem


# What follows is done only when something went wrong, and imports what it needs then: a run that ends well does not pay for it.


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
    for folder in (run.study_folder / "raw" / run.cell["path"], lock.TEMPORARY.parent):
        means.refuse_full(folder)
    environments.find(run.cell["runtime"]).examine(run.image)


def _restore(run: Run, problem: Outage) -> None:
    """Have mended, or wait for, what interrupted an attempt, and remove what the attempt left. Outage if it stays away, or
    comes back as another version."""
    from plimsoll.measuring import means

    means.restore(problem, lambda: _examine(run), lambda outage: _mend(run, outage))
    lock.sweep(environments.known().values())
    system.note(run.study_folder, [environments.find(run.cell["runtime"])])


def _mend(run: Run, problem: Outage) -> None:
    """Do what can be done from here about an Outage."""
    if isinstance(problem, ImageGone):
        from plimsoll.images import restore

        restore.restore(run.image)
    else:
        environments.find(run.cell["runtime"]).revive()


def main(arguments: list[str]) -> int:
    """Command line of one run, kept apart from the other stages': it is called for every run, and argparse alone would take
    longer to import than all of this."""
    if len(arguments) != 6:
        print("usage: python -m plimsoll.measure PLAN IMAGE CELL REPETITION FINGERPRINT[,start=NUMBER] RECORD", file=sys.stderr)
        return 2
    plan, image, cell, repetition, asked, target = arguments

    def measure_or_stop() -> None:
        try:
            measure(Path(plan), cell, int(repetition), Path(target), Path(image), asked.partition(",")[0])
        except Outage as problem:
            reason = (
                f"{problem.cause[0].upper()}{problem.cause[1:]}: {problem.remedy}, then start again; what was measured is "
                f"kept, and {cell}/{repetition} is measured then."
            )
            from plimsoll.measuring import stop

            stop.workflow(Path(plan).parent, reason)
            raise PlimsollError(reason) from problem

    return guarded(measure_or_stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
