"""Many inputs for many readers, by numbers: each failure can be had again."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.fuzz import archived, files, invented, outputs, records
from tests.fuzz.reader import Input, Reader, inputs, problem

GIVEN = (*outputs.READERS, *records.READERS, *files.READERS, *archived.READERS)
READERS: dict[str, Reader] = {reader.name: reader for reader in GIVEN}
# Hypothesis makes up one input for so many mutations.
MUTATIONS = 10
# A reader that fails has failed: more of its failures tell little.
ENOUGH = 5


@dataclass
class Told:
    """What came of a reader's inputs."""

    reader: Reader
    mutated: int = 0
    invented: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def again(reader: Reader, seed: str, number: int) -> str:
    """The command that gives a reader one input again, and shows it."""
    return f'python -m tests.fuzz --reader "{reader.name}" --seed {seed} --number {number}'


def shown(given: Input, wrong: str) -> str:
    """A failure for people."""
    how = ", ".join(one.name for one in given.mutations)
    return f"{given.reader.name} ({how}): {wrong}"


def of_reader(reader: Reader, seed: str, number: int, made_up: int) -> Told:
    """Give a reader so many mutated inputs, and so many that are made up."""
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
    """Give all readers, or those that are chosen, so many inputs together, by their shares."""
    readers = list(chosen) or list(READERS.values())
    whole = sum(reader.share for reader in readers)
    for reader in readers:
        number = -(-total * reader.share // whole)
        made_up = number // MUTATIONS
        yield of_reader(reader, seed, number - made_up, made_up)
