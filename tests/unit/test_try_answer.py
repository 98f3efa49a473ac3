"""Costs and sentences about a user's program where runs are missing, where nothing varies, and where a bound is small."""

import html
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import jinja2
import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.analysis import independence, sample_sizes
from plimsoll.designs.program import change_words, effects, ladder, program_answer, side_differences
from plimsoll.designs.program.factors import FILES, FIRST, OTHER, REMEDY, SAME, STEPS
from plimsoll.features.try_program import stages, study_content
from plimsoll.measuring import record
from plimsoll.pages import formats
from plimsoll.planning.availability import SMALLEST

from tests.conftest import recorded as complete
from tests.unit import test_neighbour_runs as beside
from tests.unit.test_program import DOCKER, STUDY, WALL, of_command, recorded, sentences, world


def without(observed: pd.DataFrame, stage: str, runtime: str, kept: int = 0) -> pd.DataFrame:
    """Return observations with at most `kept` blocks of a runtime in a stage."""
    own = (observed["stage"] == stage) & (observed["runtime"] == runtime)
    return observed[~own | (observed["repetition"] <= kept)]


def test_a_step_over_levels_without_runs_adds_what_all_of_them_add():
    observed = world({"docker-ipc": 0.2})
    for name in ("docker-ipc", "docker-unfiltered"):
        observed = without(observed, STEPS, name)
    found = effects.table(observed)
    steps = found[(found["stage"] == STEPS) & (found["against"] == "docker-pid")]
    assert steps["runtime"].tolist() == ["docker-filtered"]
    three = ("docker-ipc", "docker-unfiltered", "docker-filtered")
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
    told = sentences(STUDY, found)
    assert told[0] == "Docker makes it 3.0 times as slow as this host [3.0, 3.0]."
    assert told[1] == "A factor of 3.0 [3.0, 3.0] comes with its container; other files change it by 0.1 % at most."
    same = sentences(STUDY, effects.table(counts(1.0, stages.LEAST)))
    assert same == ["In Docker it is alike within 0.1 %."]


def test_steps_and_remedies_without_an_interval_are_named_and_no_sentence_has_a_nan():
    observed = world({"docker-ipc": 0.2, "docker-filtered": 0.2})
    observed = without(observed, STEPS, "docker-unfiltered", kept=2)
    observed = without(observed, REMEDY, "docker-with-ipc", kept=1)
    told = sentences(STUDY, effects.table(observed))
    unknown = ", ".join(map(ladder.adds, ("docker-unfiltered", "docker-filtered")))
    assert told[1].endswith(f"; too few runs count of {unknown}.")
    assert "each of the other steps changes it by" in told[1]
    assert "With --ipc host: too few runs count to say." in told and not any("nan" in sentence for sentence in told)


def test_one_other_part_without_a_cost_is_named():
    observed = world({"docker-cgroup": 0.3}, noise=0.002)
    told = sentences(STUDY, effects.table(observed[observed["stage"] == FIRST]))
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
    assert change_words.bound(share) == told


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
    row = SimpleNamespace(change=change, low=low, high=high, p_holm=0.07, n=9, deviation=0.01, width=0.01, alpha=0.01)
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


def test_a_command_keeps_its_quotes_wherever_it_is_shown(tmp_path):
    words = ["sh", "-c", "sort < 'a b'"]
    of_words = {**STUDY, "program": {**STUDY["program"], "command": words}}
    observed = world({}, blocks=1)
    exported = program_answer.hyperfine(of_words, observed, recorded_times(tmp_path, observed, {}))["results"]
    assert exported[0]["command"] == f"Docker: {shlex.join(words)}"
    asked = of_command(*words, name="x", minutes=5.0, width=0.01, limit=60.0, ranks=None)
    content = study_content.of_study(asked, "my-x", "the files", None, ["docker"], None)
    assert content["title"] == f"What a container costs: {shlex.join(words)}"


def page_of(study: dict, observed: pd.DataFrame, folder: Path) -> dict:
    """Return the variables of a study's page. Every cell that was observed has a record of one library."""
    for stage, runtime in set(zip(observed["stage"], observed["runtime"], strict=True)):
        mapped = {"/lib/libopenblas.so.0": "1" * 40 if runtime == "host" else "2" * 40}
        timed = [{"values": dict.fromkeys(side_differences.COUNTS, 0.0), "output": ""}]
        made = {"timed": timed, "inside": {"seccomp": "2" if runtime == "docker" else "0"}, "mapped": mapped}
        record.keep(record.path_of(folder, f"{stage}/{runtime}", 1), complete(**made))
    runs = pd.DataFrame({"stage": [FIRST], "runtime": ["host"], "reason": [None]})
    report = designs.find("program").report
    return report.content(SimpleNamespace(records=folder), study, {"cells": {}}, observed, runs, pd.DataFrame())


def test_the_page_shows_a_command_as_it_is_typed(tmp_path):
    words = ["sh", "-c", "sort < 'a b'"]
    shown = {**STUDY, "metrics": {"wall": WALL}, "program": {**STUDY["program"], "command": words}}
    content = page_of(shown, world({}), tmp_path)
    assert content["program_command"] == shlex.join(words)
    assert np.isfinite([row["value"] for row in content["ladder"]]).all()


def test_the_page_begins_with_the_sentences_of_the_terminal_and_what_differed_between_parts(tmp_path):
    observed = world({FILES: 0.3}, noise=0.002)
    observed = observed[observed["stage"] == FIRST]
    content = page_of(STUDY, observed, tmp_path)
    why = side_differences.of_steps(tmp_path, effects.table(observed))
    told = program_answer.document(STUDY, observed, effects.table(observed), why)
    made = formats.environment()
    base = "{% block answer_said %}{% endblock %}<hr>{% block answer_more %}{% endblock %}"
    made.loader = jinja2.ChoiceLoader([jinja2.DictLoader({"base.html.j2": base}), made.loader])
    said, below = made.get_template("program/report.html.j2").render(content).split("<hr>")
    shown = html.unescape(re.sub(r"\s*<[^>]+>\s*", " ", said)).split()
    assert " ".join(shown).startswith(" ".join(" ".join(told["answer"]).split()))
    # The whole of Docker has the same difference, and stands folded below the ladder.
    assert re.findall("<h3>(.+)</h3>", said) == ["What differed: other files"]
    assert said.count("(build 111111111111) before") == 1
    assert re.findall("<summary>(.+)</summary>\n<p>(.+)</p>", below) == [
        ("What differed between the two ends of the ladder", "This host and Docker:")
    ]


RATE = {"label": "rate", "unit": "", "better": "higher", "source": "output"}
MEMORY = {"label": "peak memory", "unit": "MiB", "better": "lower", "source": "program"}


@pytest.mark.parametrize(
    ("metric", "share", "told"),
    [
        (WALL, (0.32, 0.31, 0.331), ("is 32 % slower than", "[+31.0, +33.1]", "32 %")),
        (WALL, (2.1, 1.9, 2.3), ("is 3.1 times as slow as", "[2.9, 3.3]", "a factor of 3.1")),
        (WALL, (-0.091, -0.098, -0.084), ("takes 9.1 % less time than", "[-9.8, -8.4]", "a gain of 9.1 %")),
        (WALL, (-0.5, -0.52, -0.48), ("takes 50 % less time than", "[-52.0, -48.0]", "a gain of 50 %")),
        (WALL, (-0.88, -0.894, -0.873), ("is 8.3 times as fast as", "[7.9, 9.4]", "a gain by a factor of 8.3")),
        (RATE, (0.32, 0.31, 0.331), ("is 32 % higher (rate) than", "[+31.0, +33.1]", "a gain of 32 %")),
        (RATE, (2.1, 1.9, 2.3), ("is 3.1 times as high (rate) as", "[2.9, 3.3]", "a gain by a factor of 3.1")),
        (RATE, (-0.88, -0.894, -0.873), ("is 88 % lower (rate) than", "[-89.4, -87.3]", "88 %")),
        (MEMORY, (-0.88, -0.894, -0.873), ("is 88 % lower (peak memory) than", "[-89.4, -87.3]", "a gain of 88 %")),
        (MEMORY, (2.1, 1.9, 2.3), ("is 3.1 times as high (peak memory) as", "[2.9, 3.3]", "a factor of 3.1")),
    ],
)
def test_a_change_is_exact_for_times_and_for_rates(metric, share, told):
    """A time that was 88 % less was said to be 88 % faster, which is 1.88 times as fast. It is 8.3 times."""
    change, low, high = share
    row = SimpleNamespace(change=change, low=low, high=high)
    assert (change_words.compared(row, metric), change_words.interval(row, metric), change_words.amount(row, metric)) == told


def test_a_gain_of_the_image_is_told_in_both_sentences():
    told = sentences(STUDY, effects.table(world({"files": -0.88}, noise=0.002)))
    assert re.match(r"Docker makes it 8\.[234] times as fast as this host \[8\.\d, 8\.\d\]\.$", told[0])
    assert re.match(r"A gain by a factor of 8\.[234] \[8\.\d, 8\.\d\] comes with other files; each of the other steps", told[1])
    less = sentences(STUDY, effects.table(world({"files": -0.2}, noise=0.002)))[0]
    assert less.startswith("Docker makes it take 20 % less time than this host [-20.")


def with_starts(observed: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return observations with the start of each runtime of the first pass: `seconds` for Docker, and 1 ms for others."""
    own = observed[observed["stage"] == FIRST]
    values = [seconds if name == "docker" else 0.001 for name in own["runtime"]]
    return pd.concat([observed, own.assign(metric="start", value=values)], ignore_index=True)


@pytest.mark.parametrize(("costs", "begins"), [({"files": 0.2}, "Docker makes it 20 % slower"), ({}, "In Docker it is alike")])
def test_the_start_of_a_default_is_told_and_is_not_its_time(costs, begins):
    observed = world(costs, noise=0.002)
    found = effects.table(observed)
    first = program_answer.document(STUDY, with_starts(observed, 0.3904), found)["answer"][0]
    assert first.startswith(begins) and first.endswith(". Docker's own start takes 0.39 s, and is not in this time.")
    of_rate = {**STUDY, "metrics": {"wall": RATE}}
    first = program_answer.document(of_rate, with_starts(observed, 0.0071), found)["answer"][0]
    assert first.endswith(". Docker's own start takes 0.0071 s.")
    assert not any("own start" in one for one in program_answer.document(STUDY, observed, found)["answer"])


def test_the_start_of_a_split_default_is_the_engines():
    told = program_answer._start("Docker, split", SimpleNamespace(start=12.34), WALL)
    assert told == " Docker's own start takes 12 s, and is not in this time."


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("OpenBLAS 0.3.28", "OpenBLAS 0.3.21", "its OpenBLAS is 0.3.21, the host's 0.3.28"),
        ("OpenBLAS 0.3.28", "libblas.so.3.11.0", "it has libblas.so.3.11.0, the host OpenBLAS 0.3.28"),
        ("libz.so.1 build 12", "libz.so.1 build 34", "its libz.so.1 is build 34, the host's build 12"),
        ("libgomp.so.1", "", "only the host has libgomp.so.1"),
        ("", "libgomp.so.1", "only the image has libgomp.so.1"),
    ],
)
def test_the_first_library_that_differs_is_in_brackets_after_other_files(before, after, told):
    library = {"before": before, "after": after}
    differences = [
        {
            "runtime": "docker",
            "against": "host",
            "adds": effects.DEFAULT,
            "library": {"before": "x", "after": "y"},
            "differs": [],
        },
        {"runtime": FILES, "against": "host", "adds": "other files", "library": library, "differs": []},
    ]
    found = effects.table(world({"files": 0.2}))
    assert f"are other files ({told}); each of" in sentences(STUDY, found, differences=differences)[1]
    assert "are other files; each of" in sentences(STUDY, found, differences=differences[:1])[1]


OPENBLAS, LIBC = "/opt/libscipy_openblas64_.so", "/usr/lib/libc.so.6"


def files_of(mapped: dict[str, str], versions: dict[str, str]) -> dict:
    return {"mapped": mapped, "versions": versions}


def test_the_first_library_is_of_linear_algebra_then_the_c_library_and_by_its_version_if_that_is_known():
    before = files_of({"/bin/awk": "1", OPENBLAS: "2", LIBC: "3"}, {OPENBLAS: "OpenBLAS 0.3.28", LIBC: "glibc 2.41"})
    after = files_of({"/bin/awk": "4", OPENBLAS: "5", LIBC: "6"}, {OPENBLAS: "OpenBLAS 0.3.21", LIBC: "glibc 2.36"})
    first = side_differences.first_library
    assert first(before, after) == {"before": "OpenBLAS 0.3.28", "after": "OpenBLAS 0.3.21"}
    told = side_differences._libraries(before, after)
    assert told[0] == f"{OPENBLAS} (OpenBLAS 0.3.28, build 2) before, {OPENBLAS} (OpenBLAS 0.3.21, build 5) after"
    assert told[1].startswith(f"{LIBC} (glibc 2.41, build 3) before, ") and told[2].startswith("/bin/awk (build 1) before, ")
    # The same BLAS; and a record of an older version, which has no versions.
    same = files_of({**after["mapped"], OPENBLAS: "2"}, after["versions"])
    assert first(before, same) == {"before": "glibc 2.41", "after": "glibc 2.36"}
    assert first({"mapped": {LIBC: "3"}}, {"mapped": {LIBC: "6"}}) == {
        "before": "libc.so.6 build 3",
        "after": "libc.so.6 build 6",
    }
    assert first(before, files_of({}, {})) == {"before": Path(OPENBLAS).name, "after": ""}
    assert first(before, before) is None and side_differences._libraries(before, before) == []


@pytest.mark.parametrize("names", [("libblas.so.3", "libopenblasp-r0.so"), ("libopenblasp-r0.so", "libblas.so.3")])
def test_a_library_with_a_version_stands_for_its_kind(names):
    """Debian's libblas.so.3 only calls the library with the kernels."""
    versions = {"/usr/lib/libopenblasp-r0.so": "OpenBLAS 0.3.28"}
    before = files_of({f"/usr/lib/{name}": name for name in names}, versions)
    after = files_of({"/usr/lib/libblas.so.3": "9"}, {})
    assert side_differences.first_library(before, after) == {"before": "OpenBLAS 0.3.28", "after": "libblas.so.3"}


def test_a_cost_of_other_files_has_its_library_from_the_records(tmp_path):
    for name, version in (("host", "0.3.28"), (FILES, "0.3.21")):
        values = dict.fromkeys(("waits", "preempted", "faults"), 1.0)
        seen = {"inside": {}, **files_of({OPENBLAS: version}, {OPENBLAS: f"OpenBLAS {version}"})}
        one = complete(timed=[{"values": values, "output": ""}], **seen)
        record.keep(record.path_of(tmp_path, f"{FIRST}/{name}", 1), one)
    found = effects.table(world({"files": 0.2}))
    (told,) = side_differences.of_steps(tmp_path, found)
    assert (told["runtime"], told["against"]) == (FILES, "host")
    assert told["library"] == {"before": "OpenBLAS 0.3.28", "after": "OpenBLAS 0.3.21"}
    answer = program_answer.document(STUDY, world({"files": 0.2}), found, [told])["answer"]
    assert "are other files (its OpenBLAS is 0.3.21, the host's 0.3.28)" in answer[1]


def test_runs_that_would_decide_follow_from_the_width_and_from_all_comparisons():
    observed = world({}, blocks=8, noise=0.1, seed=5)
    found = effects.table(observed[observed["stage"] == FIRST])
    assert found["p"].notna().sum() == 3
    [row] = [row for row in found.itertuples() if row.runtime == "docker" and row.against == "host"]
    alpha = side_differences.CHANCE / 3 / effects.READINGS.get(FIRST, 1)
    for width in (0.01, 0.05):
        of_width = {**STUDY, "program": {**STUDY["program"], "width": width}}
        can = math.expm1(sample_sizes.detectable(row.deviation, 8, alpha))
        would = sample_sizes.sample_size(row.deviation, math.log1p(width), alpha)
        ends = f": 8 blocks can find {change_words.size(can)}; {would} would find {change_words.size(width)}."
        assert sentences(of_width, found)[0].endswith(ends)
        assert would > sample_sizes.sample_size(row.deviation, math.log1p(width), side_differences.CHANCE)


def test_runs_beside_a_neighbour_are_one_family_of_comparisons():
    found = effects.table(beside.world({}))
    rows = program_answer._with_study(STUDY, found, {}, ())
    assert set(rows.loc[rows["stage"].isin((SAME, OTHER)), "alpha"]) == {side_differences.CHANCE / 3}
    steps = (rows["stage"] == STEPS).sum()
    assert set(rows.loc[rows["stage"] == STEPS, "alpha"]) == {side_differences.CHANCE / steps}


def test_the_reason_why_no_run_counts_is_the_plans_or_the_most_frequent_one():
    reasons = {"host": None, FILES: None, "docker": "the daemon does not answer"}
    cells = {f"{FIRST}/{name}": {"stage": FIRST, "runtime": name, "reason": why} for name, why in reasons.items()}
    cells[f"{STEPS}/{FILES}"] = {"stage": STEPS, "runtime": FILES, "reason": "another stage's"}
    lacks = "the program failed with exit status 1: Temporary failure in name resolution."
    rows = [(FIRST, FILES, lacks), (FIRST, FILES, "a"), (FIRST, FILES, lacks), (FIRST, "host", None), (STEPS, FILES, "b")]
    runs = pd.DataFrame(rows, columns=["stage", "runtime", "reason"])
    known = program_answer.uncounted({"factors": ["stage", "runtime"], "cells": cells}, runs)
    assert known == {FILES: lacks, "docker": "the daemon does not answer"}
    observed = world({})
    observed = observed[(observed["stage"] == FIRST) & (observed["runtime"] == "host")]
    told = program_answer.document(STUDY, observed, effects.table(observed), (), known)["answer"]
    assert told == [f"Image's files: no run counts: {lacks}", "Docker: no run counts: the daemon does not answer."]


def recorded_times(folder: Path, observed: pd.DataFrame, own: dict[str, float]) -> Path:
    """Write a record for each start of a runtime in the first pass, with two runs of the program. Return the folder."""
    for row in observed[observed["stage"] == FIRST].itertuples():
        timed = [{"values": {"wall": row.value * share, **own}, "output": ""} for share in (0.9, 1.1)]
        record.keep(record.path_of(folder, f"{FIRST}/{row.runtime}", row.repetition), complete(timed=timed))
    return folder


def test_each_run_of_the_program_is_exported_and_not_the_mean_of_a_start(tmp_path):
    observed = world({}, blocks=4)
    records = recorded_times(tmp_path, observed, {"user": 0.5, "system": 0.25})
    # A run that was found to be impossible has a record and no observation.
    observed = observed[observed["repetition"] < 4]
    exported = program_answer.hyperfine(STUDY, observed, records)["results"]
    assert [one["command"] for one in exported] == ["Docker: solver", "Image's files: solver", "This host: solver"]
    for one, runtime in zip(exported, ("docker", FILES, "host"), strict=True):
        means = observed.loc[(observed["stage"] == FIRST) & (observed["runtime"] == runtime), "value"]
        times = [value * share for value in means for share in (0.9, 1.1)]
        assert one["times"] == times and (one["min"], one["max"]) == (min(times), max(times))
        assert [one[name] for name in ("mean", "stddev", "median")] == pytest.approx(
            [np.mean(times), np.std(times, ddof=1), np.median(times)]
        )
        assert (one["user"], one["system"]) == (0.5, 0.25)
    old = program_answer.hyperfine(STUDY, observed, recorded_times(tmp_path / "old", observed, {}))["results"]
    assert "user" not in old[0] and "system" not in old[0]
