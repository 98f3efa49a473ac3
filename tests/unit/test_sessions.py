"""Sessions of a study: where they are, which are combined, and what several of them say."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import blocks
from plimsoll.claims import encodings, quantities, session_verdicts, verdicts
from plimsoll.claims import sessions as claims_sessions
from plimsoll.claims.session_verdicts import ALIKE, NEVER, ONCE, TURNED
from plimsoll.claims.sides import Contrast, Side
from plimsoll.config import studies
from plimsoll.measuring import record, system
from plimsoll.pages import sessions as pages_sessions
from plimsoll.planning import planner, repetitions, sessions
from scipy import stats

from tests.conftest import REFERENCE, built, recorded
from tests.unit.test_pages_of_studies import verdicts_of

SEEN = {"boot": "", "settings": {}, "programs": {}}
FACTS = {system.HOST: {"kernel": "6.1"}, "docker": {"engine": "28"}}


def measure(folder, *, kernel="6.1", image="sha256:1", profile="quick", finished=True):
    """Make a results folder in which something was measured."""
    record.write(folder / "runs/a/1.json", recorded(profile=profile, image={"tag": "plimsoll/x:1", "id": image}))
    parts = {**FACTS, system.HOST: {"kernel": kernel}}
    record.write(folder / system.FILE, {"parts": parts, "identities": {}, "seen": SEEN})
    for name in (*sessions.NEEDED, *(["report.html"] if finished else [])):
        (folder / name).write_text("")


def test_a_new_session_puts_what_was_measured_aside_whole(tmp_path):
    measure(tmp_path / "liu2020")
    (tmp_path / "host.json").write_text("{}")
    session = sessions.begin(tmp_path, "liu2020")
    assert session.number == 2 and not session.folder.exists()
    first, newest = sessions.of_study(tmp_path, "liu2020")
    assert (first.folder / "runs/a/1.json").exists() and (first.folder / "host.json").exists()
    assert newest == session
    sessions.note(session, {"Docker engine": "started again"})
    assert sessions.read(session.folder)["fresh"] == {"Docker engine": "started again"}
    measure(session.folder)
    assert [one.number for one in sessions.of_study(tmp_path, "liu2020")] == [1, 2]
    assert sessions.begin(tmp_path, "liu2020").number == 3


@pytest.mark.parametrize("left", ["nothing", "half", "a first stage"])
def test_a_session_that_was_killed_goes_on(tmp_path, left):
    folder = tmp_path / "liu2020"
    if left != "nothing":
        measure(folder, finished=left != "half")
    if left == "a first stage":
        record.write(folder / repetitions.FILE, {"profile": "quick", "cells": {}, "hours": {"stage": "first"}})
    assert sessions.begin(tmp_path, "liu2020").number == 1
    assert not (tmp_path / sessions.ASIDE).exists()


def test_a_session_whose_hours_are_spent_is_over(tmp_path):
    measure(tmp_path / "liu2020")
    record.write(tmp_path / "liu2020" / repetitions.FILE, {"profile": "quick", "cells": {}, "hours": {"stage": "done"}})
    assert sessions.begin(tmp_path, "liu2020").number == 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"kernel": "6.2"}, "another system (kernel: 6.2 then, 6.1 now)"),
        ({"image": "sha256:2"}, "with the image sha256:2, and the newest with sha256:1"),
        ({"profile": "paper"}, "with the profile paper, and the newest with quick"),
    ],
)
def test_only_what_is_alike_is_put_together(tmp_path, other, said):
    measure(tmp_path / "liu2020", **other)
    sessions.begin(tmp_path, "liu2020")
    measure(tmp_path / "liu2020")
    first, newest = sessions.of_study(tmp_path, "liu2020")
    reason = sessions.apart(first, newest)
    assert said in reason and bool(said) == bool(reason)


def test_sessions_with_other_problem_sizes_are_not_put_together(tmp_path, config, small_host):
    study = built("liu2020")
    for number, memory in ((1, 4), (2, 4), (3, 8)):
        measure(sessions.begin(tmp_path, "liu2020").folder)
        small_host["nodes"][0]["memory_bytes"] = memory * 2**27
        plan = planner.make(study, studies.profile("quick"), small_host, config, {})
        planner.write(plan, tmp_path / "liu2020/plan.json")
        *before, newest = sessions.of_study(tmp_path, "liu2020")
        assert newest.number == number
    assert sessions.apart(before[0], before[1]) == ""
    reason = sessions.apart(before[1], newest)
    assert reason.startswith("it was measured with other problem sizes in ") and "/dgemm" in reason


def test_a_session_of_which_files_are_gone_is_left_out(tmp_path):
    measure(tmp_path / "liu2020")
    first = sessions.begin(tmp_path, "liu2020")
    measure(first.folder)
    old = sessions.of_study(tmp_path, "liu2020")[0]
    (old.folder / "claims.json").unlink()
    assert sessions.apart(old, first) == "its results are not whole"


@pytest.mark.parametrize(
    ("each", "became"),
    [
        ((verdicts.REPRODUCED, verdicts.REPRODUCED), ALIKE),
        ((verdicts.REPRODUCED, verdicts.INCONCLUSIVE), ONCE),
        ((verdicts.INCONCLUSIVE, verdicts.CONTRADICTED, ""), ONCE),
        ((verdicts.REPRODUCED, verdicts.INCONCLUSIVE, verdicts.CONTRADICTED), TURNED),
        ((verdicts.REPRODUCED, verdicts.CONDITIONAL), ONCE),
        ((verdicts.CONDITIONAL, verdicts.CONDITIONAL), ALIKE),
        ((verdicts.INCONCLUSIVE, verdicts.INCONCLUSIVE), NEVER),
    ],
)
def test_what_becomes_of_a_finding(each, became):
    assert session_verdicts.outcome([{"verdict": verdict} for verdict in each]) == became


OPEN_FIRST = ((verdicts.INCONCLUSIVE, verdicts.REPRODUCED), (verdicts.CONTRADICTED, verdicts.INCONCLUSIVE))


@pytest.mark.parametrize(
    ("of_each", "became"),
    [
        (OPEN_FIRST, ONCE),
        ((*OPEN_FIRST, (verdicts.REPRODUCED, verdicts.REPRODUCED)), TURNED),
        (((verdicts.REPRODUCED, verdicts.CONTRADICTED), (verdicts.CONTRADICTED, verdicts.REPRODUCED)), TURNED),
        (((verdicts.REPRODUCED, verdicts.CONTRADICTED), (verdicts.REPRODUCED, verdicts.CONTRADICTED)), ALIKE),
    ],
)
def test_what_is_decided_in_another_arrangement_turns_nothing(of_each, became):
    results = [in_arrangements(*each) for each in of_each]
    assert session_verdicts.outcome(results) == became


def in_arrangements(*each):
    """Return a result with these verdicts, one for each arrangement."""
    decided = {verdict for verdict in each if verdict in verdicts.DECIDED}
    whole = decided.pop() if len(decided) == 1 else verdicts.CONDITIONAL
    return {"verdict": whole, "arrangements": {str(number): {"verdict": verdict} for number, verdict in enumerate(each)}}


def compared(values, scale="ratio", deviation=0.05, n=6):
    """Return the comparisons of a session whose effects, on the scale of the test, are exactly these `values`."""
    half = stats.t.ppf(0.975, n - 1) * deviation / math.sqrt(n)
    back = math.expm1 if scale == "ratio" else float
    rows = [
        {
            **dict.fromkeys(session_verdicts.KEYS, ""),
            **{"claim": f"c{number}", "metric": "m", "label": "M", "scale": scale, "n": n, "part": 1},
            **{"low": back(value - half), "high": back(value + half)},
        }
        for number, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("scale", ["ratio", "difference"])
def test_means_over_sessions_are_those_of_the_textbook(scale):
    effects = np.array([[-0.30, 0.01], [-0.25, -0.05], [-0.38, 0.06], [-0.33, 0.00]])
    made = session_verdicts.means([compared(session, scale) for session in effects])
    back = np.expm1 if scale == "ratio" else np.asarray
    for column, row in zip(effects.T, made.to_dict("records"), strict=True):
        low, high = stats.t.interval(0.95, 3, column.mean(), stats.sem(column))
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(tuple(back([column.mean(), low, high])))
        root = column.std(ddof=1) * math.sqrt(1 + 1 / 4)
        next_low, next_high = stats.t.interval(0.95, 3, column.mean(), root)
        assert (row["next_low"], row["next_high"]) == pytest.approx(tuple(back([next_low, next_high])))
        expected = 0.05**2 / 6
        assert row["p_sessions"] == pytest.approx(stats.f.sf(column.var(ddof=1) / expected, 3, 4 * 5))
    assert list(made["keeps_sign"]) == [True, False]


def test_two_sessions_have_a_mean_and_no_interval():
    (row,) = session_verdicts.means([compared([0.1]), compared([0.3])]).to_dict("records")
    assert row["mean"] == pytest.approx(math.expm1(0.2)) and math.isnan(row["low"]) and math.isnan(row["next_high"])
    assert row["keeps_sign"] is False and 0 < row["p_sessions"] < 1


def test_what_only_one_session_compared_is_left_out():
    assert list(session_verdicts.means([compared([0.1]), compared([0.1, 0.2])])["claim"]) == ["c1"]


def test_blocks_of_sessions_that_differ_would_find_what_is_not_there():
    """Sessions are not pooled for this reason. There is no effect, but each session has its own, as large as the noise
    of its blocks."""
    drawn = np.random.default_rng(20261126)
    sessions_of, in_each, wrong = 4, 5, {"blocks": 0, "sessions": 0}
    for _ in range(2000):
        values = drawn.normal(size=(sessions_of, 1)) + drawn.normal(size=(sessions_of, in_each))
        wrong["blocks"] += blocks.p_difference(values.ravel()) < 0.05
        wrong["sessions"] += blocks.p_difference(values.mean(axis=1)) < 0.05
    assert wrong["blocks"] > 400
    low, high = stats.binom.ppf([0.001, 0.999], 2000, 0.05)
    assert low <= wrong["sessions"] <= high


def test_a_session_s_difference_is_that_within_its_blocks(config, small_host):
    """It is not the difference of all runs of both sides: one side may have far more blocks, from other minutes."""
    study = built("plimsoll2026")
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    a, b = (f"uma/exact/E2/{runtime}/any/default/standard/plain/beff" for runtime in ("docker", "bare"))
    drawn = np.random.default_rng(11)
    tables = []
    for _ in range(3):
        minutes = np.linspace(0, 0.5, 60)
        rows = [
            {**dict(zip(plan["factors"], cell.split("/"), strict=True)), "metric": "pingpong_bandwidth", "censored": False}
            | {"repetition": block, "block": block, "value": float(np.exp(effect + minute + drawn.normal(0, 0.01)))}
            for cell, effect, count in ((a, -0.2, 5), (b, 0.0, 60))
            for block, minute in enumerate(minutes[:count], 1)
        ]
        tables.append(pd.DataFrame(rows))
    runs = [pd.DataFrame(columns=["status"])] * 3
    measured = session_verdicts.pooled_observations(study, plan, tables, runs)
    sides = [Side("pingpong_bandwidth", cell) for cell in (a, b)]
    row = quantities.find(None).compare({}, measured, Contrast(*sides), {"expected": "lower"}, 0.05)
    assert row["effect"] == pytest.approx(math.expm1(-0.2), abs=0.01) and row["shown"].degrees == 2
    # A count is about sessions whose blocks all agree. If only one session has both sides, nothing is said.
    counted = quantities.find("count").compare({}, measured, Contrast(*sides), {"expected": "lower"}, 0.05)
    assert counted["n"] == 3 and counted["verdict"] == verdicts.REPRODUCED
    alone = session_verdicts.pooled_observations(
        study, plan, [tables[0], *(one[one["runtime"] == "bare"] for one in tables[1:])], runs
    )
    row = quantities.find("value").compare({}, alone, Contrast(*sides), {"expected": "lower"}, 0.05)
    assert math.isnan(row["p"]) and row["shown"].below(0) == 1


@pytest.mark.parametrize(("number", "level"), [(1, 0.05), (2, 0.0294), (3, 0.0221), (4, 0.0182), (5, 0.0158)])
def test_sessions_that_were_judged_one_by_one_have_pocock_s_level_together(number, level):
    assert session_verdicts.level(0.05, number) == pytest.approx(level, abs=1e-4)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Return three sessions: the reference measurements of plimsoll2026, each with other noise of 2 %."""
    results = tmp_path_factory.mktemp("results")
    drawn = np.random.default_rng(7)
    for number in (1, 2, 3):
        folder = results / "plimsoll2026"
        shutil.copytree(REFERENCE / "plimsoll2026", folder, ignore=shutil.ignore_patterns("figures", "tables"))
        observations = pd.read_csv(folder / "observations.csv", dtype=str, keep_default_na=False)
        times = np.exp(drawn.normal(0, 0.02, len(observations)))
        observations["value"] = [str(float(value) * one) for value, one in zip(observations["value"], times, strict=True)]
        observations.to_csv(folder / "observations.csv", index=False)
        judged = verdicts_of("plimsoll2026")
        if number == 2:
            judged[0] |= {"verdict": verdicts.INCONCLUSIVE, "encoding": encodings.CHANGED}
        (folder / "claims.json").write_text(json.dumps(judged))
        kept = {name: (folder / name).read_text() for name in sessions.NEEDED}
        measure(folder)
        for name, text in kept.items():
            (folder / name).write_text(text)
        if number < 3:
            sessions.begin(results, "plimsoll2026")
    return results


def test_three_sessions_are_judged_as_sessions(three, config, small_host):
    study = built("plimsoll2026")
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    told, means, results, compared_together = claims_sessions.summary(study, plan, three)
    told = json.loads(json.dumps(told))
    assert [one["apart"] for one in told["sessions"]] == ["", "", ""]
    assert told["counts"][ONCE] == 1 and told["counts"][ALIKE] >= 1 and TURNED not in told["counts"]
    assert told["over"]["testable"] >= told["over"]["settled"] > 0
    assert (means["sessions"] == 3).all() and means["next_low"].notna().all() and len(means) > 10
    # All sessions count together, and a session is the unit. The first claim was made inconclusive in the second session.
    assert told["over"]["by_session"] and len(compared_together) > 10
    assert {len(result["sessions"]) for result in results} == {3}
    assert results[0]["sessions"][1] == verdicts.INCONCLUSIVE
    assert [result["encoding"] for result in results[:2]] == [encodings.CHANGED, encodings.NOT_NOTED]
    assert all("answered_by" in result for result in results)
    shown = pages_sessions.for_template(told)
    (differing,) = shown["differing"]
    assert shown["each"][differing["id"]].startswith("In the sessions, the oldest first: ")
    assert "Of 3 sessions, " in shown["sentence"] and "boot" not in shown["sentence"]


def test_two_sessions_are_judged_by_all_blocks_of_both(three, config, small_host, tmp_path):
    study = built("plimsoll2026")
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    shutil.copytree(three / "sessions/plimsoll2026/1", tmp_path / "sessions/plimsoll2026/1")
    shutil.copytree(three / "plimsoll2026", tmp_path / "plimsoll2026")
    told, _, results, together = claims_sessions.summary(study, plan, tmp_path)
    assert not told["over"]["by_session"] and told["over"]["testable"] >= told["over"]["settled"] > 0
    one = pd.read_csv(tmp_path / "plimsoll2026/comparisons.csv")
    keys = ["claim", "metric", "cell_a", "cell_b", "part", "expected"]
    numbers = together.merge(one, on=keys, suffixes=("", "_of_one"))
    assert len(numbers) and (numbers["n"] == 2 * numbers["n_of_one"]).all()
    assert all(len(result["sessions"]) == 2 for result in results)
    shown = pages_sessions.for_template(told)
    assert "Verdicts are from all sessions together." in shown["sentence"] and not shown["enough"]


def test_blocks_of_two_sessions_of_one_effect_find_what_is_not_there_as_seldom_as_is_said():
    """Pooled blocks say something about the measured sessions only. If the effect in these is the same, 5 % are wrong."""
    drawn, wrong = np.random.default_rng(20261128), 0
    for _ in range(2000):
        wrong += blocks.p_difference(drawn.normal(size=(2, 5)).ravel()) < 0.05
    low, high = stats.binom.ppf([0.001, 0.999], 2000, 0.05)
    assert low <= wrong <= high


def boot(session, first, last):
    """Save the boot after which a session began (none if `first` is empty), and the boot of its last runs."""
    if first:
        (session.folder / sessions.FILE).write_text(json.dumps({"number": session.number, "boot": first}))
    noted = json.loads((session.folder / system.FILE).read_text())
    noted["seen"]["boot"] = last
    (session.folder / system.FILE).write_text(json.dumps(noted))


@pytest.mark.parametrize(
    ("boots", "said"), [("aaa", "All are of one boot"), ("aab", "They are of 2 boots"), ("aac", "from all sessions together")]
)
def test_of_how_many_boots_sessions_are_is_said(three, config, small_host, boots, said):
    study = built("plimsoll2026")
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    first, second, newest = sessions.of_study(three, "plimsoll2026")
    boot(first, "", boots[0])
    boot(second, boots[1], boots[1])
    # If a session began after one boot and ended after another, nothing is said.
    boot(newest, "a" if boots[2] == "c" else boots[2], boots[2])
    told = claims_sessions.summary(study, plan, three).told
    sentence = pages_sessions.for_template(told)["sentence"]
    assert said in sentence and ("boot" in sentence) == ("boot" in said)


def test_one_session_says_that_it_is_one(three, config, small_host):
    study = built("plimsoll2026")
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    alone = three / "alone"
    shutil.copytree(three / "plimsoll2026", alone / "plimsoll2026")
    told, means, results, _ = claims_sessions.summary(study, plan, alone)
    assert told["over"] is None and means.empty
    shown = pages_sessions.for_template(told)
    assert "one session" in shown["sentence"] and "./plimsoll session" in shown["sentence"] and shown["each"] == {}
    assert all(len(result["sessions"]) == 1 for result in results)
