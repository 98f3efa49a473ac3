"""MPI ranks of a program: their number, the containers that have them, and whether they can be started."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program.ranks import MPIRUN, in_one_node
from plimsoll.errors import PlimsollError, quote
from plimsoll.mpi import launch
from plimsoll.runtimes import rootfs

# Major version of Open MPI that `mpi` starts: its daemons and their options differ between these.
MAJOR = 4
# Called `mpirun` it names itself Open MPI, and called `orterun` OpenRTE.
VERSION = re.compile(r"\((?:Open MPI|OpenRTE)\) (\d+)\.")
# What has to be packed beside the launcher: the daemon in each container, settings, and every plug-in.
DAEMON = "/usr/bin/orted"
SETTINGS = ("/etc/openmpi/*", "/etc/pmix/*", "/usr/share/openmpi/help*", "/usr/share/pmix/help*")
PLUG_IN = re.compile(r"(?:pmix_)?mca_\w+\.so")
NOTHING = "Nothing was measured."
LAUNCHABLE = f"Ranks are started by Open MPI {MAJOR} as Debian has it ({launch.MPIRUN}; the package openmpi-bin)."
# Variables with the number of threads. Each rank has one processor.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")


class Ranks(NamedTuple):
    """MPI ranks: their number, whether they run in one container, and over how many they are split (None: over no others)."""

    number: int
    in_one: bool
    split: int | None


def asked(number: int | None, containers: str | None, threads: int | None) -> Ranks | None:
    """Return the ranks of the options; None without them. Raise PlimsollError for options that do not fit each other."""
    if number is None:
        if containers is not None:
            raise PlimsollError(
                "--containers says over how many containers ranks are split. Nothing was measured. Add --ranks."
            )
        return None
    if threads is not None:
        raise PlimsollError(
            "--threads and --ranks: each rank has one thread. Nothing was measured. --env OMP_NUM_THREADS=2 gives it more."
        )
    if number < 1:
        raise PlimsollError(f"--ranks {number}: give a number above 0. Nothing was measured.")
    there = len(os.sched_getaffinity(0))
    if number > there:
        raise PlimsollError(
            f"--ranks {number}: this host has {there} processors, so ranks would be over-subscribed, and their times would "
            f"be those of waiting for each other: give at most {there}. {NOTHING}"
        )
    counts = _counts(containers or "1")
    split = next((count for count in counts if count > 1), None)
    if split and number % split:
        raise PlimsollError(
            f"--containers {split}: {number} ranks cannot be divided over {split} containers, which get the same number "
            "each. Nothing was measured."
        )
    return Ranks(number, 1 in counts, split)


def _counts(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    counts = sorted({int(word) for word in words if word.isdecimal()})
    if not all(word.isdecimal() and int(word) for word in words) or len(counts) > 2 or len([n for n in counts if n > 1]) > 1:
        raise PlimsollError(
            f"--containers {quote(text)}: give 1, another number, or 1 and another one, such as 1,2. Nothing was measured."
        )
    return counts


def parameters(ranks: Ranks | None) -> dict:
    """Return the keys of a study's program for its ranks."""
    if ranks is None:
        return {}
    return {"ranks": ranks.number, **({"containers": ranks.split} if ranks.split else {})}


def variables(ranks: Ranks | None) -> dict[str, str]:
    """Return the variables that give each rank one thread; none for a program without ranks."""
    return ONE_THREAD if ranks else {}


def launch_prefix(ranks: Ranks | None, mpirun: str = MPIRUN) -> list[str]:
    """Return the words before a program that start its ranks in one place; none for a program without ranks."""
    return in_one_node(mpirun, ranks.number) if ranks else []


def refuse_host(path: str) -> None:
    """Raise PlimsollError if this host has no mpirun, or one that cannot be started in containers."""
    found = shutil.which(MPIRUN, path=path)
    if found is None:
        raise PlimsollError(f"This host has no {MPIRUN}. {LAUNCHABLE} {NOTHING}")
    _refuse_other(found, _version([found]))
    if os.path.realpath(found) != launch.MPIRUN:
        raise PlimsollError(f"This host's {MPIRUN} is {os.path.realpath(found)}. {LAUNCHABLE} {NOTHING}")


def refuse_image(root: Path) -> None:
    """Raise PlimsollError if the image with these unpacked files has no launcher, or one that this host cannot start."""
    if not os.path.lexists(root / launch.MPIRUN[1:]):
        others = [name for name in (MPIRUN, "mpiexec") if any(map(os.path.lexists, root.glob(f"usr/**/bin/{name}")))]
        what = "has another MPI than the launcher can start" if others else f"has no {MPIRUN}"
        raise PlimsollError(f"The image {what}. {LAUNCHABLE} {NOTHING}")
    try:
        words = rootfs.loader_command(root, launch.MPIRUN)
    except StopIteration:
        raise PlimsollError(f"The image has no loader of the GNU C library. {LAUNCHABLE} {NOTHING}") from None
    _refuse_other("the image's mpirun", _version(words, launch.environment(root)))


def _version(words: Sequence[str], more: dict[str, str] | None = None) -> str:
    done = subprocess.run([*words, "--version"], env={**os.environ, **(more or {})}, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def _refuse_other(name: str, told: str) -> None:
    found = VERSION.search(told)
    if found is None:
        raise PlimsollError(f"{name} is not Open MPI's. {LAUNCHABLE} {NOTHING}")
    if int(found[1]) != MAJOR:
        raise PlimsollError(f"{name} is of Open MPI {found[1]}. {LAUNCHABLE} {NOTHING}")


def files_beside(opened: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of Open MPI that a launch over containers needs besides those that one on this host opened."""
    yield Path(launch.MPIRUN)
    yield Path(DAEMON)
    for folder in dict.fromkeys(path.parent for path in opened if PLUG_IN.fullmatch(path.name)):
        yield from sorted(folder.glob("*.so"))
    for pattern in SETTINGS:
        yield from sorted(Path("/").glob(pattern[1:]))
