"""Mutations of JSON and YAML: other values or types, missing or odd keys, and what only YAML has."""

import copy
import json
from collections.abc import Callable
from random import Random

import yaml

from tests.fuzz.mutations import Mutation

DEEP = 2000
# Beginning of a document whose aliases never end.
ENDLESS = b"&a [x,x"
# Values that may stand in the place of others.
ODD = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        5.0,
        0.5,
        -0.5,
        1e-300,
        1e300,
        10**9,
        10**19,
        -(10**19),
        10**30,
        float("nan"),
        float("inf"),
    ),
    *(
        "",
        "x",
        "0",
        "nan",
        "off",
        "all",
        "none",
        "../../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a b",
        "a'b",
        'a"b',
        "a;b",
        "$(id)",
    ),
    *(
        "`id`",
        "a\nb",
        "a\x00b",
        "\ud800",
        "\u202e",
        "<script>alert(1)</script>",
        "{{ 7 * 7 }}",
        "%s %d %n",
        "-rf",
        "x" * 10_000,
    ),
    *([], {}, [[]], {"": None}, [None], ["x", "x"], {"x": {"y": {"z": []}}}, [0] * 1000, {"$ref": "#"}, {"a": [1, {"b": "c"}]}),
)
ODD_KEYS = ("", "x", "__class__", "../x", "a b", "0", "null", "\ud800", "a\nb", "<b>", "x" * 1000)


def _places(document: object) -> list[tuple]:
    """Return every container in a document with each of its keys or indices."""
    found, waiting = [], [document]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    return found


def _odd(random: Random, document: object) -> object:
    """Return an odd value. Sometimes it is another part of the same document, or nested too deeply."""
    chance = random.random()
    if chance < 0.15 and (places := _places(document)):
        container, key = random.choice(places)
        return copy.deepcopy(container[key])
    if chance < 0.17:
        deep: object = []
        for _ in range(random.choice((10, 40, 200))):
            deep = [deep] if random.random() < 0.5 else {"x": deep}
        return deep
    return copy.deepcopy(random.choice(ODD))


def replace_a_value(random: Random, document: object) -> object:
    """Replace the value at a key."""
    places = _places(document)
    if not places:
        return _odd(random, document)
    container, key = random.choice(places)
    container[key] = _odd(random, document)
    return document


def drop_a_key(random: Random, document: object) -> object:
    """Remove a key, or an entry of a list."""
    if places := _places(document):
        container, key = random.choice(places)
        del container[key]
    return document


def rename_a_key(random: Random, document: object) -> object:
    """Rename a key."""
    places = [(container, key) for container, key in _places(document) if isinstance(container, dict)]
    if places:
        container, key = random.choice(places)
        container[random.choice((*ODD_KEYS, f"{key}s", str(key)[:-1]))] = container.pop(key)
    return document


def add_a_key(random: Random, document: object) -> object:
    """Add a key, or an entry of a list."""
    containers = [one for one, _ in _places(document)]
    if containers:
        container = random.choice(containers)
        if isinstance(container, dict):
            container[random.choice(ODD_KEYS)] = _odd(random, document)
        else:
            container.insert(random.randrange(len(container) + 1), _odd(random, document))
    return document


def double_an_entry(random: Random, document: object) -> object:
    """Repeat an entry of a list."""
    lists = [one for one, _ in _places(document) if isinstance(one, list)]
    if lists:
        one = random.choice(lists)
        one.append(copy.deepcopy(random.choice(one)))
    return document


def swap_values(random: Random, document: object) -> object:
    """Exchange two values."""
    places = _places(document)
    if len(places) > 1:
        (one, key), (other, place) = random.sample(places, 2)
        one[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(one[key])
    return document


CHANGES: tuple[Callable[[Random, object], object], ...] = (
    *(replace_a_value, replace_a_value, replace_a_value, drop_a_key, rename_a_key, add_a_key, double_an_entry, swap_values),
)


def _of_json(change: Callable[[Random, object], object]) -> Mutation:
    def apply(random: Random, data: bytes) -> bytes:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return data
        return json.dumps(change(random, document), indent=1).encode() + b"\n"

    return Mutation(f"json_{change.__name__}", False, apply)


def _huge_number(random: Random, data: bytes) -> bytes:
    """Replace a number by one of thousands of digits."""
    return data.replace(b": 1", b": " + b"1" * 5000, 1)


def _deeper_than_anything(random: Random, data: bytes) -> bytes:
    bracket = random.choice((b"[", b'{"x":'))
    return bracket * random.choice((DEEP, 50 * DEEP))


OF_JSON = (
    *map(_of_json, CHANGES),
    Mutation("huge_number", False, _huge_number),
    Mutation("deeper_than_anything", False, _deeper_than_anything),
)


def _of_yaml(change: Callable[[Random, object], object]) -> Mutation:
    def apply(random: Random, data: bytes) -> bytes:
        if ENDLESS in data or any(data.count(sign) > 3000 for sign in (b"[", b"{", b"- ")):
            return data  # PyYAML might crash, or never end
        try:
            document = change(random, yaml.load(data, Loader=yaml.CSafeLoader))
            return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True).encode(
                errors="surrogatepass"
            )
        # PyYAML may fail on what an earlier mutation made.
        except Exception:
            return data

    return Mutation(f"yaml_{change.__name__}", False, apply)


# Lines that may stand in a YAML file, and texts that may stand for a value there.
SNIPPETS = (
    *(
        "? [a, b]\n: c\n",
        "{[a]: b}\n",
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "<<: {id: x}\n",
        "<<: [1]\n",
        "id: twice\nid: twice\n",
    ),
    *(
        "\tid: x\n",
        "---\nid: x\n",
        "...\n",
        "%YAML 9.9\n---\n",
        "!!set {a, b}\n",
        "? \n",
        ": \n",
        "- \n",
        "2020-01-01: x\n",
        "1: x\n",
    ),
    *(
        "yes: x\n",
        "~: x\n",
        "a: !!python/object/apply:os.system [id]\n",
        "a: !<x> y\n",
        "a: !!binary ====\n",
        "#\x00\n",
        "a: >\n",
    ),
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{c}: &{c} [{','.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefg", "bcdefgh", strict=True)),
)
VALUES = (
    *(
        "!!int x",
        "!!float x",
        "!!bool x",
        "!!timestamp x",
        "!!null x",
        "!!str 5",
        "!!seq x",
        "!!map x",
        "!!omap [a: b]",
        "!!binary '#'",
    ),
    *(
        "2020-01-01",
        "2020-99-99",
        "2020-01-01 00:00:00",
        "0x_",
        "0b_",
        "0o8",
        "1:99:99",
        ".inf",
        "-.inf",
        ".nan",
        "1e999",
        "5.0",
        "1_0",
    ),
    *(
        "9" * 5000,
        "*missing",
        "&anchor",
        "[" * 50,
        "[" * 100_000,
        "- " * 5000,
        "{" * 2000,
        "|",
        ">",
        "@",
        "`",
        "'",
        '"',
        "? ",
        "~",
        "=",
    ),
)


def _insert_a_snippet(random: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(random.randrange(len(lines) + 1), random.choice(SNIPPETS).encode())
    return b"".join(lines)


def _odd_value(random: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    named = [place for place, line in enumerate(lines) if b": " in line and not line.lstrip().startswith(b"#")]
    if named:
        place = random.choice(named)
        key, _, _ = lines[place].partition(b": ")
        lines[place] = key + b": " + random.choice(VALUES).encode() + b"\n"
    return b"".join(lines)


OF_YAML = (
    *map(_of_yaml, CHANGES),
    Mutation("insert_a_snippet", False, _insert_a_snippet),
    Mutation("odd_value", False, _odd_value),
    Mutation("odd_value_again", False, _odd_value),
)
