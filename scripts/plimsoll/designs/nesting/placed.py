"""Where the client and the server of a test are bound, as the kernel says while they run."""

from collections.abc import Iterator
from pathlib import Path

from plimsoll.measuring import bound


def problem(port: int, of_client: int, of_server: int) -> str | None:
    """Look until client and server of the tests at a port are bound to these processors; in words, what was seen instead."""
    return bound.problem(lambda: programs(port), {"netperf": {of_client}, "netserver": {of_server}})


def programs(port: int) -> Iterator[tuple[str, Path]]:
    """The names that the words of each program at a port have, with its folder in /proc. The port is the run's own."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # it has ended
        if str(port) in words:
            yield from ((name, folder) for name in {Path(word).name for word in words})
