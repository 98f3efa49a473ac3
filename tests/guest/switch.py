"""Runs in the guest, whose kernel switches for Open vSwitch: what is there of a switch, and what is left when it is removed,
and when its daemons were killed and another process removes it. It prints one line of JSON."""

import json
import os

from plimsoll.environments.networks import wired
from plimsoll.environments.networks.of_host import SWITCH


def links() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def main() -> None:
    """Twice: what was left of the first must not be in the way of the second."""
    before = links()
    told = {"in_kernel": wired.in_kernel(), "offloads": SWITCH.offloads, "left": []}
    for kills in (True, False):
        SWITCH.set_up()
        told["made"] = sorted(links() - before)
        if kills:
            for daemon in SWITCH.daemons:
                daemon.kill()
                daemon.wait()
            told["after the kill"] = sorted(links() - before)
            # As another process, which has started no daemon.
            SWITCH.daemons = []
        SWITCH.sweep()
        told["left"].append(sorted(links() - before))
    print("SWITCH", json.dumps(told), flush=True)


main()
