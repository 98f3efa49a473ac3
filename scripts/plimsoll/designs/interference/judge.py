"""Judging a run: each iteration by its own output, and the run by how many of them count and what reached the disk."""

from pathlib import Path

from plimsoll.designs.interference.factors import InterferenceCell
from plimsoll.workloads import loop
from plimsoll.workloads.base import InvalidOutput, Microservice

# The share of what was written and flushed that must have reached the device. The rest allows for devices that round.
ON_DISK = 0.99


def iterations(service: Microservice, cell: InterferenceCell, folders: list[Path]) -> list[dict]:
    """A member's iterations in order, from the folders of its loops: as logged, numbered through, with `values`, or without and
    with the `reason`."""
    logged = [(folder, iteration) for folder in folders for iteration in loop.read(loop.log_of(folder))]
    return [
        {**iteration, "iteration": number, **_outcome(service, cell, folder, iteration)}
        for number, (folder, iteration) in enumerate(logged, start=1)
    ]


def _outcome(service: Microservice, cell: InterferenceCell, folder: Path, iteration: dict) -> dict:
    parameters = cell["parameters"][service.name]
    if iteration["late"]:
        return {"values": None, "reason": f"it took longer than {cell['iteration_limit_seconds']:g} s"}
    if iteration["exit_code"]:
        return {"values": None, "reason": f"it ended with {iteration['exit_code']} (signal {iteration['signal']})"}
    try:
        values = service.results((folder / f"{iteration['iteration']}.out").read_text(errors="replace"), parameters)
        service.check_use(iteration, parameters)
    except (OSError, InvalidOutput) as problem:
        return {"values": None, "reason": str(problem)}
    return {"values": values, "reason": None}


def too_few(cell: InterferenceCell, members: list[list[dict]]) -> str | None:
    """Why a run has too few iterations: each member must have one that counts, and a member alone must have all that were asked
    for."""
    for name, made in zip(cell["members"], members, strict=True):
        counted = sum(iteration["counts"] for iteration in made)
        if counted < (cell["iterations"] or 1):
            reasons = dict.fromkeys(filter(None, (iteration["why_not"] for iteration in made)))
            return f"{counted} of {len(made)} iterations of {name} count: {'; '.join(reasons) or 'none ended'}"
    return None


def not_on_disk(services: list[Microservice], cell: InterferenceCell, members: list[list[dict]], device: dict) -> str | None:
    """Why what the members wrote and flushed cannot have reached the `device`; None if it has, or nobody can tell."""
    asked = sum(
        service.flushed_bytes(cell["parameters"][service.name]) * sum(iteration["values"] is not None for iteration in made)
        for service, made in zip(services, members, strict=True)
    )
    if "written_bytes" not in device or device["written_bytes"] >= ON_DISK * asked:
        return None
    return f"{device['written_bytes'] / 1e6:.0f} MB reached {device['name']} of {asked / 1e6:.0f} MB that were written"
