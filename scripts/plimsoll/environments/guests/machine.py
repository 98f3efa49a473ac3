"""A virtual machine as QEMU is told of it: what it boots, what it is given, and how it is reached."""

import ipaddress
import os
import shlex
import sys
from pathlib import Path

from plimsoll.environments.base import GUEST_BYTES, Scratch, Spec
from plimsoll.environments.guests import agent, kernel
from plimsoll.environments.networks.base import Plug
from plimsoll.host import shared
from plimsoll.measuring import lock

# What runs a guest's processor, and the processor that it then has.
KVM, EMULATED = "kvm", "tcg"
PROCESSORS = {KVM: "host", EMULATED: "max"}
# Without a display, a monitor, devices that nobody asked for, and a second try.
ALONE = ("-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot", "-machine", "q35")
# A panic ends the guest.
KERNEL_WORDS = "console=ttyS0 quiet panic=-1"
# What a network card of a guest leaves to whoever sends.
WITHOUT_OFFLOADS = ",".join(
    f"{what}=off"
    for what in (
        *("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"),
        *("host_tso4", "host_tso6", "host_ecn", "host_ufo"),
    )
)
VHOST = Path("/dev/vhost-net")
# Writes each line of a console into the file that is its first word, after the moment at which it came (s since 1970). It ends
# as QEMU does.
STAMPED = (
    """set -o pipefail; "$@" | while IFS= read -r line; do printf '%s %s\\n' "${EPOCHREALTIME/,/.}" "$line"; done >"$0\""""
)


def booting(accelerator: str, processors: int = 1, modules: tuple[str, ...] = ()) -> list[str]:
    """The words of a guest that boots, with `modules` that not all guests have, and no more."""
    return [
        *("qemu-system-x86_64", *ALONE, "-accel", accelerator, "-cpu", PROCESSORS[accelerator], "-smp", str(processors)),
        *("-kernel", str(kernel.image()), "-initrd", str(kernel.initramfs(modules))),
    ]


def words(spec: Spec, accelerator: str, plug: Plug, number: int, program: bool = False) -> list[str]:
    """The words of a guest that is a node. `number` tells its network device from others' on this host. It is told what to do
    by its port and its console is a file; with `program` it runs the spec's command and ends, and its console is QEMU's
    standard output. What QEMU is handed in is written into
    files."""
    files = Files(spec)
    files.settings.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.settings.write_text(settings(spec, plug, "" if program else service(spec)))
    files.plug.write_text("#!/bin/sh -e\n" + "".join(f"{shlex.join(one)}\n" for one in plug.commands).replace("DEVICE", '"$1"'))
    files.plug.chmod(0o755)
    # QEMU would follow a link that a container of the run has made there.
    shared.new_file(files.console).close()
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
    """The words of a disk that is a file, and can only be read."""
    drive = f"if=none,id=disk{number},file={path},format=raw,readonly=on"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive=disk{number}"]


def _scratch(scratch: Scratch) -> list[str]:
    """The words of a disk that can be written to. This host keeps nothing of it in memory: a guest has its own memory for
    that."""
    drive = f"if=none,id=scratch,file={scratch.file},format=raw,cache=none"
    return ["-drive", drive, "-device", "virtio-blk-pci,drive=scratch"]


class Files:
    """Where the files of a node are. Its console is in its folder; what QEMU is handed in is in the run's temporary folder,
    which goes with the run."""

    def __init__(self, spec: Spec):
        folder = lock.TEMPORARY / spec.run
        self.settings, self.plug, self.program, self.answer = (
            folder / f"{spec.name}.{what}" for what in ("settings", "plug", "program", "answer")
        )
        # What a port's pipes are called without `.in`, which the guest reads, and `.out`.
        self.port = str(folder / f"{spec.name}.port")
        self.console, self.errors = (spec.folder / f"{spec.name}.{what}" for what in ("console", "err"))

    def remove(self) -> None:
        """Remove those that are not the node's."""
        for path in (self.settings, self.plug, self.program, self.answer, *self.pipes()):
            path.unlink(missing_ok=True)

    def pipes(self) -> tuple[Path, Path]:
        """The pipes of the port."""
        return Path(f"{self.port}.in"), Path(f"{self.port}.out")


def settings(spec: Spec, plug: Plug, service: str) -> str:
    """What a guest is told of itself, as variables of a shell (node.sh)."""
    told = {"NAME": spec.name, "FOLDER": str(spec.folder), "ADDRESS": plug.address, "GATEWAY": plug.gateway, "SERVICE": service}
    told["SCRATCH"] = spec.scratch.folder if spec.scratch else ""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in told.items())


def service(spec: Spec) -> str:
    """The words of what keeps running in a guest; empty if that only sleeps, as a guest stays up by itself."""
    return "" if spec.command == Spec._field_defaults["command"] else shlex.join(spec.command)


def device(number: int) -> str:
    """The name of a guest's network device on this host; QEMU makes it, and it goes with QEMU."""
    return f"plimsoll-vm{number}"


def hardware_address(plug: Plug) -> str:
    """The hardware address of a guest's network card: the last three parts are its address's."""
    last = ipaddress.ip_interface(plug.address).ip.packed[-3:]
    return "52:54:00:" + last.hex(":")


def stamped(console: Path, command: list[str]) -> list[str]:
    """A command whose lines of output are noted in a file with the moments at which they came."""
    return ["bash", "-c", STAMPED, str(console), *command]


def entering(spec: Spec) -> list[str]:
    """The words before those of a program that start it in the guest."""
    return [sys.executable, "-S", "-E", agent.__file__, Files(spec).port, str(spec.folder)]
