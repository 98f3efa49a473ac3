"""Rules of this host's firewall that a network needs: Docker's engine has the host refuse to hand on what it does not know."""

import contextlib

from plimsoll.environments.base import output
from plimsoll.errors import Unavailable


def hand_on(device: str) -> None:
    """Let the host hand on packets that come from a device, or go to it; Unavailable if that fails."""
    for rule in _rules(device):
        output(["iptables", "--wait", "--insert", *rule])


def no_longer(device: str) -> None:
    """Remove these rules; they need not be there."""
    for rule in _rules(device):
        with contextlib.suppress(Unavailable):
            while True:
                output(["iptables", "--wait", "--delete", *rule])


def _rules(device: str) -> list[list[str]]:
    return [["FORWARD", way, device, "--jump", "ACCEPT"] for way in ("--in-interface", "--out-interface")]
