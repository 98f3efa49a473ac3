"""A study of a program: cells, outputs, effects from planted steps, and the answer in words."""

import json
import math
import os
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plimsoll import features, runtimes
from plimsoll.designs.program import attempts, effects, ladder, outputs, process_view, program_answer, side_differences
from plimsoll.designs.program.factors import FIRST, HOST, OWN_VALUES, REMEDY, STEPS
from plimsoll.errors import Incomplete, PlimsollError, Unavailable
from plimsoll.features.try_program import __main__ as trying
from plimsoll.features.try_program import files, folder_copy, recipe, stages, study, study_options, trial
from plimsoll.workloads.base import InvalidOutput

WALL = {"label": "wall time", "unit": "s", "better": "lower", "source": "program"}
STUDY = {
    "id": "my-study",
    "metrics": {"wall": WALL},
    "answer": {"metrics": ["wall"], "baseline": {"runtime": ["host"]}},
    "experiments": {FIRST: {"runtime": ["host", "files", "docker"]}},
    "program": {"command": ["solver"], "files": "9 files of this host", "width": 0.01},
}
DOCKER = ladder.levels("docker")


def sentences(*given, **more) -> list[str]:
    """Return the answer's sentences, those of one default below those of another."""
    return [sentence for paragraph in program_answer.answer(*given, **more) for sentence in paragraph]


def world(costs: dict[str, float], blocks: int = 20, noise: float = 0.01, seed: int = 1) -> pd.DataFrame:
    """Return observations in which each step of `costs` makes the program slower by its share, in every level from there."""
    drawn, rows = np.random.default_rng(seed), []

    def at(runtime: str) -> float:
        levels = DOCKER if runtime in DOCKER else (*DOCKER[:1], runtime)
        reached = levels[: levels.index(runtime) + 1] if runtime != HOST else ()
        return math.prod(1 + costs.get(level, 0.0) for level in reached)

    remedies = {remedy.runtime: remedy.step for remedy in ladder.REMEDIES if remedy.step in DOCKER}
    for block in range(1, blocks + 1):
        drift = drawn.normal(0, 0.05)
        cells = [(FIRST, name, at(name)) for name in (HOST, "files", "docker")]
        cells += [(STEPS, name, at(name)) for name in DOCKER]
        cells += [(REMEDY, name, at("docker") / (1 + costs.get(step, 0.0))) for name, step in remedies.items()]
        cells.append((REMEDY, "docker", at("docker")))
        for stage, runtime, factor in cells:
            value = factor * math.exp(drift + drawn.normal(0, noise))
            rows.append({"stage": stage, "runtime": runtime, "metric": "wall", "repetition": block, "value": value})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("step", DOCKER[1:])
def test_the_ladder_names_the_planted_step(step):
    named = 0
    for seed in range(100):
        observed = world({step: 0.05}, seed=seed)
        found = effects.table(observed[observed["stage"] == STEPS])
        named += [row.runtime for row in found.itertuples() if side_differences.is_costly(row)] == [step]
    assert named >= 95


def test_what_is_alike_everywhere_costs_nothing_in_95_of_100():
    falsely = 0
    for seed in range(200):
        observed = world({}, seed=seed, noise=0.05)
        found = effects.table(observed[observed["stage"] == FIRST])
        falsely += bool(stages.steps_of(found))
    assert falsely / 200 <= 0.05


def test_steps_are_measured_only_where_a_default_costs_something():
    assert stages.steps_of(effects.table(world({}))) == []
    assert stages.steps_of(effects.table(world({"docker-filtered": 0.3}))) == list(DOCKER)


def test_where_only_other_files_cost_something_no_steps_are_measured():
    observed = world({"files": 0.3}, noise=0.002)
    first = effects.table(observed[observed["stage"] == FIRST])
    assert stages.steps_of(first) == []
    told = sentences(STUDY, first)
    assert told[0].startswith("Docker makes it 30 % ") and "other files; its container changes it by 0." in told[1]


WHOLE, CONTAINER = ("docker", "host", effects.DEFAULT), ("docker", "files", effects.CONTAINER)
OTHER_FILES, FILTER = ("files", "host", "other files"), ("docker-filtered", "docker-unfiltered", "the seccomp filter")


@pytest.mark.parametrize(
    ("costly", "told"),
    [
        ([WHOLE, FILTER], [FILTER]),
        ([WHOLE, CONTAINER, FILTER], [FILTER]),
        ([WHOLE, OTHER_FILES], [OTHER_FILES]),
        # The time did not suffice for steps.
        ([WHOLE, CONTAINER], [CONTAINER]),
        # Without root there is no level between.
        ([WHOLE], [WHOLE]),
        ([WHOLE, ("podman", "host", effects.DEFAULT), FILTER], [("podman", "host", effects.DEFAULT), FILTER]),
    ],
)
def test_reasons_are_told_for_parts_and_for_a_whole_without_parts(costly, told):
    differs = ["seccomp: 0 before, 2 after"]
    differences = [{"runtime": name, "against": other, "adds": adds, "differs": differs} for name, other, adds in costly]
    names = {"docker": "Docker: ", "podman": "Podman: ", "files": "", "docker-filtered": ""}
    lines = [line for name, _, adds in told for line in (f"What differed ({names[name]}{adds}):", f"  {differs[0]}")]
    assert program_answer.reasons(differences) == lines


def test_blas_is_named_first_whatever_its_file_is_called():
    before = recorded({"/usr/lib/liba.so.1": "1", "/opt/libscipy_openblas64_.so": "2"}, {})
    after = recorded({"/usr/lib/liba.so.2": "3", "/usr/lib/libblas.so.3": "4"}, {})
    assert (
        side_differences.differences(before, after)[0]
        == "/opt/libscipy_openblas64_.so (build 2) before, /usr/lib/libblas.so.3 (build 4) after"
    )


def test_what_gives_a_costly_step_back_is_tried():
    found = effects.table(world({"docker-filtered": 0.3, "docker-cgroup": 0.2}))
    assert stages.remedies_of(found) == ["docker", "docker-with-seccomp"]


def test_the_answer_names_cost_step_and_remedy_with_intervals():
    told = sentences(STUDY, effects.table(world({"files": 0.2, "docker-ipc": 0.1}, noise=0.002)))
    assert told[0].startswith("Docker makes it 32 % slower than this host [+")
    assert "20 %" in told[1] and "other files" in told[1] and "/dev/shm of 64 MB" in told[1] and "other steps" in told[1]
    assert any(one.startswith("With --ipc host it takes 9.") and "less time than without" in one for one in told[2:])


def test_the_answer_of_a_program_that_is_alike_is_so_or_undecided():
    assert sentences(STUDY, effects.table(world({}, noise=0.004)))[0].startswith("In Docker it is alike within ")
    undecided = sentences(STUDY, effects.table(world({}, blocks=8, noise=0.1, seed=5)))[0]
    assert "undecided" in undecided and "8 blocks can find" in undecided and "would find 1.0 %" in undecided


def test_a_cost_that_doubles_the_time_is_a_factor():
    told = sentences(STUDY, effects.table(world({"docker-ipc": 4.0})))
    assert told[0].startswith("Docker makes it 5.0 times as slow as this host [") and "+" not in told[0]
    assert told[1].startswith("A factor of 5.0 [")


def test_too_few_runs_give_no_answer():
    assert sentences(STUDY, effects.table(world({}, blocks=2))) == ["Docker: too few runs count for an answer."]


@pytest.mark.parametrize("missing", ["docker", "host"])
def test_a_runtime_of_which_no_run_counts_is_told_and_its_loss_is_unknown(missing):
    observed = world({"files": 0.3})
    observed = observed[(observed["stage"] == FIRST) & (observed["runtime"] != missing)]
    found = effects.table(observed)
    told = program_answer.document(STUDY, observed, found)["answer"]
    assert "no run counts" in told[0] and told[0].endswith("; runs.csv has the reasons.")
    with pytest.raises(Incomplete, match="no answer for any runtime"):
        trying._judged(STUDY, found, None)
    two = {**STUDY, "experiments": {FIRST: {"runtime": ["host", "docker", "podman"]}}}
    answered = effects.table(world({}))
    assert trying._judged(two, answered, None) == 0
    with pytest.raises(Incomplete, match="unknown of: Podman"):
        trying._judged(two, answered, 0.05)


def test_a_loss_is_unknown_with_too_few_runs_and_judged_with_enough():
    with pytest.raises(Incomplete):
        trying._judged(STUDY, effects.table(world({}, blocks=2)), 0.05)
    assert [trying._judged(STUDY, effects.table(world({"files": cost})), 0.05) for cost in (0.0, 0.2)] == [0, 1]


def test_a_container_that_costs_what_its_files_gain_is_told():
    told = sentences(STUDY, effects.table(world({"files": -0.2, "docker-filtered": 0.25}, noise=0.002)))
    assert told[0].startswith("In Docker it is alike")
    assert told[1].startswith("A gain of 20 % [-2") and "comes with other files; 25 % [+2" in told[1]
    assert "come with the seccomp filter" in told[1]


def test_a_metric_that_is_0_is_not_told_as_too_few_runs():
    observed = world({})
    observed.loc[observed["runtime"] == "docker", "value"] = 0.0
    assert sentences(STUDY, effects.table(observed))[0].startswith("Docker: wall time is not above 0")


def test_what_gives_a_gain_back_is_not_tried():
    found = effects.table(world({"docker-filtered": -0.3}))
    assert stages.remedies_of(found) == []
    assert stages.remedies_of(found, "higher") == ["docker", "docker-with-seccomp"]


def test_a_loss_is_what_the_interval_shows_for_sure():
    found = effects.table(world({"docker-cgroup": 0.2}))
    assert 0.15 < program_answer.loss(STUDY, found) < 0.2
    assert program_answer.loss(STUDY, effects.table(world({"docker-cgroup": -0.2}))) == 0.0
    higher = {**STUDY, "metrics": {"wall": {**WALL, "better": "higher"}}}
    assert program_answer.loss(higher, found) == 0.0


def test_documents_of_an_answer_are_json_that_a_program_reads():
    observed = world({"files": 0.1})
    told = json.loads(json.dumps(program_answer.document(STUDY, observed, effects.table(observed)), allow_nan=False))
    assert told["comparisons"][0]["runtime"] == "files" and 0.05 < told["comparisons"][0]["change"] < 0.15


def test_blocks_follow_from_the_spread_and_not_from_p():
    same = effects.table(world({}, noise=0.02))
    other = effects.table(world({"files": 0.3}, noise=0.02))
    assert stages._needed(same, FIRST, 0.01) == stages._needed(other, FIRST, 0.01) > stages._needed(same, FIRST, 0.02)


@pytest.fixture
def timed(monkeypatch, tmp_path):
    """A study's folder in which each round of the workflow takes a second per block, and what was requested of each."""
    clock, rounds = [0.0], []

    def make(targets, settings):
        asked_for = stages.repetitions.read_request(tmp_path, stages.PROFILE).cells
        for cell, number in asked_for.items():
            (tmp_path / "runs" / cell).mkdir(parents=True, exist_ok=True)
            new = [path for block in range(1, number + 1) if not (path := tmp_path / "runs" / cell / f"{block}.json").exists()]
            clock[0] += len(new)
            for path in new:
                path.touch()
        rounds.append(asked_for)

    monkeypatch.setattr(stages.rounds, "make", make)
    monkeypatch.setattr(stages.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(stages.configuration, "wish", lambda *_: None)
    monkeypatch.setattr(stages, "table", lambda *_: effects.table(world({"docker-filtered": 0.3})))
    return tmp_path, rounds


def of_minutes(minutes: float) -> dict:
    runtimes = {stage: {"runtime": ["host", *ladder.everything()]} for stage in (STEPS, REMEDY)}
    program = {**STUDY["program"], "minutes": minutes, "width": 0.01, "runs": 1, "expected_seconds": 0.1}
    return {**STUDY, "program": program, "experiments": {FIRST: {"runtime": ["host", "docker"]}, **runtimes}}


def test_a_study_that_goes_on_keeps_every_cell_that_was_measured_before(timed):
    folder, rounds = timed
    before = {"first/host": 30, "first/docker": 30, "steps/docker-open": 7}
    for cell, number in before.items():
        (folder / "runs" / cell).mkdir(parents=True)
        (folder / "runs" / cell / f"{number}.json").touch()
    requested = {**before, "first/host": 400}
    stages.repetitions.ask(folder, stages.PROFILE, stages.repetitions.RequestedRepetitions(requested, exact=True))
    stages.measure(of_minutes(20), folder)
    assert rounds[0]["first/host"] == rounds[0]["first/docker"] == 30
    assert all(now[cell] >= number for now in rounds for cell, number in before.items())


def test_a_later_stage_is_measured_only_if_there_is_time_for_it(timed, capsys):
    folder, rounds = timed
    stages.measure(of_minutes(0.3), folder)
    assert {cell.partition("/")[0] for cell in rounds[-1]} == {FIRST}
    assert "no time is left for the steps between" in capsys.readouterr().out
    stages.measure(of_minutes(20), folder)
    assert {cell.partition("/")[0] for cell in rounds[-1]} == {FIRST, STEPS, REMEDY}


def test_minutes_that_are_too_few_are_refused_before_anything_is_measured(timed):
    folder, rounds = timed
    with pytest.raises(PlimsollError, match="--minutes"):
        stages.refuse_short(of_minutes(0.05), folder)
    stages.refuse_short(of_minutes(20), folder)
    assert rounds == []


def test_every_level_is_a_runtime_with_a_label_of_its_own():
    labels = [runtimes.find(name).label for name in ladder.everything()]
    assert len(set(labels)) == len(labels)
    assert not set(runtimes.known_steps()) & set(runtimes.known())


@pytest.mark.parametrize(
    ("name", "shares", "filtered"),
    [
        ("docker-volumes", {"ipc", "pid", "net"}, False),
        ("docker-open", {"ipc", "pid", "net"}, False),
        ("docker-pid", {"ipc", "net"}, False),
        ("docker-ipc", {"net"}, False),
        ("docker-unfiltered", {"net"}, False),
        ("docker-filtered", {"net"}, True),
        ("podman-rootless-volumes", {"net"}, True),
        ("podman-rootless-filtered", {"net"}, True),
        ("docker-with-ipc", {"ipc"}, True),
        ("docker-with-seccomp", set(), False),
    ],
)
def test_each_step_changes_what_it_says(name, shares, filtered):
    step = runtimes.find(name)
    words = list(step.options)
    shared = {option[2:] for option, value in pairwise(words) if value == "host" and option != "--userns"}
    assert shared | ({"net"} if step.network.name == "host" else set()) == shares
    assert ("seccomp=unconfined" not in words) == filtered
    assert ("--volume" in words) == name.endswith(ladder.WITH_VOLUMES)
    assert step.left() == [] and step.sweep() is None


RUN = {"run": 1, "wall": 1.5, "user": 1.0, "system": 0.25, "memory": 2048, "minor_faults": 3, "major_faults": 0, "waits": 1}
RUN |= {"preempted": 0, "code": 0, "signal": 0, "late": False, "left": False}


def printed(folder, text: str, **files: str):
    (folder / "work").mkdir(exist_ok=True)
    (folder / outputs.STDOUT).write_text(text)
    for name, content in files.items():
        (folder / "work" / name).write_text(content)
    return folder


def test_numbers_of_an_output_are_read(tmp_path):
    metrics = {
        "rate": {"source": "output", "pattern": r"rate: ([0-9.e+]+)"},
        "energy": {"source": "json", "file": "result", "key": "energies.1"},
    }
    folder = printed(tmp_path, "rate: 1.5e+3\n", result='{"energies": [1, 2.5]}')
    read = outputs.read(folder, RUN, {"start": 0.3}, {"metrics": metrics})
    assert read["values"]["rate"] == 1500 and read["values"]["energy"] == 2.5 and read["values"]["memory"] == 2
    assert read["values"]["processor"] == 1.25 and read["values"]["start"] == 0.3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no number for rate .*, because it is empty"),
        ("speed: 3\n", "no number for rate .*; its last line is 'speed: 3'"),
        ("rate: 1\nrate: 2\n", "2 numbers"),
        ("rate: 1.2.3\n", "'1.2.3' is no number"),
    ],
)
def test_an_output_without_the_number_or_with_two_does_not_count(tmp_path, text, problem):
    metrics = {"rate": {"source": "output", "pattern": r"rate: ([0-9.]+)"}}
    with pytest.raises(InvalidOutput, match=problem):
        outputs.read(printed(tmp_path, text), RUN, {}, {"metrics": metrics})


@pytest.mark.parametrize("content", ["", "{}", '{"x": "1"}', '{"x": NaN}', '{"x": true}', "[1]"])
def test_a_json_file_without_the_number_does_not_count(tmp_path, content):
    metric = {"source": "json", "file": "result", "key": "x"}
    with pytest.raises(InvalidOutput, match="x"):
        outputs.read(printed(tmp_path, "", result=content), RUN, {}, {"metrics": {"x": metric}})


def test_a_wrong_answer_does_not_count(tmp_path):
    folder = printed(tmp_path, "42\n")
    outputs.read(folder, RUN, {}, {"check": ["grep", "-q", "42"]})
    with pytest.raises(InvalidOutput, match="wrong"):
        outputs.read(folder, RUN, {}, {"check": ["grep", "-q", "43"]})


def test_outputs_are_compared_without_what_may_differ(tmp_path):
    one, other = (outputs.digest(f"sum 5\ntook {seconds} s\n", [r"took .*"]) for seconds in (1, 2))
    assert one == other != outputs.digest("sum 6\ntook 1 s\n", [r"took .*"])
    # The number that is measured is no part of the answer.
    metrics = {"rate": {"source": "output", "pattern": "rate: ([0-9.]+)"}}
    made = [
        outputs.read(printed(tmp_path, f"sum {number}\nrate: {rate}\n"), RUN, {}, {"metrics": metrics})["output"]
        for number, rate in ((5, 1.5), (5, 1.7), (6, 1.5))
    ]
    assert made[0] == made[1] != made[2]
    with pytest.raises(InvalidOutput, match="answers differ"):
        outputs.refuse_others([{"values": {}, "output": other}], {"output": "another"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"late": True, "signal": 9}, "did not end within 5 s"),
        ({"left": True}, "left processes running"),
        ({"code": -1, "signal": 11}, "signal 11"),
        ({"code": 3}, "exit status 3: it printed no error"),
        ({"code": 127}, "could not be started"),
    ],
)
def test_a_run_that_went_wrong_is_told_in_a_sentence(tmp_path, change, problem):
    (tmp_path / "0").mkdir()
    (tmp_path / outputs.LOG).write_text(json.dumps({**RUN, "run": 0, **change}) + "\n")
    with pytest.raises(InvalidOutput, match=problem):
        outputs.run_logs(tmp_path, {"runs": 1, "parameters": {"limit_seconds": 5}})


def test_runs_that_are_missing_are_told(tmp_path):
    (tmp_path / outputs.LOG).write_text(json.dumps({**RUN, "run": 0}) + "\n")
    with pytest.raises(InvalidOutput, match="only 1 of 3 runs"):
        outputs.run_logs(tmp_path, {"runs": 2, "parameters": {"limit_seconds": 5}})


def test_what_a_program_sees_is_read(tmp_path):
    (tmp_path / "inside").write_text(
        "== /proc/self/status\nName:\ttimed\nSeccomp:\t2\nCpus_allowed_list:\t0-1\n"
        "== /proc/self/mountinfo\n1 0 8:1 / / rw - overlay overlay rw\n2 1 0:5 / /dev/shm rw - tmpfs shm rw\n"
        "== /dev/shm\n67108864\n"
    )
    told = process_view.inside(tmp_path)
    assert told["seccomp"] == "2" and told["processors"] == "0-1" and told["shared memory"] == "67108864"
    assert told["file system of /"] == told["file system of /tmp"] == "overlay"
    assert told["file system of /dev/shm"] == "tmpfs"


def test_namespaces_and_the_quota_are_read_whatever_the_version_of_cgroups(tmp_path):
    net = os.readlink("/proc/self/ns/net")
    (tmp_path / "inside").write_text(
        "== /proc/self/uid_map\n         0          1       1000\n      1000          0          1\n== cpu.max\n80000 100000\n"
        f"== /proc/self/ns/net\n{net}\n== /proc/self/ns/pid\npid:[1]\n== /proc/self/ns/uts\nuts:[1]\n"
    )
    told = process_view.inside(tmp_path)
    assert told == {
        "processor quota and period (us)": "80000 100000",
        "namespaces of its own": "pid, uts",
        "users (first inside, first outside, number)": "0 1 1000, 1000 0 1",
    }
    (tmp_path / "inside").write_text(f"== /proc/self/ns/net\n{net}\n")
    assert process_view.inside(tmp_path) == {"namespaces of its own": "none"}


def recorded(mapped: dict, inside: dict, faults: float = 10.0) -> list[dict]:
    timed = [{"values": {"waits": 1.0, "preempted": 0.0, "faults": faults}, "output": ""}]
    return [{"timed": timed, "inside": inside, "mapped": mapped, "noise": {}}]


def test_differences_of_the_two_sides_are_told_and_nothing_else():
    before = recorded(
        {"/usr/lib/libblas.so.3.11": "aaaa", "/usr/lib/libc.so.6": "cccc"}, {"seccomp": "0", "clock source": "tsc"}
    )
    after = recorded(
        {"/opt/libblas.so.3.10": "bbbb", "/usr/lib/libc.so.6": "cccc"}, {"seccomp": "2", "clock source": "tsc"}, 900
    )
    assert side_differences.differences(before, after) == [
        "seccomp: 0 before, 2 after",
        "/usr/lib/libblas.so.3.11 (build aaaa) before, /opt/libblas.so.3.10 (build bbbb) after",
        "page faults: 10 before, 900 after, in the mean of a run",
    ]


def test_files_of_a_trace_are_those_that_were_found(tmp_path):
    trace = (
        '12 execve("/usr/bin/python3", ["python3"], 0x7f /* 9 vars */) = 0\n'
        '12 openat(AT_FDCWD</work>, "case.txt", O_RDONLY) = 3</work/case.txt>\n'
        '12 openat(AT_FDCWD</work>, "/etc/missing", O_RDONLY) = -1 ENOENT (No such file or directory)\n'
        '12 newfstatat(3</usr/lib>, "../share/x", 0x7ff, 0) = 0\n'
        "12 +++ exited with 0 +++\n"
    )
    assert list(map(str, files._of_trace(trace, tmp_path))) == ["/usr/bin/python3", "/work/case.txt", "/usr/share/x"]


def test_the_interpreter_of_a_script_is_packed_by_the_name_that_the_script_has_for_it(tmp_path):
    (tmp_path / "link").symlink_to("/bin/sh")
    scripts = {"own": f"#! {tmp_path}/link -e\n", "plain": "no script\n", "text": "#!/bin/none\n"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644 if name == "text" else 0o755)
    found = files._interpreters([tmp_path, tmp_path / "missing", *(tmp_path / name for name in scripts)])
    assert found == [tmp_path / "link"]


def test_packed_files_lead_where_they_did_and_have_the_same_bits_each_time(tmp_path):
    import tarfile

    real, link = tmp_path / "lib/real.so.1", tmp_path / "lib/link.so"
    real.parent.mkdir()
    real.write_text("bits")
    (tmp_path / "lib/middle.so").symlink_to("real.so.1")
    link.symlink_to("middle.so")
    (tmp_path / "lib64").symlink_to("lib")
    for name in ("one.tar", "two.tar"):
        files.pack([tmp_path / "lib64/link.so"], tmp_path / name)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        names = {name for name in archive.getnames() if name.startswith(str(tmp_path)[1:])}
        archive.extractall(tmp_path / "out", filter="tar")
    assert {name.rpartition("/")[2] for name in names} >= {"real.so.1", "middle.so", "link.so", "lib64", "lib"}
    assert (tmp_path / "out" / str(tmp_path)[1:] / "lib64/link.so").read_text() == "bits"


@pytest.mark.parametrize("text", ["rate", "=x", "Rate=x", "ra te=x", "rate="])
def test_a_metric_that_is_none_is_refused(text):
    with pytest.raises(PlimsollError, match="--metric"):
        study_options.metric(text, "higher")


@pytest.mark.parametrize("name", OWN_VALUES)
def test_a_metric_that_is_called_like_a_value_of_every_run_is_refused(name):
    with pytest.raises(PlimsollError, match="another name"):
        study_options.metric(f"{name}=x: ([0-9]+)", "lower")


def test_two_metrics_with_one_name_are_refused():
    with pytest.raises(PlimsollError, match="two metrics have this name"):
        study_options.metrics(["rate=x: ([0-9]+)", "rate=y: ([0-9]+)"], ["lower", "lower"])
    with pytest.raises(PlimsollError, match="--better"):
        study_options.metrics([], ["lower"])


def test_a_file_to_write_whose_folder_is_not_there_is_refused(tmp_path):
    study_options.refuse_unwritable(tmp_path / "times.json")
    study_options.refuse_unwritable(None)
    for file in (tmp_path, tmp_path / "missing/times.json"):
        with pytest.raises(PlimsollError, match="--export-hyperfine"):
            study_options.refuse_unwritable(file)


def of_command(*command: str, **given) -> study_options.StudyOptions:
    nothing = dict.fromkeys(study_options.StudyOptions._fields, ())
    return study_options.StudyOptions(
        **{**nothing, "command": command, "folder": None, "image": None, "variables": {}, **given}
    )


def test_a_program_that_only_the_users_path_leads_to_is_refused(tmp_path, monkeypatch):
    for name in ("ls", "my-solver"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("ls", "my-solver"):
        with pytest.raises(PlimsollError, match=f"plimsoll try -- {tmp_path}/{name}"):
            trial.refuse_other_program(of_command(name))
        trial.refuse_other_program(of_command(str(tmp_path / name)))
        trial.refuse_other_program(of_command(name, variables={"PATH": os.environ["PATH"]}))
    trial.refuse_other_program(of_command("cat"))


def test_variables_of_an_image_are_kept_below_the_users(tmp_path):
    of_image = recipe.variables_of({"Env": ["PATH=/opt/bin:/bin", "HOME=/root", "A=1=2", "B=x"]})
    assert of_image == {"PATH": "/opt/bin:/bin", "A": "1=2", "B": "x"} and recipe.variables_of({}) == {}
    told = attempts.variables(tmp_path, of_image, {"B": "y"})
    assert told == {"PATH": "/opt/bin:/bin", "LANG": "C.UTF-8", "HOME": str(tmp_path), "A": "1=2", "B": "y"}


def test_why_an_image_has_no_baseline_on_this_host_is_told(monkeypatch, tmp_path):
    def fails(*_):
        raise PlimsollError("false failed with exit status 1")

    monkeypatch.setattr(study.trial, "on_host", fails)
    told = []
    assert study.on_host(of_command("false", image="x"), tmp_path, told.append) is None
    assert study.on_host(of_command("no-such-program", image="x"), tmp_path, told.append) is None
    assert "exit status 1" in told[0] and "not installed" in told[1]


def test_an_image_beside_a_file_of_its_name_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "solver").mkdir()
    monkeypatch.setattr(recipe.client, "image_id", lambda _: "sha256:1")
    recipe._refuse_both("./solver")
    recipe._refuse_both("other")
    with pytest.raises(PlimsollError, match="./solver names the file"):
        recipe._refuse_both("solver")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"packages": ("make",)}, "--packages"),
        ({"image": "solver:2"}, "--image solver:2"),
        ({"image": "Dockerfile"}, "--image D"),
    ],
)
def test_what_an_engine_would_build_is_refused_without_one(monkeypatch, tmp_path, given, told):
    def none():
        raise Unavailable("nothing that builds images works here")

    monkeypatch.setattr(recipe.client, "command", none)
    (tmp_path / "timed").touch()
    with pytest.raises(
        PlimsollError, match=rf"^{told}.*: nothing that builds .* Nothing was measured. .* of a SIF, .* an archive or"
    ):
        recipe.write(of_command("solver", **given), tmp_path / "recipe", tmp_path / "timed", pytest.fail)
    assert not (tmp_path / "recipe/Dockerfile").exists()


def test_a_metric_says_what_is_better():
    assert study_options.metric("rate=rate: ([0-9.]+)", "higher").pattern == "rate: ([0-9.]+)"
    assert study_options.metric("rate=out.json:a.b", "lower")[2:] == (None, "out.json", "a.b")
    with pytest.raises(PlimsollError, match="--better"):
        study_options.metric("rate=x", None)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), ("0.5%", 0.005)])
def test_shares(text, share):
    assert study_options.share(text, "--width") == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "x", "0", "100%", "-5%", "nan", "inf%"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(PlimsollError, match="--width"):
        study_options.share(text, "--width")


def test_the_folder_is_this_one_only_if_the_command_names_a_file_in_it(tmp_path, monkeypatch):
    (tmp_path / "case.txt").touch()
    monkeypatch.chdir(tmp_path)
    assert study_options.folder_of(("sort", "case.txt"), None) == tmp_path
    assert study_options.folder_of(("sort", "/etc/passwd", "-n"), None) is None
    with pytest.raises(PlimsollError, match="no folder"):
        study_options.folder_of(("sort",), tmp_path / "missing")
    monkeypatch.setattr(study_options, "LARGEST", 0)
    (tmp_path / "case.txt").write_text("x")
    with pytest.raises(PlimsollError, match="--folder"):
        study_options.folder_of(("sort", "case.txt"), None)


def test_a_large_file_of_the_folder_is_linked_and_a_small_one_copied(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    large.write_bytes(b"x" * attempts.LINKED_BYTES)
    for path in (small, large):
        attempts._copy(str(path), str(tmp_path / f"{path.name}-copy"))
    assert small.stat().st_nlink == 1 and large.stat().st_nlink == 2


def test_a_large_file_that_a_program_changed_is_noticed(tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * attempts.LINKED_BYTES)
    (tmp_path / "small").write_bytes(b"x")
    states = attempts.linked_files(tmp_path)
    assert list(states) == [large] and attempts._state(large) == states[large]
    large.write_bytes(b"y" * attempts.LINKED_BYTES)
    assert attempts._state(large) != states[large]


def test_a_study_whose_folder_has_changed_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/case").write_text("1")
    program = {"folder": study.digest_of(tmp_path / "folder")}
    study.refuse_changed(tmp_path, program)
    (tmp_path / "folder/case").write_text("2")
    with pytest.raises(Incomplete, match="has changed"):
        study.refuse_changed(tmp_path, program, Incomplete)


def test_what_is_the_users_own_is_not_overwritten(tmp_path):
    place = study.place_of(tmp_path / "my-study.yaml")
    study._refuse_others(place)
    (tmp_path / "my-study/config").mkdir(parents=True)
    with pytest.raises(PlimsollError, match="--name"):
        study._refuse_others(place)
    place.file.write_text("mine: 1\n")
    with pytest.raises(PlimsollError, match="my-study.yaml exists"):
        study._refuse_others(place)
    study.write(place.file, {})
    study._refuse_others(place)


def test_a_copy_has_the_users_files_and_no_studies(tmp_path):
    (tmp_path / "my-study").mkdir()
    for name in ("my-study-data.csv", "my-study.zip", "my-study/x", "my-other.yaml"):
        (tmp_path / name).write_text("x")
    study.write(tmp_path / "my-study.yaml", {})
    folder_copy.copy(tmp_path, tmp_path / "new/folder")
    assert sorted(path.name for path in (tmp_path / "new/folder").iterdir()) == ["my-other.yaml", "my-study-data.csv"]


def test_a_pipe_in_the_folder_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert study_options.folder_of(("python3", "-c", "x" * 5000), None) is None
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlimsollError, match="neither a file nor a folder"):
        study_options.folder_of(("true",), tmp_path)


def test_cells_have_the_reason_why_a_program_is_not_on_this_host():
    from plimsoll import designs

    program = {"command": ["x"], "runs": 2, "expected_seconds": 1.0, "limit_seconds": 5, "not_installed": "it is not here"}
    study = {"program": program, "experiments": {FIRST: {"runtime": ["host", "docker", "podman"]}}}
    host = {"sizes": {"host": []}}
    config = {"runtimes": {"host": "optional", "docker": "optional", "podman": "off"}}
    cells = designs.find("program").cells
    made = [cell for _, cell in cells.wanted(study, {}, host, config, {"docker": "no engine"})]
    assert [(cell["path"], cell["reason"]) for cell in made] == [
        ("first/host", "it is not here"),
        ("first/docker", "no engine"),
    ]
    other = {**program, "expected_seconds": 2.0, "minutes": 7}
    again = [cell for _, cell in cells.wanted({**study, "program": other}, {}, host, config, {"docker": "no engine"})]
    assert [cell["fingerprint"] for cell in again] == [cell["fingerprint"] for cell in made]


def test_without_a_run_that_counts_there_is_no_ladder_and_the_reason_is_told(tmp_path):
    assert effects.table(pd.DataFrame()).columns.tolist() == list(effects.COLUMNS)
    pd.DataFrame({"reason": ["the machine was not idle", "the machine was not idle", "it was killed"]}).to_csv(
        tmp_path / "runs.csv", index=False
    )
    assert stages.most_frequent(tmp_path) == ", mostly because the machine was not idle"


def test_an_archive_of_more_runs_lies_beside_the_earlier_one(tmp_path):
    """What was measured is in the earlier one, so it stays; and what a study has packed is not copied as the user's."""
    assert folder_copy.archives(tmp_path, "my-study") == []
    for expected in ("my-study.zip", "my-study.2.zip", "my-study.3.zip"):
        path = folder_copy.next_archive(tmp_path, "my-study")
        assert path.name == expected
        path.write_bytes(b"x")
    assert folder_copy.archives(tmp_path, "my-study")[-1] == path
    study.write(tmp_path / "my-study.yaml", {})
    (tmp_path / "my-study-2.zip").write_bytes(b"of the study my-study-2, or the user's")
    assert sorted(folder_copy.left_out(tmp_path, sorted(one.name for one in tmp_path.iterdir()))) == [
        "my-study.2.zip",
        "my-study.3.zip",
        "my-study.yaml",
        "my-study.zip",
    ]


def test_an_interval_without_0_that_is_undecided_has_the_reason():
    """It is of one comparison, and many are made."""
    row = SimpleNamespace(change=-0.55, low=-0.697, high=-0.399, p_holm=0.07, n=4, deviation=0.2, width=0.01, alpha=0.01)
    told = program_answer._alike(row)
    assert told.startswith("undecided [") and "may show it by chance (p 0.07 for all of them" in told
    assert "can find" in program_answer._alike(SimpleNamespace(**{**vars(row), "high": 0.1}))


def test_what_was_not_measured_again_is_not_packed_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    for content, made in (("five", ["my-x.zip"]), ("five", ["my-x.zip"]), ("seven", ["my-x.2.zip", "my-x.zip"])):
        pack = lambda study, results, target, say, text=content: target.write_text(text)  # noqa: E731
        monkeypatch.setattr(features, "find", lambda name, pack=pack: pack)
        trying._archive({"id": "my-x"})
        assert sorted(path.name for path in tmp_path.glob("*.zip")) == made
    assert (tmp_path / "my-x.zip").read_text() == "five"
