"""Namespaces of a program, as the timer has noted them: which are its own, and which users its user namespace has."""

import os
from collections.abc import Mapping

FOLDER = "/proc/self/ns/"
USERS = "/proc/self/uid_map"
# Names in records.
OWN, MAP = "namespaces of its own", "users (first inside, first outside, number)"


def seen(sections: Mapping[str, str]) -> dict[str, str]:
    """Return the namespaces that a program does not share with this process, and its map of users, by OWN and MAP.

    `sections` has what the timer has noted, by path. What it has not noted is left out.
    """
    spaces = {path: number for path, number in sections.items() if path.startswith(FOLDER)}
    own = [path.removeprefix(FOLDER) for path, number in spaces.items() if number != os.readlink(path)]
    told = {OWN: ", ".join(own) or "none"} if spaces else {}
    if users := sections.get(USERS):
        told[MAP] = ", ".join(" ".join(line.split()) for line in users.splitlines())
    return told
