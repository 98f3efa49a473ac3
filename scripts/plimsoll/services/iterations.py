"""Iterations of a microservice's loop, each judged by its own output."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from plimsoll.measuring import strays
from plimsoll.workloads import loop, program_output
from plimsoll.workloads.base import InvalidOutput, Microservice

# A program cannot take longer than its process. Their clocks may differ by this share, or by this time (s) if that is
# more.
SHARE, LEAST = 0.05, 0.05


def read(service: Microservice, parameters: dict, limit: float, folders: Sequence[Path]) -> list[dict]:
    """Return a microservice's iterations in order, from the folders of its loops.

    Each has what the log says, a running number, `values` (None if it failed) and the `reason` of the failure (None if
    it did not fail). `limit` is the longest time that an iteration may take (s). Raise InvalidOutput if the log of a
    loop is incomplete.
    """
    logged = [(folder, iteration) for folder in folders for iteration in loop.all_of(folder)]
    return [
        {**_noted(iteration), "iteration": number, **_outcome(service, parameters, limit, folder, iteration)}
        for number, (folder, iteration) in enumerate(logged, start=1)
    ]


def kernels(service: Microservice, folders: Sequence[Path]) -> dict[str, str]:
    """Return the kernels that each library of a microservice chose for the processor, from the outputs of its iterations."""
    chosen: dict[str, str] = {}
    for folder in folders:
        for iteration in loop.all_of(folder):
            with contextlib.suppress(InvalidOutput):
                chosen |= service.kernels(program_output.text_of(loop.output_of(folder, iteration["iteration"])))
    return chosen


def _noted(iteration: dict) -> dict:
    """Return the part of an iteration's log line that a record keeps.

    Programs that it left running are named in its reason instead.
    """
    return {name: value for name, value in iteration.items() if name != "left"}


def _outcome(service: Microservice, parameters: dict, limit: float, folder: Path, iteration: dict) -> dict:
    if iteration["late"]:
        return {"values": None, "reason": f"it took longer than {limit:g} s"}
    if iteration["exit_code"]:
        return {"values": None, "reason": f"it ended with {iteration['exit_code']} (signal {iteration['signal']})"}
    if iteration["left"]:
        return {"values": None, "reason": strays.reason(iteration["left"])}
    try:
        values = service.results(program_output.text_of(loop.output_of(folder, iteration["iteration"])), parameters)
        _refuse_longer(service.took(values, parameters), iteration["end"] - iteration["begin"])
        service.check_use(iteration, parameters)
    except InvalidOutput as problem:
        return {"values": None, "reason": str(problem)}
    return {"values": values, "reason": None}


def _refuse_longer(took: float, lasted: float) -> None:
    """Raise InvalidOutput if a program printed a longer time than its process lasted."""
    if took > max((1 + SHARE) * lasted, lasted + LEAST):
        raise InvalidOutput(f"by what it printed it took {took:.3g} s, and its process lasted {lasted:.3g} s")
