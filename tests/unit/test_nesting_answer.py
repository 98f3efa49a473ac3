"""Answers of amaral2015, each with its own rows and baseline: ratios whose truth is known, sentences, and refused
answers."""

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.claims import answer, evaluate
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.designs.nesting.factors import PLACEMENTS
from plimsoll.errors import PlimsollError
from plimsoll.host import topology
from plimsoll.pages import answer as answer_page
from plimsoll.pages import answer_words, forest, formats
from plimsoll.planning import planner

from tests.conftest import PROJECT, built

PROGRAM, CREATION, LOCAL, REMOTE = (
    "for a program",
    "for their own creation",
    "for the network on one host",
    "for the network across two hosts",
)
BLOCKS = 10
BRIDGE = "client in Docker on a bridge"


@pytest.fixture
def amaral2015() -> studies.Study:
    return built("amaral2015")


@pytest.fixture
def answered(amaral2015, config, small_host):
    """Return a function that makes the table of amaral2015's answers, from effects and further facts about the host.
    The host has two cores, and virtual machines by KVM."""

    def answered(effects=(), **host):
        plan = planner.make(amaral2015, studies.profile("quick"), {**small_host, **host}, config, {})
        runs = pd.DataFrame(columns=[*plan["factors"], "status"])
        return answer.table(StudyObservations(amaral2015, plan, observed(plan, amaral2015, effects), runs), 0.05)

    return answered


def observed(plan: dict, study: dict, effects) -> pd.DataFrame:
    """Return observations: every value is 10, times the block's factor, times the effect of the first rule that matches."""
    random = np.random.default_rng(3)
    blocks = np.exp(random.normal(0, 0.2, BLOCKS))
    rows = []
    for cell in plan["cells"].values():
        placed = [f"_{placement}" for placement in PLACEMENTS if placement and placement not in cell.get("bindings", {})]
        for name, metric in study["metrics"].items():
            if cell["reason"] or cell["task"] not in metric["task"] or name.endswith(tuple(placed)):
                continue
            factor = next((effect for matches, effect in effects if matches(cell, name)), 1.0)
            levels = {key: cell[key] for key in plan["factors"]}
            for block, value in enumerate(10 * blocks * factor * np.exp(random.normal(0, 0.005, BLOCKS)), 1):
                rows.append({**levels, "metric": name, "repetition": block, "value": value, "censored": False})
    return pd.DataFrame(rows)


def on(network: str, metric: str):
    """Return a rule that matches a metric over a network, if the kernel places both ends."""
    return lambda cell, name: cell["network"] == network and name == metric


# A bridge halves the throughput and doubles the latency. With client and server on one core it does neither.
HALVED = ((on("bridge", "throughput"), 0.5), (on("bridge", "latency"), 2.0))


def parts_of(table: pd.DataFrame, study, name: str) -> list[dict]:
    return next(shown["parts"] for shown in answer_page.for_template(table, study) if shown["name"] == name)


def test_each_answer_has_its_own_rows_and_none_that_nothing_is_measured_for(answered):
    table = answered()
    assert list(table[answer.NAME].unique()) == [PROGRAM, CREATION, LOCAL, REMOTE]
    assert table[answer.NAME].value_counts().to_dict() == {PROGRAM: 3 * (3 + 1), CREATION: 3 * 2, LOCAL: 16 * 2, REMOTE: 11 * 2}
    # Nothing is created on bare metal, and no answer has rows for cells that are not planned.
    assert evaluate.NO_CELLS not in set(table["reason"].dropna())
    assert table["ratio"].notna().all()


def test_networks_are_set_against_bare_metal_on_as_many_hosts(answered):
    table = answered(HALVED)
    over = table[(table["runtime"] == "docker") & (table["network"] == "bridge") & (table["metric"] == "latency")]
    one, two = over.to_dict("records")
    assert (one["cell_a"], one["cell_b"]) == ("network/docker/bare/bridge/one", "network/bare/bare/host/one")
    assert (two["cell_a"], two["cell_b"]) == ("network/docker/bare/bridge/two", "network/bare/bare/host/two")
    assert one["ratio"] == pytest.approx(2, abs=0.02) and 1.9 < one["low"] < one["high"] < 2.1 and one["n"] == BLOCKS
    # The placement of client and server is named on one host only. Across two hosts both are bound, and a program has none.
    words = PLACEMENTS[""]
    told = table.groupby(answer.NAME)["arrangement"].unique().map(list).to_dict()
    assert told == {PROGRAM: [""], CREATION: [""], LOCAL: [words], REMOTE: [""]}


def test_p_is_adjusted_for_the_ratios_of_one_answer(answered):
    table = answered(HALVED)
    for name, number in ((LOCAL, 32), (REMOTE, 22)):
        own = table[table[answer.NAME] == name]
        smallest = own.loc[own["p_beyond"].idxmin()]
        assert smallest["p_beyond_holm"] == pytest.approx(number * smallest["p_beyond"])


def test_the_sentences_say_which_networks_cost_what(answered, amaral2015):
    table = answered(HALVED)
    (local,) = parts_of(table, amaral2015, LOCAL)
    assert local["name"] == "one host" and local["baseline"] == "bare metal" and local["steps"] is None
    marked = {row["name"]: {cell["mark"] for cell in row["cells"]} for row in local["rows"]}
    assert marked[BRIDGE] == marked["server in Docker on a bridge"] == {answer_words.LOSS}
    assert sum(answer_words.LOSS in marks for marks in marked.values()) == 4
    assert [note for note in local["notes"] if PLACEMENTS[""] in note]
    (remote,) = parts_of(table, amaral2015, REMOTE)
    assert remote["name"] == "two hosts" and "a network namespace of this host stands for it" in " ".join(remote["notes"])
    assert not [note for note in remote["notes"] if PLACEMENTS[""] in note]


def test_a_row_of_one_metric_is_told_by_its_ratio(answered, amaral2015):
    table = answered([(lambda cell, name: name == "creation_time" and cell["runtime"] == "docker-nested", 8.0)])
    parts = parts_of(table, amaral2015, CREATION)
    assert [part["name"] for part in parts] == ["1 instance", "2 instances", "4 instances"]
    shown = next(one for one in answer_page.for_template(table, amaral2015) if one["name"] == CREATION)
    told = answer_words.in_sentences(shown)
    assert told.startswith("3 of 6 ratios to Docker lose more than 5 %. The largest: nested Docker containers, ")
    assert "where less is better" in told
    program = next(one for one in answer_page.for_template(table, amaral2015) if one["name"] == PROGRAM)
    assert answer_words.in_sentences(program).endswith("A loss of more than 5 % is ruled out in all 9 ratios to Docker.")


def test_what_is_another_switch_or_a_machine_in_a_machine_is_set_apart(answered, amaral2015):
    slow = [(lambda cell, name: "openvswitch" in cell["network"] and name == "throughput", 0.05)]
    table = answered(slow, open_vswitch=topology.USER_SPACE, hypervisor=True)
    (part,) = parts_of(table, amaral2015, LOCAL)
    apart = [row["name"] for row in part["rows"] if row["lacks"]]
    assert len(apart) == 4 + 4 and all("Open vSwitch" in name or "a virtual machine" in name for name in apart)
    shown = next(one for one in answer_page.for_template(table, amaral2015) if one["name"] == LOCAL)
    assert shown["said"].startswith("A loss of more than 5 % is ruled out in all ")
    assert not any(name in shown["said"] + shown["recommendation"] for name in apart)
    switch, machine, _ = part["sentences"]
    assert switch.startswith("Set apart, as the paper's statements about this need a kernel with Open vSwitch; in user space")
    assert "Client in Docker on Open vSwitch: slower by more than 5 % in 1 of 2 metrics (throughput: ×0.05" in switch
    assert machine.startswith("Set apart, as the paper's statements about this need a host that is no virtual machine itself")
    # With Open vSwitch in the kernel, on a host that is no virtual machine, these are rows like all others.
    (part,) = parts_of(answered(slow), amaral2015, LOCAL)
    assert not any(row["lacks"] for row in part["rows"])
    assert part["sentences"] == []


def test_a_table_of_before_there_were_several_is_still_read(answered, amaral2015, tmp_path):
    table = answered()
    older = table[table[answer.NAME].isin([PROGRAM, CREATION])].drop(columns=[answer.NAME, "lacks", "server", "network"])
    bare = older[(older["runtime"] == "bare") & (older["metric"] == "execution_time")]
    older = pd.concat([older, bare.assign(metric="creation_time", ratio=np.nan, reason=evaluate.NO_CELLS)])
    older.to_csv(tmp_path / "answer.csv", index=False)
    program, creation, *networks = answer_page.for_template(answer.read(tmp_path / "answer.csv"), amaral2015)
    assert [len(part["rows"]) for part in program["parts"]] == [3, 3, 3] and program["parts"][0]["steps"]
    assert [[row["levels"]["runtime"] for row in part["rows"]] for part in creation["parts"]] == 3 * [["vm", "docker-nested"]]
    assert not any(shown["parts"] for shown in networks)


def test_answers_stand_one_after_another_with_a_heading_each(answered, amaral2015):
    macro = formats.environment().get_template("answer.html.j2").module.answered
    shown = answer_page.for_template(answered(HALVED), amaral2015)
    page = str(macro(forest.with_plots(shown), amaral2015["alpha"]))
    places = [page.index(f"<h3>{formats.capital(name)}</h3>") for name in (PROGRAM, CREATION, LOCAL, REMOTE)]
    assert places == sorted(places)
    assert page.count("<h4>1 instance</h4>") == 2 and "<h4>One host" not in page
    assert page.count('href="answer.csv"') == 1 and "company" not in page
    assert 'href="runs/network/docker/bare/bridge/one/"' in page


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("metrics: [throughput, latency]", "metrics: [lateness]", "answer.2.metrics: 'lateness' is not one of"),
        ("- name: for their own creation", "- name: for a program", "answer.1.name: two answers have the name 'for a program'"),
        ("  - name: for a program\n    metrics", "  - metrics", "answer.0: 'name' is a required property"),
        (
            "{runtime: [bare], server: [docker], network",
            "{runtime: [bare], network",
            "answer.2.rows: the rows name different factors",
        ),
        ("network: [bridge, openvswitch]", "network: [brigde]", "answer.2.rows.network: 'brigde' is not one of"),
        ("    scope: {hosts: [one]}", "    scope: {hosts: [three]}", "answer.2.scope.hosts: 'three' is not one of one, two"),
        ("    scope: {hosts: [one]}", "    steps: runtime", "answer.2.rows: "),
        ("      hosts:\n        two:", "      host:\n        two:", "answer.3.notes: 'host' is not one of"),
        ("network: {openvswitch: [", "network: {openvswich: [", "answer.2.needs.network: 'openvswich' is not one of"),
        (
            "      rows: {runtime: [vm, docker-nested]}",
            "      rows: {runtime: [vms]}",
            "answer.0.recommend.rows.runtime: 'vms' is not one of",
        ),
        (
            "the host's network: {network: [host, host+host]}",
            "x: {network: [hots]}",
            "answer.2.recommend.groups.x.network: 'hots' is not",
        ),
        (
            "      compare: baseline\n      about: networks on",
            "      compare: steps\n      about: networks on",
            "answer.2.recommend.compare: 'steps' is not",
        ),
        ("loss: avoid {rows} where", "loss: avoid {row} where", "answer.1.recommend.loss: "),
        ("    scope: {hosts: [one]}", "    skope: {hosts: [one]}", "answer.2: unknown key 'skope'"),
    ],
)
def test_a_wrong_answer_is_refused_in_one_sentence(tmp_path, old, new, message):
    text = (PROJECT / "config/studies/amaral2015.yaml").read_text()
    assert old in text
    path = tmp_path / "amaral2015.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(PlimsollError) as refused:
        studies.read(path, designs.known())
    assert message in str(refused.value) and "\n" not in str(refused.value)
