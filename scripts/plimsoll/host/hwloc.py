"""Packages, cores, caches and kinds of cores of a machine, as hwloc reports them, in the order in which Open MPI
numbers them."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from plimsoll.errors import PlimsollError
from plimsoll.interchange import Cache, CoreKind

ROOT = Path("/")
# Made by scripts/setup/python.sh from the locked wheel.
PROGRAM = Path(sys.prefix) / "lib/hwloc/lstopo-no-graphics"
OTHERS = ("lstopo-no-graphics", "lstopo")
REMEDY = "Run `bash scripts/setup/python.sh` in the project's folder, or install hwloc (Debian's package hwloc-nox)."
# With processors that a cgroup forbids, and without I/O devices.
WORDS = ("--of", "xml", "--no-io", "--disallowed")
CACHE_TYPES = {"0": "Unified", "1": "Data", "2": "Instruction"}
# Kinds of cores whose speeds have at least this ratio count as one kind: a few cores of a processor often may run a
# little faster than the others.
ALIKE = 0.9


def program() -> str:
    """Return the path of hwloc's lstopo: the project's own, or the machine's.

    Raise PlimsollError if the machine has no lstopo.
    """
    found = str(PROGRAM) if PROGRAM.exists() else next(filter(None, map(shutil.which, OTHERS)), None)
    if not found:
        raise PlimsollError(f"The processors of this machine cannot be read, because hwloc's lstopo is missing. {REMEDY}")
    return found


def read(root: Path = ROOT) -> Element:
    """Return lstopo's XML of this machine, or of the machine whose /sys and /proc are copied below `root`.

    Raise PlimsollError if lstopo does not work.
    """
    command = [program(), *WORDS]
    # None of the user's variables: some of hwloc's replace the machine by another one.
    variables = {"LC_ALL": "C"}
    if root != ROOT:
        variables |= {"HWLOC_FSROOT": str(root), "HWLOC_COMPONENTS": "linux,stop", "HWLOC_THISSYSTEM": "0"}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        return ElementTree.fromstring(done.stdout)
    except (FileNotFoundError, PermissionError, subprocess.CalledProcessError, ElementTree.ParseError) as problem:
        *_, said = (getattr(problem, "stderr", "") or str(problem)).strip().splitlines()
        raise PlimsollError(
            f"The processors of this machine cannot be read, because {command[0]} failed ({said}). {REMEDY}"
        ) from problem


def numbers(mask: str) -> list[int]:
    """Return the numbers of the bits that are set in a mask of hwloc's or the kernel's, such as `0x3,,0x1` or `00,0000000f`."""
    bits = 0
    for word in mask.split(","):
        bits = bits << 32 | int(word or "0", 16)
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def machine(topology: Element) -> Element:
    """Return hwloc's object of the whole machine, which holds all others."""
    return topology.find("object")


def objects(topology: Element, *types: str) -> list[Element]:
    """Return the objects of these types, in hwloc's logical order."""
    return [found for found in topology.iter("object") if found.get("type") in types]


def processors(found: Element) -> list[int]:
    """Return the online processors of an object, by the kernel's numbers."""
    return sorted(int(each.get("os_index")) for each in found.iter("object") if each.get("type") == "PU")


def cores(topology: Element) -> list[list[int]]:
    """Return the processors of each core in logical order.

    If hwloc knows no cores, each processor counts as a core, as in Open MPI.
    """
    return [processors(core) for core in objects(topology, "Core") or objects(topology, "PU")]


def packages(topology: Element) -> list[list[int]]:
    """Return the processors of each package in logical order. Processors outside all packages come last, as one more
    package."""
    named = [processors(package) for package in objects(topology, "Package")]
    others = set(processors(machine(topology))).difference(*named)
    return [*named, sorted(others)] if others else named


def caches(topology: Element) -> list[Cache]:
    """Return all caches of known size, each once."""
    kinds = [f"L{level}{letter}Cache" for level in range(1, 6) for letter in ("", "i")]
    return [
        {
            "level": int(cache.get("depth")),
            "type": CACHE_TYPES[cache.get("cache_type")],
            "bytes": int(cache.get("cache_size")),
            "cpus": processors(cache),
        }
        for cache in objects(topology, *kinds)
        if int(cache.get("cache_size"))
    ]


def core_kinds(topology: Element) -> list[CoreKind]:
    """Return the kinds of cores, fastest first.

    hwloc's kinds of one type whose speeds differ by less than a tenth are merged.
    """
    groups: list[list[Element]] = []
    for kind in reversed(topology.findall("cpukind")):
        if groups and _alike(groups[-1][0], kind):
            groups[-1].append(kind)
        else:
            groups.append([kind])
    return [{"cpus": _members(group), "name": _name(group[0])} for group in groups]


def _members(kinds: Iterable[Element]) -> list[int]:
    return sorted(number for kind in kinds for number in numbers(kind.get("cpuset")))


def _facts(kind: Element) -> dict[str, str]:
    return {info.get("name"): info.get("value") for info in kind.findall("info")}


def _alike(fast: Element, slow: Element) -> bool:
    """Return whether two kinds of cores have one type and about the same speed.

    Speeds are the kernel's capacities, or the highest frequencies.
    """
    one, other = _facts(fast), _facts(slow)
    speed = next((name for name in ("LinuxCapacity", "FrequencyMaxMHz") if name in one and name in other), None)
    same_type = one.get("CoreType") == other.get("CoreType")
    return same_type and speed is not None and int(other[speed]) >= ALIKE * int(one[speed])


def _name(kind: Element) -> str:
    """Return a kind of cores in words (type, capacity, highest frequency), as far as the kernel tells them."""
    facts = _facts(kind)
    words = {"CoreType": "{}", "LinuxCapacity": "capacity {}", "FrequencyMaxMHz": "up to {} MHz"}
    return ", ".join(text.format(facts[name]) for name, text in words.items() if name in facts)
