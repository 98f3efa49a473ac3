"""The page docs/reports/results.md agrees with the reference measurements."""

import re

import pandas as pd
import pytest
from plimsoll.claims import findings

from tests.conftest import PROJECT, REFERENCE

COLUMNS = ("findings", "reproduced", "in_part", "contradicted", "conditional", "inconclusive", "not testable here")
ROW = re.compile(r"^\| ([a-z0-9-]+) \| (RQ\d) \| ([\d |]+) \|$", re.MULTILINE)


def on_the_page() -> dict[tuple[str, str], list[int]]:
    text = (PROJECT / "docs/reports/results.md").read_text()
    return {(study, question): [int(cell) for cell in cells.split("|")] for study, question, cells in ROW.findall(text)}


@pytest.mark.parametrize("study", sorted(folder.name for folder in REFERENCE.iterdir()))
def test_the_table_of_verdicts_is_that_of_the_reference_measurements(study):
    table = pd.read_csv(REFERENCE / study / "claims.csv").astype(object)
    summary = findings.summarise(table.where(table.notna(), None).to_dict("records"))
    measured = {(study, row["question"]): [row[column] for column in COLUMNS] for row in summary}
    assert measured == {key: cells for key, cells in on_the_page().items() if key[0] == study}
