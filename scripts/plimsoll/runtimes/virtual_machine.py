"""Virtual machines: QEMU boots a Debian kernel on the files of the image (amaral2015, section IV-A).

A guest has one processor unless its spec asks for more. KVM runs it where a guest really boots with KVM; a /dev/kvm
that answers is not enough. Elsewhere QEMU emulates the processor, which is a runtime of its own. Emulated machines
show that everything works, and nothing about the speed of virtual machines.

The modules of guests/ are imported only when they are needed, because almost no run has guests.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from plimsoll import spelling
from plimsoll.errors import Outage, Unavailable
from plimsoll.interchange import Image
from plimsoll.measuring import lock
from plimsoll.runtimes.base import HOST, LABEL, Afterwards, Node, Runtime, Spec, needs_root
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.privileges import Privileges

QEMU = "qemu-system-x86_64"


class VirtualMachine(Runtime):
    """Virtual machines whose processor is this host's, by KVM. They are on Docker's bridge unless their spec names
    another network."""

    name = "vm"
    label = "Virtual machines"
    colour, hatch = "#aa4499", "xx"
    services = own_kernels = True
    form = "disk"
    packages = ("qemu-system-x86", "busybox-static", "cpio")
    steps = ("guest.sh",)
    accelerator = "kvm"
    engine = Docker()
    network = engine.network

    def privileges(self) -> Privileges:
        """Return what a guest has: nothing of this host."""
        why = "QEMU itself runs as root for its network device, and opens /dev/kvm where there is KVM"
        return Privileges("its own kernel", gains=True, devices="its own", mounts=(), why=why)

    def __init__(self):
        self.devices = 0

    def check(self) -> str:
        needs_root("connecting virtual machines to a network")
        version = self.versions()
        self.refuse_accelerator()
        return f"QEMU {version['QEMU']}, {version['guest kernel']}"

    def refuse_accelerator(self) -> None:
        """Raise Unavailable, with the reason, if no guest boots with KVM here."""
        from plimsoll.runtimes.guests import kvm

        if problem := kvm.problem():
            raise Unavailable(f"no virtual machine boots with KVM here: {problem}")

    def versions(self) -> dict[str, str]:
        from plimsoll.runtimes.guests import kernel

        version = output([QEMU, "--version"]).splitlines()[0].partition("version ")[2]
        return {"QEMU": version.partition(" ")[0], "guest kernel": f"Linux {kernel.modules().name}"}

    def programs(self) -> tuple[str, ...]:
        return (QEMU,)

    def start(self, specs, on=HOST) -> list[Node]:
        """Start guests side by side. Each is ready when it says so on its console.

        Raise Unavailable, with a guest's last words, if one is not ready in time.
        """
        from plimsoll.runtimes.guests import guest_node

        guests: list[guest_node.Guest] = []
        try:
            for spec in specs:
                guests.append(guest_node.start(self._words(spec, on), spec, on))
            guest_node.wait(guests)
        except BaseException:
            guest_node.stop(guests)
            raise
        return list(guests)

    def _words(self, spec: Spec, on: Node, program: bool = False) -> list[str]:
        from plimsoll.runtimes.guests import machine

        if "disk" not in spec.image:
            raise Unavailable(f"the image {spec.image['tag']} has no disk for virtual machines (squashfs-tools make one)")
        network = spec.network or self.network
        network.set_up(on)
        self.devices += 1
        return machine.words(spec, self.accelerator, network.plug(), self.devices, program)

    def foreground(self, spec: Spec) -> list[str]:
        """Return the command on this host that boots a guest, which runs the spec's command and switches itself off.
        QEMU then ends."""
        from plimsoll.runtimes.guests import machine

        return machine.stamped(machine.Files(spec).console, self._words(spec, HOST, program=True))

    def collect(self, specs) -> list[Afterwards]:
        """Copy back what guests of `foreground` have written into their folders. Return what is known about them."""
        from plimsoll.runtimes.guests import guest_node

        return [guest_node.collect(spec) for spec in specs]

    def stop(self, nodes) -> None:
        """Switch guests off. Nothing that they have written is kept."""
        from plimsoll.runtimes.guests import guest_node

        guest_node.stop(nodes)

    def remove(self, names: Sequence[str], on: Node = HOST) -> None:
        """Kill guests that `foreground` created. Most have ended already."""
        _kill(number for name, number in ours() if name in names)

    def left(self) -> list[str]:
        """Return the names of all guests that run, of any run."""
        return [name for name, _ in ours()]

    def sweep(self) -> None:
        """Kill the guests of all runs. Their network devices go with them."""
        _kill(number for _, number in ours())

    def examine(self, image: Image) -> None:
        """Raise Outage if the image's disk, the kernel, or the engine whose bridge guests are on fails."""
        from plimsoll.runtimes.guests import kernel

        super().examine(image)
        try:
            kernel.image()
        except Unavailable as problem:
            raise Outage(
                f"virtual machines cannot boot ({problem})", f"fetch it ({spelling.command('setup')} does)"
            ) from problem
        self.engine.refuse_silent()

    def revive(self) -> None:
        self.engine.revive()

    def intact(self, nodes) -> None:
        """Raise Outage if a guest's QEMU process has ended. Nothing that is measured ends a guest."""
        if ended := [node.name for node in nodes if node.process.poll() is not None]:
            raise Outage(f"the virtual machine {ended[0]} ended during its run", "find out what ended it")

    def group_of(self, run: str) -> str:
        """Return a cgroup path under which no cgroup is made. A guest is a process that the run has started, and is
        counted as such."""
        return f"/{LABEL}/{run}"

    def storage(self) -> Path:
        """Return the folder of temporary files. What guests write stays in their memory, and what comes back goes
        into these files."""
        return lock.TEMPORARY.parent


class Emulated(VirtualMachine):
    """Virtual machines whose processor is emulated, for hosts where no guest boots with KVM."""

    name = "vm-emulated"
    label = "Emulated virtual machines"
    colour, hatch = "#999933", "++"
    emulated = True
    accelerator = "tcg"
    variant_of = "vm"

    def refuse_accelerator(self) -> None:
        from plimsoll.runtimes.guests import kvm

        if not kvm.problem():
            raise Unavailable("virtual machines run with KVM here, and are not emulated")


def ours() -> list[tuple[str, int]]:
    """Return the name and the process number of each QEMU process that is a node of any run.

    A QEMU process that starts a script appears twice for a moment.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
            if Path(words[0]).name == QEMU and (name := words[words.index("-name") + 1]).startswith(f"{LABEL}-"):
                found.append((name, int(folder.name)))
    return found


def _kill(processes) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


RUNTIMES = (VirtualMachine(), Emulated())
