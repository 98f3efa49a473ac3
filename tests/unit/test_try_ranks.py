"""MPI ranks of a user's program: options, their start, their reports, and the answer about splitting."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from plimsoll import runtimes
from plimsoll.designs.program import effects, ladder, side_differences
from plimsoll.designs.program import ranks as running
from plimsoll.designs.program.factors import FILES, FIRST, HOST, STEPS
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import ranks, stages, study, timer
from plimsoll.mpi import launch
from plimsoll.workloads.base import InvalidOutput

from tests.unit.test_program import STUDY, WALL, sentences

SPLIT = ladder.levels("docker-split")
OF_RANKS = {
    **STUDY,
    "metrics": {"wall": WALL},
    "experiments": {FIRST: {"runtime": [HOST, FILES, "docker", "docker-split"]}},
    "program": {**STUDY["program"], "ranks": 2, "containers": 2},
}


@pytest.fixture(autouse=True)
def four_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})


@pytest.mark.parametrize(
    ("number", "containers", "wanted"),
    [
        (None, None, None),
        (2, None, ranks.Ranks(2, True, None)),
        (2, "1,2", ranks.Ranks(2, True, 2)),
        (4, "4, 1", ranks.Ranks(4, True, 4)),
        (4, "2", ranks.Ranks(4, False, 2)),
    ],
)
def test_ranks_and_containers_are_read(number, containers, wanted):
    assert ranks.asked(number, containers, None) == wanted


@pytest.mark.parametrize(
    ("number", "containers", "threads", "told"),
    [
        (None, "1,2", None, "Add --ranks"),
        (0, None, None, "above 0"),
        (5, None, None, "over-subscribed"),
        (3, "1,2", None, "cannot be divided over 2 containers"),
        (2, "1,4", None, "cannot be divided over 4 containers"),
        (4, "1,2,4", None, "such as 1,2"),
        (4, "2,4", None, "such as 1,2"),
        (2, "two", None, "such as 1,2"),
        (2, "0", None, "such as 1,2"),
        (2, "1,", None, "such as 1,2"),
        (2, None, 2, "one thread"),
    ],
)
def test_ranks_that_cannot_be_started_are_refused_in_a_sentence(number, containers, threads, told):
    with pytest.raises(PlimsollError, match=told):
        ranks.asked(number, containers, threads)


def image(folder: Path, **programs: str) -> Path:
    """Return the unpacked files of an image whose loader runs these programs as scripts."""
    (folder / "usr/bin").mkdir(parents=True)
    library = folder / "usr/lib/x86_64-linux-gnu"
    library.mkdir(parents=True)
    (library / "ld-linux-x86-64.so.2").write_text('#!/bin/sh\nshift 2\nexec sh "$@"\n')
    (library / "ld-linux-x86-64.so.2").chmod(0o755)
    for name, text in programs.items():
        (folder / "usr/bin" / name).write_text(f"echo '{text}'\n")
    return folder


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        ({}, "has no mpirun"),
        ({"mpirun": "HYDRA build details: 4.0.2"}, "another MPI"),
        ({"orterun": "something else"}, "not Open MPI's"),
        ({"orterun": "orterun (OpenRTE) 3.1.3"}, "Open MPI 3"),
        ({"orterun": "mpirun (Open MPI) 5.0.1"}, "Open MPI 5"),
    ],
)
def test_an_image_without_a_launcher_that_can_be_started_is_refused(tmp_path, programs, told):
    with pytest.raises(PlimsollError, match=told):
        ranks.refuse_image(image(tmp_path, **programs))


def test_an_image_with_the_launcher_is_accepted(tmp_path):
    ranks.refuse_image(image(tmp_path, orterun="orterun (OpenRTE) 4.1.4"))


def test_an_image_of_another_c_library_is_refused(tmp_path):
    root = image(tmp_path, orterun="orterun (OpenRTE) 4.1.4")
    next(root.glob("usr/lib/*/ld-linux*")).unlink()
    with pytest.raises(PlimsollError, match="no loader"):
        ranks.refuse_image(root)


@pytest.mark.parametrize(
    ("text", "told"), [(None, "has no mpirun"), ("HYDRA", "not Open MPI's"), ("(Open MPI) 4.1.4", "mpirun is")]
)
def test_a_host_without_the_launcher_is_refused(tmp_path, text, told):
    if text:
        (tmp_path / "mpirun").write_text(f"#!/bin/sh\necho '{text}'\n")
        (tmp_path / "mpirun").chmod(0o755)
    with pytest.raises(PlimsollError, match=told):
        ranks.refuse_host(str(tmp_path))


def test_plug_ins_are_packed_whether_or_not_the_launcher_on_this_host_opened_them(tmp_path):
    for name in ("mca_btl_tcp.so", "mca_ess_env.so"):
        (tmp_path / name).touch()
    packed = list(ranks.files_beside([tmp_path / "mca_btl_tcp.so", Path("/usr/lib/libc.so.6")]))
    assert packed[:4] == [Path(launch.MPIRUN), Path(ranks.DAEMON), tmp_path / "mca_btl_tcp.so", tmp_path / "mca_ess_env.so"]


@pytest.fixture
def every_runtime(monkeypatch):
    for name in ladder.DEFAULTS:
        monkeypatch.setattr(type(runtimes.find(name)), "check", lambda _: "1")


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (None, ["docker", "podman", "singularity", "charliecloud"]),
        (ranks.Ranks(2, True, None), ["docker", "podman", "singularity"]),
        (ranks.Ranks(2, False, 2), ["docker-split", "podman-split", "singularity-split"]),
    ],
)
def test_ranks_are_split_only_if_that_is_asked_for(every_runtime, asked, wanted):
    assert study.defaults_here(asked) == wanted


def test_ranks_in_one_container_and_split_are_measured_together(every_runtime):
    found = study.defaults_here(ranks.Ranks(2, True, 2))
    assert found == ["docker", "podman", "singularity", "docker-split", "podman-split", "singularity-split"]
    assert {ladder.unsplit(name) for name in found[3:]} == set(found[:3])


def test_only_the_chosen_runtimes_are_measured(every_runtime, monkeypatch):
    assert study.defaults_here(None, ["podman-rootless", "docker"]) == ["docker", "podman-rootless"]
    assert study.defaults_here(ranks.Ranks(2, True, 2), ["singularity"]) == ["singularity", "singularity-split"]
    assert study.refuse_unknown(["docker", "charliecloud"]) == ("docker", "charliecloud")
    with pytest.raises(
        PlimsollError, match=r"--runtimes 'pod-man' \(did you mean podman\?\)\. Nothing was measured\. Known are"
    ):
        study.refuse_unknown(["docker", "pod-man"])
    with pytest.raises(PlimsollError, match="charliecloud is not tried with several ranks"):
        study.defaults_here(ranks.Ranks(2, True, 0), ["docker", "charliecloud"])
    monkeypatch.setattr(study, "missing_here", lambda: {"podman": "it is not installed", "charliecloud": "gone"})
    with pytest.raises(PlimsollError, match=r"podman does not work here: it is not installed\. Nothing .* of --runtimes\."):
        study.defaults_here(None, ["docker", "podman"])


@pytest.mark.parametrize("name", list(ladder.OF_SPLIT))
def test_a_split_level_is_its_runtime_under_another_name(name):
    split, one = runtimes.find(name), runtimes.find(ladder.unsplit(name))
    assert isinstance(split, type(one)) and split.variant_of == one.name and split.label != one.label
    assert split.left() == [] and split.sweep() is None


RANK = {
    "left": False,
    "user": 0.5,
    "system": 0.25,
    "memory": 1024,
    "minor_faults": 1,
    "major_faults": 0,
    "waits": 2,
    "preempted": 1,
}


def test_a_run_lasts_from_the_last_ranks_start_to_the_last_ranks_end():
    made = running.whole(3, [{**RANK, "begun": 1.0, "ended": 4.0}, {**RANK, "begun": 2.5, "ended": 4.5, "memory": 4096}])
    assert made["run"] == 3 and made["wall"] == 2.0 and made["user"] == 1.0 and made["memory"] == 4096 and made["waits"] == 4


def test_ranks_that_did_not_run_together_or_left_something_do_not_count():
    with pytest.raises(InvalidOutput, match="no MPI program"):
        running.whole(0, [{**RANK, "begun": 1.0, "ended": 2.0}, {**RANK, "begun": 2.0, "ended": 3.0}])
    with pytest.raises(InvalidOutput, match="left processes"):
        running.whole(0, [{**RANK, "begun": 1.0, "ended": 2.0, "left": True}])
    with pytest.raises(InvalidOutput, match="rank 0 left no report"):
        running.reports_of(Path("/nonexistent"), 1)


SLEEPS = 'echo "$OMPI_COMM_WORLD_RANK $GIVEN ${USERS-none}"; cat; exec 3<>/dev/null; sleep 0.2; exit 7'


def test_the_timer_starts_a_rank_with_the_launchers_variables_and_reports_it(tmp_path):
    (tmp_path / "0/work").mkdir(parents=True)
    (tmp_path / "0/ranks").mkdir()
    (tmp_path / "variables").write_text("PATH=/usr/bin:/bin\0GIVEN=yes\0")
    words = [str(timer.program_path()), "--rank", str(tmp_path), "0", "sh", "-c", SLEEPS]
    variables = {"OMPI_COMM_WORLD_RANK": "0", "USERS": "no"}
    done = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (7, "0 yes none\n")
    [one] = running.reports_of(tmp_path / "0", 1)
    assert 0.2 <= one["ended"] - one["begun"] < 15 and not one["left"] and one["shared_memory_segments"] == 0
    assert one["single_copy"] in ("allowed", "refused", "unavailable") and one["connections"] == []
    assert (tmp_path / "0/inside").is_file() and "/sh" in (tmp_path / "0/mapped").read_text().replace("/dash", "/sh")


ACCEPTS = "import socket, sys, time; one = socket.socket(fileno=int(sys.argv[1])).accept(); time.sleep(0.2)"
CONNECTS = "import socket, sys, time; one = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); time.sleep(0.2)"


def test_the_timer_sees_the_connections_of_ranks_and_of_no_other_program(tmp_path):
    for folder in ("work", "ranks"):
        (tmp_path / "0" / folder).mkdir(parents=True)
    (tmp_path / "variables").write_text("")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as of_others,
        socket.create_connection(of_others.getsockname()),
        of_others.accept()[0],
    ):
        programs = ([ACCEPTS, str(server.fileno())], [CONNECTS, str(server.getsockname()[1])])
        started = [
            subprocess.Popen(
                [timer.program_path(), "--rank", tmp_path, "0", sys.executable, "-c", *words],
                env={"OMPI_COMM_WORLD_RANK": str(rank)},
                pass_fds=[server.fileno()],
            )
            for rank, words in enumerate(programs)
        ]
        assert [process.wait(20) for process in started] == [0, 0]
    made = running.reports_of(tmp_path / "0", 2)
    assert [len(rank["connections"]) for rank in made] == [1, 1] and running.connected(made)


# Holds two connections at once, and then only a third one.
CHANGES = """
import socket, sys, time
reach = lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])))
first, dropped = reach(), reach()
time.sleep(0.2)
first.close(), dropped.close()
kept = reach()
time.sleep(0.2)
"""


def test_the_timer_keeps_a_connection_that_follows_dropped_ones(tmp_path):
    for folder in ("work", "ranks"):
        (tmp_path / "0" / folder).mkdir(parents=True)
    (tmp_path / "variables").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = [sys.executable, "-c", CHANGES, str(server.getsockname()[1])]
        words = [timer.program_path(), "--rank", tmp_path, "0", *program]
        assert subprocess.run(words, env={"OMPI_COMM_WORLD_RANK": "0"}, timeout=20).returncode == 0
    [made] = running.reports_of(tmp_path / "0", 1)
    assert len({local for local, _ in made["connections"]}) == len(made["connections"]) == 3


def test_the_timer_needs_a_launcher_for_ranks(tmp_path):
    done = subprocess.run([timer.program_path(), "--rank", tmp_path, "0", "true"], env={}, capture_output=True, text=True)
    assert done.returncode == 127 and "no rank" in done.stderr


def split_world(costs: dict[str, float], stage: str = FIRST) -> pd.DataFrame:
    """Return observations in twenty blocks; a level is slower by its share in `costs`."""
    names = OF_RANKS["experiments"][FIRST]["runtime"] if stage == FIRST else SPLIT
    noise = [1.0, 1.002, 0.998, 1.001, 0.999]
    return pd.DataFrame(
        [
            {"stage": stage, "runtime": name, "metric": "wall", "repetition": block, "value": value}
            for block in range(20)
            for number, name in enumerate(names)
            for value in [(1 + costs.get(name, 0.0)) * noise[(block * (number + 1)) % 5]]
        ]
    )


def test_the_answer_says_what_splitting_costs():
    told = sentences(OF_RANKS, effects.table(split_world({"docker-split": 2.0})))
    assert told[0].startswith("In Docker it is alike within ")
    assert told[1].startswith("Docker, split makes it 3.0 times as slow as this host [")
    assert told[-1].startswith("Over 2 containers it is 3.0 times as slow as in one [")
    alike = sentences(OF_RANKS, effects.table(split_world({})))
    assert alike[-1].startswith("Over 2 containers and in one it is alike within ")


def test_the_steps_of_splitting_are_measured_only_where_it_costs_something():
    assert stages.steps_of(effects.table(split_world({"docker-split": 2.0}))) == list(SPLIT)
    assert stages.steps_of(effects.table(split_world({}))) == []


def test_the_step_at_which_messages_go_by_the_network_is_named_with_what_gives_it_back():
    from_daemon = SPLIT[SPLIT.index("docker-shared-daemon") :]
    first, steps = split_world({"docker-split": 2.0}), split_world(dict.fromkeys(from_daemon, 2.0), STEPS)
    found = effects.table(pd.concat([first, steps]))
    assert [row.runtime for row in found[found["stage"] == STEPS].itertuples() if side_differences.is_costly(row)] == [
        "docker-shared-daemon"
    ]
    assert any("comes with a daemon of Open MPI in each container" in one for one in sentences(OF_RANKS, found))
    assert stages.remedies_of(found) == ["docker-split", "docker-shared"]


def side(carried: str, copy: str = "allowed") -> dict:
    return {"transport": {"carried_by": carried, "single_copy": copy}}


def test_the_transport_is_among_what_differed():
    of_messages = side_differences.messages
    assert of_messages(side("shared memory"), side("TCP")) == [
        "messages: shared memory (single copy allowed) before, TCP after"
    ]
    assert of_messages(side("shared memory"), side("shared memory", "refused")) == [
        "messages: shared memory (single copy allowed) before, shared memory (single copy refused) after"
    ]
    assert of_messages(side("TCP"), side("TCP", "refused")) == []
    assert of_messages({}, {}) == []
    # Messages that were not seen do not differ.
    assert of_messages(side("shared memory"), side("nothing")) == of_messages(side("nothing"), side("TCP")) == []


def test_a_study_of_ranks_has_them_in_its_fingerprint():
    one, other = ({"ranks": 2, **more} for more in ({}, {"containers": 2}))
    assert ranks.parameters(ranks.Ranks(2, True, None)) == one and ranks.parameters(ranks.Ranks(2, True, 2)) == other
    assert ranks.parameters(None) == {} and json.dumps(ranks.launch_prefix(None)) == "[]"


OTHERS = ["0100007F:9C40", "0100007F:1F90"]
ENDS = [["020011AC:0400", "030011AC:0401"], ["030011AC:0401", "020011AC:0400"]]


@pytest.mark.parametrize(
    ("segments", "connections", "carried"),
    [
        ((2, 2), ([OTHERS], [OTHERS]), "shared memory"),
        # A rank that ended before the last look was seen with fewer segments.
        ((1, 2), ([], []), "shared memory"),
        ((1, 1), ([OTHERS, ENDS[0]], [ENDS[1]]), "TCP"),
        ((2, 2), (ENDS[:1], ENDS[1:]), "shared memory and TCP"),
        # A program may hold both ends of a connection itself, or one to another program.
        ((1, 1), (ENDS, [OTHERS]), "nothing"),
        ((0, 0), ([], []), "nothing"),
    ],
)
def test_messages_travel_as_the_ranks_were_seen_and_not_as_others_use_the_network(segments, connections, carried):
    seen = [
        {"single_copy": "allowed", "shared_memory_segments": mapped, "connections": held}
        for mapped, held in zip(segments, connections, strict=True)
    ]
    assert running.transport(seen)["carried_by"] == carried
