"""Cells of a study of nesting on a host, and what its claims compare there."""

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

DESIGN = designs.find("nesting")

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]


@pytest.fixture
def amaral2015() -> studies.Study:
    return built("amaral2015")


@pytest.fixture
def plan_of(amaral2015, config, small_host):
    def plan_of(profile="quick", host=small_host, **changes):
        without = changes.pop("without", {})
        return planner.make(amaral2015, studies.profile(profile), host, {**config, "profile": profile, **changes}, without)

    return plan_of


# Most test machines have no KVM. This is the reason that a plan then gives for its virtual machines.
NO_KVM = {"vm": "no virtual machine boots with KVM here"}


@pytest.fixture
def of_paper(plan_of):
    host = topology.from_description(yaml_files.load(PROJECT / "config/hosts/xeon-e5-2630l.yaml", "host"))
    return plan_of("paper", host)


def test_the_plan_of_the_paper_s_host_is_the_paper_s(of_paper):
    left_out = {cell["reason"]: cell["experiments"] for cell in of_paper["cells"].values() if cell["reason"]}
    assert left_out == {
        "the profile leaves out what the paper has not, to save time": ["pairs"],
        "a bridge without offloads is measured only beside Open vSwitch in user space, which has none either": ["local"],
    }
    cells = [cell for cell in of_paper["cells"].values() if not cell["reason"]]
    assert {(cell["task"] == "network", cell["repetitions"]) for cell in cells} == {(True, 5), (False, 10)}
    numbers = {
        (task, runtime): sorted(int(c["instances"]) for c in cells if (c["task"], c["runtime"]) == (task, runtime))
        for task, runtime in (("cpu", "bare"), ("cpu", "docker"), ("cpu", "docker-nested"), ("creation", "docker"))
    }
    assert set(map(tuple, numbers.values())) == {tuple(SIZES[:7])}
    pairs = {(int(c["instances"]), int(c["children"])) for c in cells if "parents" in c["experiments"]}
    assert pairs == {(parents, children) for parents in SIZES for children in SIZES if parents * children <= 256}
    assert len(pairs) == 45
    preloaded = {c["path"] for c in cells if c["task"] == "preloaded"}
    assert preloaded == {f"preloaded/docker-nested/1/{children}" for children in SIZES[:7]}
    assert of_paper["cells"]["cpu/bare/1/0"]["parameters"] == {"primes": 40000, "events": 10000}
    assert of_paper["cores"] == 12


@pytest.mark.parametrize("cores", [1, 2, 18])
def test_plans_and_cells_have_the_keys_that_are_written_down(plan_of, cores):
    made = plan_of(host=host_of(1, cores))
    assert unlike(made, NestingPlan) == set()
    assert {key for cell in made["cells"].values() for key in unlike(cell, NestingCell)} == set()


def test_what_is_cut_says_why(plan_of):
    made = plan_of()["cells"]
    assert made["cpu/bare/8/0"]["reason"] is None
    assert made["cpu/vm/8/0"]["reason"] == "the profile ends at 4 virtual machines, to save time"
    assert made["cpu/bare/16/0"]["reason"] == "the profile ends at 8 instances, to save time"
    assert made["creation/docker-nested/2/4"]["reason"] == "the profile ends at 4 nested containers, to save time"
    reason = made["creation/docker-nested/256/1"]["reason"]
    assert reason == "256 children in 256 parents would need 26.2 GiB, and runs may have 70 % of this host's memory"
    small = plan_of("paper", host_of(1, 2, memory=2 * 2**30))["cells"]
    assert (
        small["creation/docker/64/0"]["reason"]
        == "64 instances would need 1.6 GiB, and runs may have 70 % of this host's memory"
    )
    assert small["creation/docker-nested/1/1"]["reason"] is None


@pytest.mark.parametrize(("open_vswitch", "without", "minutes"), [("user space", NO_KVM, 24), ("kernel", {}, 27)])
def test_the_quick_profile_is_quick_on_two_cores(plan_of, small_host, open_vswitch, without, minutes):
    cells = plan_of(host={**small_host, "open_vswitch": open_vswitch}, without=without)["cells"].values()
    assert sum(cell["expected_seconds"] * cell["repetitions"] for cell in cells) < minutes * 60
    assert {cell["repetitions"] for cell in cells if cell["task"] == "network" and not cell["reason"]} <= {1, 4}


def test_a_runtime_that_is_off_is_not_planned_but_the_study_s_own(plan_of, config):
    assert {cell["runtime"] for cell in plan_of()["cells"].values()} == {"bare", "docker", "docker-nested", "vm"}
    without = {**config["runtimes"], "bare": "off"}
    assert {cell["runtime"] for cell in plan_of(runtimes=without)["cells"].values()} == {"docker", "docker-nested", "vm"}


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
    asked = DESIGN.contrasts.comparison_finder(plan, study)
    return asked(part) or asked(DESIGN.contrasts.transferred_claim(part) or part)


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
        ("c06", 1, {(f"creation/docker-nested/{n}/1", f"creation/vm/{n}/0") for n in SIZES[:7]}),
        ("c12", 0, {(f"creation/docker-nested/{n}/1", f"creation/vm/{n}/0") for n in SIZES[4:7]}),
        ("c03", 0, {(f"cpu/vm/{n}/0", f"cpu/bare/{n}/0") for n in SIZES[:7]}),
        ("c23", 1, {(f"network/{ends}/openvswitch/one", f"network/{ends}/bridge/one") for ends in ("vm/bare", "bare/vm")}),
        *(
            (identity, number, {(f"network/{a}/{network}/{hosts}", f"network/{b}/{network}/{hosts}") for a, b in pairs})
            for identity, hosts, pairs in (
                ("c24", "one", (("vm/bare", "docker/bare"), ("bare/vm", "bare/docker"))),
                ("c25", "one", (("vm/bare", "docker/bare"), ("bare/vm", "bare/docker"))),
            )
            for number, network in enumerate(("bridge", "bridge", "openvswitch", "openvswitch"))
        ),
        ("c27", 0, {("network/bare/bare/host/one", "network/bare/bare/host/one")}),
        ("c33", 3, {("network/vm/bare/bridge/two", "network/bare/bare/host/two")}),
        ("c07", 0, {("creation/docker-nested/1/1", "creation/docker/1/0")}),
        ("c09", 0, {("creation/docker-nested/1/1", "creation/docker-nested/1/1")}),
        ("c10", 0, {("preloaded/docker-nested/1/1", "creation/docker-nested/1/1")}),
        ("c11", 0, {tuple(f"creation/docker-nested/{n}/1" for n in (8, 16, 32, 64))}),
        ("c13", 0, {("creation/docker-nested/1/256", "creation/docker-nested/256/1")}),
        ("c16", 1, {(f"creation/docker-nested/1/{n}", f"creation/docker-nested/{n}/1") for n in SIZES[1:]}),
        ("c17", 0, {("creation/docker-nested/4/64", "creation/docker-nested/1/256")}),
        ("c18", 0, {(f"creation/docker-nested/{n}/{256 // n}", "creation/docker-nested/1/256") for n in (2, 4, 8)}),
        ("c18", 1, {(f"creation/docker-nested/{n}/{256 // n}", "creation/docker-nested/1/256") for n in SIZES[4:]}),
    ],
)
def test_claims_compare_what_they_say(of_paper, amaral2015, identity, number, wanted):
    assert {cells_of(one) for one in compared(of_paper, amaral2015, identity, number)} == wanted


def test_claims_about_many_children_are_asked_of_the_most_that_are_measured(plan_of, amaral2015):
    plan = plan_of()
    asked = DESIGN.contrasts.comparison_finder(plan, amaral2015)
    claims = {claim["id"]: claim for claim in book.load("amaral2015")}
    (stated,) = asked(claims["amaral2015-c13"])
    assert plan["cells"][stated.a.cell]["reason"]
    (moved,) = asked(DESIGN.contrasts.transferred_claim(claims["amaral2015-c13"]))
    assert cells_of(moved) == ("creation/docker-nested/1/4", "creation/docker-nested/4/1")
    part = book.parts_of(claims["amaral2015-c11"])[0]
    (series,) = asked(DESIGN.contrasts.transferred_claim(part))
    assert cells_of(series) == ("creation/docker-nested/2/1", "creation/docker-nested/4/1")
    assert DESIGN.contrasts.transferred_claim(claims["amaral2015-c01"]) is None


def test_a_series_ends_where_measuring_does(plan_of, amaral2015):
    claims = {claim["id"]: claim for claim in book.load("amaral2015")}
    along_parents = DESIGN.contrasts.comparison_finder(plan_of(), amaral2015)(claims["amaral2015-c14"])
    measured = [cells_of(one) for one in along_parents if len(one) > 2]
    assert ("creation/docker-nested/1/1", "creation/docker-nested/2/1", "creation/docker-nested/4/1") in measured


def test_what_is_not_here_is_lacking(plan_of, of_paper, small_host):
    assert DESIGN.contrasts.unmet_needs(of_paper) == {}
    small = DESIGN.contrasts.unmet_needs(plan_of(host={**small_host, "open_vswitch": "user space"}, without=NO_KVM))
    of_size = {"children_256", "nested_trend"}
    assert set(small) == {"cores_4", *of_size, "vm", "hardware_virtualisation", "kernel_openvswitch", "two_machines"}
    reason = "virtual machines on the host's own processor (no virtual machine boots with KVM here)"
    assert small["vm"] == f"{reason}; emulated ones say nothing about speed"
    # A virtual machine inside a virtual machine boots, but says nothing about virtual machines on a host.
    nested = DESIGN.contrasts.unmet_needs(plan_of(host={**host_of(1, 12), "hypervisor": True}))
    assert set(nested) == {*of_size, "hardware_virtualisation", "two_machines"}


def test_children_are_divided_among_parents_up_to_the_cores_and_beyond(plan_of, amaral2015):
    claims = {claim["id"]: claim for claim in book.load("amaral2015")}
    asked = DESIGN.contrasts.comparison_finder(plan_of(), amaral2015)
    up_to, above = book.parts_of(claims["amaral2015-c18"])
    # Two cores: the largest number of children that is measured both in one parent and in one parent for each child.
    for part, divided in ((up_to, "2/2"), (above, "4/1")):
        (contrast,) = asked(DESIGN.contrasts.transferred_claim(part))
        assert cells_of(contrast) == (f"creation/docker-nested/{divided}", "creation/docker-nested/1/4")


def test_machines_are_emulated_only_where_there_are_no_others(plan_of, config):
    def planned(plan):
        return {name for cell in plan["cells"].values() for name in (cell["runtime"], cell["server"]) if name.startswith("vm")}

    assert planned(plan_of()) == {"vm"}
    without = plan_of(without=NO_KVM)
    assert planned(without) == {"vm", "vm-emulated"}
    assert {cell["reason"] for cell in without["cells"].values() if "vm" in (cell["runtime"], cell["server"])} == {NO_KVM["vm"]}
    emulated = [cell for path, cell in without["cells"].items() if "vm-emulated" in path]
    reasons = {cell["reason"] for path, cell in without["cells"].items() if path.startswith(("cpu/vm-e", "creation/vm-e"))}
    cut, too_many = "the profile ends at 2 emulated virtual machines, to save time", "64 virtual machines would need 22.2 GiB"
    assert {reason and (reason if reason == cut else reason[: len(too_many)]) for reason in reasons} == {None, cut, too_many}
    # Emulated machines are not judged, so they run only once. If the user sets the repetitions, that number counts.
    assert {cell["repetitions"] for cell in emulated if not cell["reason"]} == {1}
    more = plan_of(without=NO_KVM, repetitions=7)["cells"].values()
    assert {cell["repetitions"] for cell in more if not cell["reason"]} == {7}
    assert planned(plan_of(runtimes={**config["runtimes"], "vm": "off", "vm-emulated": "optional"})) <= {"vm"}


def test_machines_that_the_memory_cannot_hold_are_refused(plan_of):
    made = plan_of("paper", host_of(1, 2, memory=24 * 2**30))["cells"]
    assert made["cpu/vm/32/0"]["reason"] is None
    assert (
        made["cpu/vm/64/0"]["reason"] == "64 virtual machines would need 22.2 GiB, and runs may have 70 % of this host's memory"
    )
    assert made["network/vm/bare/bridge/one"]["reason"] is None


def test_no_claim_is_asked_of_emulated_machines(plan_of, amaral2015):
    plan = plan_of(without=NO_KVM)
    asked = DESIGN.contrasts.comparison_finder(plan, amaral2015)
    claims = [part for claim in book.load("amaral2015") for part in book.parts_of(claim) or [claim]]
    paths = {path for claim in claims if "untestable" not in claim for one in asked(claim) for path in cells_of(one)}
    assert len(paths) > 50 and not any("vm-emulated" in path for path in paths)
    # Claims still name the cells of virtual machines, although these cannot be measured here.
    assert any("/vm/" in path for path in paths)


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
        text.replace(
            "runtime: [docker, docker-nested, vm, vm-emulated]\n    instances", f"runtime: {change['runtime']}\n    instances"
        )
    )
    with pytest.raises(PlimsollError, match=words):
        studies.read(path, designs.known())
