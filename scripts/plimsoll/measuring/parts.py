"""Parts of a launch: one program that runs several times in a row, in a folder for each (containers/hpcc/rank_report.c)."""

import os
import select
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll.measuring.noise import Snapshot

# The names of the parts' folders, one on each line, in order.
LIST = "parts.txt"
# Through the first pipe the program says that a part begins, or that the last one has ended. It waits for an answer in the
# other.
CONTROL, ANSWER = "parts.control", "parts.answer"
BEGIN = "begin "


class Span(NamedTuple):
    """What the machine had used when a part began and when it ended."""

    before: Snapshot
    after: Snapshot


class Parts:
    """What a launch in `folder` tells of its parts, which each may take so many seconds (`limits`, by name, in order).

    `look` is called between two parts, while the program waits: it counts as the end of one and the beginning of the next.
    """

    def __init__(self, folder: Path, limits: Mapping[str, float], look: Callable[[], Snapshot]):
        self._limits, self._look = limits, look
        self._seen: list[Snapshot] = []
        self._ended = False
        (folder / LIST).write_text("".join(f"{name}\n" for name in limits))
        for pipe in (CONTROL, ANSWER):
            os.mkfifo(folder / pipe)
        # For reading and writing, so that opening does not wait for the other end, nor ends there when it closes.
        self._control, self._answer = (os.open(folder / pipe, os.O_RDWR | os.O_NONBLOCK) for pipe in (CONTROL, ANSWER))

    def close(self) -> None:
        """Close the pipes."""
        os.close(self._control)
        os.close(self._answer)

    @property
    def begun(self) -> list[str]:
        """The parts that have begun, in order."""
        return list(self._limits)[: len(self._seen) - self._ended]

    def span(self, name: str, end: Snapshot) -> Span:
        """What was seen before and after a part that has begun; `end` is what was seen when the launch had ended."""
        number = self.begun.index(name)
        return Span(self._seen[number], self._seen[number + 1] if number + 1 < len(self._seen) else end)

    def running(self) -> str | None:
        """The part that has begun and not ended; None before the first and after the last."""
        return None if self._ended or not self._seen else self.begun[-1]

    def wait(self, process: int, limit: float) -> bool:
        """Answer a launch until it ends; whether it did in time. `limit` is how many seconds it may take to begin; each part
        then has its own from its beginning, and the last limit holds for the end too."""
        descriptor = os.pidfd_open(process)
        try:
            until = time.monotonic() + limit
            while True:
                ready, _, _ = select.select([descriptor, self._control], [], [], max(0.0, until - time.monotonic()))
                if self._control not in ready:
                    return descriptor in ready
                until = self._passed(os.read(self._control, 4096).decode())
        finally:
            os.close(descriptor)

    def _passed(self, line: str) -> float:
        """Look, and let the program go on; the moment until which it must have said the next line."""
        self._seen.append(self._look())
        self._ended = not line.startswith(BEGIN)
        os.write(self._answer, b"go\n")
        return time.monotonic() + self._limits[self.begun[-1]]
