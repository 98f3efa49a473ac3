"""What a run shows that is watched and not timed: for the question why a step costs something.

The timer watches the program (look.c). Libraries say what they chose, if a variable asks them to: kernels, and the transport
of MPI. The loader of the C library says what it chose.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from plimsoll.designs.program.factors import WatchedRun
from plimsoll.host import run_files

# In the place of the number of runs, it makes the timer watch one.
COUNT = "look"
MOST_BYTES = 2**22
LIBC_SECONDS = 10.0
# Variables that make libraries print what they chose, and where their sentence has it.
VARIABLES = {
    "OPENBLAS_VERBOSE": "2",
    "BLIS_ARCH_DEBUG": "1",
    "OMP_DISPLAY_ENV": "true",
    "OMPI_MCA_btl_base_verbose": "1",
    "OMPI_MCA_pml_base_verbose": "10",
}
PRINTED = {
    # A rank also reaches itself, which is no transport.
    "transport of Open MPI (BTL)": re.compile(r"mca: bml: Using (?!self )(\S+) btl for send to"),
    "message layer of Open MPI (PML)": re.compile(r"select: component (\S+) selected"),
    "failed single copies of Open MPI (errno)": re.compile(r"(?:Read|Wrote) -1, expected \d+, errno = (\d+)"),
    "kernels of OpenBLAS": re.compile(r"^Core: (\S+)", re.MULTILINE),
    "kernels of BLIS": re.compile(r"^libblis: selecting sub-configuration '([^']+)'", re.MULTILINE),
    "threads of OpenMP": re.compile(r"^\s*(?:\[host\] )?OMP_NUM_THREADS ?= ?'([^']*)'", re.MULTILINE),
    "binding of OpenMP": re.compile(r"^\s*(?:\[host\] )?OMP_PROC_BIND ?= ?'([^']*)'", re.MULTILINE),
    "places of OpenMP": re.compile(r"^\s*(?:\[host\] )?OMP_PLACES ?= ?'([^']*)'", re.MULTILINE),
}
LOADER = re.compile(r"/ld-linux[^/]*$|/ld64[^/]*$")
OF_LIBC = {
    "C library": re.compile(r'^version\.version="([^"]*)"', re.MULTILINE),
    "C library's processor": re.compile(r'^dl_platform="([^"]*)"', re.MULTILINE),
    "C library's folders by processor": re.compile(r'^dl_hwcaps_subdirs="([^"]*)"', re.MULTILINE),
    "C library's threshold for rep movsb": re.compile(r"^x86\.cpu_features\.rep_movsb_threshold=(\w+)", re.MULTILINE),
    "C library's threshold for past the cache": re.compile(r"^x86\.cpu_features\.non_temporal_threshold=(\w+)", re.MULTILINE),
}
PREFERRED = re.compile(r"^x86\.cpu_features\.preferred\.(\w+)=0x1$", re.MULTILINE)
# Kinds of file systems, by the number that statfs gives.
FILE_SYSTEMS = {
    0x794C7630: "overlay",
    0x01021994: "tmpfs",
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x65735546: "fuse",
    0x6969: "nfs",
    0x0BD00BD0: "lustre",
    0x47504653: "gpfs",
    0x2FC12FC1: "zfs",
    0x73717368: "squashfs",
}
# File systems of the kernel's own files: what is written there reaches no disk.
OF_KERNEL = (0x9FA0, 0x62656572, 0x1CD1, 0x27E0EB, 0x63677270)
COUNTED = {"huge": ("memory in huge pages (MiB)", 1 / 1024), "arenas": ("malloc arenas", 1.0), "tasks": ("tasks at once", 1.0)}
# Name of a setting: whether memory was copied from process to process, as MPI does with large messages.
COPIES = "single copies (process_vm_readv)"
# Begins the name of a setting: the file system of a folder in which a file was opened for writing.
WRITTEN_IN = "file system of files written in "
# Counts are shown if they differ by at least this factor.
TOLD_FACTOR = 1.5
# Variables of every run.
OWN = ("PATH", "HOME", "LANG", "PLIMSOLL_RUN", *VARIABLES)


def read(
    folder: Path, watched: Sequence[Path], mapped: Mapping[str, str], enter: Callable[[Sequence[str]], list[str]]
) -> WatchedRun:
    """Return what was seen of a watched run in `folder`, which mapped these files.

    `watched` has a folder with the timer's notes for each program that it watched: the only one, or each rank of MPI.
    `enter` makes a command that runs another program as the watched one was run: in the same node, by the timer.
    """
    traced = _of_timer(watched, folder)
    said = run_files.text(folder / "0/stderr.txt", MOST_BYTES)
    chosen = {name: ", ".join(sorted({*pattern.findall(said)})) for name, pattern in PRINTED.items()}
    own = {f"variable {name}": value for name, value in _variables(folder).items() if name not in OWN}
    settings = {**chosen, **own, **_of_libc(folder, mapped, enter), **traced.pop("settings")}
    return {**traced, "settings": {name: text for name, text in settings.items() if text}}


def layer_folders(folder: Path) -> list[str]:
    """Return the folders of a container's layers in which a watched run opened files for writing.

    Neither memory nor `folder`, which the container shares with this host, is a layer.
    """
    settings = _of_timer([folder], folder)["settings"]
    written = {name.removeprefix(WRITTEN_IN): kind for name, kind in settings.items() if name.startswith(WRITTEN_IN)}
    shared = ("its folder", str(folder))
    return [place for place, kind in written.items() if kind != "tmpfs" and place != "/" and not place.startswith(shared)]


def _of_timer(watched: Sequence[Path], folder: Path) -> dict:
    """Return what the timer wrote in these folders: whether the run was `traced`, `refused` calls, `counts`, and `settings`.

    A run was traced if each of its programs was. A count is the largest one of a program. Refused calls are added up.
    """
    notes = [run_files.text(place / "looked", MOST_BYTES).splitlines() for place in watched]
    traced = all("traced 1 -" in lines for lines in notes)
    refused, counts, settings, copies = Counter(), {}, {}, []
    for kind, number, rest in (line.split(" ", 2) for lines in notes for line in lines):
        if kind in COUNTED:
            name, unit = COUNTED[kind]
            counts[name] = max(counts.get(name, 0.0), round(int(number) * unit, 1))
        elif kind == "copies":
            copies.append(int(number))
        elif kind == "written":
            if int(number) not in OF_KERNEL:
                place = rest.replace(str(folder / "0/work"), "its folder")
                settings[f"{WRITTEN_IN}{place}"] = FILE_SYSTEMS.get(int(number), f"kind {int(number):#x}")
        elif kind != "traced":
            refused[f"{rest} ({kind})"] += int(number)
    if copies:
        settings[COPIES] = "made" if any(copies) else "none made"
    return {"traced": traced, "refused": dict(refused), "counts": counts if traced else {}, "settings": settings}


def _variables(folder: Path) -> dict[str, str]:
    pairs = (word.partition("=") for word in run_files.text(folder / "variables", MOST_BYTES).split("\0") if word)
    return {name: value for name, _, value in pairs}


def _of_libc(folder: Path, mapped: Mapping[str, str], enter: Callable[[Sequence[str]], list[str]]) -> dict[str, str]:
    """Return what the loader of the program's C library says of its choices; empty for another one, or an old one."""
    loader = next((path for path in mapped if LOADER.search(path)), None)
    if not loader:
        return {}
    own = folder / "libc"
    (own / "0/work").mkdir(parents=True)
    os.link(folder / "variables", own / "variables")
    words = enter([str(own), f"{LIBC_SECONDS:g}", "1", loader, "--list-diagnostics"])
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=3 * LIBC_SECONDS)
    except subprocess.TimeoutExpired:
        return {}
    said = run_files.text(own / "0/stdout.txt", MOST_BYTES)
    told = {name: match[1] for name, pattern in OF_LIBC.items() if (match := pattern.search(said))}
    return {**told, "C library's preferences": ", ".join(PREFERRED.findall(said))}


def differences(before: WatchedRun, after: WatchedRun) -> list[str]:
    """Return a sentence for each difference between what was seen on the two sides of a step."""
    unwatched = [name for name, side in (("before", before), ("after", after)) if not side["traced"]]
    if unwatched:
        told = settings(*(_of_libraries(side["settings"]) for side in (before, after)))
        return [*told, f"system calls could not be watched {' and '.join(unwatched)}"]
    told = settings(before["settings"], after["settings"])
    return [*_refused(before["refused"], after["refused"]), *told, *_counts(before["counts"], after["counts"])]


def _of_libraries(seen: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that are not read from system calls."""
    return {name: text for name, text in seen.items() if name != COPIES and not name.startswith(WRITTEN_IN)}


def settings(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting that differs."""
    names = [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]
    return [f"{name}: {a.get(name, 'not there')} before, {b.get(name, 'not there')} after" for name in names]


def _refused(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """Return sentences about system calls that were refused on one side only."""
    told = []
    for side, own, other in (("after", after, before), ("before", before, after)):
        names = [f"{call} {number} times" for call, number in own.items() if call not in other]
        told += [f"system calls refused only {side}: {', '.join(names)}"] if names else []
    return told


def _counts(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    told = []
    for name in before:
        low, high = sorted((before[name], after[name]))
        if high >= 1 and high >= TOLD_FACTOR * low:
            told.append(f"{name}: {before[name]:g} before, {after[name]:g} after, at most")
    return told
