"""Singularity instances: daemons with namespaces and a cgroup of their own, on a bridge network through CNI."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

from plimsoll import cgroup, launcher
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import LABEL, Deployment, Job, Runtime, all_of, output
from plimsoll.runtimes.singularity import Singularity, cgroup_files, executable, needs_root

AGENT = Path(__file__).with_name("instance-agent.sh")


def listed(prefix: str) -> list[dict]:
    """Instances whose name begins so, as `instance list` knows them."""
    instances = json.loads(output([executable(), "instance", "list", "--json", f"{prefix}*"]))["instances"] or []
    return [instance for instance in instances if instance["instance"].startswith(prefix)]


def stop(instances: list[dict], seconds: float = 10) -> None:
    """Kill instances and wait until what supervises each has cleaned up its network and cgroup.

    `instance stop` does the same, but looks only once a second. Unavailable if one stays.
    """
    supervisors = []
    for instance in instances:
        with contextlib.suppress(OSError):
            supervisors.append(int(_stat(instance["pid"])[1]))
            os.kill(instance["pid"], signal.SIGKILL)
    end = time.monotonic() + seconds
    while any(map(_runs, supervisors)):
        if time.monotonic() > end:
            raise Unavailable(f"an instance did not stop within {seconds:g} s of being killed")
        time.sleep(0.005)


def _stat(pid: int) -> list[str]:
    """State, parent and the rest of a process's stat line."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie: who adopted it may be slow to bury it."""
    try:
        return pid > 1 and _stat(pid)[0] != "Z"
    except OSError:
        return False


class InstanceDeployment(Deployment):
    """Instances that wait; mpirun runs in the only one, or starts its daemon in each through `apptainer exec instance://`."""

    instances: list[dict]

    def launch(self, program: list[str]) -> list[str]:
        """mpirun in the instance, or on the host with the instances as its nodes."""
        inside = ["exec", "--pwd", str(self.job.folder), f"instance://{self.job.names[0]}"]
        return self.job.mpirun_there(program, AGENT, [*launcher.CLEAN, executable(), *inside])

    def environment(self) -> dict[str, str]:
        """The launcher's, and the agent's executable."""
        return {**super().environment(), "PLIMSOLL_APPTAINER": executable()}

    def remove(self) -> None:
        """Stop the instances."""
        stop(self.instances)


class SingularityInstance(Runtime):
    """Singularity instances with a network of their own."""

    name = "singularity-instance"
    label = "Singularity instance"

    def check(self) -> str:
        """Singularity's version, if instances may have a network here."""
        needs_root("an instance with a network of its own")
        return Singularity().check()

    def deploy(self, job: Job) -> Deployment:
        """`instance start` of every container, side by side.

        The exit status is not to be trusted (Apptainer reports success of a start that failed), so the list of instances is.
        """
        options = ["--writable-tmpfs", "--no-home", "--net", "--network", "bridge", "--bind", str(job.folder)]
        files = cgroup_files(job) if job.cell["restricted"] else []
        own = [["--apply-cgroups", str(file)] for file in files] or [[]] * len(job.names)
        commands = [
            [executable(), "instance", "start", *options, *more, "--hostname", name, job.image["sif"], name]
            for name, more in zip(job.names, own, strict=True)
        ]
        prefix = job.names[0].removesuffix("0")
        try:
            all_of(commands)
            up = listed(prefix)
            if missing := set(job.names) - {instance["instance"] for instance in up}:
                raise Unavailable(f"instance {sorted(missing)[0]} did not start")
        except Unavailable:
            stop(listed(prefix))
            raise
        found = cgroup.mounts()
        groups = [group for instance in up if (group := cgroup.of_process(instance["pid"], found))]
        deployment = InstanceDeployment(job, groups)
        deployment.instances = up
        return deployment

    def sweep(self) -> None:
        """Stop every instance that carries the workflow's name."""
        stop(listed(LABEL))


RUNTIMES = (SingularityInstance(),)
