"""Costs and sentences about a user's program where runs are missing, where nothing varies, and where a bound is small."""

import math
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.analysis import independence
from plimsoll.designs.program import effects, ladder, side_differences
from plimsoll.designs.program.factors import FILES, FIRST, REMEDY, STEPS
from plimsoll.features.try_program import program_answer, stages, study_content
from plimsoll.planning.availability import SMALLEST

from tests.unit.test_program import DOCKER, STUDY, WALL, of_command, recorded, world


def without(observed: pd.DataFrame, stage: str, runtime: str, kept: int = 0) -> pd.DataFrame:
    """Return observations with at most `kept` blocks of a runtime in a stage."""
    own = (observed["stage"] == stage) & (observed["runtime"] == runtime)
    return observed[~own | (observed["repetition"] <= kept)]


def test_a_step_over_levels_without_runs_adds_what_all_of_them_add():
    observed = world({"docker-processes": 0.2})
    for name in ("docker-processes", "docker-unfiltered"):
        observed = without(observed, STEPS, name)
    found = effects.table(observed)
    steps = found[(found["stage"] == STEPS) & (found["against"] == "docker-open")]
    assert steps["runtime"].tolist() == ["docker-filtered"]
    three = ("docker-processes", "docker-unfiltered", "docker-filtered")
    assert steps["adds"].tolist() == [" and ".join(map(ladder.adds, three))]
    whole = effects.table(world({}))
    assert whole.loc[whole["stage"] == STEPS, "adds"].tolist() == [ladder.adds(name, "docker") for name in DOCKER[1:]]


def counts(ratio: float, blocks: int) -> pd.DataFrame:
    """Return observations of a count, which differs between this host and Docker by the same ratio in every block."""
    values = {"host": 1.0, FILES: 1.0, "docker": ratio}
    rows = [
        {"stage": FIRST, "runtime": name, "metric": "wall", "repetition": block, "value": 1000 * block * value}
        for block in range(1, blocks + 1)
        for name, value in values.items()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("blocks", [SMALLEST, 8, 50])
@pytest.mark.parametrize("ratio", [1.0, 3.0, 0.5])
def test_changes_without_a_spread_have_the_p_of_a_sign_test(ratio, blocks):
    found = effects.table(counts(ratio, blocks)).set_index(["runtime", "against"])
    # Many blocks are averaged to fewer values.
    number = len(independence.units(np.zeros(blocks)))
    assert found.loc[("docker", "host"), "p"] == (1.0 if ratio == 1 else 2 * 0.5**number)
    assert found.loc[("files", "host"), "p"] == 1.0
    assert math.isnan(effects.table(counts(ratio, SMALLEST - 1)).iloc[0]["p"])


def test_a_count_gets_an_answer_in_as_many_blocks_as_are_measured_for_it():
    first = effects.table(counts(3.0, stages.LEAST))
    assert not any(side_differences.is_costly(row) for row in first.itertuples())
    needed = stages._needed(first, FIRST, 0.01)
    found = effects.table(counts(3.0, needed))
    assert stages.LEAST < needed < 12 and stages._needed(found, FIRST, 0.01) == needed
    assert [row.runtime for row in found.itertuples() if side_differences.is_costly(row)] == ["docker", "docker"]
    told = program_answer.answer(STUDY, found)
    assert told[0] == "Docker makes it 3.0 times as slow as this host [3.0, 3.0]."
    assert told[1] == "A factor of 3.0 [3.0, 3.0] come with its container; other files change it by 0.1 % at most."
    same = program_answer.answer(STUDY, effects.table(counts(1.0, stages.LEAST)))
    assert same == ["In Docker it is alike within 0.1 %."]


def test_steps_and_remedies_without_an_interval_are_named_and_no_sentence_has_a_nan():
    observed = world({"docker-processes": 0.2, "docker-filtered": 0.2})
    observed = without(observed, STEPS, "docker-unfiltered", kept=2)
    observed = without(observed, REMEDY, "docker-with-ipc", kept=1)
    told = program_answer.answer(STUDY, effects.table(observed))
    assert told[1].endswith("; too few runs count of fewer capabilities, the seccomp filter.")
    assert "each of the other steps changes it by" in told[1]
    assert "With --ipc host: too few runs count to say." in told and not any("nan" in sentence for sentence in told)


def test_one_other_part_without_a_cost_is_named():
    observed = world({"files-cgroup": 0.3}, noise=0.002)
    told = program_answer.answer(STUDY, effects.table(observed[observed["stage"] == FIRST]))
    assert "come with its container; other files change it by 0." in told[1]


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.0, "0.1 %"),
        (0.0001, "0.1 %"),
        (-0.0091, "1.0 %"),
        (0.009, "0.9 %"),
        (0.0991, "10 %"),
        (0.101, "11 %"),
        (0.12, "12 %"),
        (0.99, "99 %"),
    ],
)
def test_a_bound_is_rounded_up_and_never_0(share, told):
    assert program_answer.bound(share) == told


@pytest.mark.parametrize(
    ("change", "low", "high", "told"),
    [
        (0.012, 0.005, 0.019, "undecided ["),
        (-0.012, -0.019, -0.005, "undecided ["),
        (0.008, 0.001, 0.015, "alike within 1.5 %"),
        (0.0, -0.002, 0.0121, "alike within 1.3 %"),
        (math.nan, math.nan, math.nan, "undecided: too few runs count to say"),
    ],
)
def test_a_change_that_an_interval_shows_is_not_alike(change, low, high, told):
    row = SimpleNamespace(change=change, low=low, high=high, p_holm=0.07, n=9, deviation=0.01)
    assert program_answer._alike(row).startswith(told)
    assert ("alone this shows a change" in program_answer._alike(row)) == (abs(change) > 0.01)


def test_libraries_of_linear_algebra_are_matched_by_their_kind():
    before = {"/usr/lib/openblas/libblas.so.3": "1", "/usr/lib/openblas/liblapack.so.3": "2", "/usr/lib/libm.so.6": "3"}
    after = {"/usr/lib/blas/libblas.so.3": "4", "/usr/lib/lapack/liblapack.so.3": "5", "/usr/lib/libm.so.6": "3"}
    assert side_differences.differences(recorded(before, {}), recorded(after, {})) == [
        "/usr/lib/openblas/libblas.so.3 (build 1) before, /usr/lib/blas/libblas.so.3 (build 4) after",
        "/usr/lib/openblas/liblapack.so.3 (build 2) before, /usr/lib/lapack/liblapack.so.3 (build 5) after",
    ]
    names = ("libopenblas64_", "libscipy_openblas", "libmkl_rt", "libmkl_blas95", "libblis", "liblapack", "libz")
    kinds = ["blas", "blas", "mkl", "mkl", "blis", "lapack", "libz"]
    assert [side_differences._name(f"/usr/lib/{name}.so.1") for name in names] == kinds


def test_a_command_keeps_its_quotes_wherever_it_is_shown(monkeypatch):
    words = ["sh", "-c", "sort < 'a b'"]
    of_words = {**STUDY, "program": {**STUDY["program"], "command": words}}
    exported = program_answer.hyperfine(of_words, world({}))["results"]
    assert exported[0]["command"] == f"Docker: {shlex.join(words)}"
    asked = of_command(*words, name="x", minutes=5.0, width=0.01, limit=60.0, ranks=None)
    content = study_content.of_study(asked, "my-x", "the files", None, ["docker"], None)
    assert content["title"] == f"What a container costs: {shlex.join(words)}"


def test_the_page_shows_a_command_as_it_is_typed(tmp_path):
    words = ["sh", "-c", "sort < 'a b'"]
    shown = {**STUDY, "metrics": {"wall": WALL}, "program": {**STUDY["program"], "command": words}}
    report = designs.find("program").report
    content = report.content(SimpleNamespace(records=tmp_path), shown, {}, world({}), pd.DataFrame(), pd.DataFrame())
    assert content["program_command"] == shlex.join(words)
    assert np.isfinite([row["value"] for row in content["ladder"]]).all()
