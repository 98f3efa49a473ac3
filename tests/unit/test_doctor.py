"""What `plimsoll doctor` says of made-up machines, and of this one: levels, meanings, what to type, exit status."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from plimsoll.errors import PlimsollError
from plimsoll.features.doctor import (
    doctor,
    examination,
    finding,
    kernel,
    memory,
    neighbours,
    processors,
    readings,
    runtimes,
    storage,
)
from plimsoll.features.doctor.finding import FINE, NOTE, STOPS, WARNS, Finding
from plimsoll.host import disk, quiet_settings, slowdowns, system, topology
from plimsoll.measuring import noise
from plimsoll.terminal.listing import Runtime

from tests import machines
from tests.unit.test_noise import snapshot

GIB = 2**30
NOBODY = 65534
LIMITS = {"share": 0.03, "seconds": 0.15}
CLOCK = "devices/system/clocksource/clocksource0/current_clocksource"


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


def window(memory=(4 * GIB, 4 * GIB), **used) -> readings.Window:
    """Return a window of a second, in which the counters of a snapshot rose by `used`."""
    spans = [(snapshot(when=0.0), snapshot(**{"when": 1.0, **used}))]
    return readings.Window(noise.neighbours(spans, 8, **LIMITS, apart=True), "loop, process 7 of ann", memory)


@pytest.fixture
def look(tmp_path):
    """Return a function that sees the made-up machine with two sockets, with some files, and with other values."""

    def of(files=None, machine=machines.TWO_SOCKETS, **values) -> readings.Readings:
        root = put(machine.write(tmp_path / "machine"), files or {})
        sysfs = root / "sys"
        allowed = {"cpusets": True, "root": True, "events": {"cycles": "cycles"}, "perf_event_paranoid": "2"}
        usual = {
            "host": {**topology.discover(root), **allowed},
            "facts": system.facts(sysfs, root / "proc"),
            "clock": readings.clock(sysfs),
            "cgroup": "2",
            "throttled": {},
            "swap": (0, 0),
            "available": 4 * GIB,
            "window": window(),
            "runtimes": {"docker": Runtime("required", version="Docker 28")},
            "folder": tmp_path,
        }
        return readings.Readings(**{**usual, **values})

    return of


CPU = "sys/devices/system/cpu"
GOVERNORS = f"{CPU}/cpu0/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    ("judge", "files", "level", "value"),
    [
        (lambda s: processors.governor(s.facts["governor"]), {}, NOTE, "not readable"),
        (lambda s: processors.governor(s.facts["governor"]), {GOVERNORS: "performance"}, FINE, "performance"),
        (lambda s: processors.governor(s.facts["governor"]), {GOVERNORS: "powersave"}, WARNS, "powersave"),
        (lambda s: processors.turbo(s.facts["turbo"]), {f"{CPU}/intel_pstate/no_turbo": "0"}, WARNS, "on"),
        (lambda s: processors.turbo(s.facts["turbo"]), {f"{CPU}/cpufreq/boost": "0"}, FINE, "off"),
        (processors.siblings, {}, NOTE, "8 on 4 cores"),
        (lambda s: processors.clock(s.clock), {f"sys/{CLOCK}": "tsc"}, FINE, "tsc"),
        (lambda s: processors.clock(s.clock), {f"sys/{CLOCK}": "hpet"}, WARNS, "hpet"),
        (memory.balancing, {"proc/sys/kernel/numa_balancing": "1"}, WARNS, "on"),
        (memory.balancing, {"proc/sys/kernel/numa_balancing": "0"}, FINE, "off"),
        (memory.huge_pages, {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, NOTE, "always"),
        (memory.huge_pages, {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"}, FINE, "madvise"),
        (kernel.addresses, {"proc/sys/kernel/randomize_va_space": "2"}, FINE, "on"),
        (kernel.addresses, {"proc/sys/kernel/randomize_va_space": "0"}, NOTE, "0 (2 is usual)"),
        (
            kernel.mitigations,
            {f"{CPU}/vulnerabilities/a": "Mitigation: x", f"{CPU}/vulnerabilities/b": "Vulnerable: no microcode"},
            FINE,
            "1 active, 1 left open",
        ),
    ],
)
def test_files_of_the_kernel(look, judge, files, level, value):
    found = judge(look(files))
    assert (found.level, found.value) == (level, value)


@pytest.mark.parametrize(
    ("judge", "values", "level"),
    [
        (processors.heat, {"throttled": {slowdowns.HEAT: 0.0}}, FINE),
        (processors.heat, {"throttled": {slowdowns.HEAT: 3.0}}, NOTE),
        (processors.heat, {"throttled": {slowdowns.HEAT: 3.0}, "window": window(throttled={slowdowns.HEAT: 0.5})}, NOTE),
        (processors.quota, {"throttled": {"/cg/job": 0.0}}, FINE),
        (processors.quota, {"throttled": {"/cg/job": 2.0}}, NOTE),
        (processors.steal, {"window": window(stolen=0.2)}, FINE),
        (processors.steal, {"window": window(stolen=0.5)}, WARNS),
        (memory.swap, {"swap": (0, 0)}, FINE),
        (memory.swap, {"swap": (0, GIB)}, NOTE),
        (memory.swap, {"swap": (1, GIB)}, WARNS),
        (memory.growing, {"window": window(memory=(4 * GIB, 4 * GIB))}, FINE),
        (memory.growing, {"window": window(memory=(4 * GIB, 5 * GIB))}, WARNS),
        (neighbours.busy, {"window": window(machine=0.2)}, FINE),
        (neighbours.busy, {"window": window(machine=0.5)}, WARNS),
        (neighbours.swapping, {"window": window(swapped=0.0)}, FINE),
        (neighbours.swapping, {"window": window(swapped=5e6)}, WARNS),
        (kernel.groups, {"cgroup": "1"}, FINE),
        (kernel.groups, {"cgroup": "none"}, WARNS),
    ],
)
def test_what_the_window_and_the_counters_show(look, judge, values, level):
    assert judge(look(**values)).level == level


def test_heat_and_quotas_at_work_warn(look):
    """A cause counts only if it is at both ends of the window, as in runs."""
    causes = {slowdowns.HEAT: 0.0, "/cg/job": 0.0}
    spans = [(snapshot(throttled=causes), snapshot(when=1.0, throttled=dict.fromkeys(causes, 0.4)))]
    now = window()._replace(during=noise.neighbours(spans, 8, **LIMITS, apart=True))
    of = look(throttled={slowdowns.HEAT: 3.0, "/cg/job": 3.0}, window=now)
    assert processors.heat(of).level == processors.quota(of).level == WARNS
    assert "/cg/job: 3.0 s" in processors.quota(of).value


def test_the_busiest_is_named(look):
    assert "loop, process 7 of ann" in neighbours.busy(look(window=window(machine=0.5))).value


def test_a_cache_that_is_too_large_for_its_cores_is_shared_with_other_machines(look):
    of = look()
    own, few = {**of.host, "cores": 16}, {**of.host, "cores": 4}
    assert topology.last_level_cache_bytes(of.host) == 90 * 2**20
    assert processors.shared_cache(of._replace(host={**few, "hypervisor": False})).level == FINE
    assert processors.shared_cache(of._replace(host={**own, "hypervisor": True})).level == FINE
    found = processors.shared_cache(of._replace(host={**few, "hypervisor": True}))
    assert (found.level, found.value) == (NOTE, "90 MiB of 4 cores")


def test_nodes_that_are_smaller_than_the_machine_are_seen(look):
    of = look()
    assert memory.nodes(of).level == FINE
    found = memory.nodes(of._replace(host={**of.host, "memory_bytes": 6 * GIB}))
    assert (found.level, found.value) == (NOTE, "1.0 + 1.0 GiB of 6.0 GiB")


def test_counters_and_rights(look):
    of = look()
    assert [kernel.counters(of).level, kernel.rights(of).level] == [FINE, FINE]
    few = {**of.host, "events": {"cycles": None, "l3_misses": "x"}, "cpusets": False}
    assert kernel.counters(of._replace(host=few)).value == "no cycles (perf_event_paranoid 2)"
    assert kernel.counters(of._replace(host={**few, "events": {}})).value == "not installed"
    assert kernel.rights(of._replace(host=few)).level == NOTE


def test_a_quiet_machine_is_named(look, monkeypatch):
    assert "quiet machine" not in [one.name for one in kernel.findings(look())]
    monkeypatch.setattr(quiet_settings, "read_note", lambda: {"kept": True})
    assert "quiet machine" in [one.name for one in kernel.findings(look())]


def test_other_containers_and_measurements():
    assert neighbours.containers(Counter()).level == FINE
    there = neighbours.containers(Counter({"Podman": 1, "Docker or containerd": 2}))
    assert there.value == "2 of Docker or containerd, 1 of Podman" and there.remedy.startswith("docker ps; podman ps (")
    assert neighbours.measuring(True, "").level == FINE
    assert neighbours.measuring(False, "").level == WARNS
    assert neighbours.measuring(True, "a measurement of ann was killed").level == NOTE


def test_a_required_runtime_that_is_silent_stops_and_an_optional_one_does_not(look):
    wanted = {
        "bare": Runtime("required", version="Linux"),
        "docker": Runtime("required", reason="no daemon"),
        "podman": Runtime("optional", reason="not installed"),
        "vm": Runtime("off"),
    }
    found = {one.name: one for one in runtimes.findings(look(runtimes=wanted))}
    assert {name: one.level for name, one in found.items()} == {
        "runtimes": FINE,
        "runtime docker": STOPS,
        "runtime podman": NOTE,
    }
    assert found["runtimes"].value == "bare" and "./plimsoll drop docker" in found["runtime docker"].remedy


@pytest.mark.parametrize(("left", "level"), [(GIB, STOPS), (4 * GIB, WARNS), (100 * GIB, FINE)])
def test_free_space(monkeypatch, tmp_path, left, level):
    monkeypatch.setattr(disk, "free_bytes", lambda folder: left)
    (found,) = storage.free({"results": tmp_path})
    assert (found.level, found.name) == (level, "disk of results")


def test_a_disk_is_named_once_and_a_folder_that_is_not_there_by_the_one_above(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "not/there"))
    monkeypatch.setattr(storage.lock, "TEMPORARY", tmp_path / "temporary")
    assert storage.places(tmp_path, ["bare"]) == {"results": tmp_path}


def test_files_of_others(tmp_path, monkeypatch):
    for name in ("results/liu2020/runs", "results/reference/liu2020", ".snakemake/log"):
        (tmp_path / name).mkdir(parents=True)
    assert storage.owners(tmp_path).level == FINE
    monkeypatch.setattr(os, "access", lambda path, how: path.name != "log" and "reference" not in path.parts)
    found = storage.owners(tmp_path)
    assert found.level == STOPS and ".snakemake/log" in found.value and found.remedy == "sudo chown -R $USER .snakemake"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_root_among_the_files_of_another_user(tmp_path):
    (tmp_path / "results").mkdir()
    os.chown(tmp_path / "results", NOBODY, NOBODY)
    found = storage.owners(tmp_path)
    assert found.level == WARNS and "nobody" in found.value


def test_every_finding_says_what_it_means_and_what_to_type(look):
    """It does so on a machine on which all is wrong."""
    files = {GOVERNORS: "powersave", f"{CPU}/cpufreq/boost": "1", "proc/sys/kernel/numa_balancing": "1", f"sys/{CLOCK}": "hpet"}
    bad = look(files, swap=(1, GIB), window=window((1, 2), machine=8.0, stolen=2.0, swapped=1e8), cgroup="none")
    found = examination.findings(bad)
    assert finding.status(found) == 1
    assert [one.level for one in found] == sorted((one.level for one in found), key=finding.LEVELS[::-1].index)
    assert len({one.name for one in found}) == len(found) > 20
    for one in found:
        assert one.means.endswith((".", "now.")) and one.value and (one.remedy or one.level in (FINE, NOTE))
    assert sum(one.level == WARNS for one in found) >= 8


@pytest.mark.parametrize(
    ("levels", "status", "says"), [((FINE, NOTE), 0, "Nothing here"), ((WARNS,), 1, "slower"), ((STOPS, WARNS), 1, "fail")]
)
def test_the_status_and_the_last_sentence(levels, status, says):
    found = [Finding("a", "b", level, "c") for level in levels]
    assert finding.status(found) == status and says in examination.summary(found)


def test_values_are_no_markup(capsys, look, monkeypatch):
    monkeypatch.setattr(examination, "findings", lambda of: [Finding("a", "always [madvise] never", NOTE, "[red]", "x[1]")])
    monkeypatch.setenv("COLUMNS", "80")
    assert examination.show(look(), for_program=False) == 0
    said = capsys.readouterr().out
    assert "[madvise]" in said and "[red]" in said and "x[1]" in said and max(map(len, said.splitlines())) <= 80


def test_this_machine_for_programs_and_for_people(capsys):
    status = doctor.doctor(json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == status in (0, 1)
    assert all(set(one) == set(Finding._fields) for one in told["findings"])
    assert {"frequency governor", "swap", "memory nodes", "runtimes", "files of this folder"} <= {
        one["name"] for one in told["findings"]
    }
    assert doctor.doctor() in (0, 1)
    assert capsys.readouterr().out.rstrip().splitlines()[-1].startswith(("You can measure.", "Measuring would fail."))


@pytest.mark.parametrize(
    "options", [{"command": ["true"]}, {"undo": True, "quiet_machine": True}, {"undo": True, "command": ["true"]}]
)
def test_options_that_do_not_go_together_do_nothing(options):
    with pytest.raises(PlimsollError, match="Nothing was"):
        doctor.doctor(**options)
