"""Runs of two systems are never pooled: what a system is, when it is another one, and what happens to its runs."""

import json
import os

import pytest
from plimsoll.errors import Unavailable
from plimsoll.host import system as of_host
from plimsoll.measuring import system
from plimsoll.planning import new_system


class Engine:
    """A runtime with one program, which can be upgraded or silenced, and which counts the queries for its version."""

    def __init__(self, path, name="docker"):
        self.path, self.name, self.version, self.asked = path, name, "28.1", 0
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)

    def versions(self):
        self.asked += 1
        if self.version is None:
            raise Unavailable("the engine does not answer")
        return {"Engine": self.version}

    def programs(self):
        return (str(self.path), "a-program-that-is-not-there", str(self.path.with_name("settings.json")))

    def upgrade(self, version):
        self.version = version
        os.utime(self.path, (1, 1))


@pytest.fixture
def engine(tmp_path):
    return Engine(tmp_path / "engine")


@pytest.fixture
def host(monkeypatch):
    """Return the facts about this host, which a test may change."""
    facts = {"kernel": "6.1", "microcode": "0x1"}
    monkeypatch.setattr(of_host, "facts", lambda: dict(facts))
    monkeypatch.setattr(of_host, "settings", lambda: {"governor": facts.get("governor", "none")})
    return facts


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "results/liu2020"
    made.mkdir(parents=True)
    return made


def put_record(folder, name="a/1"):
    path = folder / f"runs/{name}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")


def test_runs_on_the_same_system_carry_the_same_identity_and_ask_once(folder, engine, host):
    first = system.identity(folder, engine)
    put_record(folder)
    assert system.identity(folder, engine) == first
    assert engine.asked == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda host, engine: engine.upgrade("29.0"), "docker, Engine: 28.1 then, 29.0 now"),
        (lambda host, engine: host.update(governor="powersave"), "governor: none then, powersave now"),
    ],
)
def test_what_changes_while_it_measures_stops_it(folder, engine, host, change, said):
    system.identity(folder, engine)
    put_record(folder)
    change(host, engine)
    with pytest.raises(system.Another, match="liu2020 was measured on another system") as problem:
        system.identity(folder, engine)
    assert said in str(problem.value) and "./plimsoll new-system" in str(problem.value)


def test_what_has_changed_is_told_in_one_sentence_however_much_it_is(folder, engine, host):
    host.update({f"mitigation {number}": "pointer sanitization " * 1000 for number in range(50)})
    system.note(folder, [engine])
    put_record(folder)
    host.update({f"mitigation {number}": "none" for number in range(50)})
    with pytest.raises(system.Another, match="45 more") as problem:
        system.note(folder, [engine])
    assert len(str(problem.value)) < 1200


def test_long_versions_that_differ_at_their_ends_are_told_apart():
    long = "Mitigation: " + "a; " * 100
    (said,) = system.differences({system.HOST: {"spectre_v2": f"{long}BHI: x"}}, {system.HOST: {"spectre_v2": f"{long}BHI: y"}})
    assert len(said) < 200 and said.endswith("BHI: y now") and "BHI: x then, …" in said
    (said,) = system.differences({system.HOST: {"kernel": "6.1"}}, {system.HOST: {"kernel": "6.2"}})
    assert said == "kernel: 6.1 then, 6.2 now"


def test_settings_that_are_written_changed_or_deleted_have_the_engine_asked_again(folder, engine, host):
    first = system.identity(folder, engine)
    settings = engine.path.with_name("settings.json")
    for number, text in enumerate(("{}", '{"seccomp-profile": "mine"}', None), start=2):
        settings.unlink(missing_ok=True)
        if text is not None:
            settings.write_text(text)
        assert system.identity(folder, engine) == first
        assert engine.asked == number


def test_another_kernel_is_seen_at_the_next_start(folder, engine, host):
    system.note(folder, [engine])
    put_record(folder)
    host.update(kernel="6.2", microcode="0x2")
    with pytest.raises(system.Another) as problem:
        system.note_answering(folder, [engine])
    assert "kernel: 6.1 then, 6.2 now; microcode: 0x1 then, 0x2 now" in str(problem.value)


def test_a_new_boot_of_the_same_system_changes_nothing(folder, engine, host, monkeypatch):
    first = system.identity(folder, engine)
    monkeypatch.setattr(of_host, "boot", lambda: "another boot")
    assert system.identity(folder, engine) == first
    assert engine.asked == 2


def test_a_program_that_was_installed_again_in_the_same_version_changes_nothing(folder, engine, host):
    first = system.identity(folder, engine)
    engine.upgrade("28.1")
    assert system.identity(folder, engine) == first


def test_a_runtime_that_is_added_later_leaves_the_others_as_they_are(folder, engine, host, tmp_path):
    first = system.identity(folder, engine)
    put_record(folder)
    podman = Engine(tmp_path / "podman", "podman")
    podman.version = "4.3"
    assert system.identity(folder, podman) != first
    assert system.identity(folder, engine) == first


def test_an_engine_that_is_silent_at_the_start_is_asked_by_its_first_run(folder, engine, host):
    engine.version = None
    system.note_answering(folder, [engine])
    assert system.read(folder)["identities"] == {}
    with pytest.raises(Unavailable):
        system.identity(folder, engine)
    engine.version = "28.1"
    assert system.identity(folder, engine)


def test_records_that_do_not_say_are_of_another_system(folder, engine, host):
    put_record(folder)
    with pytest.raises(system.Another, match="its records do not say on which"):
        system.identity(folder, engine)


def test_a_damaged_note_is_not_trusted(folder, engine, host):
    system.identity(folder, engine)
    put_record(folder)
    (folder / system.FILE).write_text('{"parts"')
    with pytest.raises(system.Another):
        system.identity(folder, engine)


def change(folder, engine):
    return new_system.change(folder.parent, ["liu2020", "jha2018"], {"docker": engine})


def test_what_was_measured_is_put_aside_whole_and_taken_back_on_the_same_system(folder, engine, host):
    system.identity(folder, engine)
    put_record(folder)
    (folder / "report.html").write_text("of 28.1")
    (folder.parent / "host.json").write_text("of 28.1")
    assert change(folder, engine) == []
    engine.upgrade("29.0")
    assert len(change(folder, engine)) == 1
    assert not folder.exists() and not (folder.parent / "host.json").exists()
    (aside,) = (folder.parent / "systems").glob("*/liu2020")
    assert (aside / "report.html").read_text() == "of 28.1" and (aside.parent / "host.json").read_text() == "of 28.1"
    folder.mkdir()
    system.identity(folder, engine)
    put_record(folder)
    engine.upgrade("28.1")
    assert len(change(folder, engine)) == 2
    assert (folder / "report.html").read_text() == "of 28.1"
    assert json.loads((folder / system.FILE).read_text())["parts"]["docker"] == {"Engine": "28.1"}
    assert len(list((folder.parent / "systems").glob("*/liu2020"))) == 1


def test_two_records_that_do_not_say_are_both_kept(folder, engine, host):
    for _ in range(2):
        put_record(folder)
        change(folder, engine)
        folder.mkdir(exist_ok=True)
    assert sorted(path.name for path in (folder.parent / "systems/not-noted").iterdir()) == ["liu2020", "liu2020-2"]


def test_an_engine_that_does_not_answer_moves_nothing(folder, engine, host):
    system.identity(folder, engine)
    put_record(folder)
    engine.version = None
    with pytest.raises(Unavailable):
        change(folder, engine)
    assert folder.exists()


def test_the_facts_of_this_host_are_the_same_twice():
    facts = of_host.facts()
    assert facts == of_host.facts()
    assert {"kernel", "processor", "microcode", "governor"} < facts.keys() and all(facts.values())


def test_a_governor_of_any_processor_counts(tmp_path):
    cpu = tmp_path / "devices/system/cpu"
    assert of_host.settings(tmp_path)["governor"] == of_host.NOT_READABLE
    for number, governor in enumerate(("performance", "performance", "powersave")):
        (cpu / f"cpu{number}/cpufreq").mkdir(parents=True)
        (cpu / f"cpu{number}/cpufreq/scaling_governor").write_text(governor)
    assert of_host.settings(tmp_path)["governor"] == "performance, powersave"
    (cpu / "cpu2/cpufreq/scaling_governor").write_text("performance")
    assert of_host.settings(tmp_path)["governor"] == "performance"
