"""Program in the guest, whose kernel switches for Open vSwitch: make a switch, remove it, and print one line of JSON.

The line has what a switch makes, and what is left after it is removed. That is repeated with killed daemons and another
process that removes the switch.
"""

import json
import os

from plimsoll.runtimes.networks import switch_network
from plimsoll.runtimes.networks.host_networks import SWITCH


def links() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def main() -> None:
    """Make and remove a switch twice: what the first one leaves must not disturb the second."""
    before = links()
    told = {"in_kernel": switch_network.in_kernel(), "offloads": SWITCH.offloads, "left": []}
    for kills in (True, False):
        SWITCH.set_up()
        told["made"] = sorted(links() - before)
        if kills:
            for daemon in SWITCH.daemons:
                daemon.kill()
                daemon.wait()
            told["after the kill"] = sorted(links() - before)
            # Like another process, which has started no daemon.
            SWITCH.daemons = []
        SWITCH.sweep()
        told["left"].append(sorted(links() - before))
    print("SWITCH", json.dumps(told), flush=True)


main()
