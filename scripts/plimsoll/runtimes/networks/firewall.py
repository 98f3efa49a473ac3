"""Rules of this host's firewall that a network needs. Docker's engine makes the host refuse to forward packets that
it does not know."""

import contextlib
import os
import shlex
import shutil

from plimsoll.errors import Unavailable
from plimsoll.runtimes.commands import output

# Comment that identifies our rules for translating addresses.
OURS = "plimsoll: to the second host"
TRANSLATION = (
    *("--match", "addrtype", "!", "--src-type", "LOCAL", "--match", "comment", "--comment", OURS),
    *("--jump", "MASQUERADE"),
)


def hand_on(device: str) -> None:
    """Let the host forward packets that come from a device, or go to it. Raise Unavailable if that fails."""
    for rule in _rules(device):
        output(["iptables", "--wait", "--insert", *rule])


def no_longer(device: str) -> None:
    """Remove the rules that `hand_on` makes for a device. Missing ones are ignored."""
    for rule in _rules(device):
        with contextlib.suppress(Unavailable):
            while True:
                output(["iptables", "--wait", "--delete", *rule])


def translate(address: str) -> None:
    """Give this host's address to packets that others send through it to `address`. Otherwise the receiver knows no
    way back to their networks. Raise Unavailable if that fails."""
    output(["iptables", "--wait", "--table", "nat", "--insert", "POSTROUTING", "--destination", address, *TRANSLATION])


def translate_no_longer() -> None:
    """Remove all rules that `translate` has made, for any address. There may be none."""
    if os.geteuid() or not shutil.which("iptables"):
        return
    for rule in output(["iptables", "--wait", "--table", "nat", "--list-rules", "POSTROUTING"]).splitlines():
        if OURS in rule:
            output(["iptables", "--wait", "--table", "nat", "--delete", *shlex.split(rule)[1:]])


def _rules(device: str) -> list[list[str]]:
    return [["FORWARD", way, device, "--jump", "ACCEPT"] for way in ("--in-interface", "--out-interface")]
