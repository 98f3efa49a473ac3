"""Checks of Slurm, and of Snakemake's plugin for Slurm, before anything is submitted."""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterable
from types import SimpleNamespace
from typing import NamedTuple

from plimsoll.errors import PlimsollError
from plimsoll.features.hosts.named_hosts import Host, Hosts

PLUGIN = "snakemake_executor_plugin_slurm"
INSTALLED = "`bash scripts/setup/slurm.sh` puts it into .venv, from where Snakemake must be called"
# Prints name, processors and MiB of memory of each node.
ASKED = ["sinfo", "--Node", "--noheader", "--format", "%N %c %m"]
ANSWER_SECONDS = 30
# How long before its time is over a job gets SIGTERM (s), so that it stops what it has started on the node.
WARNED_SECONDS = 120


class Node(NamedTuple):
    """A node of Slurm: its processors, and its memory in MiB."""

    cpus: int
    memory: int


def executor() -> str:
    """Return the name of Snakemake's executor for Slurm. Raise PlimsollError if it is not installed."""
    if importlib.util.find_spec(PLUGIN) is None:
        raise PlimsollError(f"This Snakemake has no plugin for Slurm: {INSTALLED}.")
    return "slurm"


def nodes() -> dict[str, Node]:
    """Return Slurm's nodes by name. Raise PlimsollError if Slurm is not there or does not answer."""
    for program in ("sbatch", "sinfo"):
        if not shutil.which(program):
            raise PlimsollError(
                f"{program} is not installed here: call this where Slurm's commands are, or say how ssh reaches the hosts "
                "(docs/how-to/cluster.md)."
            )
    try:
        done = subprocess.run(ASKED, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired as problem:
        raise PlimsollError(f"Slurm did not answer within {ANSWER_SECONDS} s: `sinfo` should list its nodes.") from problem
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["it said nothing"]
        raise PlimsollError(f"Slurm does not answer ({words[-1]}): `sinfo` should list its nodes.")
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: Node(int(cpus.rstrip("+")), int(memory.rstrip("+"))) for name, cpus, memory in rows}


def node_requests(hosts: Hosts, known: dict[str, Node]) -> dict[str, Node]:
    """Return what each host's job asks for: the whole node, or what the configuration says.

    Raise PlimsollError for a host that Slurm does not know.
    """
    if missing := [name for name in hosts.named if name not in known]:
        raise PlimsollError(f"hosts: Slurm has no node {missing[0]}; it has {', '.join(sorted(known))}.")
    return {name: Node(host.cpus or known[name].cpus, host.memory or known[name].memory) for name, host in hosts.named.items()}


def options(host: Host) -> str:
    """Return further options of `sbatch`: SIGTERM before the job is killed, and the whole of this node."""
    # The name comes last: the plugin takes some letters for an option only if something follows.
    return f"--signal=TERM@{WARNED_SECONDS} --exclusive --nodelist={host.name}"


def refuse_names(hosts: Iterable[Host]) -> None:
    """Raise PlimsollError for a host whose name Snakemake's plugin would take for an option of sbatch."""
    try:
        from snakemake_executor_plugin_slurm.validation import validate_slurm_extra
    except ImportError:
        return
    from snakemake_interface_common.exceptions import WorkflowError

    for host in hosts:
        try:
            validate_slurm_extra(SimpleNamespace(resources=SimpleNamespace(slurm_extra=options(host))))
        except WorkflowError as problem:
            raise PlimsollError(
                f"hosts: Snakemake's plugin for Slurm takes {host.name} for an option of sbatch: submit it by hand, with "
                f"`sbatch --exclusive --nodelist={host.name} --wrap` and scripts/cluster/host.sh (docs/how-to/cluster.md)."
            ) from problem
