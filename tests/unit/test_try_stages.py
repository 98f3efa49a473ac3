"""Stages of a study of a program: how often p is read, what is measured without root, and remedies with their volumes."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.designs.program import attempts, effects, ladder, side_differences, watched_run
from plimsoll.designs.program.factors import FILES, FIRST, HOST, LOOK, REMEDY, STEPS
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import __main__ as trying
from plimsoll.features.try_program import stages, study, study_content, trial
from plimsoll.features.try_program.ranks import Ranks

from tests.unit.test_program import DOCKER, STUDY, of_command, of_minutes, sentences, world

FIRST_ONES = (HOST, FILES, "docker")
# Levels of Docker's ladder in no container.
NEED_ROOT = (FILES, "docker-cgroup")


def costly_steps(found: pd.DataFrame) -> list[str]:
    return [row.runtime for row in found[found["stage"] == STEPS].itertuples() if side_differences.is_costly(row)]


# How often p is read


def alike(seed: int, blocks: int = 60) -> pd.DataFrame:
    """Return observations of a program that is alike everywhere."""
    drawn = np.random.default_rng(seed)
    cells = [*((FIRST, name) for name in FIRST_ONES), *((STEPS, name) for name in DOCKER)]
    return pd.DataFrame(
        {
            "stage": np.repeat([stage for stage, _ in cells], blocks),
            "runtime": np.repeat([name for _, name in cells], blocks),
            "metric": "wall",
            "repetition": np.tile(np.arange(1, blocks + 1), len(cells)),
            "value": np.exp(drawn.normal(0, 0.05, blocks * len(cells))),
        }
    )


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """Return a function that measures drawn runs in all stages, and returns what it finds. A block of a cell takes a second."""
    clock, blocks = [0.0], {}
    made = of_minutes(3)
    made["experiments"] = {**made["experiments"], FIRST: {"runtime": list(FIRST_ONES)}, LOOK: {"runtime": list(FIRST_ONES)}}

    def make(*_):
        for cell, number in stages.repetitions.read_request(tmp_path, stages.PROFILE).cells.items():
            clock[0] += max(0, number - blocks.get(cell, 0))
            blocks[cell] = max(number, blocks.get(cell, 0))

    def measure(observed: pd.DataFrame, **program) -> pd.DataFrame:
        blocks.clear()
        (tmp_path / stages.repetitions.FILE).unlink(missing_ok=True)
        cells = observed["stage"] + "/" + observed["runtime"]

        @cache
        def table(_: tuple) -> pd.DataFrame:
            return effects.table(observed[observed["repetition"] <= cells.map(blocks).fillna(0)])

        monkeypatch.setattr(stages, "table", lambda *_: table(tuple(blocks.items())))
        return stages.measure({**made, "program": {**made["program"], **program}}, tmp_path)

    monkeypatch.setenv(stages.noise.WAIT_UNTIL, "0")
    monkeypatch.setattr(stages.configuration, "wish", lambda *_: None)
    monkeypatch.setattr(stages.rounds, "make", make)
    monkeypatch.setattr(stages.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(stages, "_measured", lambda _, cell: blocks.get(cell, 0))
    return measure


def test_a_program_that_is_alike_everywhere_costs_nothing_in_95_of_100_however_often_p_is_read(simulated):
    """The first pass is read at half of the time. It goes on, and is read again, where that showed no cost."""
    falsely, numbers = 0, set()
    for seed in range(200):
        found = simulated(alike(seed))
        own = found[found["stage"] == FIRST]
        numbers |= set(own["n"])
        falsely += any(side_differences.is_costly(row) for row in own.itertuples())
    assert len(numbers) == 2 and min(numbers) == 30 and max(numbers) > 50
    assert falsely / 200 <= 0.05


@pytest.mark.parametrize(("expected_seconds", "looked"), [(2, True), (60, False)])
def test_both_sides_of_other_files_are_watched_before_the_first_pass_takes_the_rest_of_the_time(
    simulated, capsys, tmp_path, expected_seconds, looked
):
    observed = alike(1)
    observed.loc[observed["runtime"] != HOST, "value"] *= 1.5
    found = simulated(observed, expected_seconds=expected_seconds)
    blocks = stages.repetitions.read_request(tmp_path, stages.PROFILE).cells
    # The first pass has gone on if its next blocks fit into the time.
    assert (found.loc[found["stage"] == FIRST, "n"].max() > 30) == looked
    assert {cell for cell in blocks if cell.startswith(LOOK)} == ({f"{LOOK}/{HOST}", f"{LOOK}/{FILES}"} if looked else set())
    assert capsys.readouterr().out.count("no time is left for a look at both sides") == (not looked)


def test_p_of_the_first_pass_allows_for_two_readings_and_p_of_other_stages_for_one(monkeypatch):
    twice = effects.table(world({"docker-filtered": 0.01}))
    monkeypatch.setattr(effects, "READINGS", {})
    once = effects.table(world({"docker-filtered": 0.01}))
    first = twice["stage"] == FIRST
    assert twice.loc[first, "p_holm"].tolist() == (2 * once.loc[first, "p_holm"]).clip(upper=1.0).tolist()
    assert twice.loc[~first, "p_holm"].tolist() == once.loc[~first, "p_holm"].tolist()
    assert 0 < once.loc[first, "p_holm"].min() < 0.5


# Without root


def without_root(observed: pd.DataFrame) -> pd.DataFrame:
    """Return the observations that a user who is not root has: of this host, also in the steps, and of containers."""
    own = observed[~observed["runtime"].isin(NEED_ROOT)]
    host = own[(own["stage"] == FIRST) & (own["runtime"] == HOST)].assign(stage=STEPS)
    return pd.concat([own, host], ignore_index=True)


def test_without_the_images_files_steps_begin_at_this_host():
    observed = without_root(world({"docker-filtered": 0.3}))
    first = effects.table(observed[observed["stage"] == FIRST])
    assert stages.steps_of(first) == [HOST, *DOCKER[1:]]
    found = effects.table(observed)
    steps = found[found["stage"] == STEPS]
    assert steps["runtime"].tolist() == list(DOCKER[2:]) and steps["against"].tolist() == [HOST, *DOCKER[2:-1]]
    assert steps["adds"].iloc[0] == " and ".join(ladder.adds(name, "docker") for name in DOCKER[:3])
    assert costly_steps(found) == ["docker-filtered"]
    assert stages.remedies_of(found) == ["docker", "docker-with-seccomp"]
    assert stages.sides_of(found) == ["docker-unfiltered", "docker-filtered"]
    told = sentences(STUDY, found)
    assert "come with the seccomp filter" in told[1] and any("seccomp=unconfined it takes" in one for one in told)
    assert stages.steps_of(effects.table(without_root(world({})))) == []


def test_without_the_images_files_what_is_below_the_lowest_container_is_one_step():
    found = effects.table(without_root(world({FILES: 0.3})))
    assert costly_steps(found) == [DOCKER[2]]
    assert "come with other files and" in sentences(STUDY, found)[1]


def test_both_sides_of_a_default_are_watched_where_no_step_of_it_was_measured():
    observed = without_root(world({"docker-filtered": 0.3}))
    assert stages.sides_of(effects.table(observed[observed["stage"] == FIRST])) == [HOST, "docker"]
    # The level `files` is a step.
    whole = world({"docker-filtered": 0.3})
    assert stages.sides_of(effects.table(whole[whole["stage"] == FIRST])) == [FILES, "docker"]


def test_the_steps_of_a_study_have_this_host_if_the_program_runs_on_it():
    asked = of_command("solver", name="x", minutes=5.0, width=0.01, limit=60.0, ranks=None)
    tried = trial.TrialResult(0.1, {}, ("1", "1"))
    for result, lowest in ((tried, [HOST, FILES]), (None, [FILES])):
        made = study_content.of_study(asked, "my-x", "the files", result, ["docker"], None)["experiments"]
        assert made[STEPS]["runtime"] == [*lowest, *DOCKER[1:]] and made[FIRST]["runtime"] == [*lowest, "docker"]


@pytest.mark.parametrize("of_ranks", [None, Ranks(2, True, 2)])
def test_every_level_of_a_study_can_be_watched_and_so_can_levels_of_ranks(of_ranks):
    asked = of_command("solver", name="x", minutes=5.0, width=0.01, limit=60.0, ranks=of_ranks)
    defaults = ["docker", *(["docker-split"] if of_ranks else [])]
    made = study_content.of_study(asked, "my-x", "the files", None, defaults, None)["experiments"]
    assert {*made[FIRST]["runtime"], *made[STEPS]["runtime"]} == set(made[LOOK]["runtime"])
    assert ("docker-shared" in made[LOOK]["runtime"]) == bool(of_ranks)


@pytest.fixture
def unavailable(monkeypatch, tmp_path):
    """A folder with a plan in which the image's files cannot be measured."""
    cells = {f"{stage}/{FILES}": {"reason": "it needs root"} for stage in (FIRST, STEPS)}
    monkeypatch.setattr(stages.plan_file, "read", lambda _: {"cells": {f"{FIRST}/{HOST}": {"reason": None}, **cells}})
    (tmp_path / "plan.json").touch()
    return tmp_path


def records(folder: Path, number: int, *cells: str) -> None:
    for cell in cells:
        (folder / "runs" / cell).mkdir(parents=True, exist_ok=True)
        (folder / "runs" / cell / f"{number}.json").touch()


def test_no_time_is_kept_for_cells_that_cannot_be_measured_here(unavailable):
    made = of_minutes(20)
    block = stages.block_seconds(made["program"], [f"{FIRST}/{HOST}", f"{FIRST}/docker"])
    assert stages.missing(made, unavailable, FIRST, FIRST_ONES) == stages.LEAST * block
    records(unavailable, stages.LEAST, f"{FIRST}/{HOST}")
    assert stages.missing(made, unavailable, FIRST, FIRST_ONES) == stages.LEAST * block
    records(unavailable, stages.LEAST, f"{FIRST}/docker")
    assert stages.missing(made, unavailable, FIRST, FIRST_ONES) == 0


def test_the_time_of_blocks_is_that_of_the_slowest_runtime_so_far(monkeypatch, tmp_path):
    made = of_minutes(3)
    assert stages.as_seen(made, tmp_path) == made["program"]
    (tmp_path / "observations.csv").touch()
    rows = [("host", "wall", 0.1), ("docker", "wall", 0.3), ("docker", "wall", 0.5), ("docker", "start", 9.0)]
    for number, seconds in ((4, 0.4), (1, 0.1), (0, 0.1)):
        seen = pd.DataFrame(rows[:number], columns=["runtime", "metric", "value"])
        monkeypatch.setattr(stages, "observed", lambda _, seen=seen: seen)
        assert stages.as_seen(made, tmp_path) == {**made["program"], "expected_seconds": pytest.approx(seconds)}
    monkeypatch.setattr(stages, "observed", lambda _: pd.DataFrame(rows, columns=["runtime", "metric", "value"]))
    blocks = stages.block_seconds({**made["program"], "expected_seconds": 0.4}, [f"{FIRST}/{HOST}"])
    assert stages.missing(made, tmp_path, FIRST, [HOST]) == pytest.approx(stages.LEAST * blocks)


@pytest.mark.parametrize(("done", "goes_on"), [(90, False), (89, True)])
def test_a_first_pass_goes_on_by_the_blocks_of_cells_that_can_be_measured(unavailable, monkeypatch, done, goes_on):
    spent = []
    made = of_minutes(20)
    made["experiments"] = {FIRST: {"runtime": list(FIRST_ONES)}, STEPS: {"runtime": []}, REMEDY: {"runtime": []}}
    monkeypatch.setattr(stages, "_spend", lambda *given, until=None: spent.append((given[3], until)) or {})
    monkeypatch.setattr(stages, "_needed", lambda *_: 90)
    monkeypatch.setattr(stages, "table", lambda *_: effects.table(pd.DataFrame()))
    records(unavailable, done, f"{FIRST}/{HOST}", f"{FIRST}/docker")
    stages.measure(made, unavailable)
    assert spent == [(FIRST, None), *([(FIRST, REMEDY)] if goes_on else [])]


def test_runtimes_that_are_unavailable_have_their_reasons_and_those_of_other_defaults_are_told(monkeypatch, tmp_path):
    reasons = {HOST: None, FILES: "it needs root", "podman": None}
    cells = {name: {"stage": FIRST, "runtime": name, "reason": reason} for name, reason in reasons.items()}
    cells["steps"] = {"stage": STEPS, "runtime": "docker-open", "reason": "it needs root too"}
    monkeypatch.setattr("plimsoll.measuring.plan_file.read", lambda _: {"cells": cells})
    here = {"docker": "no engine", "podman-rootless": "you are root"}
    monkeypatch.setattr(study, "missing_here", lambda: here)
    missing = trying._missing(STUDY, tmp_path)
    # Podman with root is measured in the place of Podman without.
    assert missing == {FILES: "it needs root", "docker": "no engine"}
    monkeypatch.chdir(tmp_path)
    without_docker = {**STUDY, "experiments": {FIRST: {"runtime": [HOST, FILES, "podman"]}}}
    answer = {"answer": ["Podman makes it slower."], "why": [], "unavailable": missing}
    told = trying._as_text(without_docker, answer).splitlines()
    assert told[1:3] == ["Podman makes it slower.", "Not measured here: Docker (no engine)."]
    assert "Not measured here" not in trying._as_text(without_docker, {**answer, "unavailable": {FILES: "it needs root"}})


def test_a_program_of_an_image_alone_needs_root(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study, "on_host", lambda *_: None)
    monkeypatch.setattr(study.runtimes, "unavailable", lambda names: dict.fromkeys(names, "its files need root"))
    with pytest.raises(PlimsollError, match="and its files need root, so there is nothing to compare .* as root."):
        study.make(of_command("solver", image="solver:2", name="x"), tmp_path / "timer", print)
    assert list(tmp_path.iterdir()) == []


# Remedies


def test_a_larger_shared_memory_is_tried_before_that_of_this_host():
    found = effects.table(world({"docker-ipc": 0.3}))
    assert stages.remedies_of(found) == ["docker", "docker-with-shm", "docker-with-ipc"]
    told = [one for one in sentences(STUDY, found) if " it takes " in one]
    assert [one.partition(" it takes ")[0] for one in told] == [
        "With --shm-size as large as this host's /dev/shm",
        "With --ipc host",
    ]


def test_folders_of_a_containers_layers_are_those_that_it_does_not_share_and_that_are_on_a_disk(tmp_path):
    overlay, memory, kernel = 2035054128, 16914836, 40864
    seen = {"/data/a b": overlay, "/": overlay, "/dev/shm": memory, "/proc/self": kernel, "/var/lib/x": 61267}
    seen |= {f"{tmp_path}/0/work": 61267, f"{tmp_path}/0/work/deep": 61267, f"{tmp_path}/home": 61267}
    lines = [f"written {kind} {place}" for place, kind in seen.items()]
    (tmp_path / "looked").write_text("\n".join(["traced 1 -", "EPERM 3 mbind", *lines, ""]))
    assert watched_run.layer_folders(tmp_path) == ["/data/a b", "/var/lib/x"]
    assert watched_run.layer_folders(tmp_path / "missing") == []


@pytest.mark.parametrize("problem", [None, TimeoutError()])
def test_folders_of_layers_are_looked_for_once_in_a_container(monkeypatch, problem):
    started = []

    def start(words, folder, limit):
        started.append((words, limit))
        (folder / "looked").write_text("".join(f"written 2035054128 {one}\n" for one in ("/tmp/x", "/tmp", "/data", "/a:b")))
        if problem:
            raise problem

    monkeypatch.setattr(trial.client, "command", lambda: ("docker",))
    monkeypatch.setattr(trial, "_started", start)
    assert trial.layer_folders(of_command("solver", "case.txt", limit=5.0), {"tag": "tag"}, {}) == ["/data"]
    [(words, limit)] = started
    assert words[0] == "docker" and words[-4:] == ["5", watched_run.COUNT, "solver", "case.txt"]
    assert limit == 5.0 + trial.AROUND


def cells_of(written: list[str]) -> dict[str, dict]:
    """Return the cells of a study whose program writes into these folders, by their paths."""
    program = {"command": ["x"], "runs": 1, "expected_seconds": 1.0, "limit_seconds": 5, "written": written}
    experiments = {stage: {"runtime": ["docker", "docker-open", "docker-with-volumes"]} for stage in (FIRST, REMEDY)}
    config = {"runtimes": dict.fromkeys(experiments[FIRST]["runtime"], "optional")}
    made = designs.find("program").cells.wanted(
        {"program": program, "experiments": experiments}, {}, {"sizes": {"host": []}}, config, {}
    )
    return {cell["path"]: cell for _, cell in made}


def test_only_levels_with_volumes_depend_on_where_the_program_writes():
    one, other = cells_of(["/data"]), cells_of(["/data", "/srv"])
    changed = {path for path in one if one[path]["fingerprint"] != other[path]["fingerprint"]}
    assert changed == {path for path in one if path.endswith("-volumes")} and len(changed) == 2
    assert one["remedy/docker-with-volumes"]["parameters"]["written"] == ["/data"]


@pytest.mark.parametrize("path", ["remedy/docker-with-volumes", "remedy/docker"])
def test_a_default_with_volumes_has_those_of_the_folders_that_the_program_writes(monkeypatch, tmp_path, path):
    given = []
    services = SimpleNamespace(spec=lambda *_, **more: given.append(more), start=lambda specs: [None for _ in specs])
    monkeypatch.setattr(attempts, "Services", lambda *_: services)
    watch = SimpleNamespace(room=SimpleNamespace(watch=lambda _: None))
    run = attempts.ProgramRun(
        SimpleNamespace(folder=tmp_path, image={}, cell=cells_of(["/data", "/srv"])[path], identity="1", watch=watch)
    )
    monkeypatch.setattr(type(run.runtime), "storage", lambda _: tmp_path)
    run._node()
    assert given[0]["volumes"] == (("/data", "/srv") if path.endswith("-volumes") else ())
