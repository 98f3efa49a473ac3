"""What a fault is, from its number alone."""

import random
from collections.abc import Mapping
from typing import NamedTuple

from tests.faults import means
from tests.faults.scenes import EVERYWHERE, SCENES, Scene

KILLED, STOPPED, CUT = "killed", "stopped for a while", "cut off"
TAKEN, CHANGED = "taken away", "changed"
# What can only be killed: all processes of the workflow at once, and a container by its engine.
ONLY_KILLED = ("workflow", "container")
# How long something is stopped (s): shorter than anybody waits, and longer.
STOPS = (0.5, 2.0, 5.0, 12.0)
# From the moment at which a victim is there to the blow (s): at once, or a while later.
LATEST = 2.0


class Fault(NamedTuple):
    """In a scene a `victim` is struck, `how`: from `after` of the undisturbed workflow's time on, `delay` seconds after it is
    there. Of several it is the one at the place `which`, as a share. It is stopped for `seconds`."""

    seed: int
    number: int
    scene: str
    victim: str
    how: str
    after: float
    delay: float
    which: float
    seconds: float


def draw(seed: int, number: int, scenes: Mapping[str, Scene] = SCENES) -> Fault:
    """The fault of a number, in one of the scenes."""
    chance = random.Random(f"{seed}/{number}")
    scene = chance.choice(list(scenes))
    victim = chance.choice([*EVERYWHERE, *scenes[scene].victims])
    how = CUT if victim == "machine" else KILLED
    other = chance.random()
    if victim in means.MEANS:
        how = CHANGED if victim in means.FILES and other < 0.5 else TAKEN
    elif how == KILLED and victim not in ONLY_KILLED and other < 0.3:
        how = STOPPED
    after = chance.choice([0.0, chance.uniform(0.0, 0.95)])
    delay = chance.choice([0.0, chance.uniform(0.0, LATEST)])
    return Fault(seed, number, scene, victim, how, after, delay, chance.random(), chance.choice(STOPS))
