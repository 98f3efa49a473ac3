"""Measures one run of one cell and leaves one record, whatever happens.

Imports nothing but the standard library and the measuring modules: its start-up is part of every run's cost.
"""

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

from plimsoll import cgroup, designs, lock, noise, progress, record
from plimsoll.designs.base import Attempt
from plimsoll.errors import PlimsollError, guarded


def measure(plan_path: Path, cell_path: str, repetition: int, target: Path, image_path: Path) -> dict:
    """Measure one run and write its record to `target`.

    A record with the same fingerprint that is there already, or in the archive, is kept instead; one with another
    fingerprint is moved to the archive first. Raises PlimsollError for a cell that is not in the plan.
    """
    plan = json.loads(plan_path.read_text())
    study_folder = plan_path.parent
    try:
        cell = plan["cells"][cell_path]
    except KeyError:
        raise PlimsollError(f"{plan_path} has no cell {cell_path}.") from None
    if cell["reason"]:
        raise PlimsollError(f"The cell {cell_path} cannot be measured here: {cell['reason']}.")
    kept = _kept(study_folder, cell, repetition, target)
    if kept:
        return kept
    image = json.loads(image_path.read_text())
    with lock.machine():
        begun = time.monotonic()
        result = _until_valid(plan, cell, repetition, study_folder, image)
        record.write(target, result)
    headline = _headline(result)
    progress.finish(
        study_folder / "progress",
        f"{cell_path}/{repetition}",
        time.monotonic() - begun,
        result["status"],
        headline,
    )
    return result


def _kept(study_folder: Path, cell: dict, repetition: int, target: Path) -> dict | None:
    """The record that makes measuring unnecessary; moves one of another fingerprint, or a damaged one, out of the way."""
    archive = study_folder / "archive"
    if target.exists():
        try:
            old = record.read(target)
            if old["fingerprint"] == cell["fingerprint"]:
                os.utime(target)
                return old
            place = archive / old["fingerprint"]
        except record.Damaged as damage:
            print(f"plimsoll: {damage}; it is set aside and measured again.", file=sys.stderr, flush=True)
            place = archive / "damaged"
        record.set_aside(target, place)
    # A profile that was measured before is not measured again.
    for path in sorted((archive / cell["fingerprint"]).glob(f"{repetition}-*.json"), reverse=True):
        try:
            old = record.read(path)
        except record.Damaged:
            continue
        if old["status"] in record.COUNTED:
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            return old
    return None


def _until_valid(plan: dict, cell: dict, repetition: int, study_folder: Path, image: dict) -> dict:
    """Attempts until one is valid or the profile's number is used up; all but the last are kept inside the record."""
    earlier: list[dict] = []
    for number in range(1, plan["limits"]["attempts"] + 1):
        attempt = _attempt(plan, cell, repetition, study_folder, image)
        if attempt["status"] in record.COUNTED or number == plan["limits"]["attempts"]:
            break
        earlier.append(attempt)
    return {
        "format": record.FORMAT,
        "study": plan["study"],
        "cell": {key: value for key, value in cell.items() if key != "reason"},
        "repetition": repetition,
        "block": repetition,
        "place_in_order": plan["order"].index([cell["path"], repetition]) + 1,
        "seed": plan["seed"],
        "profile": plan["profile"],
        "fingerprint": cell["fingerprint"],
        "image": {"tag": image["tag"], "id": image["id"]},
        "attempts": len(earlier) + 1,
        "invalid_attempts": earlier,
        **attempt,
    }


def _raw_folder(study_folder: Path, cell: dict, repetition: int) -> Path:
    """A new folder for the raw output of one attempt."""
    parent = study_folder / "raw" / cell["path"]
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / f"{repetition}-{number}"
        try:
            folder.mkdir()
            return folder.resolve()
        except FileExistsError:
            number += 1


def _attempt(plan: dict, cell: dict, repetition: int, study_folder: Path, image: dict) -> dict:
    """One attempt: the part of the record that is its own."""
    folder = _raw_folder(study_folder, cell, repetition)
    identity = f"{os.getpid():x}{time.time_ns() >> 20 & 0xFFFFFF:06x}"
    os.environ[lock.VARIABLE] = identity
    attempt: dict = {
        "started": time.time(),
        "raw": str(folder.relative_to(study_folder.resolve())),
        "seconds": {},
    }
    found = cgroup.mounts()
    machine = noise.Machine(found)
    # Entering a cgroup waits some 10 ms in the kernel and uses no processor: it goes on beside the look at the machine.
    entering = threading.Thread(target=lambda: accounts.append(cgroup.account(found)))
    accounts: list = []
    entering.start()
    attempt["noise"] = {"before": noise.wait_until_idle(machine, **plan["limits"]["idle"])}
    entering.join()
    attempt["seconds"]["idle"] = attempt["noise"]["before"]["waited_seconds"]
    if not attempt["noise"]["before"]["idle"]:
        waited = attempt["noise"]["before"]["waited_seconds"]
        return {**attempt, "status": "invalid", "reason": f"the machine was not idle within {waited:.0f} s"}
    temporary = lock.temporary_folder(identity)
    try:
        limits = plan["limits"]["neighbours"]
        given = Attempt(identity, plan, cell, image, folder, temporary, machine, accounts[0], limits, attempt)
        attempt.update(designs.find(plan["design"]).attempt(given))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return attempt


def _headline(result: dict) -> str:
    """A value or the reason, for the progress line."""
    if result["status"] != "valid":
        return result["reason"]
    return f"on the {result['attempts']}. attempt" if result["attempts"] > 1 else ""


def main(arguments: list[str]) -> int:
    """Command line of one run, kept apart from the other stages': it is called for every run, and argparse alone would take
    longer to import than all of this."""
    if len(arguments) != 5:
        print("usage: python -m plimsoll.measure PLAN IMAGE CELL REPETITION RECORD", file=sys.stderr)
        return 2
    plan, image, cell, repetition, target = arguments
    return guarded(lambda: measure(Path(plan), cell, int(repetition), Path(target), Path(image)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
