"""Network that Apptainer makes by CNI, for the first instance on it.

What an instance holds of it is released with the instance, unless the instance's supervisor was killed.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks.base import Network

# CNI's folders. An address in use is a file that names its holder. Each holder of an address also has a note.
TAKEN, NOTES = Path("/var/lib/cni/networks"), Path("/var/lib/cni/results")
# Chain in which CNI's firewall lets addresses pass, and the comment of rules that exist once for all instances.
PASSING, FOR_ALL = "CNI-FORWARD", "CNI firewall plugin"
# Address of an instance, in a note.
ADDRESS = re.compile(r'"address":"([0-9.]+)/')
DEVICES = Path("/sys/class/net")


class CniNetwork(Network):
    """Network whose `name` is the name of its CNI configuration."""

    def give_back(self, processes) -> None:
        parts = self._parts()
        if ended := {str(number) for number in processes} & parts.keys():
            self._give_back(parts, ended)

    def sweep(self) -> None:
        """Release what instances hold that no longer exist, and remove duplicate firewall rules. Raise Unavailable if
        that fails."""
        if not self._may_change():
            return
        for rule in repeated_rules(rules("filter")):
            remove("filter", "--delete", *shlex.split(rule)[1:])
        parts = self._parts()
        # Where an address and its note are gone, only the rules are left.
        for number, address in ruled(self.name, rules("nat")):
            parts.setdefault(number, set()).add(address)
        if ended := {number for number in parts if number.isdigit() and gone(number)}:
            self._give_back(parts, ended)

    def _may_change(self) -> bool:
        """Return whether this user could have instances on the network, and may change the firewall."""
        return not os.geteuid() and (TAKEN / self.name).is_dir() and bool(shutil.which("iptables"))

    def _parts(self) -> dict[str, set[str]]:
        """Return the addresses of each holder, by the holder's name.

        The name of an instance is the number of its process. Other users of CNI have other names. Where CNI was
        killed while it released an address, only a note is left.
        """
        found: dict[str, set[str]] = {}
        for path in (TAKEN / self.name).glob("*.*.*.*"):
            with contextlib.suppress(OSError, IndexError):  # it has just been released, or is being taken
                found.setdefault(path.read_text().split()[0], set()).add(path.name)
        for path, number in self._notes():
            with contextlib.suppress(OSError):
                found.setdefault(number, set()).update(ADDRESS.findall(path.read_text(errors="replace")))
        return found

    def _notes(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each note, and the number of the process that it is about."""
        for path in NOTES.glob(f"{self.name}-*"):
            if noted := re.fullmatch("([0-9]+)-[^-]+", path.name.removeprefix(f"{self.name}-")):
                yield path, noted[1]

    def _give_back(self, parts: dict[str, set[str]], ended: set[str]) -> None:
        """Remove the addresses, firewall rules and notes of the holders that have `ended`. `parts` gives the
        addresses of all holders."""
        if not self._may_change():
            return
        # An address in a note may have been released, and taken again by another instance.
        taken = set().union(*(addresses for number, addresses in parts.items() if number not in ended))
        left = {number: addresses - taken for number, addresses in parts.items() if number in ended}
        translating, passing = rules("nat"), rules("filter")
        of_each = (removals(self.name, number, left[number], translating, passing) for number in left)
        # Two holders may have had the same address, so each rule is removed only once.
        for table, *words in dict.fromkeys((table, *words) for removed in of_each for table, words in removed):
            remove(table, *words)
        for note in [path for path, number in self._notes() if number in left]:
            note.unlink(missing_ok=True)
        for address in set().union(*left.values()):
            (TAKEN / self.name / address).unlink(missing_ok=True)

    def forget(self, configured: Path) -> list[str]:
        """Remove the network's bridge and notes, if no address is in use. Return, in words, what was removed.

        The CNI configurations in the folder `configured` name the bridge. Raise Unavailable if the removal fails.
        """
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
    """Return the names of a network's bridges, from the CNI configurations in a folder. Configurations that cannot be
    read are ignored."""
    found = []
    for path in sorted(configured.glob("*.conflist")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            described = json.loads(path.read_text())
            if described["name"] == network:
                found += [plugin["bridge"] for plugin in described["plugins"] if "bridge" in plugin]
    return found


def gone(number: str) -> bool:
    """Return whether no process with this number has a network namespace of its own. The number may belong to another
    process by now."""
    try:
        return os.readlink(f"/proc/{number}/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return True


def rules(table: str) -> list[str]:
    """Return the rules of a table of the firewall."""
    return output(["iptables", "--wait", "--table", table, "--list-rules"]).splitlines()


def remove(table: str, *words: str) -> None:
    """Run iptables with these words, which remove something from a table."""
    output(["iptables", "--wait", "--table", table, *words])


def ruled(network: str, translating: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the number of each instance that the rules of the table `nat` name, and its address."""
    named = re.compile(rf'name: "{re.escape(network)}" id: "([0-9]+)"')
    for words in map(shlex.split, translating):
        numbers = [found[1] for found in map(named.fullmatch, words) if found]
        if numbers and "-s" in words:
            yield numbers[0], words[words.index("-s") + 1].removesuffix("/32")


def repeated_rules(passing: Iterable[str]) -> list[str]:
    """Return the rules for all instances that exist more than once. Each is listed as often as it has to be removed.

    CNI makes a rule that it does not find. Two instances that start at once can both make it.
    """
    counts = Counter(rule for rule in passing if FOR_ALL in rule)
    return [rule for rule, number in counts.items() for _ in range(number - 1)]


def removals(
    network: str, number: str, addresses: Iterable[str], translating: Iterable[str], passing: Iterable[str]
) -> list[tuple[str, list[str]]]:
    """Return pairs (table, words for iptables) that remove the rules of an instance.

    In the table `nat` these are the rules with the instance's name, and then their chain. In the table `filter` they
    are the rules that let its `addresses` pass.
    """
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
