"""What the workflow works on where plans and records are given: an archive that is unpacked in the working directory.

Nothing of this machine is looked at, no environment is tried, and there is nothing to measure (rules/remake.smk).
"""

import json
from pathlib import Path

from plimsoll import designs
from plimsoll.archives import formats
from plimsoll.archives.layout import MANIFEST, Refused, records_of
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.measuring import planned
from plimsoll.planning import sessions
from plimsoll.workflow import Workflow


class Given(Workflow):
    """The studies of an archive, with their plans as they were."""

    def bundles(self, study: str, name: str | None = None) -> list[str]:
        """What stands for the records that a figure or a table is made from: the records of the study came in one file."""
        return [records_of(f"results/{study}")]

    def judged(self, study: str) -> list[str]:
        """Path of the list of a study's runs, where the archive had one."""
        path = f"results/{study}/runs.csv"
        return [path] if path in _manifest()["members"] else []

    def earlier_sessions(self, study: str) -> list[str]:
        """Paths of what a study's earlier sessions are judged by, made anew. Of one that was not whole nothing is made."""
        made = _manifest()["members"]
        folders = [one.folder for one in sessions.of(Path("results"), study)[:-1]]
        whole = [folder for folder in folders if all(f"{folder}/{name}" in made for name in sessions.NEEDED)]
        return [f"{folder}/{name}" for folder in whole for name in sessions.NEEDED]


def _manifest() -> dict:
    """What the archive says of itself. PlimsollError if that cannot be read."""
    try:
        return formats.current(json.loads(Path(MANIFEST).read_text()))
    except (Refused, ValueError) as problem:
        where = Path(MANIFEST).resolve()
        raise PlimsollError(f"{where} cannot be used ({problem}): delete its folder, and start again.") from problem


def prepare() -> Given:
    """The workflow of what is unpacked here. PlimsollError for a study or claims that this version cannot read, and for a study
    of another design than its plan."""
    if not Path(MANIFEST).is_file():
        raise PlimsollError(f"No archive is unpacked in {Path.cwd()}: make reproduce FROM=... does that.")
    names = _manifest()["studies"]
    loaded = {name: studies.load(name, designs.known()) for name in names}
    plans = {name: planned.read(Path("results", name, "plan.json")) for name in names}
    claims = book.load_all()
    for name, study in loaded.items():
        if (made := plans[name]["design"]) != study["design"]:
            raise PlimsollError(
                f"config/studies/{name}.yaml has the design {study['design']}, and the plan of its runs the design {made}."
            )
        book.check_against(study, claims.get(name, []))
    return Given(names, names, loaded, plans, {}, {})
