"""The papers' own tables as a world, and worlds of chance alone, for studies of interference."""

import pytest
from plimsoll import designs
from plimsoll.claims import book, evaluate, findings, verdicts
from plimsoll.claims.verdicts import CONTRADICTED, REPRODUCED
from plimsoll.config import studies
from plimsoll.designs.interference import papers
from plimsoll.planning import planner

from tests import worlds
from tests.conftest import host_of
from tests.unit.test_worlds import ALPHA, no_paper_tests, settings

__all__ = ["no_paper_tests"]


@pytest.mark.parametrize("of", ["jha2018", "jha2021"])
def test_chance_alone_bears_out_no_more_than_alpha_allows(of):
    """Without effects but with random noise, wrong differences and wrongly refused likeness are as rare as the level says."""
    study = studies.load(of, designs.known())
    # Only one placement of clients and servers: if several had to agree, errors would be rarer.
    for experiment in study["experiments"].values():
        experiment["placement"] = ["free"]
    plan = planner.make(study, worlds.profile(), {**host_of(1, 2), "events": {}}, settings(), {})
    asked, levels = evaluate.contrast_finders(plan, study), worlds.cells_of(plan, study)
    claims = [(claim, part) for claim in book.load(of) for part in book.parts_of(claim) or [claim]]
    wrong = {"difference": [0, 0], "likeness": [0, 0]}
    for seed in range(4):
        world = worlds.World(study, plan, [], levels, seed)
        for _, part in claims:
            result, rows = evaluate.one(part, world, asked, ALPHA)
            if not rows or part.get("quantity") in ("count", "transport", "variation"):
                continue
            difference = part.get("expected") in findings.DIFFERENCES
            kind = wrong["difference" if difference else "likeness"]
            kind[0] += result["verdict"] == (REPRODUCED if difference else CONTRADICTED)
            kind[1] += 1
    for kind, (count, number) in wrong.items():
        # Claims share cells, so their errors come together. Hence twice the share, and three standard errors.
        assert count <= 2 * ALPHA * number / 2 + 3 * (number * ALPHA) ** 0.5, (kind, count, number)


WITHOUT_1A = "its condition is about case 1a, which the paper does not have"
CLOSE = "the tables' values are too close, with the spread that they print, for a test to tell them apart"
# Claims that the paper's own tables decide otherwise than our note, and why that is right.
OTHERWISE = {
    **dict.fromkeys(("jha2021-c01", "jha2021-c02", "jha2021-c03", "jha2021-c04"), WITHOUT_1A),
    "jha2021-c12": CLOSE,
    "jha2021-c55": "the tables have another size, which is between half and twice of it: as large",
    "jha2021-c63": CLOSE,
    "jha2021-c67": CLOSE,
    "jha2021-c78": CLOSE,
    "jha2021-c71": CLOSE,
    "jha2021-c94": "it speaks of the whole, where the tables bear it out; STREAM and block output, which do not, stand out",
    "jha2018-c12": CLOSE,
    "jha2018-c15": CLOSE,
}


@pytest.mark.parametrize("of", ["jha2021", "jha2018"])
def test_a_paper_reproduces_itself(of):
    """Claims that the paper's tables support are reproduced on them, and the others are not."""
    study = studies.load(of, designs.known())
    plan = planner.make(study, worlds.profile(), {**host_of(1, 2), "events": {}}, settings(), {})
    world = worlds.Printed(study, plan, papers.printed_values(study))
    asked = evaluate.contrast_finders(plan, study)
    claims = [claim for claim in book.load(of) if claim.get("paper_consistent") in ("yes", "no")]
    found = {claim["id"]: evaluate.one(claim, world, asked, ALPHA)[0] for claim in claims}
    for claim in claims:
        result = found[claim["id"]]
        consistent = claim["paper_consistent"] == "yes"
        # If our note says that the tables have another size, the size of the result says so too.
        borne_out = result["verdict"] == REPRODUCED and result["size"] in ("", verdicts.AS_LARGE)
        assert (borne_out == consistent) == (claim["id"] not in OTHERWISE), (claim["id"], result["verdict"], result["size"])
        assert not (consistent and result["verdict"] == CONTRADICTED), claim["id"]
