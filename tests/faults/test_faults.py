"""The short form of the campaign: a few faults, on different victims, against a few runs."""

import tempfile
from pathlib import Path

import pytest

from tests.faults import drawing, means, processes
from tests.faults.__main__ import PLACE
from tests.faults.campaign import Campaign, summary
from tests.faults.scenes import SCENES, SHORT
from tests.workflow import machine

SEED = 2026
# The first number of each kind.
KINDS = (
    ("measuring process", drawing.KILLED),
    ("workflow", drawing.KILLED),
    ("engine", drawing.KILLED),
    ("shim", drawing.KILLED),
    ("machine", drawing.CUT),
)


def number_of(victim: str, how: str) -> int:
    return next(n for n in range(1, 1000) if drawing.draw(SEED, n, SHORT)[3:5] == (victim, how))


@pytest.fixture(scope="module")
def campaign():
    if reason := machine.missing():
        pytest.skip(reason)
    with Campaign(Path(tempfile.mkdtemp(prefix="plimsoll-faults-", dir=PLACE)), SHORT) as campaign:
        yield campaign


@pytest.mark.workflow
@pytest.mark.parametrize(("victim", "how"), KINDS)
def test_the_next_start_completes_what_a_fault_has_stopped_and_leaves_nothing(campaign, victim, how):
    fault = drawing.draw(SEED, number_of(victim, how), SHORT)
    # At the first moment at which the victim is there: that is always in time.
    result = campaign.run(fault._replace(after=0.0))
    assert result.struck
    assert (result.problems, result.left) == ([], [])


def test_a_number_gives_the_same_fault_and_the_numbers_all_victims():
    drawn = [drawing.draw(SEED, number) for number in range(1, 2000)]
    assert drawn == [drawing.draw(SEED, number) for number in range(1, 2000)]
    assert {(one.scene, one.victim) for one in drawn} == {
        (name, victim) for name, scene in SCENES.items() for victim in (*drawing.EVERYWHERE, *scene.victims)
    }
    known = {"workflow", "machine", *processes.VICTIMS, *means.MEANS}
    assert {one.victim for one in drawn} <= known and {one.how for one in drawn} == {
        *(drawing.KILLED, drawing.STOPPED, drawing.CUT, drawing.TAKEN, drawing.CHANGED)
    }


def test_the_summary_counts_by_kind():
    fault = drawing.draw(SEED, 1)._asdict()
    made = {"fault": fault, "struck": "it", "problems": [], "left": []}
    lost = {**made, "problems": ["record lost: a", "record changed: b", "result missing: c"], "left": ["mount: d"]}
    text = summary([made, lost, {**made, "struck": ""}])
    kind = f"{fault['victim']}, {fault['how']}"
    assert f"| {kind} | 2 | 1 | 2 | 1 | 1 |" in text and text.splitlines()[-1] == "| all | 2 | 1 | 2 | 1 | 1 |"
