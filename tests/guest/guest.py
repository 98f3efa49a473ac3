"""A QEMU guest with two sockets and two memory nodes. Its root is this machine's own files, through virtiofs.

Only a disk with the image for its Docker engine is built for it. It uses KVM where an ordinary kernel boots on it, and
emulation (TCG) otherwise. Its times mean nothing, but its cores and memory nodes are those of a machine with two nodes.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from plimsoll.images import store
from plimsoll.interchange import Image
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.guests import kernel

from tests.conftest import PROJECT

HERE = Path(__file__).parent
KERNEL = kernel.folder()
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
# Modules that the kernel needs before it has a root: for the host's files and the disk.
MODULES = ("virtio_pci", "virtiofs", "overlay", "virtio_blk")
ACCELERATORS = {"kvm": "host", "tcg,thread=multi": "Haswell"}
SECONDS_TO_BOOT = 120


def missing() -> str | None:
    """Return why there can be no guest here; None if there can be one."""
    if not (KERNEL / "boot/vmlinuz").is_file():
        return "set-up could not fetch a kernel for the guest (scripts/setup/guest.sh; x86-64 and root only)"
    for program in ("qemu-system-x86_64", "busybox", "cpio", "dockerd"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None if any(map(shutil.which, VIRTIOFSD)) else "virtiofsd is not installed"


def run(folder: Path, inputs: dict, seconds: float) -> tuple[str, list[dict], list[dict], dict]:
    """Boot a guest that measures `inputs["cells"]`. Return (accelerator, memory nodes, records, result for a switch)."""
    (folder / "inputs.json").write_text(json.dumps(inputs))
    words = {
        "FOLDER": folder,
        "MODULES": KERNEL / "lib/modules",
        "PROJECT": PROJECT,
        "PYTHON": sys.executable,
        "INPUTS": folder / "inputs.json",
    }
    for name in ("init.sh", "guest.sh"):
        text = (HERE / name).read_text()
        for word, value in words.items():
            text = text.replace(f"{word}/", f"{value}/").replace(f" {word} ", f" {value} ").replace(f" {word}\n", f" {value}\n")
        (folder / name).write_text(text)
    kernel.pack(folder / "initramfs.gz", MODULES, {"init": (folder / "init.sh").read_text()})
    _disk(folder, inputs["image"])
    for accelerator, processor in ACCELERATORS.items():
        said = _boot(folder, accelerator, processor, seconds)
        if "GUEST up" in said:
            break
    lines = [line.partition(" ")[::2] for line in said.splitlines()]
    nodes = [json.loads(text) for word, text in lines if word == "NODES"]
    assert "GUEST done" in said and nodes, said[-2000:]
    records = [json.loads(text) for word, text in lines if word == "RECORD"]
    assert len(records) == len(inputs["cells"]), said[-2000:]
    (switch,) = (json.loads(text) for word, text in lines if word == "SWITCH")
    return accelerator, nodes[0], records, switch


def _disk(folder: Path, image: Image) -> None:
    """Make a disk with the Docker data of the guest. An engine of its own loads the image into it here."""
    disk, mount, socket = folder / "disk.ext4", folder / "disk", folder / "docker.sock"
    mount.mkdir()
    subprocess.run(["truncate", "-s", "2G", str(disk)], check=True)
    output(["mke2fs", "-q", "-t", "ext4", str(disk)])
    output(["mount", "-o", "loop", str(disk), str(mount)])
    try:
        places = ["--data-root", str(mount), "--exec-root", str(folder / "exec"), "--pidfile", str(folder / "docker.pid")]
        quiet = ["--bridge=none", "--iptables=false", "--storage-driver", "overlay2", "--host", f"unix://{socket}"]
        with open(folder / "dockerd.log", "w") as log:
            # It has its own network namespace: an engine without a bridge removes the bridge of the engine that is
            # already here.
            engine = subprocess.Popen(["unshare", "--net", "dockerd", *places, *quiet], stdout=log, stderr=log)
        try:
            client = ["docker", "--host", f"unix://{socket}"]
            end = time.monotonic() + 30
            while subprocess.run([*client, "info"], capture_output=True).returncode:
                assert time.monotonic() < end and engine.poll() is None, (folder / "dockerd.log").read_text()
                time.sleep(0.1)
            archive = store.folder_of(image) / store.ARCHIVE
            subprocess.run([*client, "load", "--input", str(archive)], check=True, capture_output=True)
        finally:
            engine.terminate()
            engine.wait(timeout=30)
    finally:
        output(["umount", "--lazy", str(mount)])


def _boot(folder: Path, accelerator: str, processor: str, seconds: float) -> str:
    """Boot a guest, and return its serial output until it switched itself off, did not come up, or ran out of time."""
    socket, serial = folder / "files.sock", folder / "serial.txt"
    serial.unlink(missing_ok=True)
    server = next(filter(shutil.which, VIRTIOFSD))
    # The two programs take different options. Both share all of the host's files.
    legacy = "/usr/lib/qemu/" in server
    shared = ["-o", "source=/", "-o", "cache=always"] if legacy else ["--shared-dir", "/", "--cache", "always"]
    sandbox = ["-o", "sandbox=chroot"] if legacy else ["--sandbox", "chroot"]
    with open(folder / "virtiofsd.log", "w") as log:
        files = subprocess.Popen([server, f"--socket-path={socket}", *shared, *sandbox], stdout=log, stderr=log)
    try:
        while not socket.exists():
            assert files.poll() is None, (folder / "virtiofsd.log").read_text()
            time.sleep(0.05)
        guest = subprocess.Popen(
            [
                *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot", "-M", "q35"),
                *("-accel", accelerator, "-cpu", processor, "-smp", "4,sockets=2,cores=2,threads=1", "-m", "2048"),
                *("-object", "memory-backend-memfd,id=m0,size=1024M,share=on"),
                *("-object", "memory-backend-memfd,id=m1,size=1024M,share=on"),
                *("-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1"),
                *("-numa", "dist,src=0,dst=1,val=21"),
                *("-chardev", f"socket,id=files,path={socket}", "-device", "vhost-user-fs-pci,chardev=files,tag=host"),
                *("-drive", f"if=none,id=disk,file={folder}/disk.ext4,format=raw,cache=unsafe"),
                *("-device", "virtio-blk-pci,drive=disk", "-serial", f"file:{serial}"),
                *("-kernel", str(KERNEL / "boot/vmlinuz"), "-initrd", str(folder / "initramfs.gz")),
                *("-append", "console=ttyS0 quiet panic=-1"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        begun = time.monotonic()
        try:
            while guest.poll() is None and time.monotonic() - begun < seconds:
                if time.monotonic() - begun > SECONDS_TO_BOOT and "GUEST up" not in _text(serial):
                    break
                time.sleep(0.2)
        finally:
            guest.kill()
            guest.wait()
    finally:
        files.terminate()
        files.wait(timeout=10)
        socket.unlink(missing_ok=True)
    return _text(serial)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
