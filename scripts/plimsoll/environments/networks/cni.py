"""A network of Apptainer's own, by CNI: made for the first instance on it. An instance's part of it goes with the instance,
unless what supervises that was killed."""

import contextlib
import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.environments.base import output
from plimsoll.environments.networks.base import Network

# CNI's own: an address that is taken is a file, which says by whom; and a note of each who has one.
TAKEN, NOTES = Path("/var/lib/cni/networks"), Path("/var/lib/cni/results")
# The chain in which CNI's firewall lets addresses pass, and how it comments on rules that are there once for all.
PASSING, FOR_ALL = "CNI-FORWARD", "CNI firewall plugin"
# An instance's, in a note.
ADDRESS = re.compile(r'"address":"([0-9.]+)/')
DEVICES = Path("/sys/class/net")


class CniNetwork(Network):
    """`name` is that of its configuration."""

    def give_back(self, processes) -> None:
        parts = self._parts()
        if ended := {str(number) for number in processes} & parts.keys():
            self._give_back(parts, ended)

    def sweep(self) -> None:
        """Give back what instances have of it that are not there any more. Rules that are there too often go too. Unavailable
        if that fails."""
        if not self._may_change():
            return
        for rule in repeated(rules("filter")):
            remove("filter", "--delete", *shlex.split(rule)[1:])
        parts = self._parts()
        if ended := {number for number in parts if number.isdigit() and gone(number)}:
            self._give_back(parts, ended)

    def _may_change(self) -> bool:
        """Whether this user could have instances on it, and may change the firewall."""
        return not os.geteuid() and (TAKEN / self.name).is_dir() and bool(shutil.which("iptables"))

    def _parts(self) -> dict[str, set[str]]:
        """The addresses of each who has a part of it. An instance is called by the number of its process, and others who use
        CNI otherwise. Where CNI was killed while it gave a part back, only a note is left."""
        found: dict[str, set[str]] = {}
        for path in (TAKEN / self.name).glob("*.*.*.*"):
            with contextlib.suppress(OSError, IndexError):  # it has just been given back, or is being taken
                found.setdefault(path.read_text().split()[0], set()).add(path.name)
        for path, number in self._notes():
            with contextlib.suppress(OSError):
                found.setdefault(number, set()).update(ADDRESS.findall(path.read_text(errors="replace")))
        return found

    def _notes(self) -> Iterator[tuple[Path, str]]:
        """Each note, and the number of the process that it is of."""
        for path in NOTES.glob(f"{self.name}-*"):
            if noted := re.fullmatch("([0-9]+)-[^-]+", path.name.removeprefix(f"{self.name}-")):
                yield path, noted[1]

    def _give_back(self, parts: dict[str, set[str]], ended: set[str]) -> None:
        """Remove addresses, rules of the firewall, and notes of those who have `ended`, given everybody's parts."""
        if not self._may_change():
            return
        # An address of a note may have been given back and taken anew.
        taken = set().union(*(addresses for number, addresses in parts.items() if number not in ended))
        left = {number: addresses - taken for number, addresses in parts.items() if number in ended}
        translating, passing = rules("nat"), rules("filter")
        of_each = (removals(self.name, number, left[number], translating, passing) for number in left)
        # Two may have had the same address.
        for table, *words in dict.fromkeys((table, *words) for removed in of_each for table, words in removed):
            remove(table, *words)
        for note in [path for path, number in self._notes() if number in left]:
            note.unlink(missing_ok=True)
        for address in set().union(*left.values()):
            (TAKEN / self.name / address).unlink(missing_ok=True)

    def forget(self, configured: Path) -> list[str]:
        """Remove its bridge, which the configurations in a folder name, and its notes, if nobody is on it; in words, what was
        removed. Unavailable if that fails."""
        if os.geteuid() or not (TAKEN / self.name).is_dir() or list((TAKEN / self.name).glob("*.*.*.*")):
            return []
        removed = []
        for bridge in bridges(configured, self.name):
            if (DEVICES / bridge / "brif").is_dir() and not any((DEVICES / bridge / "brif").iterdir()):
                output(["ip", "link", "delete", bridge])
                removed.append(f"bridge {bridge}")
        shutil.rmtree(TAKEN / self.name)
        return [*removed, str(TAKEN / self.name)]


def bridges(configured: Path, network: str) -> list[str]:
    """What the bridges of a network are called, by the configurations of CNI in a folder. One that cannot be read has none."""
    found = []
    for path in sorted(configured.glob("*.conflist")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            described = json.loads(path.read_text())
            if described["name"] == network:
                found += [plugin["bridge"] for plugin in described["plugins"] if "bridge" in plugin]
    return found


def gone(number: str) -> bool:
    """Whether no process of this number has a network of its own: it may have become another process's."""
    try:
        return os.readlink(f"/proc/{number}/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return True


def rules(table: str) -> list[str]:
    """Those of a table of the firewall."""
    return output(["iptables", "--wait", "--table", table, "--list-rules"]).splitlines()


def remove(table: str, *words: str) -> None:
    """Have iptables remove what these words say from a table."""
    output(["iptables", "--wait", "--table", table, *words])


def repeated(passing: Iterable[str]) -> list[str]:
    """Rules for all that are there more than once: each as often as it has to be removed. CNI makes those that it does not
    find, so that two instances that are started at once both make them."""
    counts = Counter(rule for rule in passing if FOR_ALL in rule)
    return [rule for rule, number in counts.items() for _ in range(number - 1)]


def removals(
    network: str, number: str, addresses: Iterable[str], translating: Iterable[str], passing: Iterable[str]
) -> list[tuple[str, list[str]]]:
    """(table, words for iptables) that remove the rules of an instance with these addresses: in the table that translates
    addresses those with its name, and then their chain; in the other one those that let its addresses pass."""
    comment, chains, found = f'name: "{network}" id: "{number}"', {}, []
    for rule in translating:
        words = shlex.split(rule)
        if comment in words:
            found.append(("nat", ["--delete", *words[1:]]))
            if re.fullmatch(r"CNI-[0-9a-f]+", words[-1]):
                chains[words[-1]] = None
    found += [("nat", ["--delete-chain", chain]) for chain in chains]
    passed = {f"{address}/32" for address in addresses}
    for rule in passing:
        words = shlex.split(rule)
        if words[:2] == ["-A", PASSING] and passed & set(words):
            found.append(("filter", ["--delete", *words[1:]]))
    return found
