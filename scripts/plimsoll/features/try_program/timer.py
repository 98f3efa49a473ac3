"""The program that times others (timed.c), built once per machine and linked statically."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError

SOURCE = Path(__file__).with_name("timed.c")
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-O2", "-static")


def built() -> Path:
    """Return the path of the program. It is built if it is not there.

    Raise PlimsollError without a C compiler that links statically.
    """
    name = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    target = paths.image_store().parent / "timed" / name
    if target.is_file():
        return target
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    needs = "a C compiler and a static C library (apt-get install gcc libc6-dev)"
    if compiler is None:
        raise PlimsollError(f"Timing a program inside a container needs {needs}. Nothing was measured.")
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{name}-{os.getpid()}")
    done = subprocess.run([compiler, *OPTIONS, "-o", str(new), str(SOURCE)], capture_output=True, text=True)
    if done.returncode:
        raise PlimsollError(
            f"{compiler} could not build {SOURCE.name}, which needs {needs}: {done.stderr.strip().splitlines()[-1]}."
        )
    new.rename(target)
    return target
