"""Processes of a machine within this one, by kind of victim."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from plimsoll.host.processes import stat_of

# Programs of images that are measured.
PROGRAMS = "/opt/plimsoll/bin/"
BENCHMARKS = ("linpack", "netperf", "netserver", "iperf", "bonnie++", "stream", "sysbench", "iterate")


class Process(NamedTuple):
    """A process as this host sees it: `space` is its namespace of processes, `state` the kernel's letter."""

    number: int
    parent: int
    state: str
    name: str
    words: tuple[str, ...]
    space: str

    def has(self, word: str) -> bool:
        """Return whether one word of its command line is this word, or a program of this name."""
        return any(each == word or Path(each).name == word for each in self.words)


def below(roots: Iterable[int]) -> list[Process]:
    """Return processes and all their descendants, without those that have ended."""
    children = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        if one := _of(folder):
            children[one.parent].append(one)
    found, waiting = [], [one for each in children.values() for one in each if one.number in set(roots)]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children[one.number]
    unique = {one.number: one for one in found if one.state not in "ZX"}
    return sorted(unique.values())


def _of(folder: Path) -> Process | None:
    try:
        name, (state, parent, *_) = stat_of(folder / "stat")
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        return Process(int(folder.name), int(parent), state.decode(), name, tuple(words), os.readlink(folder / "ns/pid"))
    except (OSError, ValueError):
        return None  # it has ended


def _python(one: Process) -> bool:
    return bool(one.words) and Path(one.words[0]).name.startswith("python")


def _through_loader(one: Process, name: str) -> bool:
    """Return whether a process is a program of an image. On bare metal, the image's loader runs it."""
    return one.name == name or (one.name.startswith("ld-linux") and one.has(name))


def _guest(one: Process) -> bool:
    return one.name.startswith("qemu-system")


# Victims by their name in a fault. An engine in a container has its own namespace of processes.
VICTIMS: dict[str, Callable[[Process, str], bool]] = {
    "command": lambda one, space: _python(one) and "plimsoll.cli" in one.words,
    "snakemake": lambda one, space: one.has("snakemake") and (_python(one) or one.name == "snakemake"),
    "measuring process": lambda one, space: _python(one) and "plimsoll.measure" in one.words,
    "stage": lambda one, space: _python(one) and "plimsoll" in one.words,
    "mpirun": lambda one, space: _through_loader(one, "orterun"),
    "rank": lambda one, space: _through_loader(one, "hpcc"),
    "client": lambda one, space: one.name == "docker",
    # The first process of each container.
    "container": lambda one, space: one.name == "docker-init" or one.name == "tini",
    "shim": lambda one, space: one.name.startswith("containerd-shim") and one.space == space,
    "engine": lambda one, space: one.name in ("dockerd", "containerd") and one.space == space,
    "nested engine": lambda one, space: one.name in ("dockerd", "containerd") and one.space != space,
    "instance": lambda one, space: one.name == "appinit",
    "instance's supervisor": lambda one, space: one.name == "starter" and any("instance" in each for each in one.words[:1]),
    "guest": lambda one, space: _guest(one),
    "switch": lambda one, space: one.name in ("ovs-vswitchd", "ovsdb-server"),
    "daemon": lambda one, space: one.name == "java" and any(each.startswith("-Dplimsoll.logs") for each in one.words),
    "task": lambda one, space: one.name == "java" and any("YarnChild" in each or "MRAppMaster" in each for each in one.words),
    # A kernel ran each notebook when the campaigns were made. Now its stage does.
    "kernel": lambda one, space: _python(one) and {"plimsoll", "figure"} <= set(one.words),
    "benchmark": lambda one, space: any(_through_loader(one, name) for name in BENCHMARKS),
}
