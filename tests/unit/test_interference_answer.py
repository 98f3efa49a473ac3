"""What sharing costs: ratios to running alone, averaged over all co-runners."""

import pandas as pd
import pytest
from plimsoll.claims import answer
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.pages import answer as answer_page

from tests.unit.test_interference_analysis import observed


def test_company_is_averaged_and_the_worst_of_it_is_named(planned, jha2021):
    runs = pd.DataFrame(columns=[*planned["factors"], "status"])
    table = answer.table(StudyObservations(jha2021, planned, observed(planned, jha2021), runs), 0.05)
    linpack = table[(table["case"] == "2") & (table["metric"] == "floating_point_rate")].iloc[0]
    # Of six partners, one costs 40 %, one gains 30 %, and four cost nothing.
    assert linpack["comparisons"] == 6 and linpack["ratio"] == pytest.approx((0.6 * 1.3) ** (1 / 6), abs=0.01)
    assert linpack["worst_cell"] == "2/linpack+linpack/docker/free" and linpack["worst_ratio"] == pytest.approx(0.6, abs=0.01)
    (shown,) = answer_page.for_template(table, jha2021)
    (part,) = shown["parts"]
    assert shown["several"]
    assert part["rows"][0]["name"] == "one shared container" and part["baseline"] == "running alone"
    assert part["rows"][0]["cells"][0]["worst"] == "Linpack beside Linpack, one shared container"
    # Less time is better, so twice the time is a loss of one half.
    slower = part["rows"][0]["cells"][1]
    assert slower["better"] == "lower" and slower["ratio"] > 1 and slower["open_loss"] == 1 - 1 / slower["high"]
