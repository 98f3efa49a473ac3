"""Findings about files: free space where engines and results are, and files that belong to another user."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from plimsoll import paths, runtimes
from plimsoll.errors import PlimsollError, first_of
from plimsoll.features.doctor.finding import FINE, STOPS, WARNS, Finding
from plimsoll.features.doctor.readings import Readings
from plimsoll.host import disk, machine_lock
from plimsoll.measuring import lock

# Space that the images of all studies, and an hour's measurements, take (bytes).
ENOUGH = 8 * 2**30
# What a measurement writes, below the folder of a clone. Records are deeper, and as their folders are.
WRITTEN = ("results", "results/*", "results/*/*", ".snakemake", ".snakemake/*", "config/local.yaml")
KEPT = "results/reference"


def findings(seen: Readings) -> Iterator[Finding]:
    """Yield the findings about files."""
    yield from free(places(seen.folder, (name for name, one in seen.runtimes.items() if one.version)))
    yield owners(seen.folder)


def places(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return the folders that a measurement writes to, by their content. Only the first folder of each disk is listed."""
    named = {"results": folder / "results", "images": paths.image_store(), "temporary files": lock.TEMPORARY}
    for runtime in map(runtimes.find, names):
        try:
            named[f"containers of {runtime.label}"] = runtime.storage()
        except (NotImplementedError, PlimsollError, OSError):
            continue  # it stores nothing, or does not say where
    there = {what: _existing(path.absolute()) for what, path in named.items()}
    disks = {path.stat().st_dev: what for what, path in reversed(there.items())}
    return {what: there[what] for what in there if what in disks.values()}


def _existing(path: Path) -> Path:
    """Return the first that exists and can be seen: a path, or a folder above it."""
    return next(up for up in (path, *path.parents) if os.path.exists(up))


def free(folders: Mapping[str, Path]) -> Iterator[Finding]:
    """Yield a finding about the free space of each folder's disk."""
    for what, folder in folders.items():
        left = disk.free_bytes(folder)
        name, value = f"disk of {what}", f"{left / 2**30:.1f} GiB free ({folder})"
        if left < disk.SPARE_BYTES:
            means = f"Runs are stopped or refused with less than {disk.SPARE_BYTES / 2**30:.0f} GiB. What is measured stays."
            yield Finding(name, value, STOPS, means, "free some, or ./plimsoll clean-up --all (removes images too)")
        elif left < ENOUGH:
            means = f"Images and results take up to {ENOUGH / 2**30:.0f} GiB. Measuring may stop for lack of space."
            yield Finding(name, value, WARNS, means, "free some space")
        else:
            yield Finding(name, value, FINE, "Enough for images and results.")


def owners(folder: Path) -> Finding:
    """Return whether this user may write what a measurement writes below a folder."""
    me, name = os.geteuid(), "files of this folder"
    there = [path for pattern in WRITTEN for path in folder.glob(pattern) if not path.is_relative_to(folder / KEPT)]
    foreign = [path for path in there if path.lstat().st_uid != me]
    if closed := [str(path.relative_to(folder)) for path in there if not os.access(path, os.W_OK)]:
        remedy = f"sudo chown -R $USER {' '.join(sorted({Path(path).parts[0] for path in closed}))}"
        return Finding(name, f"not writable: {first_of(closed)}", STOPS, "Measuring fails when it writes there.", remedy)
    if not me and foreign:
        whose = ", ".join(sorted({machine_lock.user_of(path) for path in foreign}))
        means = "What root measures here belongs to root, and then that user can no longer write it."
        return Finding(name, f"of {whose}, and you are root", WARNS, means, "measure as that user, or in a folder of your own")
    return Finding(name, "yours", FINE, "Results can be written.")
