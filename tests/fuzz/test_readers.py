"""The short form of the fuzzing: some inputs for each reader, the same each time."""

import pytest

from tests.fuzz import campaign
from tests.fuzz.reader import Reader

# Share of a reader's inputs of each hundred thousand. Readers of YAML take tens of milliseconds for each input.
SHARE, LEAST = 0.02, 10


@pytest.mark.parametrize("reader", campaign.READERS.values(), ids=campaign.READERS)
def test_nonsense_is_refused_in_one_sentence(reader: Reader):
    number = int(SHARE * reader.share)
    told = campaign.of_reader(reader, "short", max(LEAST, number), min(LEAST, number))
    assert told.failures == []


@pytest.mark.parametrize("reader", campaign.READERS.values(), ids=campaign.READERS)
def test_what_is_whole_is_read(reader: Reader):
    for sample in reader.samples:
        values = reader.values(reader.read(sample))
        assert all(value > 0 or reader.may_be_zero for value in values.values())
