"""Rules of this host's firewall that a network needs: Docker's engine has the host refuse to hand on what it does not know."""

import contextlib
import os
import shlex
import shutil

from plimsoll.environments.base import output
from plimsoll.errors import Unavailable

# How our rules for translating addresses are found again.
OURS = "plimsoll: to the second host"
TRANSLATION = (
    *("--match", "addrtype", "!", "--src-type", "LOCAL", "--match", "comment", "--comment", OURS),
    *("--jump", "MASQUERADE"),
)


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


def translate(address: str) -> None:
    """Let what others send through this host to an address have this host's: it knows no way back to their networks.
    Unavailable if that fails."""
    output(["iptables", "--wait", "--table", "nat", "--insert", "POSTROUTING", "--destination", address, *TRANSLATION])


def translate_no_longer() -> None:
    """Remove these rules, whatever the address; there need be none."""
    if os.geteuid() or not shutil.which("iptables"):
        return
    for rule in output(["iptables", "--wait", "--table", "nat", "--list-rules", "POSTROUTING"]).splitlines():
        if OURS in rule:
            output(["iptables", "--wait", "--table", "nat", "--delete", *shlex.split(rule)[1:]])


def _rules(device: str) -> list[list[str]]:
    return [["FORWARD", way, device, "--jump", "ACCEPT"] for way in ("--in-interface", "--out-interface")]
