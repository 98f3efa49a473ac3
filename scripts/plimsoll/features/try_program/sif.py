"""The files and the variables of a SIF, or of an Apptainer definition."""

import re
import subprocess
import tempfile
from pathlib import Path

from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.runtimes.apptainer import executable

# Variables that every container of Apptainer has. They are not the image's.
OF_APPTAINER = re.compile(r"APPTAINER_|SINGULARITY_|(?:HOME|PWD|PS1|PROMPT_COMMAND|SHLVL|TERM|USER|_)=|LANG=C$")
LIBRARIES = ":/.singularity.d/libs"
LEFT_OUT = ("--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*")


def unpack(path: Path, target: Path) -> dict[str, str]:
    """Write the files of a SIF, or of a definition, into an archive. Return the image's variables by name.

    Raise PlimsollError without Apptainer, or if it cannot read the file.
    """
    if not path.is_file():
        raise PlimsollError(f"There is no file {path}: nothing was measured.")
    # Apptainer takes a colon or a comma in the path of a sandbox for the end of the path.
    with tempfile.TemporaryDirectory(prefix="plimsoll-sif-") as temporary:
        sandbox = Path(temporary, "sandbox")
        try:
            words = [executable(), "build", "--sandbox", str(sandbox), str(path)]
            done = subprocess.run(words, capture_output=True, text=True)
        except Unavailable as problem:
            raise PlimsollError(f"{path} needs Apptainer: {problem}.") from problem
        if done.returncode:
            raise PlimsollError(f"Apptainer could not unpack {path}: {_reason(done.stderr)}. Nothing was measured.")
        found = variables(sandbox)
        subprocess.run(["tar", "--create", "--file", str(target), *LEFT_OUT, "--directory", str(sandbox), "."], check=True)
    return found


def _reason(text: str) -> str:
    """Return the first error that Apptainer printed, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = (line.partition(":")[2].strip() for line in lines if line.startswith(("ERROR:", "FATAL:")))
    return next(errors, lines[-1] if lines else "it said nothing").rstrip(".")


def variables(sandbox: Path) -> dict[str, str]:
    """Return the variables of an unpacked SIF, such as those of its %environment; empty if it has no `env`.

    Scripts of the image set them, so a container prints them.
    """
    words = [executable(), "exec", "--cleanenv", "--no-home", str(sandbox), "/usr/bin/env", "-0"]
    done = subprocess.run(words, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return printed_variables(done.stdout)


def printed_variables(text: str) -> dict[str, str]:
    """Return the image's variables from what `env -0` printed in a container of Apptainer."""
    pairs = (word.partition("=") for word in text.split("\0") if "=" in word and not OF_APPTAINER.match(word))
    kept = {name: value.removesuffix(LIBRARIES).removesuffix(":") for name, _, value in pairs}
    return {name: value for name, value in kept.items() if f":{value}" != LIBRARIES}
