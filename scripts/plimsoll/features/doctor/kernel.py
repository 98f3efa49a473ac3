"""Findings about the kernel: settings that reports name, groups that count, and counters."""

from collections.abc import Iterator

from plimsoll import spelling
from plimsoll.features.doctor.finding import FINE, NOTE, WARNS, Finding
from plimsoll.features.doctor.readings import Readings
from plimsoll.host import quiet_settings

MITIGATION = "mitigation of "
VULNERABLE = "Vulnerable"


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield the findings about the kernel."""
    yield addresses(seen)
    yield mitigations(seen)
    yield groups(seen)
    yield rights(seen)
    yield counters(seen)
    if quiet_settings.read_note():
        means = "Settings are those of a quiet machine. Runs with other settings are never pooled with them."
        yield Finding("quiet machine", "made so by plimsoll doctor", NOTE, means, "./plimsoll doctor --undo (afterwards)")


def addresses(seen: Readings) -> Finding:
    """Return how addresses are drawn."""
    value, name = seen.facts["address space randomisation"], "address randomisation"
    if value == "2":
        return Finding(name, "on", FINE, "Each run draws its addresses, so chance of placement averages out.")
    means = "Each run has the same addresses, and their luck is in all of them. Intervals are then too narrow."
    return Finding(name, f"{value} (2 is usual)", NOTE, means, "sudo sysctl kernel.randomize_va_space=2")


def mitigations(seen: Readings) -> Finding:
    """Return how the kernel treats known weaknesses of the processor."""
    known = [value for fact, value in seen.facts.items() if fact.startswith(MITIGATION)]
    mitigated = sum(value.startswith("Mitigation") for value in known)
    value = f"{mitigated} active, {sum(one.startswith(VULNERABLE) for one in known)} left open"
    means = "System calls and packets cost what these leave. They are noted, and runs with others are never pooled."
    return Finding("mitigations", value, FINE, means)


def groups(seen: Readings) -> Finding:
    """Return which version of cgroups counts processor time."""
    if seen.cgroup == "none":
        means = "Neighbours cannot be told apart from the run, so disturbed runs count (`apart: false`)."
        return Finding("cgroups", "none", WARNS, means, "mount cgroup version 2 at /sys/fs/cgroup")
    return Finding("cgroups", f"version {seen.cgroup}", FINE, "The processor time of each container is counted.")


def rights(seen: Readings) -> Finding:
    """Return whether this user may limit what bare metal runs on."""
    if seen.host["cpusets"]:
        return Finding("right to make cgroups", "yes", FINE, "Bare metal gets the same processors and memory as containers.")
    means = "Runs on bare metal and in Apptainer have no group of their own. Claims about them say `apart: false`."
    return Finding("right to make cgroups", "no", NOTE, means, "measure as root")


def counters(seen: Readings) -> Finding:
    """Return what perf can count."""
    events = seen.host["events"]
    if not events:
        means = "Claims about cache misses, remote memory and context switches are not testable here."
        return Finding(
            "perf", "not installed", NOTE, means, f"{spelling.command('setup')} (installs it where the distribution has it)"
        )
    missing = [name.replace("_", " ") for name, event in events.items() if event is None]
    if not missing:
        return Finding("perf", "all counters", FINE, "Claims about counters can be tested.")
    paranoid = seen.host["perf_event_paranoid"]
    # Root may count all that the processor, or the hypervisor, can count.
    remedy = "" if seen.host["root"] else "sudo sysctl kernel.perf_event_paranoid=-1"
    means = "Claims about these counters are not testable here."
    return Finding("perf", f"no {', '.join(missing)} (perf_event_paranoid {paranoid})", NOTE, means, remedy)
