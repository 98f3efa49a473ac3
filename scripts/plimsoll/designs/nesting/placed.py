"""Where the client and the server of a test are bound, as the kernel says while they run."""

import time
from pathlib import Path

from plimsoll.host import cpulist

# How long to look for them: a test takes a moment to begin.
LOOK_SECONDS, AGAIN_SECONDS = 1.0, 0.02


def problem(port: int, of_client: int, of_server: int) -> str | None:
    """Look until client and server of the tests at a port are bound to these processors; in words, what was seen instead."""
    wanted, end = {"netperf": {of_client}, "netserver": {of_server}}, time.monotonic() + LOOK_SECONDS
    while (there := seen(port)) != wanted:
        if time.monotonic() > end:
            told = {name: cpulist.format(there[name]) or "none" for name in wanted if there[name] != wanted[name]}
            return "; ".join(
                f"{name} was bound to processor {elsewhere}, and should be to {cpulist.format(wanted[name])}"
                for name, elsewhere in told.items()
            )
        time.sleep(AGAIN_SECONDS)
    return None


def seen(port: int) -> dict[str, set[int]]:
    """The processors that the programs at a port are bound to, of those that are bound to one. The port is the run's own."""
    bound: dict[str, set[int]] = {"netperf": set(), "netserver": set()}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
            allowed = (folder / "status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
        except (OSError, IndexError, UnicodeDecodeError):
            continue  # it has ended
        names = {Path(word).name for word in words}
        processors = cpulist.parse(allowed)
        for name in bound:
            if name in names and str(port) in words and len(processors) == 1:
                bound[name] |= set(processors)
    return bound
