"""Where the output of a workflow goes: the screen that the user sees, and a log for everything else.

Snakemake and its jobs write to the standard streams. While a workflow runs, these lead to a file in memory, which is
read once a second. A pipe would break if the workflow was killed, and a file on a disk could not be written to when the
disk is full. Jobs clean up after both.
"""

import contextlib
import fcntl
import os
import sys
import time
from pathlib import Path
from typing import TextIO

from rich.console import Console, ConsoleDimensions
from rich.live import Live
from rich.text import Text

LOG = Path("logs/workflow.log")
# The log of the command before.
BEFORE = "workflow.before.log"
# Without a terminal, the line is printed this often, and for the first time after this long (s).
EVERY_SECONDS, FIRST_SECONDS = 60.0, 10.0
# Columns at the right edge that stay free for the ^C that a terminal prints.
FREE = 3
WIDE = 500
STREAMS = (1, 2)
ERASE = b"\r\x1b[2K"


class Screen:
    """The user's terminal, or the file in its place. Call `open` first, and `close` last."""

    def __init__(self) -> None:
        self.log: TextIO | None = None
        self.is_live = False
        self._saved: dict[int, int] = {}
        self._live: Live | None = None
        self._printed = time.monotonic() - EVERY_SECONDS + FIRST_SECONDS
        self._position, self._rest = 0, b""

    def open(self) -> None:
        """Take the standard streams. Raise OSError if the system does not allow that."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._memory = os.memfd_create("plimsoll")
        fcntl.fcntl(self._memory, fcntl.F_SETFL, os.O_APPEND)
        self._saved = {number: os.dup(number) for number in STREAMS}
        self._file = open(os.dup(self._saved[2]), "w", buffering=1, errors="replace")
        self._console = Console(file=self._file, highlight=False, markup=False, emoji=False)
        self.is_live = os.isatty(self._saved[2]) and not self._console.is_dumb_terminal
        for number in STREAMS:
            os.dup2(self._memory, number)
        if self.is_live:
            self._live = Live(Text(""), console=self._console, auto_refresh=False, transient=True)
            self._measure()
            self._live.start()
            # A killed workflow would leave the terminal without a cursor.
            self._console.show_cursor(True)

    def begin_log(self, results: Path, is_new: bool) -> None:
        """Open the log of this command in the results. A new command has a new log, and the one before is kept."""
        path = results / LOG
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if is_new and path.exists():
                path.rename(path.with_name(BEFORE))
            self.log = open(path, "a", errors="replace")

    def keep(self, text: str) -> None:
        """Write a text to the log. A full disk is no reason to stop."""
        if self.log:
            with contextlib.suppress(OSError):
                self.log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
                self.log.flush()

    def lines(self) -> list[str]:
        """Return the lines that were written to the standard streams since the last call."""
        read = os.pread(self._memory, os.fstat(self._memory).st_size - self._position, self._position)
        self._position += len(read)
        *whole, self._rest = (self._rest + read).split(b"\n")
        return [line.decode(errors="replace") for line in whole]

    def say(self, text: str, style: str = "") -> None:
        """Print a text above the line."""
        with contextlib.suppress(OSError):
            self._console.print(Text(text, style), soft_wrap=not self.is_live)

    def draw(self, text: Text) -> None:
        """Show the line. Without a terminal it is printed every EVERY_SECONDS."""
        with contextlib.suppress(OSError):
            if self._live:
                self._measure()
                self._live.update(text, refresh=True)
            elif time.monotonic() - self._printed >= EVERY_SECONDS:
                self._printed = time.monotonic()
                self._console.print(text, soft_wrap=True)

    @property
    def width(self) -> int:
        """Columns of the line. A file takes all of it."""
        return self._console.width - FREE if self.is_live else WIDE

    def aloud(self, text: bytes) -> None:
        """Write a text in place of the line, at once and without a lock: a signal handler calls this."""
        os.write(self._saved[2], (ERASE if self.is_live else b"") + text)

    def close(self) -> list[str]:
        """Give the standard streams back, and return the lines that were not yet read. The line disappears."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        left = [*self.lines(), *([self._rest.decode(errors="replace")] if self._rest else [])]
        with contextlib.suppress(OSError):
            if self._live:
                self._live.update(Text(""))
                self._live.stop()
        for number, saved in self._saved.items():
            os.dup2(saved, number)
        return left

    def _measure(self) -> None:
        """Take the terminal's size from the terminal itself, because the standard streams lead elsewhere."""
        columns, rows = os.get_terminal_size(self._saved[2])
        self._console.size = ConsoleDimensions(columns or 80, rows or 24)
