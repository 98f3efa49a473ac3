"""Singularity instances: daemons with namespaces and a cgroup of their own, on a bridge network through CNI."""

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup, processes
from plimsoll.runtimes import mounts
from plimsoll.runtimes.apptainer import Apptainer, Singularity, at_home, cgroup_files, executable, form_of, is_installed
from plimsoll.runtimes.base import HOST, LABEL, Node, needs_root, without_variables
from plimsoll.runtimes.commands import all_of, output
from plimsoll.runtimes.networks.cni import CniNetwork
from plimsoll.runtimes.privileges import Privileges

# Cgroup in which Apptainer makes the cgroups of instances that have a place. Each is called by the number of the
# instance's process.
GROUPS = "apptainer"
# Beginning of the name of the program that supervises an instance.
SUPERVISOR = "starter"
# Variable of an instance's first process, and of its supervisor, which has the instance's name.
CONFIGURED, NAMED = b"ENGINE_CONFIG1", re.compile(rb'\{"engineName":"\w+","containerID":"([^"]+)"')


def instances(prefix: str) -> list[dict]:
    """Return the instances whose name begins with `prefix`, as `instance list` describes them."""
    known = json.loads(output([executable(), "instance", "list", "--json", f"{prefix}*"]))["instances"] or []
    return [instance for instance in known if instance["instance"].startswith(prefix)]


def run_instances() -> dict[int, str]:
    """Return the names of the instances of all runs of this user (for root: of all users), by PID of the first process.

    Apptainer lists those that were started with the same HOME, and each run has a HOME of its own. So processes are
    looked at.
    """
    named = {number: instance_name(processes.environment(number)) for number in processes.numbers()}
    return {
        number: name
        for number, name in named.items()
        if name.startswith(LABEL) and not processes.name(number).startswith(SUPERVISOR)
    }


def instance_name(environment: Mapping[bytes, bytes]) -> str:
    """Return the name of the instance that a process with this environment belongs to; empty if it belongs to none."""
    named = NAMED.match(environment.get(CONFIGURED, b""))
    return os.fsdecode(named[1]) if named else ""


def stop(pids: list[int], seconds: float = 10) -> None:
    """Kill instances, and wait until the supervisor of each has cleaned up its network and cgroup, or has ended.

    `instance stop` does the same, but looks only once a second. Raise Unavailable if one stays longer than `seconds`.
    """
    waited = list(pids)
    for pid in pids:
        with contextlib.suppress(OSError):
            # An instance without a supervisor was adopted by a process that stays.
            if processes.name(parent := processes.facts(f"/proc/{pid}/stat").parent).startswith(SUPERVISOR):
                waited.append(parent)
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + seconds
    while any(map(_runs, waited)):
        if time.monotonic() > end:
            raise Unavailable(f"an instance did not stop within {seconds:g} s of being killed")
        time.sleep(0.005)


def _runs(pid: int) -> bool:
    """Return whether a process exists and is not a zombie. The process that adopted a zombie may be slow to read its
    exit status."""
    try:
        return pid > 1 and processes.facts(f"/proc/{pid}/stat").state != "Z"
    except OSError:
        return False


# Apptainer's own CNI configuration makes this network for the first instance. The interface and the address of an
# instance go with the instance.
CNI = CniNetwork("bridge")


class InstanceNode(Node):
    """An instance that waits for programs."""

    kind = "instance"

    def __init__(self, spec, on, groups, pid: int, interface: str | None = None):
        super().__init__(spec.name, on, groups, spec)
        self.pid, self.interface = pid, interface

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        where = ["--pwd", str(folder)] if folder else []
        return [
            *without_variables(without),
            executable(),
            "exec",
            *where,
            f"instance://{self.name}",
            *at_home(self.spec),
            *program,
        ]


class SingularityInstance(Apptainer):
    """Singularity instances with a network of their own."""

    name = "singularity-instance"
    label = "Singularity instance"
    colour, hatch = "#e69f00", "\\\\"
    network = CNI

    def privileges(self) -> Privileges:
        """Return what `apptainer instance start` gives with a network."""
        why = "it is what `apptainer instance start --net --no-home` gives"
        return super().privileges()._replace(shares=("ipc", "user"), why=why)

    def check(self) -> str:
        """Return Singularity's version. Raise Unavailable if instances may have no network here."""
        needs_root("an instance with a network of its own")
        return Singularity().check()

    def start(self, specs, on=HOST) -> list[Node]:
        """Start all instances side by side with `instance start`.

        Its exit status is not reliable: Apptainer reports success of a start that failed. So the list of instances
        decides. Raise Unavailable if one is missing there.
        """
        files = cgroup_files(specs)
        own = [["--apply-cgroups", str(file)] for file in files] or [[]] * len(specs)
        for network in dict.fromkeys(spec.network or self.network for spec in specs):
            network.set_up(on)
        commands = [on.inside(self._command(spec, more)) for spec, more in zip(specs, own, strict=True)]
        prefix = specs[0].name.rstrip("0123456789")
        try:
            all_of(commands)
            up = {instance["instance"]: instance["pid"] for instance in instances(prefix)}
            if missing := {spec.name for spec in specs} - set(up):
                raise Unavailable(f"instance {sorted(missing)[0]} did not start")
        except Unavailable:
            self._stop([instance["pid"] for instance in instances(prefix)])
            raise
        mounted = cgroup.mounts()
        # Without privileges an instance stays in the cgroup of the process that starts it.
        groups = {name: cgroup.apart(pid, mounted) for name, pid in up.items()}
        seen = {spec.name: (spec.network or self.network).interface for spec in specs}
        nodes = [InstanceNode(spec, on, groups[spec.name], up[spec.name], seen[spec.name]) for spec in specs]
        for node in nodes:
            # Its programs are not children of the process that starts them, and only root has a cgroup of the run
            # around all.
            node.uncounted = bool(os.geteuid()) and not node.groups
        return nodes

    def _command(self, spec, more: list[str]) -> list[str]:
        options = ["--writable-tmpfs", "--no-home", *self.apart(spec), *mounts.bind(spec.folder, spec.folder)]
        named = ["--hostname", spec.name, form_of(spec.image, self.form), spec.name]
        return [executable(), "instance", "start", *options, *more, *named]

    def apart(self, spec) -> list[str]:
        """Return the options for the instance's network."""
        return ["--net", "--network", (spec.network or self.network).name]

    def stop(self, nodes) -> None:
        self._stop([node.pid for node in nodes])

    def _stop(self, pids: list[int]) -> None:
        """Stop instances, and clean up after those whose supervisor was killed."""
        stop(pids)
        self.network.give_back(pids)
        for pid in pids:
            cgroup.remove(f"{GROUPS}/{pid}")

    def tried(self) -> None:
        """Remove duplicate firewall rules. Two instances that are the first on a network can each make its rules."""
        self.network.sweep()

    def intact(self, nodes) -> None:
        """Raise Outage if the first process of an instance has ended."""
        if ended := [node.name for node in nodes if not _runs(node.pid)]:
            raise Outage(f"the instance {ended[0]} ended during its run", "find out what stopped it")

    def left(self) -> list[str]:
        return list(run_instances().values())

    def forget(self) -> list[str]:
        """Remove the bridge and the notes of the network that Apptainer makes. Return, in words, what was removed."""
        if not is_installed():
            return []
        told = dict(line.split("=", 1) for line in output([executable(), "buildcfg"]).splitlines() if "=" in line)
        return CNI.forget(Path(told.get("APPTAINER_CONFDIR") or told.get("SINGULARITY_CONFDIR", "/none")) / "network")

    def sweep(self) -> None:
        stop(list(run_instances()))
        self.network.sweep()
        numbers = {path.name for root in cgroup.hierarchies() for path in root.glob(f"{GROUPS}/*") if path.name.isdigit()}
        for number in numbers:
            if not Path("/proc", number).exists():
                cgroup.remove(f"{GROUPS}/{number}")


RUNTIMES = (SingularityInstance(),)
