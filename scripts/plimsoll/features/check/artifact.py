"""All studies of own results and of the reference, and the result of the check: an exit status and a sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import spelling
from plimsoll.errors import PlimsollError, first_of
from plimsoll.features.check import study
from plimsoll.features.check.study import ALIKE, CONDITIONS, REVERSED, CheckedStudy
from plimsoll.result_sets import archives, sets
from plimsoll.result_sets.sets import ResultSet

SUCCESS, FAILURE = 0, 1
NO_REVERSAL = "no claim reversed"


class Outcome(NamedTuple):
    """How a check ended: its exit status, and the sentence that says why."""

    status: int
    says: str


def check(results: Path, reference: Path, names: Sequence[str]) -> tuple[dict[str, CheckedStudy], Outcome]:
    """Compare what was measured in `results` with the `reference`: the studies `names`, or all that were measured.

    Both are folders of results, or archives. Raise PlimsollError if the reference has no such study, or if a file
    cannot be read.
    """
    there = _reference(reference)
    if unknown := [name for name in names if name not in there]:
        raise PlimsollError(
            f"{reference} has no study {unknown[0]}{spelling.hint(unknown[0], there)}: it has {', '.join(there)}."
        )
    here = _measured(archives.folder_of(results))
    chosen = [name for name in names or there if name in here and here[name].verdicts_together]
    checked = {name: study.check(there[name], here[name]) for name in chosen}
    return checked, ended(checked, [name for name in names if name not in checked])


def _reference(path: Path) -> dict[str, ResultSet]:
    if not path.exists():
        raise PlimsollError(f"{path}: there is no such folder or archive, so nothing is checked. Give one with --reference.")
    return sets.read(archives.folder_of(path))


def _measured(folder: Path) -> dict[str, ResultSet]:
    """Return what was measured in a folder, by study; empty if nothing was, or if the folder is not there."""
    places = (folder, folder / sets.RESULTS)
    if not any(any(place.glob(f"{depth}{sets.OBSERVATIONS}")) for place in places for depth in ("", "*/")):
        return {}
    return sets.read(folder)


def ended(checked: Mapping[str, CheckedStudy], lacking: Sequence[str]) -> Outcome:
    """Return how a check ended. `lacking` are studies that were named, and have no verdicts here."""
    if lacking or not checked:
        named = f" of {', '.join(lacking)}" if lacking else ""
        typed = " ".join(["./plimsoll reproduce", *lacking])
        return Outcome(FAILURE, f"Nothing{named} was measured and judged here, so nothing is checked. Type: {typed}")
    turned = [claim.id for one in checked.values() for claim in one.reversals]
    both = sum(one.counts[standing] for one in checked.values() for standing in (REVERSED, CONDITIONS, ALIKE))
    if turned:
        how_many = f"{len(turned)} of {both} claims that both decide"
        return Outcome(FAILURE, f"Reversed: {first_of(turned)} ({how_many}). Type: ./plimsoll show {turned[0]}")
    if not both:
        typed = f"./plimsoll reproduce {' '.join(checked)} --hours 1"
        return Outcome(FAILURE, f"No claim is decided both here and there, so nothing is checked. Measure longer: {typed}")
    alike = sum(one.counts[ALIKE] for one in checked.values())
    return Outcome(SUCCESS, f"{NO_REVERSAL}: of {both} claims that both decide, {alike} are decided alike.")
