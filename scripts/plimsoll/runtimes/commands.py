"""Commands that are run to their end: what they print, and in words why they failed."""

import re
import subprocess

from plimsoll.errors import Unavailable
from plimsoll.measuring.process import read_output

# Time limit for the start of nodes (s).
START_SECONDS = 120
# Line that an engine prints below an error, to point to its help.
OF_OPTIONS = re.compile("(Run|See) '.* --help'")


def output(command: list[str], seconds: float = 60) -> str:
    """Return the standard output of a command.

    Raise Unavailable, with its last words, if it fails or takes longer than `seconds`. Raise Outage if it then cannot
    be killed.
    """
    try:
        process = _begun(command)
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except PermissionError as error:
        raise Unavailable(f"{command[0]} may not be run by this user") from error
    told = read_output(process, seconds)
    if told is None:
        raise Unavailable(f"'{' '.join(command[:3])}' did not answer within {seconds:g} s")
    if process.returncode:
        raise Unavailable(_failed(command, process.returncode, told[1] or told[0]))
    return told[0]


def _begun(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _failed(command: list[str], code: int, said: str) -> str:
    return f"'{' '.join(command[:3])}' failed: {last_words(said, code)}"


def last_words(said: str, code: int) -> str:
    """Return the last line of a command's output, without lines that refer to its help. Return its exit status if it
    printed nothing."""
    lines = [line for line in said.splitlines() if line.strip() and not OF_OPTIONS.match(line)]
    return lines[-1].strip() if lines else f"exit status {code}"


def all_of(commands: list[list[str]], seconds: float = START_SECONDS) -> list[str]:
    """Return the standard outputs of commands that run side by side.

    Raise Unavailable, after all have ended, if one fails. Raise Outage if one cannot be killed.
    """
    processes = [_begun(command) for command in commands]
    outputs, problem = [], None
    for command, process in zip(commands, processes, strict=True):
        out, err = read_output(process, seconds) or ("", f"it did not end within {seconds:g} s")
        outputs.append(out)
        if process.returncode:
            problem = _failed(command, process.returncode, err or out)
    if problem:
        raise Unavailable(problem)
    return outputs
