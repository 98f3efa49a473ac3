"""Check that hosts can be measured from here, before anything is submitted. If not, end with one sentence."""

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from plimsoll.errors import PlimsollError
from plimsoll.features.hosts import named_hosts, slurm
from plimsoll.measuring import lock
from plimsoll.terminal.start_check import refuse

LOCK = Path(".snakemake/hosts.lock")
# The lock is held while its file is open, so the file is kept until the process ends.
_held: list[TextIO] = []


def executor() -> str:
    """Return the name of Snakemake's executor for Slurm, which profiles/slurm needs.

    End the process if it is not installed.
    """
    try:
        return slurm.executor()
    except PlimsollError as problem:
        refuse(problem)


def of_configuration(config: Mapping) -> tuple[named_hosts.Hosts, dict[str, slurm.Node]]:
    """Return the hosts of a configuration, and what the job of each requests from Slurm.

    A host that ssh reaches requests nothing. End the process if the hosts cannot be measured from here.
    """
    try:
        read = named_hosts.read(config)
        if read.by_ssh:
            return read, dict.fromkeys(read.named, slurm.Node(1, 0))
        slurm.refuse_names(read.named.values())
        return read, slurm.node_requests(read, slurm.nodes())
    except PlimsollError as problem:
        refuse(problem)


def hold_folder() -> None:
    """Keep a second start for hosts out of this folder until this process ends."""
    try:
        _held.append(lock.hold_folder(LOCK))
    except PlimsollError as problem:
        refuse(problem)
