"""Findings about memory: swap space, memory that comes and goes, and how the kernel hands it out."""

import re
from collections.abc import Iterator

from plimsoll.features.doctor.finding import FINE, NOTE, QUIET, WARNS, Finding
from plimsoll.features.doctor.readings import Readings
from plimsoll.host import topology

# Share of the machine's memory that the kernel may keep from its nodes' sum.
SAME = 0.95


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield the findings about memory."""
    yield swap(seen)
    yield growing(seen)
    yield nodes(seen)
    yield huge_pages(seen)
    yield balancing(seen)


def swap(seen: Readings) -> Finding:
    """Return what swap space means."""
    used, total = seen.swap
    if not total:
        return Finding("swap", "none", FINE, "No measured memory can be on a disk.")
    value = f"{used / 2**30:.1f} of {total / 2**30:.1f} GiB in use"
    if not used:
        return Finding("swap", value, NOTE, "Runs during which memory is moved to a disk are repeated.", QUIET)
    means = "Memory of the engine may be on a disk, so starts of containers vary. Runs that swap are repeated."
    return Finding("swap", value, WARNS, means, QUIET)


def growing(seen: Readings) -> Finding:
    """Return whether the machine's memory has changed in the window."""
    before, after = seen.window.memory
    value = f"{after / 2**30:.1f} GiB"
    if before == after:
        return Finding("memory", value, FINE, "Problem sizes follow from it once, and then stay.")
    means = "A hypervisor gives and takes memory (ballooning), which costs the programs that are measured."
    remedy = "give the machine a fixed memory; or wait until it no longer changes"
    return Finding("memory", f"{before / 2**30:.2f} GiB, {after / 2**30:.2f} GiB a second later", WARNS, means, remedy)


def nodes(seen: Readings) -> Finding:
    """Return whether the memory nodes have as much memory as the machine."""
    sizes = [node["memory_bytes"] or 0 for node in topology.memory_nodes(seen.host)]
    total, value = seen.host["memory_bytes"], " + ".join(f"{size / 2**30:.1f}" for size in sizes) + " GiB"
    if sum(sizes) >= SAME * total or not all(sizes):
        return Finding("memory nodes", value, FINE, "Each node's share of a problem fits into it.")
    means = (
        "The nodes hold less than the machine: it grows on demand. Sizes follow from the smallest node, and may be below "
        "the profile's. The report then says so."
    )
    remedy = "rm results/STUDY/sizes.json (decides sizes again, once the memory has grown)"
    return Finding("memory nodes", f"{value} of {total / 2**30:.1f} GiB", NOTE, means, remedy)


def huge_pages(seen: Readings) -> Finding:
    """Return how programs get huge pages."""
    value = seen.facts["transparent huge pages"]
    chosen = re.search(r"\[(\w+)\]", value)
    if chosen and chosen[1] == "always":
        means = "Programs get huge pages unasked, if there are some: alike in all runtimes, but not in each run."
        return Finding("transparent huge pages", "always", NOTE, means)
    return Finding("transparent huge pages", chosen[1] if chosen else value, FINE, "Alike in all runtimes.")


def balancing(seen: Readings) -> Finding:
    """Return whether the kernel moves pages between memory nodes."""
    value = seen.facts["NUMA balancing"]
    if value == "1" and len(topology.memory_nodes(seen.host)) > 1:
        means = "The kernel moves pages while a program runs, so claims about near and far memory lose their cause."
        return Finding("NUMA balancing", "on", WARNS, means, QUIET)
    words = {"0": "off", "1": "on, with one node"}
    return Finding("NUMA balancing", words.get(value, value), FINE, "Pages stay where a program has put them.")
