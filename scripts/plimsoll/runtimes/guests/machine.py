"""QEMU's command line for a virtual machine: what it boots, what it gets, and how it is reached."""

import ipaddress
import os
import shlex
import sys
from pathlib import Path

from plimsoll.host import run_files
from plimsoll.measuring import lock
from plimsoll.runtimes.base import GUEST_BYTES, Scratch, Spec
from plimsoll.runtimes.guests import agent, kernel
from plimsoll.runtimes.networks.base import Plug

# What runs a guest's processor, and the processor that the guest then has.
KVM, EMULATED = "kvm", "tcg"
PROCESSORS = {KVM: "host", EMULATED: "max"}
# No display, no monitor, no default devices, and no second boot.
ALONE = ("-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot", "-machine", "q35")
# Command line of the kernel. A panic ends the guest.
KERNEL_WORDS = "console=ttyS0 quiet panic=-1"
# Settings of a guest's network card that leave offloads to the sender.
WITHOUT_OFFLOADS = ",".join(
    f"{what}=off"
    for what in (
        *("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"),
        *("host_tso4", "host_tso6", "host_ecn", "host_ufo"),
    )
)
VHOST = Path("/dev/vhost-net")
# Script that writes each line of a console into the file $0, after the moment at which it came (s since 1970). Its
# exit status is QEMU's.
STAMPED = (
    """set -o pipefail; "$@" | while IFS= read -r line; do printf '%s %s\\n' "${EPOCHREALTIME/,/.}" "$line"; done >"$0\""""
)


def booting(accelerator: str, processors: int = 1, modules: tuple[str, ...] = ()) -> list[str]:
    """Return QEMU's words for a guest that boots and nothing more, with `modules` that not all guests have."""
    return [
        *("qemu-system-x86_64", *ALONE, "-accel", accelerator, "-cpu", PROCESSORS[accelerator], "-smp", str(processors)),
        *("-kernel", str(kernel.image()), "-initrd", str(kernel.initramfs(modules))),
    ]


def words(spec: Spec, accelerator: str, plug: Plug, number: int, program: bool = False) -> list[str]:
    """Return QEMU's words for a guest that is a node. What QEMU passes to the guest is written into files.

    `number` distinguishes the guest's network device from others on this host. The guest gets its commands by its
    port, and its console is a file. With `program` it runs the spec's command and ends, and its console is QEMU's
    standard output.
    """
    files = Files(spec)
    files.settings.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.settings.write_text(settings(spec, plug, "" if program else service(spec)))
    files.plug.write_text("#!/bin/sh -e\n" + "".join(f"{shlex.join(one)}\n" for one in plug.commands).replace("DEVICE", '"$1"'))
    files.plug.chmod(0o755)
    # A container of the run may have made a link there, which QEMU would follow.
    run_files.new_file(files.console).close()
    disks = [spec.image["disk"]]
    if program:
        files.program.write_bytes(agent.archive(spec.folder, "", list(spec.command)))
        disks.append(files.program)
        port, console = f"file,id=port,path={files.answer}", "stdio"
    else:
        for pipe in files.pipes():
            os.mkfifo(pipe)
        port, console = f"pipe,id=port,path={files.port}", f"file:{files.console}"
    vhost = ",vhost=on" if accelerator == KVM and os.access(VHOST, os.W_OK) else ""
    network = f"tap,id=net,ifname={device(number)},script={files.plug},downscript=no{vhost}"
    card = f"virtio-net-pci,netdev=net,romfile=,mac={hardware_address(plug)}"
    return [
        *booting(accelerator, spec.processors, kernel.FOR_SCRATCH if spec.scratch else ()),
        *("-name", spec.name, "-m", f"{(spec.memory_bytes or GUEST_BYTES) // 2**20}", "-append", KERNEL_WORDS),
        *(word for number, path in enumerate(disks) for word in _disk(number, path)),
        *(_scratch(spec.scratch) if spec.scratch else ()),
        *("-netdev", network, "-device", card if plug.offloads else f"{card},{WITHOUT_OFFLOADS}"),
        *("-device", "virtio-serial-pci", "-chardev", port, "-device", "virtserialport,chardev=port,name=plimsoll"),
        *("-fw_cfg", f"name=opt/plimsoll/node,file={files.settings}", "-serial", console),
    ]


def _disk(number: int, path: Path | str) -> list[str]:
    """Return QEMU's words for a read-only disk that is a file."""
    drive = f"if=none,id=disk{number},file={path},format=raw,readonly=on"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive=disk{number}"]


def _scratch(scratch: Scratch) -> list[str]:
    """Return QEMU's words for a disk that can be written to. This host keeps nothing of it in memory, because a guest
    has its own memory for that."""
    drive = f"if=none,id=scratch,file={scratch.file},format=raw,cache=none"
    return ["-drive", drive, "-device", "virtio-blk-pci,drive=scratch"]


class Files:
    """Paths of a node's files.

    The console is in the node's folder. What QEMU passes to the guest is in the run's temporary folder, and is
    removed with the run.
    """

    def __init__(self, spec: Spec):
        folder = lock.TEMPORARY / spec.run
        self.settings, self.plug, self.program, self.answer = (
            folder / f"{spec.name}.{what}" for what in ("settings", "plug", "program", "answer")
        )
        # Path of the port's pipes without `.in`, which the guest reads, and `.out`.
        self.port = str(folder / f"{spec.name}.port")
        self.console, self.errors = (spec.folder / f"{spec.name}.{what}" for what in ("console", "err"))

    def remove(self) -> None:
        """Remove the files that are not in the node's folder."""
        for path in (self.settings, self.plug, self.program, self.answer, *self.pipes()):
            path.unlink(missing_ok=True)

    def pipes(self) -> tuple[Path, Path]:
        """Return the pipes of the port: into the guest, and out of it."""
        return Path(f"{self.port}.in"), Path(f"{self.port}.out")


def settings(spec: Spec, plug: Plug, service: str) -> str:
    """Return a guest's settings, as variables of a shell (node.sh)."""
    told = {"NAME": spec.name, "FOLDER": str(spec.folder), "ADDRESS": plug.address, "GATEWAY": plug.gateway, "SERVICE": service}
    told["SCRATCH"] = spec.scratch.folder if spec.scratch else ""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in told.items())


def service(spec: Spec) -> str:
    """Return the command that keeps running in a guest. It is empty if that only sleeps, because a guest stays up
    without it."""
    return "" if spec.command == Spec._field_defaults["command"] else shlex.join(spec.command)


def device(number: int) -> str:
    """Return the name of a guest's network device on this host. QEMU makes the device, and it disappears with QEMU."""
    return f"plimsoll-vm{number}"


def hardware_address(plug: Plug) -> str:
    """Return the hardware address of a guest's network card. Its last three parts are those of the guest's IP
    address."""
    last = ipaddress.ip_interface(plug.address).ip.packed[-3:]
    return "52:54:00:" + last.hex(":")


def stamped(console: Path, command: list[str]) -> list[str]:
    """Return a command that writes each line of a command's output into a file, after the moment at which it came."""
    return ["bash", "-c", STAMPED, str(console), *command]


def entering(spec: Spec) -> list[str]:
    """Return the words that start a program in the guest if they are put before the program's words."""
    return [sys.executable, "-S", "-E", agent.__file__, Files(spec).port, str(spec.folder)]
