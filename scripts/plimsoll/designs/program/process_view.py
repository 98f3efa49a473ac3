"""What a program saw of the machine, and the files that it mapped: for the question why a step costs something."""

import re
from pathlib import Path

from plimsoll.host import run_files
from plimsoll.images import elf

MOST_BYTES = 2**22
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
    "cpu.max": "/sys/fs/cgroup/cpu.max",
    "processor quota": "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
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


def mapped(folder: Path, root: Path | None) -> dict[str, str]:
    """Return the build identifier of each file that the program mapped to execute, by its path.

    Files in `folder`, in which the program ran, are left out. `root` is where the image's files are on this host; None if the
    program had this host's files.
    """
    lines = (line.split(maxsplit=5) for line in run_files.text(folder / "mapped", MOST_BYTES).splitlines())
    found = dict.fromkeys(fields[5].strip() for fields in lines if len(fields) == 6 and "x" in fields[1])
    told = {}
    for path in (path for path in found if path.startswith("/")):
        own = _own_path(path, root)
        # Files of the user's folder are the same everywhere. Others may be gone: the program deleted them.
        if Path(path).is_relative_to(folder) or not own.is_file():
            continue
        told[str(Path("/", own.relative_to(root))) if root and own.is_relative_to(root) else path] = elf.build_id(own) or "none"
    return told


def _own_path(path: str, root: Path | None) -> Path:
    """Return where a mapped file is on this host. Without a container it is named with the path of the image's files."""
    if root is None or Path(path).is_relative_to(root):
        return Path(path)
    return root / path.lstrip("/")
