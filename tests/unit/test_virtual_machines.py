"""Virtual machines without starting one: QEMU's arguments, what guests print and send, and whether KVM counts."""

import io
import json
import os
import stat
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import Outage, Unavailable
from plimsoll.measuring import lock
from plimsoll.runtimes import isolation, virtual_machine
from plimsoll.runtimes.base import HOST, Spec
from plimsoll.runtimes.guests import agent, guest_node, kernel, kvm, machine
from plimsoll.runtimes.networks.base import HostNetwork, Plug

PLUG = Plug("10.77.0.254/24", "10.77.0.1", (("ip", "link", "set", "DEVICE", "up"), ("echo", "a b", "DEVICE")))


@pytest.fixture
def spec(tmp_path, monkeypatch) -> Spec:
    monkeypatch.setattr(lock, "TEMPORARY", tmp_path / "temporary")
    monkeypatch.setattr(kernel, "image", lambda: Path("/k/vmlinuz"))
    monkeypatch.setattr(kernel, "initramfs", lambda more=(): Path("/k/initramfs"))
    folder = tmp_path / "run"
    folder.mkdir()
    return Spec("r", "plimsoll-r-c0", {"tag": "plimsoll/x:1", "disk": "/images/disk"}, folder)


def told(words: list[str], option: str) -> list[str]:
    return [word for before, word in pairwise(words) if before == option]


def test_a_guest_of_kvm_has_the_host_s_processor_and_an_emulated_one_has_not(spec, monkeypatch):
    monkeypatch.setattr(machine, "VHOST", Path("/none"))
    words = machine.words(spec, "kvm", PLUG, 3)
    assert told(words, "-accel") == ["kvm"] and told(words, "-cpu") == ["host"] and told(words, "-smp") == ["1"]
    assert told(words, "-drive") == ["if=none,id=disk0,file=/images/disk,format=raw,readonly=on"]
    files = machine.Files(spec)
    assert told(words, "-netdev") == [f"tap,id=net,ifname=plimsoll-vm3,script={files.plug},downscript=no"]
    assert all(stat.S_ISFIFO(os.stat(pipe).st_mode) for pipe in files.pipes())
    files.remove()
    words = machine.words(spec, "tcg", PLUG, 3)
    assert told(words, "-accel") == ["tcg"] and told(words, "-cpu") == ["max"]
    files.remove()
    assert not list(files.settings.parent.iterdir())


def test_the_kernel_s_own_network_card_serves_a_guest_of_kvm_where_there_is_one(spec, monkeypatch, tmp_path):
    device = tmp_path / "vhost"
    device.touch()
    monkeypatch.setattr(machine, "VHOST", device)
    assert told(machine.words(spec, "kvm", PLUG, 1, program=True), "-netdev")[0].endswith(",vhost=on")
    assert "vhost" not in told(machine.words(spec, "tcg", PLUG, 1, program=True), "-netdev")[0]


def test_a_switch_without_offloads_gets_a_card_without_them(spec):
    words = machine.words(spec, "tcg", PLUG._replace(offloads=False), 1, program=True)
    (card,) = [word for word in told(words, "-device") if word.startswith("virtio-net")]
    assert "mac=52:54:00:4d:00:fe" in card and ",csum=off" in card and "guest_tso4=off" in card
    (card,) = [word for word in told(machine.words(spec, "tcg", PLUG, 1, program=True), "-device") if "virtio-net" in word]
    assert "off" not in card


def test_a_guest_is_told_what_it_is(spec):
    given = dict(line.split("=", 1) for line in machine.settings(spec, PLUG, "a 'b'").splitlines())
    assert given["NAME"] == spec.name and given["ADDRESS"] == PLUG.address and given["FOLDER"] == str(spec.folder)
    assert (
        machine.service(spec) == ""
        and machine.service(spec._replace(command=("netserver", "-p", "1 2"))) == "netserver -p '1 2'"
    )
    machine.words(spec, "tcg", PLUG, 1, program=True)
    assert machine.Files(spec).plug.read_text() == '#!/bin/sh -e\nip link set "$1" up\necho \'a b\' "$1"\n'


def test_a_guest_without_a_disk_or_on_the_host_s_network_is_refused(spec, monkeypatch):
    emulated = runtimes.find("vm-emulated")
    with pytest.raises(Unavailable, match="plimsoll/x:1 has no disk for virtual machines"):
        emulated.foreground(spec._replace(image={"tag": "plimsoll/x:1"}))
    with pytest.raises(Unavailable, match="cannot be on the network host"):
        emulated.foreground(spec._replace(network=HostNetwork()))


def test_what_a_program_needs_is_sent_and_what_it_wrote_comes_back(spec):
    (spec.folder / "deep").mkdir()
    (spec.folder / "deep/in").write_text("given")
    os.mkfifo(spec.folder / "pipe")
    with tarfile.open(fileobj=io.BytesIO(agent.archive(spec.folder, "/some where", ["echo", "a b"]))) as sent:
        names = {one.name: one for one in sent}
        script = sent.extractfile("run/plimsoll/work/script").read().decode()
    below = str(spec.folder).lstrip("/")
    assert f"{below}/deep/in" in names and f"{below}/pipe" not in names
    assert script == "cd '/some where' && exec echo 'a b'\n"
    # The guest recognises the files that programs write by comparing their times with this one.
    begun = names.pop("run/plimsoll/work/begun")
    assert begun.mtime == 1 and {one.mtime for one in names.values()} == {0}


def packed(**files: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as made:
        for name, text in files.items():
            described = tarfile.TarInfo(name)
            described.size = len(text)
            made.addfile(described, io.BytesIO(text.encode()))
    return held.getvalue()


def test_an_answer_writes_into_the_node_s_folder_and_nowhere_else(spec, tmp_path):
    below = str(spec.folder).lstrip("/")
    files = {
        f"{below}/a/b": "x",
        "etc/passwd": "no",
        f"{below}/../out": "no",
        "run/plimsoll/work/out": "o",
        "run/plimsoll/work/err": "e",
    }
    out, err = io.BytesIO(), io.BytesIO()
    agent.unpack(packed(**files), spec.folder, out, err)
    assert out.getvalue() == b"o" and err.getvalue() == b"e" and (spec.folder / "a/b").read_text() == "x"
    assert not (tmp_path / "out").exists() and [path.name for path in spec.folder.iterdir()] == ["a"]


@pytest.mark.parametrize("sent", [b"", b"0 100\nshort", b"nonsense\n", b"1 2 3\n"])
def test_half_an_answer_is_none(sent):
    with pytest.raises(OSError, match="in the middle"):
        agent.read_answer(io.BytesIO(sent))
    assert agent.read_answer(io.BytesIO(b"3 2\nab")) == (3, b"ab")


def test_a_guest_that_is_gone_is_told(spec, capsys):
    machine.Files(spec).settings.parent.mkdir(parents=True)
    for pipe in machine.Files(spec).pipes():
        os.mkfifo(pipe)
    # Nothing reads the pipe.
    assert agent.main([machine.Files(spec).port, str(spec.folder), "", "true"]) == agent.GONE
    assert "the guest does not answer" in capsys.readouterr().err


def test_a_clock_is_known_from_readings_that_are_cut(monkeypatch):
    moments = iter(range(1000))
    now = [100.0]

    def monotonic():
        now[0] += 0.0007
        return now[0]

    monkeypatch.setattr(guest_node.time, "monotonic", monotonic)
    told = guest_node.clock_ahead(lambda: int((now[0] + 5.1234) * 100) / 100 if next(moments) < 100 else None)
    assert told == pytest.approx(5.1234, abs=guest_node.CLOCK_SECONDS)
    jumping = iter([5.0, 900.0])
    with pytest.raises(OSError, match="jumps"):
        guest_node.clock_ahead(lambda: next(jumping, 5.0))


def test_what_a_guest_says_is_told_from_what_its_kernel_says(spec):
    console = machine.Files(spec).console
    assert guest_node.spoken(console) == [] and guest_node.last_words(spec) == ""
    machine.Files(spec).errors.write_text("qemu: no such device\n")
    assert guest_node.last_words(spec) == ": qemu: no such device"
    console.write_text("plimsoll boot 3.3\r\n[ 1.0] Kernel panic - not syncing\r\nplimsoll ready\nplimsoll fai")
    assert guest_node.spoken(console) == ["boot 3.3", "ready"]
    console.write_text("1795540580.772924 plimsoll boot 3.39\n90.5 plimsoll end 4.2\n1795540581.0 [ 4.2] reboot: Power down\n")
    assert guest_node.times(console) == {"boot": (1795540580.772924, 3.39), "end": (90.5, 4.2)}
    assert guest_node.last_words(spec) == ": 1795540581.0 [ 4.2] reboot: Power down"
    console.write_text("1795540580.772924 plimsoll boot 3.39\n")
    with pytest.raises(Unavailable, match="does not say when"):
        guest_node.times(console)


def test_a_clock_is_as_far_ahead_as_the_sign_that_was_least_late_says(spec, monkeypatch):
    files = machine.Files(spec)
    files.answer.parent.mkdir(parents=True)
    monkeypatch.setattr(guest_node.time, "time", lambda: 1100.0)
    monkeypatch.setattr(guest_node.time, "monotonic", lambda: 100.0)
    # The console's first line arrived 0.2 s late, and its last one at once.
    files.console.write_text("1010.2 plimsoll boot 5.00\n1012.0 plimsoll end 7.00\n")
    files.answer.write_bytes(b"0 %d\n" % len(packed()) + packed())
    after = guest_node.collect(spec)
    assert after.ahead == pytest.approx(7.005 - 12.0) and after.moments == {"boot": 1010.2}
    assert not files.answer.exists()


@pytest.mark.parametrize("answer", [b"", b"0 9\nshort", b"0 9\nno archiv", b"1 %d\n"])
def test_a_guest_without_a_good_answer_is_told(spec, answer):
    files = machine.Files(spec)
    files.answer.parent.mkdir(parents=True)
    files.answer.write_bytes(answer % len(packed()) + packed() if b"%" in answer else answer)
    files.console.write_text("1.0 plimsoll failed: insmod\n")
    with pytest.raises(Unavailable, match="ended with(out an answer| 1): 1.0 plimsoll failed: insmod"):
        guest_node.collect(spec)


class Ended:
    """A process that has ended."""

    def poll(self):
        return 0


class Hangs(Ended):
    def poll(self):
        return None


@pytest.mark.parametrize(
    ("process", "console", "reason"),
    [
        (Ended(), "Kernel panic\n", "ended before it was ready: Kernel panic"),
        (Hangs(), "plimsoll boot 3\n", "did not boot in time: plimsoll boot 3"),
        (Hangs(), "plimsoll failed: insmod /modules/x\n", "failed: insmod /modules/x"),
    ],
)
def test_a_guest_that_never_boots_is_told_in_time(spec, monkeypatch, process, console, reason):
    monkeypatch.setattr(guest_node, "BOOT_SECONDS", 0.1)
    machine.Files(spec).console.write_text(console)
    with pytest.raises(Unavailable, match=reason):
        guest_node.wait([guest_node.Guest(spec, HOST, process)])


def test_a_guest_that_ended_under_its_run_is_an_outage(spec):
    emulated = runtimes.find("vm-emulated")
    emulated.intact([guest_node.Guest(spec, HOST, Hangs())])
    with pytest.raises(Outage, match="plimsoll-r-c0 ended during its run"):
        emulated.intact([guest_node.Guest(spec, HOST, Ended())])


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo plimsoll boot 1.0", None),
        ("echo MSR >&2; exit 1", "MSR"),
        ("exit 0", "it ended and printed nothing"),
        ("kill -9 $$", "the guest that was to show it was killed"),
        # KVM answers but cannot run a guest, so that QEMU waits without end.
        ("echo booting; exec sleep 30", "a guest was not up after 0.3 s"),
    ],
)
def test_kvm_counts_if_a_guest_boots_with_it(tmp_path, script, problem):
    qemu = tmp_path / "qemu"
    qemu.write_text(f"#!/bin/sh\n{script}\n")
    qemu.chmod(0o755)
    assert kvm.tried([str(qemu)], 0.3) == problem


@pytest.mark.parametrize(("module", "begins"), [("kvm_amd", "it ended"), ("kvm_pvm", "KVM is a software layer here")])
def test_kvm_that_is_a_software_layer_is_told(tmp_path, monkeypatch, module, begins):
    (tmp_path / "modules" / module).mkdir(parents=True)
    (tmp_path / "device").touch()
    monkeypatch.setattr(kvm, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "device")
    monkeypatch.setattr(kvm.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(kvm.machine, "booting", lambda accelerator: ["sh"])
    monkeypatch.setattr(kvm, "tried", lambda words: "it ended and printed nothing")
    assert kvm.problem().startswith(begins) and kvm.problem().endswith("it ended and printed nothing")


def test_what_was_found_of_kvm_counts_until_something_changes(tmp_path, monkeypatch):
    late = f"{kvm.LATE} 15 s"
    device, found, boots = tmp_path / "kvm", iter(["broken", late, None]), iter(["one", "one", "one", "two"])
    monkeypatch.setattr(kvm, "OF_PROCESSORS", ("",))
    monkeypatch.setattr(kvm, "DEVICE", device)
    assert kvm.problem() == f"there is no {device}"
    device.touch()
    monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path))
    monkeypatch.setattr(machine, "booting", lambda accelerator: ["sh"])
    monkeypatch.setattr(kvm, "tried", lambda words: next(found))
    monkeypatch.setattr(kvm.system, "boot", lambda: next(boots))
    answers = []
    for _ in range(4):
        kvm._problem.cache_clear()
        answers.append(kvm.problem())
    # A failure that comes at once is tried again, because it may be repaired at any moment.
    assert answers == ["broken", late, late, None] and json.loads((tmp_path / "kvm.json").read_text())["problem"] is None


@pytest.mark.parametrize("problem", [None, "broken"])
def test_one_of_the_two_is_measured(monkeypatch, problem):
    monkeypatch.setattr(kvm, "problem", lambda: problem)
    monkeypatch.setattr(virtual_machine, "needs_root", lambda what: None)
    monkeypatch.setattr(virtual_machine.VirtualMachine, "versions", lambda self: {"QEMU": "7", "guest kernel": "Linux 6"})
    names = {None: ("vm", "vm-emulated"), "broken": ("vm-emulated", "vm")}[problem]
    assert runtimes.find(names[0]).check() == "QEMU 7, Linux 6"
    with pytest.raises(Unavailable, match="KVM here: broken" if problem else "are not emulated"):
        runtimes.find(names[1]).check()


def test_the_numbers_of_another_kernel_are_not_the_host_s(spec):
    printed = {"net": "net:[1]", "uts": "uts:[2]", "cpu_cgroup": "/", "root": "overlay", "links": "2", "seccomp": "0"}
    inside = [isolation._told(guest_node.Guest(spec._replace(name=name), HOST, Hangs()), printed) for name in ("a", "b")]
    seen = isolation.compare(inside, printed, {2: "br0"})
    assert seen["namespaces"] == seen["separate_namespaces"] == ["net", "uts"] and seen["own_cgroup"]
    assert seen["file_system"] == "overlay" and seen["network"] == "own, no bridge seen" and seen["seccomp"] == "0"
