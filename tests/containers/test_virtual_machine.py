"""A real virtual machine: its content, and how programs enter it. It uses KVM if a guest boots with it, and emulation
otherwise."""

import hashlib
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from plimsoll import runtimes
from plimsoll.errors import Unavailable
from plimsoll.images import builder
from plimsoll.measuring import lock
from plimsoll.runtimes import isolation
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.guests import agent, machine
from plimsoll.services.containers import Services


@pytest.fixture(scope="module")
def image() -> dict:
    return builder.build("nesting", "bootstrap")


@pytest.fixture(scope="module")
def runtime():
    for name in ("vm", "vm-emulated"):
        try:
            runtimes.find(name).check()
            return runtimes.find(name)
        except Unavailable as reason:
            why = reason
    pytest.skip(f"no virtual machine works here: {why}")


@pytest.fixture
def guest(runtime, image, tmp_path):
    run = f"test{time.time_ns() % 10**9}"
    kept = Services(runtime, run, tmp_path)
    (node,) = kept.start([kept.spec("one", image, command=("sh", "-c", "echo up; exec sleep 1000"))])
    yield node
    kept.take_down()
    (lock.TEMPORARY / run).rmdir()


def test_it_has_the_files_of_the_image_and_a_kernel_of_its_own(guest, image):
    for path in ("usr/bin/sysbench", "opt/plimsoll/bin/netperf"):
        inside = output(guest.inside(["sha256sum", f"/{path}"])).split()[0]
        assert (
            inside == image["files"][path]["sha256"] == hashlib.sha256((Path(image["rootfs"]) / path).read_bytes()).hexdigest()
        )
    assert output(guest.inside(["uname", "-r"])).strip() != os.uname().release
    assert output(guest.inside(["cat", "/etc/debian_version"])) == (Path(image["rootfs"]) / "etc/debian_version").read_text()
    assert output(guest.inside(["hostname"])).strip() == guest.name
    assert output(guest.inside(["nproc"])).strip() == "1"
    # The image's own programs run, and not those with which the guest begins.
    assert output(guest.inside(["readlink", "/proc/self/exe"])).strip() == "/usr/bin/readlink"
    # This host reaches it: it refuses a port without a listener.
    address = output(guest.inside(["hostname", "-I"])).split()[0]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, 9), 5)
    first = min(os.sched_getaffinity(0))
    guest.bind({first})
    assert {tuple(os.sched_getaffinity(thread)) for thread in guest.threads()} == {(first,)}
    its_clock(guest)


def test_a_program_is_entered_as_in_a_container(guest):
    folder = guest.spec.folder
    (folder / "given").write_text("from the host")
    script = "cat given; echo bad >&2; mkdir -p deep; echo written >deep/new; exit 7"
    done = subprocess.run(guest.inside(["sh", "-c", script], folder), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, "from the host", "bad\n")
    assert (folder / "deep/new").read_text() == "written\n" and (folder / "given").read_text() == "from the host"
    assert output(guest.inside(["sh", "-c", "cat /proc/*/cmdline | tr '\\0' ' '"])).count("sleep 1000") == 1
    # More than a pipe holds at once.
    assert len(output(guest.inside(["head", "-c", "3000000", "/dev/zero"]))) == 3_000_000
    # A file that the host has changed stays as it is.
    (folder / "given").write_text("two")
    output(guest.inside(["true"]))
    assert (folder / "given").read_text() == "two"


def its_clock(guest):
    told, before = guest.ahead(), time.monotonic()
    uptime = agent.uptime(machine.Files(guest.spec).port, 5)
    assert told == pytest.approx(uptime - before, abs=0.05)
    time.sleep(1)
    assert guest.ahead() == pytest.approx(told, abs=0.02)


def test_nothing_of_it_is_the_host_s(runtime, image):
    seen = isolation.observe(runtime, image)
    assert seen["namespaces"] == seen["separate_namespaces"] == list(isolation.NAMESPACES)
    assert seen["own_cgroup"] and seen["file_system"] == "overlay"
