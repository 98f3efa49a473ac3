"""Iterations of a microservice's loop, each judged by its own output."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.workloads import loop
from plimsoll.workloads.base import InvalidOutput, Microservice


def judged(service: Microservice, parameters: dict, limit: float, folders: Sequence[Path]) -> list[dict]:
    """A microservice's iterations in order, from the folders of its loops: as logged, numbered through, with `values`, or
    without and with the `reason`. `limit` is how long one may take (s)."""
    logged = [(folder, iteration) for folder in folders for iteration in loop.read(loop.log_of(folder))]
    return [
        {**iteration, "iteration": number, **_outcome(service, parameters, limit, folder, iteration)}
        for number, (folder, iteration) in enumerate(logged, start=1)
    ]


def _outcome(service: Microservice, parameters: dict, limit: float, folder: Path, iteration: dict) -> dict:
    if iteration["late"]:
        return {"values": None, "reason": f"it took longer than {limit:g} s"}
    if iteration["exit_code"]:
        return {"values": None, "reason": f"it ended with {iteration['exit_code']} (signal {iteration['signal']})"}
    try:
        values = service.results((folder / f"{iteration['iteration']}.out").read_text(errors="replace"), parameters)
        service.check_use(iteration, parameters)
    except (OSError, InvalidOutput) as problem:
        return {"values": None, "reason": str(problem)}
    return {"values": values, "reason": None}
