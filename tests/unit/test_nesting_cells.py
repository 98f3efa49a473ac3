"""The cells of a study of nesting on a host, and what its claims compare there."""

import pytest
from plimsoll import designs
from plimsoll.claims import book
from plimsoll.config import studies, yaml_files
from plimsoll.designs.nesting import contrasts
from plimsoll.designs.nesting.factors import NestingCell, NestingPlan
from plimsoll.errors import PlimsollError
from plimsoll.host import topology
from plimsoll.planning import planner

from tests.conftest import PROJECT, built, host_of, unlike

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]


@pytest.fixture
def amaral2015() -> studies.Study:
    return built("amaral2015")


@pytest.fixture
def plan_of(amaral2015, config, small_host):
    def plan_of(profile="quick", host=small_host, **changes):
        return planner.make(amaral2015, studies.profile(profile), host, {**config, "profile": profile, **changes}, {})

    return plan_of


@pytest.fixture
def of_paper(plan_of):
    host = topology.described(yaml_files.load(PROJECT / "config/hosts/xeon-e5-2630l.yaml", "host"))
    return plan_of("paper", host)


def test_the_plan_of_the_paper_s_host_is_the_paper_s(of_paper):
    cells = of_paper["cells"].values()
    assert {cell["reason"] for cell in cells} == {None} and {cell["repetitions"] for cell in cells} == {10}
    numbers = {
        (task, runtime): sorted(int(c["instances"]) for c in cells if (c["task"], c["runtime"]) == (task, runtime))
        for task, runtime in (("cpu", "bare"), ("cpu", "docker"), ("cpu", "docker-nested"), ("creation", "docker"))
    }
    assert set(map(tuple, numbers.values())) == {tuple(SIZES[:7])}
    pairs = {(int(c["instances"]), int(c["children"])) for c in cells if "parents" in c["experiments"]}
    assert pairs == {(parents, children) for parents in SIZES for children in SIZES if parents * children <= 256}
    assert len(pairs) == 45
    assert {c["path"] for c in cells if c["task"] == "preloaded"} == {"preloaded/docker-nested/1/1"}
    assert of_paper["cells"]["cpu/bare/1/0"]["parameters"] == {"primes": 40000, "events": 10000}
    assert of_paper["cores"] == 12


@pytest.mark.parametrize("cores", [1, 2, 18])
def test_plans_and_cells_have_the_keys_that_are_written_down(plan_of, cores):
    made = plan_of(host=host_of(1, cores))
    assert unlike(made, NestingPlan) == set()
    assert {key for cell in made["cells"].values() for key in unlike(cell, NestingCell)} == set()


def test_what_is_cut_says_why(plan_of):
    made = plan_of()["cells"]
    assert made["cpu/bare/16/0"]["reason"] is None
    assert made["cpu/bare/32/0"]["reason"] == "the profile ends at 16 instances, to save time"
    assert made["creation/docker-nested/2/4"]["reason"] == "the profile ends at 4 nested containers, to save time"
    reason = made["creation/docker-nested/256/1"]["reason"]
    assert reason == "256 children in 256 parents would need 26 GiB of this host's 24 GiB of memory"
    small = plan_of("paper", host_of(1, 2, memory=2 * 2**30))["cells"]
    assert small["creation/docker/64/0"]["reason"] == "64 instances would need 2 GiB of this host's 2 GiB of memory"
    assert small["creation/docker-nested/1/1"]["reason"] is None


def test_a_runtime_that_is_off_is_not_planned_but_the_study_s_own(plan_of, config):
    assert {cell["runtime"] for cell in plan_of()["cells"].values()} == {"bare", "docker", "docker-nested"}
    without = {**config["runtimes"], "bare": "off"}
    assert {cell["runtime"] for cell in plan_of(runtimes=without)["cells"].values()} == {"docker", "docker-nested"}


def test_other_parameters_are_other_runs(plan_of):
    quick, paper = (plan_of(profile)["cells"]["cpu/bare/1/0"]["fingerprint"] for profile in ("quick", "paper"))
    assert quick != paper
    creations = {plan_of(profile)["cells"]["creation/docker/1/0"]["fingerprint"] for profile in ("quick", "paper")}
    assert len(creations) == 1


@pytest.mark.parametrize(
    ("cores", "words"),
    [
        (2, {1: {"up to"}, 2: {"up to", "the", "from"}, 4: {"above", "twice", "from"}, 8: {"above", "from"}}),
        (12, {8: {"up to", "the", "from"}, 16: {"above", "from"}, 32: {"above", "twice", "from"}}),
        (1, {1: {"up to", "the", "from"}, 2: {"above", "twice", "from"}}),
    ],
)
def test_claims_words_follow_the_cores(cores, words):
    whole = {
        "up to": contrasts.UP_TO,
        "above": contrasts.ABOVE,
        "the": contrasts.CORES,
        "twice": contrasts.TWICE,
        "from": contrasts.FROM,
    }
    for instances, wanted in words.items():
        assert contrasts.words_of(instances, set(SIZES[:7]), cores) == {whole[word] for word in wanted}


def compared(plan, study, identity: str, number: int = 0) -> list:
    claim = next(claim for claim in book.load("amaral2015") if claim["id"] == f"amaral2015-{identity}")
    part = (book.parts_of(claim) or [claim])[number]
    asked = contrasts.asking(plan, study)
    return asked(part) or asked(contrasts.elsewhere(part) or part)


def cells_of(one) -> tuple:
    return tuple(side.cell for side in one) if isinstance(one, list) else (one.a.cell, one.b.cell)


def test_the_knee_is_asked_at_the_cores(of_paper, plan_of, amaral2015):
    of_bare = [one for one in compared(of_paper, amaral2015, "c04") if "bare" in one.a.cell]
    (one,) = of_bare
    assert [side.cell for side in (one.a, one.b)] == ["cpu/bare/32/0", "cpu/bare/8/0"]
    assert [side.reference for side in (one.a, one.b)] == ["cpu/bare/16/0", "cpu/bare/4/0"]
    (here,) = [one for one in compared(plan_of(), amaral2015, "c04") if "bare" in one.a.cell]
    assert (here.a.cell, here.a.reference, here.b.cell, here.b.reference) == (
        *("cpu/bare/4/0", "cpu/bare/2/0"),
        *("cpu/bare/2/0", "cpu/bare/1/0"),
    )


@pytest.mark.parametrize(
    ("identity", "number", "wanted"),
    [
        ("c01", 0, {(f"cpu/docker/{n}/0", f"cpu/bare/{n}/0") for n in SIZES[:7]}),
        ("c02", 0, {(f"cpu/docker-nested/{n}/1", f"cpu/bare/{n}/0") for n in SIZES[:7]}),
        (
            *("c05", 0),
            {
                (f"cpu/{runtime}/{n}/{children}", f"cpu/{runtime}/8/{children}")
                for runtime, children in (("bare", 0), ("docker", 0), ("docker-nested", 1))
                for n in (16, 32, 64)
            },
        ),
        ("c06", 0, {(f"creation/docker/{n}/0", f"creation/docker-nested/{n}/1") for n in SIZES[:7]}),
        ("c07", 0, {("creation/docker-nested/1/1", "creation/docker/1/0")}),
        ("c09", 0, {("creation/docker-nested/1/1", "creation/docker-nested/1/1")}),
        ("c10", 0, {("preloaded/docker-nested/1/1", "creation/docker-nested/1/1")}),
        ("c11", 0, {tuple(f"creation/docker-nested/{n}/1" for n in (8, 16, 32, 64))}),
        ("c13", 0, {("creation/docker-nested/1/256", "creation/docker-nested/256/1")}),
        ("c16", 0, {(f"creation/docker-nested/1/{n}", f"creation/docker-nested/{n}/1") for n in SIZES[1:]}),
        ("c17", 0, {("creation/docker-nested/4/64", "creation/docker-nested/1/256")}),
        ("c18", 0, {(f"creation/docker-nested/{n}/{256 // n}", "creation/docker-nested/1/256") for n in (2, 4, 8)}),
        ("c18", 1, {(f"creation/docker-nested/{n}/{256 // n}", "creation/docker-nested/1/256") for n in SIZES[4:]}),
    ],
)
def test_claims_compare_what_they_say(of_paper, amaral2015, identity, number, wanted):
    assert {cells_of(one) for one in compared(of_paper, amaral2015, identity, number)} == wanted


def test_claims_about_many_children_are_asked_of_the_most_that_are_measured(plan_of, amaral2015):
    plan = plan_of()
    asked = contrasts.asking(plan, amaral2015)
    claims = {claim["id"]: claim for claim in book.load("amaral2015")}
    (stated,) = asked(claims["amaral2015-c13"])
    assert plan["cells"][stated.a.cell]["reason"]
    (moved,) = asked(contrasts.elsewhere(claims["amaral2015-c13"]))
    assert cells_of(moved) == ("creation/docker-nested/1/4", "creation/docker-nested/4/1")
    part = book.parts_of(claims["amaral2015-c11"])[0]
    (series,) = asked(contrasts.elsewhere(part))
    assert cells_of(series) == ("creation/docker-nested/2/1", "creation/docker-nested/4/1")
    assert contrasts.elsewhere(claims["amaral2015-c01"]) is None


def test_a_series_ends_where_measuring_does(plan_of, amaral2015):
    claims = {claim["id"]: claim for claim in book.load("amaral2015")}
    along_parents = contrasts.asking(plan_of(), amaral2015)(claims["amaral2015-c14"])
    measured = [cells_of(one) for one in along_parents if len(one) > 2]
    assert ("creation/docker-nested/1/1", "creation/docker-nested/2/1", "creation/docker-nested/4/1") in measured


def test_what_is_not_here_is_lacking(plan_of, of_paper, small_host):
    assert set(contrasts.lacks(of_paper)) == {"vm", "hardware_virtualisation"}
    small = contrasts.lacks(plan_of(host={**small_host, "open_vswitch": "user space"}))
    assert set(small) == {"cores_4", "cores_8", "vm", "hardware_virtualisation", "kernel_openvswitch"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runtime": ["singularity"]}, "singularity does not create containers one by one"),
        ({"runtime": ["dokcer"]}, "dokcer"),
    ],
)
def test_a_study_is_checked(tmp_path, change, words):
    text = (PROJECT / "config/studies/amaral2015.yaml").read_text()
    path = tmp_path / "amaral2015.yaml"
    path.write_text(
        text.replace("runtime: [docker, docker-nested]\n    instances", f"runtime: {change['runtime']}\n    instances")
    )
    with pytest.raises(PlimsollError, match=words):
        studies.read(path, designs.known())
