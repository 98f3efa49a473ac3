"""Processors that programs of a run are bound to, as the kernel says while they run."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from plimsoll.host import cpulist

# How long to look for bound programs (s). A test takes a moment to begin, and between two iterations there is no client
# for a moment.
LOOK_SECONDS = 1.0
AGAIN_SECONDS = 0.02


def bound_processors(processes: Iterable[tuple[str, Path]], names: Iterable[str]) -> dict[str, set[int]]:
    """Return the processors that programs of these names are bound to, by name.

    Only programs that are bound to one processor count. `processes` are (name, folder in /proc) pairs.
    """
    bound: dict[str, set[int]] = {name: set() for name in names}
    for name, folder in processes:
        if name not in bound:
            continue
        try:
            allowed = (folder / "status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
        except (OSError, IndexError):
            continue  # it has ended
        processors = cpulist.parse(allowed)
        if len(processors) == 1:
            bound[name] |= set(processors)
    return bound


def problem(processes: Callable[[], Iterable[tuple[str, Path]]], needed: dict[str, set[int]]) -> str | None:
    """Look until programs are seen bound to the processors that they need, and return None.

    If they are not seen so within LOOK_SECONDS, return in words what was seen last. `processes` gives (name, folder in
    /proc) pairs at each look. `needed` has the processors by the program's name.
    """
    end = time.monotonic() + LOOK_SECONDS
    while (there := bound_processors(processes(), needed)) != needed:
        if time.monotonic() >= end:
            wrong = {name: cpulist.format(there[name]) or "none" for name in needed if there[name] != needed[name]}
            return "; ".join(
                f"{name} was bound to processor {elsewhere}, and should be to {cpulist.format(needed[name])}"
                for name, elsewhere in wrong.items()
            )
        time.sleep(AGAIN_SECONDS)
    return None
