"""The program that times and watches others (timed.c, look.c), built once per machine and linked statically."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError

SOURCES = tuple(Path(__file__).with_name(name) for name in ("timed.c", "look.c", "timed.h"))
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-O2", "-static")
CALL = re.compile(r"^#define (SYS_(\w+))\s", re.MULTILINE)


def program_path() -> Path:
    """Return the path of the program for this kind of machine. It is built if it is not there.

    Raise PlimsollError without a C compiler that links statically.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]
    # Machines of two kinds may share a home.
    name = f"{digest}-{os.uname().machine}"
    target = paths.image_store().parent / "timed" / name
    if target.is_file():
        return target
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    needs = "a C compiler and a static C library (apt-get install gcc libc6-dev)"
    if compiler is None:
        raise PlimsollError(f"Timing a program inside a container needs {needs}. Nothing was measured.")
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{name}-{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="plimsoll-timer-") as folder:
        Path(folder, "calls.h").write_text(_calls(compiler))
        sources = [str(source) for source in SOURCES if source.suffix == ".c"]
        command = [compiler, *OPTIONS, f"-I{folder}", "-o", str(new), *sources]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PlimsollError(
            f"{compiler} could not build the timer, which needs {needs}: {done.stderr.strip().splitlines()[-1]}. "
            "Nothing was measured."
        )
    new.rename(target)
    return target


def _calls(compiler: str) -> str:
    """Return the rows of a table in C with this machine's system calls: number and name."""
    command = [compiler, "-dM", "-E", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    return "".join(f'{{{constant}, "{name}"}},\n' for constant, name in CALL.findall(done.stdout))
