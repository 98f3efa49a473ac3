"""Each claim in worlds whose truth is known: its sentence is true in one, false in another, and one world has no effects.

The worlds (tests/data/worlds) were written from the claims and the papers, by a reader who had not seen the encodings.
So they do not share what an encoding gets wrong.
"""

import numpy as np
import pandas as pd
import pytest
import yaml
from plimsoll import designs, paths
from plimsoll.claims import book, evaluate
from plimsoll.claims.quantities.base import LEAST
from plimsoll.claims.quantities.value import Value
from plimsoll.claims.verdicts import CONTRADICTED, NOT_TESTABLE, REPRODUCED
from plimsoll.config import studies, yaml_files
from plimsoll.host import topology
from plimsoll.planning import planner

from tests import worlds
from tests.conftest import DATA, PROJECT, host_of

ALPHA = 0.05
# Only studies whose design has not been removed.
NAMES = [
    name
    for name in ("liu2020", "jha2021", "jha2018", "plimsoll2026", "amaral2015", "li2018", "li2018-hadoop")
    if (PROJECT / f"config/studies/{name}.yaml").exists()
]
HOSTS = ("the paper's host", "two cores")
XEON, OF_PAPER = "xeon-e5-2697v4", {"amaral2015": "xeon-e5-2630l"}
# Claims that a world without effects reproduces although their sentence names a difference, and why.
WITHOUT_EFFECTS = {
    "jha2021-c63": "the exception is about Y-Cruncher, which another program stands in for: only the rest is tested",
    "jha2021-c87": "the exception is about two Netperf in one container, which have no baseline here: only the rest is tested",
}


@pytest.fixture(scope="module", autouse=True)
def no_paper_tests():
    """Leave out the paper's own procedure. It is shown beside a comparison and decides nothing, but would take most of
    the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Value, "by_the_paper", lambda self, a, b, alpha: {})
        yield


def settings() -> dict:
    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    return {**config, "runtimes": dict.fromkeys(config["runtimes"], "required")}


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def study(name):
    return studies.load(name, designs.known())


@pytest.fixture(scope="module", params=HOSTS)
def planned(request, study):
    if request.param == HOSTS[1]:
        return planner.make(study, worlds.profile(), {**host_of(1, 2), "events": {}}, settings(), {})
    host = topology.from_description(yaml_files.load(PROJECT / f"config/hosts/{OF_PAPER.get(study['id'], XEON)}.yaml", "host"))
    return planner.make(study, worlds.profile_of_paper(), host, settings(), {})


@pytest.fixture(scope="module")
def described(name):
    """Return the worlds of each claim: effects if its sentence is `true`, `false`, or false in another half
    (`also_false`). `difference` says whether it claims one, and `skip` is a reason to have no world."""
    listed = yaml.safe_load((DATA / f"worlds/{name}.yaml").read_text())
    return {one["id"]: {str(key).lower(): value for key, value in one.items()} for one in listed}


@pytest.fixture(scope="module")
def judged(study, planned, name):
    """Return a function from the effects of a world, by claim, to the verdicts on these claims."""
    asked = evaluate.contrast_finders(planned, study)
    levels = worlds.cells_of(planned, study)
    claims = {claim["id"]: claim for claim in book.load(name)}

    def judged(effects: dict[str, list[dict]]) -> dict[str, str]:
        found = {}
        for identity, of_world in effects.items():
            world = worlds.World(study, planned, of_world, levels)
            found[identity] = evaluate.one(claims[identity], world, asked, ALPHA)[0]["verdict"]
        return found

    return judged


def test_every_claim_has_its_worlds_or_a_reason(name, described):
    assert list(described) == [claim["id"] for claim in book.load(name)]
    assert all(world.get("skip") or (world["true"] and world["false"]) for world in described.values())


@pytest.mark.parametrize(("truth", "verdict"), [("true", REPRODUCED), ("false", CONTRADICTED)])
def test_a_claim_is_borne_out_where_its_sentence_is_true_and_contradicted_where_it_is_false(judged, described, truth, verdict):
    found = judged({identity: world[truth] for identity, world in described.items() if "skip" not in world})
    wrong = {identity: given for identity, given in found.items() if given not in (verdict, NOT_TESTABLE)}
    assert wrong == {}
    assert list(found.values()).count(verdict) > 0.4 * len(found)


def test_each_half_of_a_sentence_can_make_it_false(judged, described):
    """*A loss of only 7 %* is false if half is lost, although there is a loss. *The worst of all* is false if another
    one is worse."""
    found = judged({identity: world["also_false"] for identity, world in described.items() if "also_false" in world})
    assert {identity: given for identity, given in found.items() if given not in (CONTRADICTED, NOT_TESTABLE)} == {}


def test_an_aside_that_is_false_contradicts_only_itself(study, planned, name, described):
    """*The same happens, less strongly* is reproduced in part if it happens as strongly, or more."""
    asked, levels = evaluate.contrast_finders(planned, study), worlds.cells_of(planned, study)
    claims = {claim["id"]: claim for claim in book.load(name)}
    for identity, world in described.items():
        if "aside_false" in world:
            made = worlds.World(study, planned, world["aside_false"], levels)
            result, _ = evaluate.one(claims[identity], made, asked, ALPHA)
            assert (result["verdict"], result["in_part"]) in ((REPRODUCED, True), (NOT_TESTABLE, False)), identity
            asides = {part["verdict"] for part in result["parts"] if part["aside"]} - {NOT_TESTABLE}
            assert asides == {CONTRADICTED} or result["verdict"] == NOT_TESTABLE, identity


def test_no_difference_is_found_where_there_is_none(judged, described):
    claiming = {identity: [] for identity, world in described.items() if "skip" not in world and world["difference"]}
    found = judged(claiming)
    assert {identity for identity, given in found.items() if given == REPRODUCED} == set(WITHOUT_EFFECTS) & set(found)


# In the paper, over-subscribed runs have half of the cores. The mode `halved` has that here.
MODES = {"exact": ["exact"], "over": ["over", "halved"]}


def table_1(study: dict) -> list[dict]:
    """Return what table 1 of liu2020 prints as effects: shares of time in MPI functions, and numbers of their calls.
    Where it prints nothing, no function was called. What it prints as less than a share counts as that share."""
    printed = pd.read_csv(paths.REFERENCE / "liu2020_table1_mpi_profile.csv")
    sections = printed["benchmark"].str.replace("_", "")
    effects = []
    for name, metric in study["metrics"].items():
        kind, named = metric["source"][0].split("/")[0], [source.split("/")[-1] for source in metric["source"]]
        if kind not in ("mpi_share", "mpi_calls"):
            continue
        of_metric = printed[["pattern", "group"]].isin(named).any(axis=1) | ("all" in named)
        for mode, cells in printed[of_metric & (sections == metric["section"])].groupby("mode"):
            shares, calls = cells["time_share_percent"].sum() / 100, cells["invocations"].sum()
            value = np.clip(shares, LEAST, 1 - LEAST) if kind == "mpi_share" else calls
            effects.append({"metrics": [name], "where": {"hardware": ["numa"], "mode": MODES[mode]}, "set": value})
    return effects


def metrics_of(claim: dict) -> set[str]:
    """Return the metrics that a claim is about, on either side."""
    return {*claim["metrics"], *(name for _, levels in book.levels_of(claim) for name in levels.get("metric", []))}


def words_of(claim: dict) -> set[str]:
    """Return the levels that a claim names, and what it needs."""
    levels = {name for _, levels in book.levels_of(claim) for names in levels.values() for name in names}
    return levels | {*claim["needs"], *claim.get("values", {})}


def test_liu2020_reproduces_what_it_prints_of_its_runs(liu2020):
    """The world has its shares of time in MPI functions, calls of these, and shares of local memory accesses. They are
    from the tables, and not from the claims."""
    host = topology.from_description(yaml_files.load(PROJECT / "config/hosts/xeon-e5-2697v4.yaml", "host"))
    plan = planner.make(liu2020, studies.profile("quick"), host, settings(), {})
    effects = []
    for table, column, metric in (
        ("liu2020_text_mpi_shares", "mpi_time_share_percent", "{}_mpi_share"),
        ("liu2020_table6_memory_locality", "value", "{}_local_rate"),
    ):
        for row in pd.read_csv(paths.REFERENCE / f"{table}.csv").to_dict("records"):
            where = {
                "hardware": ["numa"],
                "mode": MODES[row["mode"]],
                **({"affinity": [row["affinity"]]} if "affinity" in row else {}),
            }
            named = metric.format(row["benchmark"].replace("_", ""))
            effects.append({"metrics": [named], "where": where, "set": np.clip(row[column] / 100, 0.001, 0.999)})
    # The text's shares are of all functions. They come first, so that they count before the shares of the table.
    effects += table_1(liu2020)
    world = worlds.World(liu2020, plan, effects)
    asked = evaluate.contrast_finders(plan, liu2020)
    names = {effect["metrics"][0] for effect in effects}
    parts = [part for claim in book.load("liu2020") for part in book.parts_of(claim) or [claim]]
    # The tables have no pinned runs and none on one socket. Claims about what a profiler inflates are left out.
    left_out = {"pin", "uma", "unprofiled"}
    parts = [part for part in parts if metrics_of(part) <= names and not words_of(part) & left_out and "untestable" not in part]
    found = {(part["id"], part.get("says")): evaluate.one(part, world, asked, ALPHA)[0]["verdict"] for part in parts}
    assert {identity for identity, _ in found} >= {f"liu2020-c{number:02}" for number in (1, *range(3, 10), 11, 12, 28)}
    assert {key: verdict for key, verdict in found.items() if verdict != REPRODUCED} == {}
