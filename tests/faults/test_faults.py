"""The short form of the campaign: a few faults, on different victims, against a few runs."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from plimsoll import designs, paths
from plimsoll.config import studies
from plimsoll.host import cgroup
from plimsoll.measuring import lock, record

from tests.conftest import PROJECT, begun, recorded
from tests.faults import beside, drawing, leftovers, means, outcome, processes
from tests.faults.__main__ import SEEDS, folder, line, log, of, stamp, struck
from tests.faults.apart import Machine
from tests.faults.campaign import Campaign, good, good_at_first, identity, last, summary
from tests.faults.scenes import SCENES, SHORT
from tests.workflow import machine

SEED = 2026
# For each of these kinds the first number is used that draws it.
KINDS = (
    ("measuring process", drawing.KILLED),
    ("workflow", drawing.KILLED),
    ("engine", drawing.KILLED),
    pytest.param("shim", drawing.KILLED, marks=pytest.mark.long),
    pytest.param("machine", drawing.CUT, marks=pytest.mark.long),
)


# Files that tools keep when they list what they have, and an empty folder of CNI.
OF_TOOLS = re.compile(
    r"file: (/run/(libpod|containers)|/dev/shm/libpod_lock|.*/home/\.(apptainer|cache|config)).*|mount: /var/lib/containers/.*"
    r"|file: /var/lib/cni/networks"
)


def number_of(victim: str, how: str) -> int:
    return next(n for n in range(1, 1000) if drawing.draw(SEED, n, SHORT)[3:5] == (victim, how))


@pytest.fixture(scope="module")
def campaign():
    if reason := machine.missing():
        pytest.skip(reason)
    with Campaign(folder(), SHORT) as campaign:
        yield campaign


@pytest.mark.workflow
@pytest.mark.parametrize(("victim", "how"), KINDS)
def test_the_next_start_completes_what_a_fault_has_stopped_and_leaves_nothing(campaign, victim, how):
    fault = drawing.draw(SEED, number_of(victim, how), SHORT)
    # Strike at the first moment at which the victim is there: that is always in time.
    result = campaign.run(fault._replace(after=0.0))
    assert result.struck
    assert (result.problems, result.left, result.wrong) == ([], [], [])


@pytest.mark.workflow
def test_on_command_nothing_is_left_of_workflows(campaign, monkeypatch):
    """This test comes after those that measure, because it removes the image."""
    known = campaign.undisturbed["short"]
    project, host = known.project.folder, campaign.machine
    # As instances of Apptainer leave it.
    host.run("sh", "-c", "mkdir -p /var/lib/cni/networks/bridge && ip link add sbr0 type bridge")
    host.run("touch", "/var/lib/cni/networks/bridge/last_reserved_ip.0")
    usual = leftovers.seen(host, project) - known.empty
    for kind in ("image: plimsoll/hpcc", "network: plimsoll", "device: sbr0"):
        assert any(one.startswith(kind) for one in usual), (kind, usual)
    with open(project / "said.txt", "w+") as said:
        words = (".venv/bin/python", "-m", "plimsoll.cli", "clean-up", "--all")
        done = host.start(*words, folder=project, out=said, PYTHONPATH=str(project / "scripts"))
        assert done.wait(200) == 0, said.seek(0) or said.read()
    # Files of tools stay, so this time is waited in any case.
    monkeypatch.setattr(leftovers, "PATIENCE", 1.0)
    left = [one.replace(str(host.folder), "") for one in leftovers.left(host, project, known.empty)]
    assert [one for one in left if not OF_TOOLS.fullmatch(one)] == []
    assert not list(host.seen(str(paths.image_store())).iterdir()) and not list(host.seen("/run/lock").glob("plimsoll*"))


def test_a_number_gives_the_same_fault_and_the_numbers_all_victims():
    drawn = [drawing.draw(SEED, number) for number in range(1, 2000)]
    assert drawn == [drawing.draw(SEED, number) for number in range(1, 2000)]
    assert {(one.scene, one.victim) for one in drawn} == {
        (name, victim) for name, scene in SCENES.items() for victim in (*drawing.EVERYWHERE, *scene.victims)
    }
    known = {"workflow", "machine", *processes.VICTIMS, *means.MEANS}
    assert {one.victim for one in drawn} <= known and {one.how for one in drawn} == {
        *(drawing.KILLED, drawing.STOPPED, drawing.CUT, drawing.TAKEN, drawing.CHANGED)
    }


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_what_is_left_of_a_study_in_a_scene_can_be_asked(scene, tmp_path):
    scene.prepare(tmp_path)
    study = studies.read(tmp_path / f"config/studies/{scene.study}.yaml", designs.known())
    claims = yaml.safe_load((tmp_path / f"config/claims/{scene.study}.yaml").read_text())["claims"]
    assert study["experiments"] and claims


NOTHING: dict[str, list[str]] = {"problems": [], "left": [], "wrong": []}


@pytest.mark.parametrize(
    ("runs", "by_it"),
    [
        ([("valid", None), ("disturbed", (0.33, 0.11))], True),
        ([("disturbed", (0.33, None))], True),
        ([("disturbed", (0.33, 0.11)), ("disturbed", (0.0, 3.0))], False),
        ([("disturbed", (0.33, 0.11)), ("failed", (0.33, 0.11))], False),
        ([("valid", None)], False),
    ],
)
def test_only_what_a_hypervisor_takes_excuses_a_run(tmp_path, monkeypatch, runs, by_it):
    found = {}
    for number, (named, during) in enumerate(runs, 1):
        path = tmp_path / f"results/s/runs/a/{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        stolen, used = during or (0.0, 0.0)
        found[path] = {"status": named, "noise": {"during": {"stolen_seconds": stolen, "neighbour_seconds": used}}}
    monkeypatch.setattr(record, "read", found.__getitem__)
    wanted = {str(path.relative_to(tmp_path)) for path in found}
    assert outcome.hypervisor_disturbed(tmp_path) == outcome.hypervisor_disturbed(tmp_path, wanted) == by_it
    assert not outcome.hypervisor_disturbed(tmp_path, {*wanted, "results/s/runs/a/9.json"})


def test_the_summary_counts_by_kind():
    fault = drawing.draw(SEED, 1)._asdict()

    def made(number: int, struck: str = "it", **other: list[str]) -> dict:
        return {"fault": {**fault, "number": number}, "struck": struck, **NOTHING, **other}

    said = ["record lost: a", "raw output changed: b", "record missing: c", "record not valid: d", "result missing: e"]
    lost = made(2, problems=said, left=["mount: f"], wrong=["claims.json"])
    # The last try at number 4 comes too late for its victim.
    text = summary([made(1), lost, made(3, ""), made(4, left=["mount: f"]), made(4), made(4, "")])
    kind, numbers = f"{fault['victim']}, {fault['how']}", "| 3 | 1 | 2 | 2 | 1 | 1 | 1 |"
    assert f"| {kind} {numbers}" in text and text.splitlines()[-1] == f"| all {numbers}"


def test_a_campaign_has_the_lines_of_its_scenes_and_counts_the_last_of_each_number():
    by = stamp()
    assert len(by["scenes"]) == 16 and by["commit"]

    def made(number: int, struck: str, **other: str) -> dict:
        return {"fault": {"seed": SEED, "number": number}, "struck": struck, "by": {**by, **other}, **NOTHING}

    lines = [made(1, "it"), made(2, ""), made(3, "it", scenes="x"), {"fault": {"number": 4}, "struck": "it"}]
    again = made(1, "it", commit="x")
    found = of(by, "".join(line(one) + "\n" for one in [*lines, again]))
    assert found == [*lines[:2], again] and last(found) == [again, lines[1]] and struck(found) == 1


def test_a_fault_that_was_not_good_stays_so_until_it_has_struck_and_was():
    fault = {"fault": {"seed": SEED, "number": 1}, "problems": [], "wrong": []}
    bad, missed = {**fault, "struck": "it", "left": ["mount: a"]}, {**fault, "struck": "", "left": []}
    struck_well = {**fault, "struck": "it", "left": []}
    assert last([bad, missed]) == [bad] and last([bad, missed, struck_well]) == [struck_well]
    assert last([struck_well, missed]) == [struck_well] and last([struck_well, bad]) == [bad]
    assert last([{**bad, "struck": ""}, struck_well]) == [struck_well] and last([missed]) == [missed]
    assert good_at_first([missed, struck_well]) == {(SEED, 1)} and good_at_first([missed, bad, struck_well]) == set()
    assert good_at_first([{**bad, "struck": ""}, struck_well]) == set()


def test_the_docs_show_the_campaigns_that_come_with_the_project():
    shown = (PROJECT / "docs/reports/faults.md").read_text()
    by = {"scenes": re.search(r"scenes of digest `([0-9a-f]{16})`", shown)[1]}
    made = {seed: of(by, log(seed).read_text()) for seed in SEEDS}
    assert all(made.values())
    assert summary(one for results in made.values() for one in results) in shown
    for seed, results in made.items():
        counted = [one for one in last(results) if one["struck"]]
        at_first = len(good_at_first(results) & {identity(one) for one in counted})
        assert f"| {seed} | {len(counted)} | {at_first} | {sum(map(good, counted))} | " in shown


def test_a_line_names_no_folder_of_its_machine():
    told = f"{PROJECT}/tests and {Path.home()}/x"
    assert line({"struck": told}) == '{"struck": "~/tests and ~/x"}'
    assert line({"struck": f"{Path(sys.prefix).resolve()}/bin/python"}).startswith('{"struck": "~/')


def test_a_stray_beside_a_run_is_named_and_what_the_run_has_itself_is_not():
    there = [(10, 3, "old", "hpcc"), (20, 4, "new", "mpirun"), (21, 5, "new", "hpcc")]
    assert beside.strays(there) == {(3, "old"): "hpcc of the run old beside new"}
    assert beside.strays(there[1:]) == beside.strays([]) == {}


def test_strays_are_seen_by_the_mark_of_their_run(monkeypatch):
    # The test has its own variable, because other processes may measure.
    monkeypatch.setattr(lock, "VARIABLE", "PLIMSOLL_TEST_OF_BESIDE")
    monkeypatch.setattr(beside, "EVERY_SECONDS", 0.02)
    started = []
    with beside.watched() as told:
        for run in ("old", "new"):
            started.append(begun(["sleep", "60"], env={lock.VARIABLE: run, "PATH": "/usr/bin:/bin"}))
            # Their start times must differ in the kernel's units.
            time.sleep(0.3)
    for one in started:
        one.kill()
        one.wait()
    assert told == ["stray beside a run: sleep of the run old beside new"]


def test_raw_output_and_verdicts_that_are_not_what_they_were_are_told(tmp_path):
    raw = tmp_path / "results/s/raw/a/1-1"
    raw.mkdir(parents=True)
    for name in ("same", "changed", "lost"):
        (raw / name).write_text(name)
    sums = outcome._sums(tmp_path, raw)
    (raw / "changed").write_text("anew")
    (raw / "lost").unlink()
    path = record.path_of(tmp_path / "results/s/runs", "a", 1)
    record.keep(path, recorded(status="valid", raw="raw/a/1-1", repetition=1, cell={"path": "a", "runtime": "bare"}))
    found = outcome.problems(tmp_path, ({str(path.relative_to(tmp_path))}, set()), [outcome.Kept({}, sums)])
    assert found == ["raw output changed: results/s/raw/a/1-1/changed", "raw output lost: results/s/raw/a/1-1/lost"]
    made = (*outcome.OBSERVED, *outcome.JUDGED)
    assert outcome.wrong_verdicts(tmp_path, "s") == [f"{name} of s is not there" for name in made]
    for name in made:
        (tmp_path / "results/s" / name).write_text("[]")
    (wrong,) = outcome.wrong_verdicts(tmp_path, "s")
    assert wrong.startswith("the records cannot be judged: ")


# One thing of each kind that a run could leave: how its name begins, and the command that makes it there.
PLANTED = {
    "image: planted:1 ": "tar --create --files-from /dev/null | docker import - planted:1",
    "container: planted ": "docker create --name planted planted:1 true",
    "network: planted": "docker network create planted",
    "volume: planted": "docker volume create planted",
    "device: planted": "ip link add planted type bridge",
    "namespace: planted": "ip netns add planted",
    "mount: /mnt (tmpfs)": "mount -t tmpfs planted /mnt",
    "loop device: ": "truncate --size 1M FOLDER/planted; losetup --find FOLDER/planted",
    "firewall: -A FORWARD -s 192.0.2.1/32 ": "iptables -A FORWARD -s 192.0.2.1 -j DROP",
    "firewall of IPv6: -A FORWARD -s 2001:db8::1/128 ": "ip6tables -A FORWARD -s 2001:db8::1 -j DROP",
    "cgroup: ": "mkdir $(awk '$3 ~ /^cgroup/ {print $2; exit}' /proc/mounts)/plimsoll-planted",
    "process: sleep (sleep 98765)": "setsid --fork sleep 98765",
    # These have the names of the machine's engine, and of what its first process waits for.
    "process: dockerd (dockerd 98765)": "cp /bin/sleep /tmp/dockerd; setsid --fork unshare --pid --fork "
    "bash -c 'exec -a dockerd /tmp/dockerd 98765'",
    "process: sleep (sleep infinity)": "setsid --fork sleep infinity",
    "namespace of: /tmp/planted": "cp /bin/sleep /tmp/planted; setsid --fork unshare --net /tmp/planted 98765",
    "file: /tmp/planted": "true",
    "file: /var/tmp/planted": "touch /var/tmp/planted",
    "file: /dev/shm/planted": "touch /dev/shm/planted",
    "file: /run/planted": "touch /run/planted",
    "file: PROJECT/results/.x.new": "true",
}


@pytest.fixture
def host():
    if reason := machine.missing():
        pytest.skip(reason)
    host = Machine(folder())
    yield host
    looped = subprocess.run(
        ["losetup", "--noheadings", "--output", "NAME", "--associated", str(host.folder / "planted")],
        capture_output=True,
        text=True,
    )
    for name in looped.stdout.split():
        subprocess.run(["losetup", "--detach", name])
    host.remove()
    cgroup.remove("plimsoll-planted")


@pytest.mark.workflow
def test_each_kind_of_thing_that_may_be_left_is_seen(host, tmp_path, monkeypatch):
    # None of these things is about to disappear.
    monkeypatch.setattr(leftovers, "PATIENCE", 1.0)
    (tmp_path / "results").mkdir()
    before = leftovers.seen(host, tmp_path)
    for command in PLANTED.values():
        host.ask("bash", "-c", f"({command.replace('FOLDER', str(host.folder))}) >/dev/null 2>&1 </dev/null")
    (tmp_path / "results/.x.new").touch()
    left = leftovers.left(host, tmp_path, before)
    wanted = [what.replace("PROJECT", str(tmp_path)) for what in PLANTED]
    assert [what for what in wanted if not any(each.startswith(what) for each in left)] == []
    # Two things of the same name are counted as two.
    host.ask("bash", "-c", "setsid --fork sleep 98765 >/dev/null 2>&1 </dev/null")
    assert leftovers.left(host, tmp_path, before).count("process: sleep (sleep 98765)") == 2
