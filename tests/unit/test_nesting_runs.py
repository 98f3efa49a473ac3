"""Parts of a run of nesting: the gate, the program's output, the moments of parents, and how they are judged."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from plimsoll.designs.nesting import attempts, cpu, creation, gate
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, disk
from plimsoll.measuring import watch
from plimsoll.runtimes import docker_nested
from plimsoll.runtimes.docker import Docker
from plimsoll.workloads import find, sysbench
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import DATA

PRINTED = (DATA / "outputs/sysbench.txt").read_text()
ASKED = {"primes": 40000, "events": 400}


def test_a_program_s_time_is_read_from_what_it_prints():
    program = find("sysbench")
    assert program.results(PRINTED, ASKED) == {"seconds": 0.6379}
    words = program.command(ASKED)
    assert words[:2] == ["/usr/bin/sysbench", "cpu"] and {"--cpu-max-prime=40000", "--events=400", "--time=0"} <= set(words)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PRINTED.replace("  400\n", "  399\n"), "it looked 399 times for primes up to 40000, and not 400 times up to 40000"),
        (PRINTED.replace("limit: 40000", "limit: 4000"), "primes up to 4000, and not"),
        (PRINTED.replace("0.6379s", "0.637s"), "line 18 of its output is '    total time:                          0.637s'"),
        (PRINTED.replace("0.6379s", "6.3790s"), "it printed 6.379 for its total time, and 0.638"),
        (PRINTED[:200], "where it ends"),
        (PRINTED[:-1], "ends before line"),
        (PRINTED + PRINTED, "line 32"),
        ("", "it printed nothing"),
    ],
)
def test_output_that_is_not_whole_is_refused(text, reason):
    with pytest.raises(InvalidOutput, match=reason):
        find("sysbench").results(text, ASKED)


def test_context_switches_of_both_kinds_are_counted():
    assert sysbench.switches("voluntary=3\ninvoluntary=12\n") == 15
    for text in (
        "Command exited with non-zero status 1\n",
        "voluntary=3\ninvoluntary=12",
        "voluntary=3\n" * 2,
        "voluntary=-3\ninvoluntary=1\n",
    ):
        with pytest.raises(InvalidOutput):
            sysbench.switches(text)


def test_a_single_event_may_wait_for_longer_than_it_takes():
    dummy = (DATA / "outputs/sysbench_dummy.txt").read_text()
    assert find("sysbench").results(dummy, {"primes": 1, "events": 1}) == {"seconds": 0.0}


def instance(begin: float, lasted: float = 1.0, **changes) -> dict:
    return {"begin": begin, "end": begin + lasted + 0.01, "seconds": lasted, "switches": 10.0, **changes}


def test_a_run_has_the_means_of_its_instances():
    judged = cpu.judge([instance(100.0), instance(100.02, 2.0, switches=30.0)], 99.9)
    assert judged["values"] == {"execution_time": 1.5, "context_switches": 20.0} and judged["apart"] == pytest.approx(0.02)
    assert [one["begin"] for one in judged["each"]] == pytest.approx([0.1, 0.12])


def test_instances_that_did_not_run_at_once_do_not_count():
    assert cpu.judge([instance(100.0), instance(100.09)], 100.0)["apart"] == pytest.approx(0.09)
    with pytest.raises(InvalidOutput, match=r"began 0.20 s apart, and took 1.00 s"):
        cpu.judge([instance(100.0), instance(100.2)], 100.0)


def test_a_program_that_says_it_took_longer_than_its_process_lasted_is_refused():
    with pytest.raises(InvalidOutput, match=r"it printed 3\.0 s"):
        cpu.judge([instance(100.0, 1.0, seconds=3.0)], 100.0)


MOMENTS = {"parent": 1000.4, "engine": 1000.7, "image": 1006.9, "children": 1007.8}


def test_the_parts_of_a_parent_s_time_are_all_of_it():
    made = creation.parts(MOMENTS, 1000.0, 9.0)
    assert made["image_load_time"] == pytest.approx(6.2) and made["other_time"] == pytest.approx(2.8)
    assert made["parent_ready_time"] == pytest.approx(6.9)
    whole = sum(made[part] for part in (*creation.PARTS, "end_time"))
    assert whole == pytest.approx(9.0) and made["end_time"] == pytest.approx(1.2)


def test_a_parent_that_noted_nothing_is_refused():
    with pytest.raises(InvalidOutput, match="when its image had ended"):
        creation.parts({"parent": 1.0, "engine": 2.0}, 0.0, 9.0)


OF_PARENT = "CapEff:\t00000000a82435fb\nSeccomp:\t0\n"
OF_CHILD = "CapEff:\t00000000a80425fb\nSeccomp:\t2\n"


def test_an_instance_ends_well_or_says_why_not(tmp_path):
    log = tmp_path / "log.jsonl"
    line = (DATA / "outputs/loop_once.jsonl").read_text()
    log.write_text(line)
    assert cpu.iteration_times(tmp_path, 10.0, ahead=500.0) == {
        "begin": pytest.approx(1.841248),
        "end": pytest.approx(2.487768),
    }
    for old, new, said in (
        ('"left": ""', '"left": "sleep"', "it ended before what it had started: sleep went on"),
        ('"late": false', '"late": true', "it took longer than 10 s"),
        ('"exit_code": 0', '"exit_code": 3', "it ended with 3"),
    ):
        log.write_text(line.replace(old, new))
        with pytest.raises(InvalidOutput, match=said):
            cpu.iteration_times(tmp_path, 10.0)


TWO_PAIRS = {"task": "cpu", "runtime": "docker-nested", "instances": "2", "children": "1", "server": "none"}


def noted(folder, **texts) -> Path:
    """Write what two parents and two children noted, or the `texts` instead (None: no file). Return the folder."""
    usual = {**dict.fromkeys(("c0-parent", "c1-parent"), OF_PARENT), **dict.fromkeys(("c0", "c1"), OF_CHILD)}
    for name, text in {**usual, **{key.replace("_", "-"): text for key, text in texts.items()}}.items():
        if text is not None:
            (folder / f"plimsoll-r-{name}.status").write_text(text)
    return folder


def test_what_parents_and_children_may_do_is_in_the_record(tmp_path):
    assert attempts.privileges_of(noted(tmp_path), TWO_PAIRS) == {
        "privileges": {
            "parent": {"capabilities": ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"], "seccomp": "off"},
            "child": {"capabilities": [], "seccomp": "on"},
        }
    }
    for cell in ({**TWO_PAIRS, "children": "0"}, {**TWO_PAIRS, "task": "network", "runtime": "docker", "server": "bare"}):
        assert attempts.privileges_of(tmp_path, cell) == {}


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"c1": None}, "^1 of 2 children told what they may do$"),
        ({"c0_parent": None, "c1_parent": None}, "^0 of 2 parents told what they may do$"),
        ({"c1": OF_PARENT}, "^the child plimsoll-r-c1 has CAP_NET_ADMIN, CAP_SYS_ADMIN, seccomp off, and should have no capa"),
        (
            {"c0_parent": OF_CHILD},
            "^the parent plimsoll-r-c0-parent has no capability more than other containers, seccomp on",
        ),
    ],
)
def test_a_run_whose_containers_may_do_something_else_does_not_count(tmp_path, texts, reason):
    with pytest.raises(InvalidOutput, match=reason):
        attempts.privileges_of(noted(tmp_path, **texts), TWO_PAIRS)


DOCKER = Path("/of/docker")
STORE = Path("/of/images")


@pytest.mark.parametrize(
    ("ends", "folders", "gigabytes"),
    [
        (("bare", "bare"), [], None),
        (("docker", "bare"), [DOCKER], 2.0),
        (("bare", "docker"), [DOCKER], 2.0),
        (("bare", "docker-nested"), [DOCKER, STORE], 2.4),
        (("docker-nested", "docker-nested"), [DOCKER, STORE], 2.78),
        (("docker-nested", "vm-emulated"), [DOCKER, STORE], 2.4),
        (("vm-emulated", "bare"), [], None),
    ],
)
def test_there_is_room_where_the_containers_of_both_ends_write(monkeypatch, ends, folders, gigabytes):
    monkeypatch.setattr(Docker, "storage", lambda engine: DOCKER)
    monkeypatch.setattr(attempts.paths, "image_store", lambda: STORE)
    asked = []
    monkeypatch.setattr(attempts.disk, "refuse_less", lambda folder, needed: asked.append((folder, needed / 2**30)))
    network = "bridge+host" if "docker-nested" in ends else "bridge"
    attempts.refuse_full({"task": "network", "runtime": ends[0], "server": ends[1], "network": network})
    assert [folder for folder, _ in asked] == folders
    assert all(needed == pytest.approx(gigabytes, abs=0.01) for _, needed in asked)


@pytest.mark.alone
def test_commands_pass_the_gate_together(tmp_path):
    opened = []
    passed = gate.pass_together([["sleep", "0.3"]] * 8, tmp_path, 10, lambda: opened.append(time.monotonic()))
    assert passed.codes == [0] * 8 and passed.opened >= opened[0]
    assert all(moment > passed.opened for moment in passed.begun)
    assert all(end - begin >= 0.3 for begin, end in zip(passed.begun, passed.ended, strict=True))
    # No command began before the gate was opened, and all had begun before the first one ended.
    assert max(passed.begun) < min(passed.ended)


def test_a_command_has_its_words_output_and_status(tmp_path):
    words = ["sh", "-c", 'printf "%s|" "$@"; echo to err >&2; exit 3', "sh", "two words", "$HOME", "*"]
    passed = gate.pass_together([words], tmp_path, 10)
    assert passed.codes == [3]
    assert (tmp_path / "0.out").read_text() == "two words|$HOME|*|" and (tmp_path / "0.err").read_text() == "to err\n"


def test_what_does_not_end_is_killed_at_the_limit(tmp_path):
    begun = time.monotonic()
    passed = gate.pass_together([["sleep", "60"], ["true"]], tmp_path, 0.5)
    assert time.monotonic() - begun < 5
    assert passed.ended[0] is None and passed.ended[1] is not None and passed.codes == [-9, 0]


def test_commands_are_looked_at_while_they_end_one_after_another(tmp_path, monkeypatch):
    looks = []
    monkeypatch.setattr(gate, "SELDOM", 0.4)
    monkeypatch.setattr(gate, "refuse_endless", lambda *_: looks.append(time.monotonic()))
    passed = gate.pass_together([["sleep", f"{number / 5}"] for number in range(10)], tmp_path, 30)
    assert passed.codes == [0] * 10
    within = [look for look in looks if look < max(passed.ended)]
    # Looks are rare between the ends of two commands.
    assert 2 <= len(within) <= 1 + (max(passed.ended) - passed.opened) / 0.4


@pytest.mark.alone
def test_a_measuring_process_that_is_stopped_at_the_gate_says_so(tmp_path):
    looking = watch.Watch(disk.Room({}), watch.Stops({}))
    stop = f"sleep 0.5; kill -STOP {os.getpid()}; sleep 2.2; kill -CONT {os.getpid()}; sleep 0.1"
    begun = time.monotonic()
    passed = gate.pass_together([["sh", "-c", stop]], tmp_path, 30, watch=looking)
    assert passed.codes == [0]
    (said,) = looking.stops.within([(begun, time.monotonic())])
    assert re.fullmatch(r"the measuring process did not run for [12]\.\d s", said)


def test_a_command_that_is_not_there_is_told(tmp_path):
    passed = gate.pass_together([["/no/such/program"]], tmp_path, 5)
    assert passed.codes == [127] and "/no/such/program" in (tmp_path / "0.err").read_text()


def test_what_processes_start_is_counted_and_they_go_back():
    shell = subprocess.Popen(
        ["bash", "-c", "read -r _; for i in $(seq 100); do /bin/true; done; echo done; read -r _"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    place = Path(f"/proc/{shell.pid}/cgroup")
    with cgroup.counting([shell.pid], cgroup.mounts(), "plimsoll-test") as groups:
        used = sum(map(cgroup.cpu_seconds, groups))
        shell.stdin.write("\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == "done\n"
        counted = sum(map(cgroup.cpu_seconds, groups)) - used
    after = place.read_text()
    shell.stdin.close()
    shell.wait()
    if not groups:
        pytest.skip("no group of version 2 can be made that only counts")
    assert counted > 0.02 and "plimsoll-test" not in after
    assert not [group for group in groups if group.name == "plimsoll-test" and group.exists()]


def test_moments_that_no_parent_notes_are_refused(tmp_path):
    notes = tmp_path / "c0.moments"
    notes.write_text("parent 1000.400000\nengine 1000.700000\nimage 10")
    assert docker_nested.moments(notes) == {"parent": 1000.4, "engine": 1000.7}
    for text in ("parent x", "parent 1.000000\nparent 1.100000", "parent", "", "parent nan", "parent 1e3", "parent 1.4", "\0"):
        notes.write_text(f"{text}\n")
        with pytest.raises(Unavailable, match="has a line that no parent notes"):
            docker_nested.moments(notes)


def test_parts_that_end_before_they_begin_are_refused():
    with pytest.raises(InvalidOutput, match="its image had ended before it had begun"):
        creation.parts({**MOMENTS, "image": 1000.5}, 1000.0, 9.0)
    with pytest.raises(InvalidOutput, match="after it had ended itself"):
        creation.parts(MOMENTS, 1000.0, 1.0)


def test_a_creation_that_did_not_note_its_beginning_has_none(tmp_path):
    now = time.monotonic()
    offset, opened = 1000.0 - now, now - 2
    (tmp_path / "0.begun").write_text("999.500000\n")
    assert gate.begin_moment(tmp_path / "0.begun", offset, opened) == pytest.approx(now - 0.5)
    for text in ("", "999.500000", "x\n", "nan\n", "999.5\n", "999.500000\n" * 2, "900.000000\n", "2000.000000\n"):
        (tmp_path / "0.begun").write_text(text)
        assert gate.begin_moment(tmp_path / "0.begun", offset, opened) is None
