"""What measurements need besides their processes, taken away or changed under them."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from plimsoll import paths

from tests.faults.apart import Machine

# A running container keeps its image: it goes between two runs. Containers are taken off a network that goes.
REMOVES = """
for turn in $(seq 300); do docker rmi --force "$1" >/dev/null 2>&1 && exit; sleep 0.1; done
exit 1
"""
DISCONNECTS = """
for turn in $(seq 50); do
    for one in $(docker network inspect --format '{{range .Containers}}{{.Name}} {{end}}' "$1" 2>/dev/null); do
        docker network disconnect --force "$1" "$one"
    done
    docker network rm "$1" >/dev/null 2>&1 && exit
    sleep 0.1
done
exit 1
"""
# How much is left of a file that changes.
LEFT_BYTES = 4096


def _image(machine: Machine, image: dict, share: float, seconds: float) -> str:
    return _told(machine, f"the image {image['tag']}", "sh", "-c", REMOVES, "sh", image["id"])


def _network(machine: Machine, image: dict, share: float, seconds: float) -> str:
    return _told(machine, "the network plimsoll", "sh", "-c", DISCONNECTS, "sh", "plimsoll")


def _told(machine: Machine, what: str, *command: str) -> str:
    done = subprocess.run(machine.enter(*command), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return what if done.returncode == 0 else ""


def _apptainer(machine: Machine, image: dict, share: float, seconds: float) -> str:
    """It is not there for a while."""
    folder = str(paths.tool_prefix() / "apptainer")
    machine.run("mount", "-t", "tmpfs", "none", folder)
    time.sleep(seconds)
    machine.run("umount", "--lazy", folder)
    return f"{folder} for {seconds:g} s"


def _sif(machine: Machine, image: dict, share: float, seconds: float) -> Path:
    return _own(machine, Path(image["sif"]))


def _unpacked(machine: Machine, image: dict, share: float, seconds: float) -> Path:
    files = sorted(image["files"])
    return _own(machine, Path(image["rootfs"], files[int(share * len(files))]))


def _own(machine: Machine, path: Path) -> Path:
    """A file of the store as the machine has it."""
    return machine.folder / "images" / path.relative_to(paths.image_store())


# What is not there any more, by what the fault calls it; and files, which may also be changed.
TAKEN: dict[str, Callable[..., str]] = {"image": _image, "network": _network, "Apptainer": _apptainer}
FILES: dict[str, Callable[..., Path]] = {"SIF": _sif, "unpacked file": _unpacked}
MEANS = (*TAKEN, *FILES)


def take(victim: str, change: bool, machine: Machine, project: Path, share: float, seconds: float) -> str:
    """Take something away, or change it; in words, what. Nothing if it could not be done."""
    image = json.loads(next(path for path in (project / "results/images").glob("*.json") if "." not in path.stem).read_text())
    if victim in TAKEN:
        return TAKEN[victim](machine, image, share, seconds)
    path = FILES[victim](machine, image, share, seconds)
    if change:
        # Another file in its place: the store of this host has the old one.
        new = path.with_name(f"{path.name}.changed")
        new.write_bytes(path.read_bytes()[:LEFT_BYTES])
        new.chmod(path.stat().st_mode)
        os.replace(new, path)
    else:
        path.unlink()
    return str(path)
