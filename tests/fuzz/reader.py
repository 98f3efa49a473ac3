"""What a reader must do: which files it is given, what it may raise, and which values it gives."""

import math
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.mutations import OF_TEXT, Mutation

# Number of mutations in one input: mostly one.
HOW_MANY = (1, 1, 1, 1, 1, 1, 2, 2, 3)
# Most characters of a sentence for users.
LONGEST = 1500
# Mutations that may leave a number with fewer digits, and those that add a line of something else.
CUT = frozenset({"cut_a_number", "cut_a_line"})
FOREIGN = frozenset({"insert_a_line", "append"})
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


class Hang(BaseException):
    """Raised for an input that takes too long."""


@dataclass(frozen=True)
class Reader:
    """A reader of the project, with `read` from bytes. `refusals` are its documented errors, and `values` returns the
    metrics that it found by name. `near` has metrics that other numbers in the output support: the share by which they
    may differ from the true ones, however the output was changed. Metrics in `unborne` have no such support, and may
    lose digits unnoticed."""

    name: str
    samples: tuple[bytes, ...]
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    mutations: tuple[Mutation, ...] = OF_TEXT
    values: Callable[[object], Mapping[str, float]] = lambda found: {}
    near: Mapping[str, float] = field(default_factory=dict)
    unborne: frozenset[str] = frozenset()
    # A metric that is in an output twice, once with fewer digits, may differ by this share of the true value.
    rounded: Mapping[str, float] = field(default_factory=dict)
    may_be_zero: bool = False
    # Inputs of each hundred thousand that the reader gets, and the time limit of one input (s).
    share: int = 2000
    seconds: float = 5.0


@dataclass(frozen=True)
class Input:
    """An input: which sample it was, how it was changed, and the resulting bytes."""

    reader: Reader
    sample: int
    mutations: tuple[Mutation, ...]
    data: bytes

    @property
    def damaged(self) -> bool:
        """Whether this is a damaged output, and not one with another number in it. If one line replaces another, the
        result may be another output."""
        names = {one.name for one in self.mutations}
        return all(one.damage for one in self.mutations) and not (names & FOREIGN and names - FOREIGN)


def inputs(reader: Reader, seed: str, number: int) -> Input:
    """Return the input with this number, which follows from the seed."""
    random = Random(f"{reader.name}/{seed}/{number}")
    sample = random.randrange(len(reader.samples))
    data = reader.samples[sample]
    mutations = tuple(random.choice(reader.mutations) for _ in range(random.choice(HOW_MANY)))
    for one in mutations:
        data = one.apply(random, data)
    return Input(reader, sample, mutations, data)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise Hang if the block takes longer than `seconds`."""

    def late(*_: object) -> None:
        raise Hang(f"it takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def problem(given: Input) -> str | None:
    """Return what is wrong with a reader's result for an input; None if it is a valid value, or one sentence of our own."""
    reader = given.reader
    try:
        with bounded(reader.seconds):
            found = reader.read(given.data)
    except reader.refusals as refusal:
        return _no_sentence(str(refusal))
    except (Exception, Hang) as error:
        return f"{type(error).__name__}: {error}"
    values = reader.values(found)
    true = reader.values(reader.read(reader.samples[given.sample]))
    return next(filter(None, (_wrong(given, name, value, true.get(name)) for name, value in values.items())), None)


def _no_sentence(text: str) -> str | None:
    if not text.strip() or "\n" in text or len(text) > LONGEST or CONTROL.search(text):
        return f"it is refused, but not with one sentence: {text[:200]!r}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "it is refused with a sentence that cannot be printed"
    return None


def _wrong(given: Input, name: str, value: float, true: float | None) -> str | None:
    """Return why a value cannot be right; None if it can."""
    reader = given.reader
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0 or (value == 0 and not reader.may_be_zero):
        return f"{name} is {value!r}"
    if value == true or (true is not None and abs(value - true) <= reader.rounded.get(name, 0.0) * true):
        return None
    cut = [one.name for one in given.mutations if one.name in CUT]
    if given.damaged and not (name in reader.unborne and cut):
        return f"of a damaged output {name} is {value!r}, and was {true!r}"
    near = reader.near.get(name)
    if near is not None and true is not None and abs(value - true) > near * true:
        return f"{name} is {value!r}, and was {true!r}: the other numbers do not bear it out"
    return None
