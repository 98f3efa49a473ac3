"""The list of slow tests names tests that are there."""

from pathlib import Path

from tests.unit.conftest import SLOW


def test_each_slow_test_is_there():
    folder = Path(__file__).parent
    gone = [name for name in SLOW if f"\ndef {name.partition('::')[2]}(" not in (folder / name.partition("::")[0]).read_text()]
    assert SLOW and gone == []
