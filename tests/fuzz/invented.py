"""Inputs that Hypothesis makes up for a reader, and makes smaller until the smallest one that fails is found."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.reader import Input, Reader, problem

# Parts of our files: tokens of YAML and JSON, numbers, and lines as programs print them.
TOKENS = st.sampled_from(
    [
        *"{}[]:,-?&*!|>'\"%@`#=;/ \n\t0",
        ": ",
        "- ",
        "\n  ",
        "null",
        "true",
        "nan",
        "1e999",
        "0.5",
        "-1",
        "9" * 40,
        "=\n",
        "\\x2d",
        "\x00",
    ]
)
TEXTS = st.lists(st.one_of(TOKENS, st.text(max_size=6), st.integers().map(str)), max_size=40).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def _spliced(reader: Reader) -> st.SearchStrategy[bytes]:
    """Return a strategy for samples in which a part is replaced."""

    def splice(parts: tuple[bytes, float, float, str]) -> bytes:
        data, begin, length, text = parts
        first = int(begin * len(data))
        return data[:first] + text.encode(errors="surrogatepass") + data[first + int(length * 40) :]

    share = st.floats(0, 1, allow_nan=False)
    return st.tuples(st.sampled_from(reader.samples), share, share, TEXTS).map(splice)


def strategy(reader: Reader) -> st.SearchStrategy[bytes]:
    """Return a strategy for a reader's inputs."""
    texts = TEXTS.map(lambda text: text.encode(errors="surrogatepass"))
    documents = VALUES.map(_json)
    return st.one_of(_spliced(reader), _spliced(reader), texts, documents, st.binary(max_size=64))


def _json(value: object) -> bytes:
    import json

    return json.dumps(value).encode()


def run(reader: Reader, number: int, chosen: int, counted: Callable[[], None]) -> None:
    """Give a reader `number` inputs that are drawn from a seed. Raise AssertionError with the smallest input that fails."""

    @seed(chosen)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(strategy(reader))
    def property_of_reader(data: bytes) -> None:
        counted()
        # The input does not count as damaged, because another number may stand in it.
        made_up = Input(reader, 0, (INVENTED,), data)
        assert (wrong := problem(made_up)) is None, f"{reader.name}: {wrong}\n{data!r}"

    property_of_reader()


class _Invented:
    name, damage = "invented", False


INVENTED = _Invented()
