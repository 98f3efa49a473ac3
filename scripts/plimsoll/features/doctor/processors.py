"""Findings about processors: their frequency, what shares them, and what keeps them from a run."""

from collections.abc import Iterator

from plimsoll.features.doctor.finding import FINE, NOTE, QUIET, WARNS, Finding
from plimsoll.features.doctor.readings import Readings
from plimsoll.host import slowdowns, system, topology

# L3 cache of one core that no processor has for itself (bytes): a guest that sees more shares it with cores of others.
MOST_L3 = 8 * 2**20
HIDDEN = "Firmware or a hypervisor sets the frequency. It may change between runs, which blocks spread over both sides."
SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield the findings about processors."""
    yield governor(seen.facts["governor"])
    yield turbo(seen.facts["turbo"])
    yield siblings(seen)
    yield heat(seen)
    yield quota(seen)
    yield steal(seen)
    yield shared_cache(seen)
    yield clock(seen.clock)


def governor(value: str) -> Finding:
    """Return what the frequency governor means."""
    name = "frequency governor"
    if value == system.NOT_READABLE:
        return Finding(name, value, NOTE, HIDDEN)
    if value == "performance":
        return Finding(name, value, FINE, "A program runs at full frequency from its start.")
    means = "A short program ends before its core is at full frequency, so small differences stay inconclusive."
    return Finding(name, value, WARNS, means, QUIET)


def turbo(value: str) -> Finding:
    """Return what turbo (boost) means."""
    if value == system.NOT_READABLE:
        return Finding("turbo", value, NOTE, HIDDEN)
    if value == "off":
        return Finding("turbo", value, FINE, "The frequency does not depend on how many cores work, or on their heat.")
    means = "One busy core is faster than all busy cores, so claims about one against several containers may follow from heat."
    return Finding("turbo", value, WARNS, means, QUIET)


def siblings(seen: Readings) -> Finding:
    """Return what several hardware threads per core mean."""
    host, name = seen.host, "hardware threads"
    if len(host["cpus"]) == host["cores"]:
        return Finding(name, "one per core", FINE, "No two programs share a core's units.")
    means = "Ranks are placed one per core. A sibling is used only where a study asks for it, or by programs of others."
    return Finding(name, f"{len(host['cpus'])} on {host['cores']} cores", NOTE, means)


def heat(seen: Readings) -> Finding:
    """Return what heat has taken from the processors, since boot and in the window."""
    seconds = seen.throttled.get(slowdowns.HEAT, 0.0)
    if not seconds:
        return Finding("heat", "no slowdown since boot", FINE, "Runs that heat slows are repeated. None would be now.")
    means = "Runs that heat slows are repeated, so measuring takes longer and decides fewer claims."
    level = WARNS if slowdowns.HEAT in seen.window.during["throttled_by"] else NOTE
    return Finding("heat", f"{seconds:.1f} s lost since boot", level, means, f"cool the machine, or without turbo: {QUIET}")


def quota(seen: Readings) -> Finding:
    """Return what quotas of processor time have taken from this process, since boot and in the window."""
    lost = {group: seconds for group, seconds in seen.throttled.items() if group != slowdowns.HEAT and seconds}
    if not lost:
        return Finding("quota of processor time", "none in effect", FINE, "No quota slows a run.")
    means = "Bare metal is measured under this quota, and containers may not be. Runs that it slows are repeated."
    value = ", ".join(f"{group}: {seconds:.1f} s waited" for group, seconds in sorted(lost.items()))
    level = WARNS if set(lost) & set(seen.window.during["throttled_by"]) else NOTE
    return Finding("quota of processor time", value, level, means, "start in a shell without a quota (systemd: CPUQuota=)")


def steal(seen: Readings) -> Finding:
    """Return what a hypervisor has taken in the window."""
    during, processors = seen.window.during, len(seen.host["cpus"])
    stolen, of = during["stolen_seconds"], during["seconds"] * processors
    value = f"{stolen:.2f} s of {of:.1f} s"
    if not seen.window.disturbs(stolen, processors):
        return Finding("stolen by a hypervisor", value, FINE, "Runs from which more is stolen are repeated.")
    means = "The host gives this machine's processors to others. Disturbed runs are repeated, and few claims are decided."
    return Finding("stolen by a hypervisor", value, WARNS, means, "measure at another hour, or on a machine of your own")


def shared_cache(seen: Readings) -> Finding:
    """Return whether the last-level cache is most probably shared with cores that this machine does not have."""
    host, size = seen.host, topology.last_level_cache_bytes(seen.host)
    value = f"{size / 2**20:.0f} MiB of {host['cores']} cores"
    if not host["hypervisor"] or size <= MOST_L3 * host["cores"]:
        return Finding("last-level cache", value, FINE, "Problem sizes follow from this cache, and no core of others is in it.")
    means = (
        "This is a virtual machine, and other machines use that cache too. Claims about memory and caches vary from day to day."
    )
    return Finding("last-level cache", value, NOTE, means, "./plimsoll session (measures once more, on another day)")


def clock(source: str) -> Finding:
    """Return what the clock source means."""
    if source in SLOW_CLOCKS:
        means = "Reading the time takes a microsecond and more, which latencies contain."
        return Finding("clock source", source, WARNS, means, "restart with the kernel's option tsc=reliable")
    return Finding("clock source", source, FINE, "Reading the time costs a few tens of nanoseconds.")
