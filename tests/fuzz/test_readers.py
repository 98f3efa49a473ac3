"""The short form of the fuzzing: some inputs for each reader, the same each time."""

import pytest

from tests.fuzz import campaign, files
from tests.fuzz.reader import Reader

# Of a hundred thousand inputs, as many here; readers of YAML take tens of milliseconds for each.
SHARE, LEAST = 0.04, 10
# Readers that take a second for each are left to the long form.
SHORT = {name: one for name, one in campaign.READERS.items() if one.share > files.LARGE}


@pytest.mark.parametrize("reader", SHORT.values(), ids=SHORT)
def test_nonsense_is_refused_in_one_sentence(reader: Reader):
    told = campaign.of_reader(reader, "short", max(LEAST, int(SHARE * reader.share)), LEAST)
    assert told.failures == []


@pytest.mark.parametrize("reader", campaign.READERS.values(), ids=campaign.READERS)
def test_what_is_whole_is_read(reader: Reader):
    for sample in reader.samples:
        values = reader.values(reader.read(sample))
        assert all(value > 0 or reader.may_be_zero for value in values.values())
