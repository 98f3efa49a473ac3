"""Networks whose containers start with none, and are then wired to a switch of this host: one pair of virtual devices each."""

import contextlib
import ipaddress
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.networks import device, firewall
from plimsoll.environments.networks.base import Network, Plug
from plimsoll.environments.networks.subnets import free_subnet
from plimsoll.errors import Unavailable
from plimsoll.host import topology
from plimsoll.measuring.process import ended_within, kill

# Where the subnets of these networks begin: apart from all others'.
FIRST = 227
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
# The device of Open vSwitch in user space itself.
NETDEV = "ovs-netdev"
# What the kernel switches by, with the ports that `ovs-dpctl` lists in it.
DATAPATH, PORT = "ovs-system", re.compile(r"^\s*port \d+: (?P<device>\S+)", re.MULTILINE)
# Has the kernel answer no question for an address on a device (arp_ignore).
SILENT = ("sh", "-c", 'echo 8 >"/proc/sys/net/ipv4/conf/$0/arp_ignore"')
# How long a switch may take to be there, and to end (s).
READY_SECONDS, END_SECONDS = 10.0, 5.0


class Wired(Network):
    """`device` is the switch on this host, and the name that its wires begin with. It is made for a run, and removed with it.

    Nothing is left to the virtual devices that a network card could do: checksums and large segments are made by whoever sends.
    A switch in user space does not make them, and two switches can be compared only if both are treated alike.
    """

    offloads = False

    def __init__(self, name: str):
        super().__init__("none")
        self.device = name
        self.subnet: ipaddress.IPv4Network | None = None
        self.wires = 0

    def set_up(self, on=HOST) -> None:
        """Make it, unless this process has; Unavailable if that fails."""
        if self.subnet:
            return
        self.sweep()
        subnet = free_subnet(f"the switch {self.device}", FIRST)
        self._make()
        device.bring_up(self.device, subnet)
        self.subnet = subnet

    def connect(self, node: Node) -> None:
        """Wire a container to it, with the host as the way to all else; Unavailable if that fails."""
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
        """The next address, with the length of the prefix."""
        self.wires += 1
        return f"{self.subnet[1 + self.wires]}/{self.subnet.prefixlen}"

    def passed(self) -> int:
        """Bytes that have passed between the switch and this host."""
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
        """The commands that put a device of this host into the switch."""
        return [("ip", "link", "set", wire, "up"), ("ip", "link", "set", wire, "master", self.device)]

    def _remove(self) -> None:
        """Remove what the switch is besides devices."""


class OpenVSwitch(Wired):
    """Open vSwitch: in the kernel if it has it, otherwise in user space. Its daemons are children of the run, so that their
    processor time is the run's own."""

    def __init__(self, name: str):
        super().__init__(name)
        self.folder = Path(f"/run/{name}")
        self.daemons: list[subprocess.Popen] = []

    @property
    def offloads(self) -> bool:
        """In the kernel the devices' offloads work."""
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
        # In user space the switch only listens to its wires, and the kernel hears all as well: it must not answer for this host
        # there, or packets to the host would leave the switch out.
        return plugging if in_kernel() else [(*SILENT, wire), *plugging]

    def _remove(self) -> None:
        if self.daemons and in_kernel():
            # What it has made in the kernel outlives it, unless it is told so. It answers before it cleans up, and a signal
            # would end it in the middle of that.
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
        # It outlives the daemon that made it. Another one on this host may have its own.
        if device.exists(NETDEV) and not any_runs():
            output(["ip", "link", "delete", NETDEV])
        if in_kernel() and device.exists(self.device):
            self._leave_kernel()

    def _leave_kernel(self) -> None:
        """Remove what a daemon that was killed has left in the kernel, where a device of the switch is no link that can be
        deleted: this switch, and the datapath unless others have something in it."""
        output(["ovs-dpctl", "del-if", DATAPATH, self.device])
        others = [port for port in PORT.findall(output(["ovs-dpctl", "show", DATAPATH])) if not port.startswith(self.device)]
        if others == [DATAPATH] and not any_runs():
            output(["ovs-dpctl", "del-dp", DATAPATH])

    def _start(self, program: str, *words: str) -> None:
        """Start a daemon, whose words are in its folder."""
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
    """Unavailable if the kernel switches for another Open vSwitch of this host: it has one switch for all, and ours would
    remove the other's bridges from it."""
    if in_kernel() and any_runs():
        raise Unavailable(
            "another Open vSwitch runs here, and the kernel cannot have two: stop it (systemctl stop openvswitch-switch)"
        )


def any_runs() -> bool:
    """Whether an Open vSwitch runs on this host, whoever's."""
    return bool(output(["sh", "-c", "pidof ovs-vswitchd || true"]).strip())


def in_kernel() -> bool:
    """Whether the kernel switches packets for Open vSwitch."""
    return topology.open_vswitch() == topology.KERNEL
