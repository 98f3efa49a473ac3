"""What a program saw of the machine, and the files that it mapped: for the question why a step costs something."""

import re
from pathlib import Path

from plimsoll.designs.program import namespaces
from plimsoll.host import run_files
from plimsoll.images import elf

MOST_BYTES = 2**22
# A library is read up to here for its version (bytes).
MOST_LIBRARY_BYTES = 2**26
# Libraries that say their version: what the name of the file has, and the version in its bytes. Paths often have none.
VERSIONS = {
    "OpenBLAS": (re.compile("blas"), re.compile(rb"OpenBLAS (\d+\.\d+\.\d+)")),
    "glibc": (re.compile(r"^libc[.-]"), re.compile(rb"GNU C Library [^\n]* version (\d+\.\d+)")),
}
SECTION = re.compile(r"^== (\S+)\n", re.MULTILINE)
OF_STATUS = {
    "processors": "Cpus_allowed_list",
    "seccomp": "Seccomp",
    "capabilities": "CapEff",
    "new privileges": "NoNewPrivs",
}
# Sections whose text is shown as a whole, by name.
WHOLE = {
    "clock source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "transparent huge pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "processor quota and period (us)": "cpu.max",
    "shared memory": "/dev/shm",
}
FOLDERS = ("/", "/tmp", "/var/tmp", "/dev/shm")


def inside(folder: Path) -> dict[str, str]:
    """Return what the program saw of the machine, by name. A name that it could not read is left out."""
    text = run_files.text(folder / "inside", MOST_BYTES)
    parts = SECTION.split(text)
    sections = dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=False))
    status = dict(re.findall(r"^(\w+):\s*(.*)$", sections.get("/proc/self/status", ""), re.MULTILINE))
    told = {name: status[key] for name, key in OF_STATUS.items() if key in status}
    told |= {name: sections[path] for name, path in WHOLE.items() if path in sections}
    told |= namespaces.seen(sections)
    for resource in ("Max stack size", "Max open files", "Max locked memory"):
        if limit := re.search(rf"^{resource}\s+(\S+)", sections.get("/proc/self/limits", ""), re.MULTILINE):
            told[resource.lower()] = limit[1]
    told |= {f"file system of {place}": kind for place, kind in _file_systems(sections.get("/proc/self/mountinfo", "")).items()}
    return told


def _file_systems(mounts: str) -> dict[str, str]:
    """Return the kind of the file system of each of FOLDERS, from the lines of mountinfo."""
    by_place = {}
    for line in mounts.splitlines():
        own, _, rest = line.partition(" - ")
        if rest and len(fields := own.split()) > 4:
            by_place[fields[4]] = rest.split()[0]
    return {place: kind for place in FOLDERS if (kind := by_place.get(place) or by_place.get("/"))}


def mapped(folder: Path, root: Path | None) -> dict[str, dict[str, str]]:
    """Return what a record holds of the files that the program mapped to execute: `mapped` and `versions`, by path.

    `mapped` has the build identifier of each file, and `versions` the product and its version of those that have them in their
    bytes. Files in `folder`, in which the program ran, are left out. `root` is where the image's files are on this host; None
    if the program had this host's files.
    """
    lines = (line.split(maxsplit=5) for line in run_files.text(folder / "mapped", MOST_BYTES).splitlines())
    found = dict.fromkeys(fields[5].strip() for fields in lines if len(fields) == 6 and "x" in fields[1])
    builds, versions = {}, {}
    for path in (path for path in found if path.startswith("/")):
        own = _own_path(path, root)
        # Files of the user's folder are the same everywhere. Others may be gone: the program deleted them.
        if Path(path).is_relative_to(folder) or not own.is_file():
            continue
        name = str(Path("/", own.relative_to(root))) if root and own.is_relative_to(root) else path
        builds[name] = elf.build_id(own) or "none"
        if version := version_of(own):
            versions[name] = version
    return {"mapped": builds, "versions": versions}


def version_of(file: Path) -> str | None:
    """Return the product and the version that a library has in its bytes, such as `OpenBLAS 0.3.21`; None for others."""
    for product, (named, pattern) in VERSIONS.items():
        if named.search(file.name):
            with open(file, "rb") as opened:
                found = pattern.search(opened.read(MOST_LIBRARY_BYTES))
            if found:
                return f"{product} {found[1].decode()}"
    return None


def _own_path(path: str, root: Path | None) -> Path:
    """Return where a mapped file is on this host. Without a container it is named with the path of the image's files."""
    if root is None or Path(path).is_relative_to(root):
        return Path(path)
    return root / path.lstrip("/")
