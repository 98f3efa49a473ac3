"""Findings about others on this machine: running programs, containers, and other measurements."""

from collections import Counter
from collections.abc import Iterator

from plimsoll.features.doctor.finding import FINE, NOTE, WARNS, Finding
from plimsoll.features.doctor.readings import Readings
from plimsoll.host import machine_lock, processes
from plimsoll.measuring import lock

# Names of processes of which an engine starts one per container or virtual machine, as far as the kernel keeps them.
HOLDERS = {
    "containerd-shim": "Docker or containerd",
    "conmon": "Podman",
    "starter": "Apptainer",
    "starter-suid": "Apptainer",
    "qemu-system-x86": "QEMU",
}
# What lists them.
LISTS = {
    "Docker or containerd": "docker ps",
    "Podman": "podman ps",
    "Apptainer": "apptainer instance list",
    "QEMU": "pgrep -a qemu",
}


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield the findings about others."""
    yield busy(seen)
    yield swapping(seen)
    yield containers(Counter(HOLDERS[processes.name(number)] for number in processes.pids_by_name(HOLDERS)))
    yield measuring(machine_lock.free(), lock.left_by_others())


def busy(seen: Readings) -> Finding:
    """Return whether other programs used more in the window than a run allows."""
    during, name = seen.window.during, "programs at work"
    most, value = during["threshold"]["share"], f"{during['neighbour_share']:.1%} of all processors"
    if not seen.window.disturbs(during["neighbour_seconds"], len(seen.host["cpus"])):
        return Finding(name, value, FINE, f"Below the {most:.0%} from which a run counts as disturbed.")
    means = f"Above the {most:.0%} from which a run counts as disturbed: such runs are repeated, then left out."
    return Finding(name, f"{value} ({seen.window.busiest})", WARNS, means, "end them, or wait until they have ended")


def swapping(seen: Readings) -> Finding:
    """Return whether memory was moved to or from swap space in the window."""
    moved = seen.window.during["swapped_bytes"]
    if not moved:
        return Finding("swapping", "none", FINE, "No program waits for memory on a disk.")
    means = "Runs during which memory is moved to and from a disk are repeated, then left out."
    return Finding("swapping", f"{moved / 1e6:.1f} MB in a second", WARNS, means, "end programs that need much memory")


def containers(there: Counter) -> Finding:
    """Return what containers of others mean. `there` is the number of containers and virtual machines by engine."""
    if not there:
        return Finding("other containers", "none", FINE, "Nothing else shares the engine.")
    value = ", ".join(f"{number} of {engine}" for engine, number in sorted(there.items()))
    means = "They disturb a run only while they work, and such runs are repeated. Plimsoll never stops them."
    remedy = f"{'; '.join(LISTS[engine] for engine in sorted(there))} (and stop those that you can do without)"
    return Finding("other containers", value, NOTE, means, remedy)


def measuring(free: bool, left: str) -> Finding:
    """Return whether another measurement runs (the machine's lock is not `free`), or has left something when it was killed.

    `left` says what, in words.
    """
    if not free:
        means = "Only one measurement runs at a time. Yours waits until the other one has ended."
        return Finding("other measurements", "one is running", WARNS, means, "wait for it")
    if left:
        means = "Its containers may still work, and would disturb yours."
        return Finding("other measurements", left, NOTE, means, "sudo ./plimsoll clean-up")
    return Finding("other measurements", "none", FINE, "Yours begins at once.")
