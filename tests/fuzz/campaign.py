"""Many inputs for many readers. Inputs have numbers, so that each failure can be repeated."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.fuzz import archived, files, invented, outputs, records
from tests.fuzz.reader import Input, Reader, inputs, problem

GIVEN = (*outputs.READERS, *records.READERS, *files.READERS, *archived.READERS)
READERS: dict[str, Reader] = {reader.name: reader for reader in GIVEN}
# One in this many inputs is made up by Hypothesis.
MUTATIONS = 10
# A reader with this many failures gets no more inputs, because more failures say little.
ENOUGH = 5


@dataclass
class Told:
    """Results of a reader's inputs."""

    reader: Reader
    mutated: int = 0
    invented: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def again(reader: Reader, seed: str, number: int) -> str:
    """Return the command that gives a reader one input again, and shows it."""
    return f'python -m tests.fuzz --reader "{reader.name}" --seed {seed} --number {number}'


def shown(given: Input, wrong: str) -> str:
    """Return a failure in words."""
    how = ", ".join(one.name for one in given.mutations)
    return f"{given.reader.name} ({how}): {wrong}"


def of_reader(reader: Reader, seed: str, number: int, made_up: int) -> Told:
    """Give a reader `number` mutated inputs and `made_up` inputs by Hypothesis, and return the results."""
    told, begun = Told(reader), time.monotonic()
    for place in range(number):
        given = inputs(reader, seed, place)
        told.mutated += 1
        if wrong := problem(given):
            told.failures.append(f"{shown(given, wrong)}\n    {again(reader, seed, place)}")
            if len(told.failures) == ENOUGH:
                break
    if made_up and len(told.failures) < ENOUGH:
        _invent(told, made_up, seed)
    told.seconds = time.monotonic() - begun
    return told


def _invent(told: Told, number: int, seed: str) -> None:
    def counted() -> None:
        told.invented += 1

    try:
        invented.run(told.reader, number, sum(seed.encode()), counted)
    except AssertionError as failure:
        told.failures.append(str(failure))


def all_of(seed: str, total: int, chosen: Iterable[Reader] = ()) -> Iterable[Told]:
    """Give all readers, or the `chosen` ones, `total` inputs by their shares. Yield the results of each reader."""
    readers = list(chosen) or list(READERS.values())
    whole = sum(reader.share for reader in readers)
    for reader in readers:
        number = -(-total * reader.share // whole)
        made_up = number // MUTATIONS
        yield of_reader(reader, seed, number - made_up, made_up)
