"""Read the JSON documents that stages exchange, and check them against their types (plimsoll.interchange)."""

import json
import math
import types
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from plimsoll.errors import DamagedFile, quote

# Upper limit of nesting. None of our documents is nested more deeply, and a deeper one could not be written again.
DEEPEST = 32
# Largest integer that a table can hold.
LARGEST = 2**63 - 1
# Names of types in messages.
WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "null",
    dict: "keys with values",
    list: "a list",
}
# Longest key that is shown in full in a message (characters).
SHOWN = 40


class Misfit(Exception):
    """A file is no JSON document, or not of the expected type. The text says what is wrong."""

    def __init__(self, words: str):
        super().__init__(words)
        # Keys that lead to the wrong value, the innermost first.
        self.keys: list[str] = []

    def __str__(self) -> str:
        # A key may contain any text, also control characters.
        where = ".".join(key if key.isprintable() and len(key) <= SHOWN else quote(key) for key in reversed(self.keys))
        return f"{where}: {self.args[0]}" if where else self.args[0]


def read(path: Path, kind: Any, remedy: str) -> Any:
    """Return the document in a file, which must be of type `kind` (a TypedDict, or a type such as dict[str, int]).

    Raise OSError if the file cannot be read. Raise DamagedFile, with the `remedy` in its text, if the document is of
    another type.
    """
    content = path.read_bytes()
    try:
        return _fitting(content, kind)
    except Misfit as misfit:
        raise DamagedFile(f"{path} is damaged ({misfit}): {remedy}.") from misfit


def load(path: Path, kind: Any, finite: bool = True) -> Any:
    """Return the document in a file. Raise Misfit if the file cannot be read or the document is not of type `kind`.

    With `finite`, numbers must be finite.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Misfit(f"it cannot be read: {error.strerror}") from error
    return _fitting(content, kind, finite)


def _fitting(content: bytes, kind: Any, finite: bool = True) -> Any:
    try:
        document = json.loads(content.decode())
    except ValueError as error:
        raise Misfit(f"it is no complete JSON: {error}") from error
    except RecursionError as error:
        raise Misfit("it is nested too deeply") from error
    fit(document, kind, finite)
    return document


def fit(document: object, kind: Any, finite: bool = True) -> None:
    """Raise Misfit if a document is not of type `kind`."""
    _check_of(kind, finite)(document)


@cache
def _check_of(kind: Any, finite: bool) -> Callable[[object], None]:
    """Return a function that raises Misfit for a value that is not of type `kind`.

    The function is made once per type, because there are thousands of values.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if typing.is_typeddict(kind):
        return _typed(kind, finite)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, finite)
    if origin is dict:
        return _of_keys(_check_of(arguments[1], finite))
    if origin is list:
        return _of_each(_check_of(arguments[0], finite))
    if origin is tuple:
        return _of_places([_check_of(argument, finite) for argument in arguments])
    if kind in (int, float, str, bool, type(None)):
        return {int: _whole, float: _finite if finite else _number, str: _text}.get(kind, _simple(kind))
    return _any(kind)


def _typed(kind: Any, finite: bool) -> Callable[[object], None]:
    checks = {key: _check_of(hint, finite) for key, hint in typing.get_type_hints(kind).items()}
    required = sorted(kind.__required_keys__)

    def check(value: object) -> None:
        _simple(dict)(value)
        for key in required:
            if key not in value:
                raise Misfit(f"it lacks {key!r}")
        for key, each in value.items():
            if key in checks:
                _within(key, checks[key], each)
            else:
                _sound(each)

    return check


def _within(key: object, check: Callable[[object], None], value: object) -> None:
    try:
        check(value)
    except Misfit as misfit:
        misfit.keys.append(str(key))
        raise


def _of_keys(check: Callable[[object], None]) -> Callable[[object], None]:
    def check_all(value: object) -> None:
        _simple(dict)(value)
        for key, each in value.items():
            _text(key)
            _within(key, check, each)

    return check_all


def _of_each(check: Callable[[object], None]) -> Callable[[object], None]:
    def check_all(value: object) -> None:
        _simple(list)(value)
        for place, each in enumerate(value):
            _within(place, check, each)

    return check_all


def _of_places(checks: list[Callable[[object], None]]) -> Callable[[object], None]:
    def check_all(value: object) -> None:
        _simple(list)(value)
        if len(value) != len(checks):
            raise Misfit(f"it has {len(value)} entries, and should have {len(checks)}")
        for place, (check, each) in enumerate(zip(checks, value, strict=True)):
            _within(place, check, each)

    return check_all


def _one_of(kinds: tuple, finite: bool) -> Callable[[object], None]:
    checks = [_check_of(kind, finite) for kind in kinds]

    def check(value: object) -> None:
        misfits = []
        for each in checks:
            try:
                return each(value)
            except Misfit as misfit:
                misfits.append(misfit)
        raise misfits[0]

    return check


def _any(kind: Any) -> Callable[[object], None]:
    """Return a check for values of unknown content: any dictionary, any list, or any value at all."""

    def check(value: object) -> None:
        if kind in (dict, list):
            _simple(kind)(value)
        _sound(value)

    return check


@cache
def _simple(kind: type) -> Callable[[object], None]:
    def check(value: object) -> None:
        if type(value) is not kind:
            raise _other(value, kind)

    return check


def _other(value: object, kind: type) -> Misfit:
    told = quote(value) if isinstance(value, str | int | float | None) else WORDS[type(value)]
    return Misfit(f"it is {told}, and should be {WORDS[kind]}")


def _whole(value: object) -> None:
    if type(value) is not int or abs(value) > LARGEST:
        raise _other(value, int)


def _number(value: object) -> None:
    if type(value) is not float:
        _whole(value) if type(value) is int else _simple(float)(value)


def _finite(value: object) -> None:
    _number(value)
    if not math.isfinite(value):
        raise _other(value, float)


def _text(value: object) -> None:
    if type(value) is not str:
        raise _other(value, str)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Misfit(f"it has a character that cannot be written: {quote(value)}") from error


def _sound(value: object) -> None:
    """Raise Misfit for a value that can be read but could not be written again."""
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        if depth > DEEPEST:
            raise Misfit("it is nested too deeply")
        if type(each) is dict:
            for key, inner in each.items():
                _text(key)
                waiting.append((inner, depth + 1))
        elif type(each) is list:
            waiting += [(inner, depth + 1) for inner in each]
        elif type(each) is str:
            _text(each)
        elif type(each) is int:
            _whole(each)
