"""Networks of a switch on this host. Containers start without a network, and a pair of virtual devices then connects
each of them to the switch."""

import contextlib
import ipaddress
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import topology
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import device, firewall
from plimsoll.runtimes.networks.base import Network, Plug
from plimsoll.runtimes.networks.subnets import free_subnet

# Second number of the first subnet of these networks. It keeps them apart from all others.
FIRST = 227
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
# Device that Open vSwitch makes for itself in user space.
NETDEV = "ovs-netdev"
# The kernel's datapath, and the pattern of its ports in what `ovs-dpctl` prints.
DATAPATH, PORT = "ovs-system", re.compile(r"^\s*port \d+: (?P<device>\S+)", re.MULTILINE)
# Command that makes the kernel answer no ARP request on a device (arp_ignore).
SILENT = ("sh", "-c", 'echo 8 >"/proc/sys/net/ipv4/conf/$0/arp_ignore"')
# Time limits for the start and the end of a switch (s).
READY_SECONDS, END_SECONDS = 10.0, 5.0


class SwitchNetwork(Network):
    """Network of a bridge on this host. It is made for a run, and removed with it.

    `device` is the name of the switch on this host, and the beginning of its wires' names. The virtual devices have
    no offloads: the sender makes checksums and large segments itself. A switch in user space does not make them, and
    two switches can be compared only if both are treated alike.
    """

    offloads = False

    def __init__(self, name: str):
        super().__init__("none")
        self.device = name
        self.subnet: ipaddress.IPv4Network | None = None
        self.wires = 0

    def set_up(self, on=HOST) -> None:
        """Make the switch, unless this process has made it. Raise Unavailable if that fails."""
        if self.subnet:
            return
        self.sweep()
        subnet = free_subnet(f"the switch {self.device}", FIRST)
        self._make()
        device.bring_up(self.device, subnet)
        self.subnet = subnet

    def connect(self, node: Node) -> None:
        """Connect a container to the switch, with the host as its default gateway. Raise Unavailable if that fails."""
        address = self._address()
        wire = f"{self.device}{self.wires}"
        (process,) = output([*node.command, "inspect", "--format", "{{.State.Pid}}", node.name]).split()
        there = ["nsenter", f"--target={process}", "--net"]
        output(["ip", "link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", process])
        output([*there, "ip", "address", "add", address, "dev", "eth0"])
        if not self.offloads:
            output(["ethtool", "--offload", wire, "tx", "off"])
            output([*there, "ethtool", "--offload", "eth0", "tx", "off"])
        output([*there, "ip", "link", "set", "eth0", "up"])
        output([*there, "ip", "route", "add", "default", "via", str(self.subnet[1])])
        for words in self._plugging(wire):
            output(list(words))

    def plug(self) -> Plug:
        return Plug(self._address(), str(self.subnet[1]), tuple(self._plugging("DEVICE")), self.offloads)

    def _address(self) -> str:
        """Return the next address, with the length of the prefix."""
        self.wires += 1
        return f"{self.subnet[1 + self.wires]}/{self.subnet.prefixlen}"

    def passed(self) -> int:
        """Return the number of bytes that have passed between the switch and this host."""
        counters = Path(f"/sys/class/net/{self.device}/statistics")
        return sum(int((counters / name).read_text()) for name in ("rx_bytes", "tx_bytes"))

    def sweep(self) -> None:
        self.subnet, self.wires = None, 0
        if device.exists(self.device):
            firewall.no_longer(self.device)
        self._remove()
        for link in json.loads(output(["ip", "-json", "link", "show"])):
            if link["ifname"].startswith(self.device):
                device.delete(link["ifname"])

    def _make(self) -> None:
        """Make the switch."""
        output(["ip", "link", "add", self.device, "type", "bridge"])

    def _plugging(self, wire: str) -> list[tuple[str, ...]]:
        """Return the commands that put a device of this host into the switch."""
        return [("ip", "link", "set", wire, "up"), ("ip", "link", "set", wire, "master", self.device)]

    def _remove(self) -> None:
        """Remove the parts of the switch that are not devices."""


class OpenVSwitch(SwitchNetwork):
    """Open vSwitch: in the kernel if the kernel has it, otherwise in user space.

    Its daemons are children of the run, so their processor time counts as the run's.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.folder = Path(f"/run/{name}")
        self.daemons: list[subprocess.Popen] = []

    @property
    def offloads(self) -> bool:
        """Whether the devices' offloads work: only if the kernel switches."""
        return in_kernel()

    def _make(self) -> None:
        refuse_another()
        try:
            self.folder.mkdir()
        except OSError as problem:
            raise Unavailable(f"the folder of Open vSwitch, {self.folder}, cannot be made: {problem.strerror}") from problem
        database = f"unix:{self.folder}/db.sock"
        output(["ovsdb-tool", "create", str(self.folder / "conf.db"), str(SCHEMA)])
        self._start("ovsdb-server", str(self.folder / "conf.db"), f"--remote=p{database}")
        self._wait("db.sock")
        output(self._control("--no-wait", "init"))
        self._start("ovs-vswitchd", database)
        kind = [] if in_kernel() else ["--", "set", "bridge", self.device, "datapath_type=netdev"]
        output(self._control("add-br", self.device, *kind))

    def _plugging(self, wire: str) -> list[tuple[str, ...]]:
        plugging = [("ip", "link", "set", wire, "up"), tuple(self._control("add-port", self.device, wire))]
        # A switch in user space only listens to its wires, and the kernel receives all packets as well. The kernel
        # must not answer for this host there, or packets to the host would bypass the switch.
        return plugging if in_kernel() else [(*SILENT, wire), *plugging]

    def _remove(self) -> None:
        if self.daemons and in_kernel():
            # What the daemon has made in the kernel outlives it without `--cleanup`. The daemon answers before it
            # cleans up, and a signal would interrupt that.
            with contextlib.suppress(Unavailable, subprocess.TimeoutExpired):
                output(["ovs-appctl", f"--target={self.folder}/ovs-vswitchd.ctl", "exit", "--cleanup"])
                self.daemons[-1].wait(END_SECONDS)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            if daemon.returncode is None:
                ended_within(daemon.pid, END_SECONDS)
            kill(daemon)
        self.daemons = []
        shutil.rmtree(self.folder, ignore_errors=True)
        # This device outlives the daemon that made it. Another Open vSwitch on this host may have its own.
        if device.exists(NETDEV) and not any_runs():
            output(["ip", "link", "delete", NETDEV])
        if in_kernel() and device.exists(self.device):
            self._leave_kernel()

    def _leave_kernel(self) -> None:
        """Remove what a killed daemon has left in the kernel, where a device of the switch cannot be deleted as a
        link.

        Remove this switch, and also the datapath if nothing else is in it.
        """
        output(["ovs-dpctl", "del-if", DATAPATH, self.device])
        others = [port for port in PORT.findall(output(["ovs-dpctl", "show", DATAPATH])) if not port.startswith(self.device)]
        if others == [DATAPATH] and not any_runs():
            output(["ovs-dpctl", "del-dp", DATAPATH])

    def _start(self, program: str, *words: str) -> None:
        """Start a daemon whose files are in the switch's folder. Raise Unavailable if it is not installed."""
        log = open(self.folder / f"{program}.log", "wb")
        places = {f"OVS_{place}DIR": str(self.folder) for place in ("RUN", "DB", "LOG")}
        control = f"--unixctl={self.folder}/{program}.ctl"
        command = [program, *words, control, f"--pidfile={self.folder}/{program}.pid"]
        try:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **places})
        except FileNotFoundError as problem:
            raise Unavailable(f"{program} is not installed") from problem
        self.daemons.append(started)

    def _wait(self, name: str) -> None:
        end = time.monotonic() + READY_SECONDS
        while not (self.folder / name).exists():
            if time.monotonic() > end:
                raise Unavailable(f"Open vSwitch did not get ready: {self.folder / name} is not there")
            time.sleep(0.01)

    def _control(self, *words: str) -> list[str]:
        return ["ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=10", *words]


def refuse_another() -> None:
    """Raise Unavailable if the kernel switches for another Open vSwitch of this host.

    The kernel has one datapath for all, and ours would remove the other's bridges from it.
    """
    if in_kernel() and any_runs():
        raise Unavailable(
            "another Open vSwitch runs here, and the kernel cannot have two: stop it (systemctl stop openvswitch-switch)"
        )


def any_runs() -> bool:
    """Return whether an Open vSwitch runs on this host, of any user."""
    return bool(output(["sh", "-c", "pidof ovs-vswitchd || true"]).strip())


def in_kernel() -> bool:
    """Return whether the kernel switches packets for Open vSwitch."""
    return topology.open_vswitch() == topology.KERNEL
