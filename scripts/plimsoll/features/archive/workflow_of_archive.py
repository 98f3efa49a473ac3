"""The workflow's view of an unpacked archive in the working directory: plans and records are given.

It does not look at this machine, tries no runtime, and has nothing to measure (rules/remake.smk).
"""

import json
from pathlib import Path

from plimsoll import designs, spelling
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.features.archive.layout import MANIFEST, RefusedArchive, check_format, records_of
from plimsoll.measuring import plan_file
from plimsoll.planning import sessions
from plimsoll.workflow import Workflow


class Given(Workflow):
    """A workflow with the studies of an archive and their original plans."""

    def bundles(self, study: str, name: str | None = None) -> list[str]:
        """Return the study's file of records, which stands for the records that a figure or a table is made from."""
        return [records_of(f"results/{study}")]

    def judged(self, study: str) -> list[str]:
        """Return the path of the list of a study's runs, if the archive has one."""
        path = f"results/{study}/runs.csv"
        return [path] if path in _manifest()["members"] else []

    def earlier_sessions(self, study: str) -> list[str]:
        """Return the paths of the files that a study's earlier sessions are judged by. The workflow makes them again.

        A session is left out if the archive does not have all of these files for it.
        """
        made = _manifest()["members"]
        folders = [one.folder for one in sessions.of_study(Path("results"), study)[:-1]]
        whole = [folder for folder in folders if all(f"{folder}/{name}" in made for name in sessions.NEEDED)]
        return [f"{folder}/{name}" for folder in whole for name in sessions.NEEDED]


def _manifest() -> dict:
    """Return the archive's manifest. Raise PlimsollError if it cannot be read."""
    try:
        manifest = json.loads(Path(MANIFEST).read_text())
        check_format(manifest)
    except (RefusedArchive, ValueError) as problem:
        where = Path(MANIFEST).resolve()
        raise PlimsollError(
            f"{where} cannot be used ({problem}). Nothing was made. Delete {where.parent}, in which nothing was measured, and "
            "type the command again."
        ) from problem
    return manifest


def prepare() -> Given:
    """Return the workflow for the archive that is unpacked in the working directory.

    Raise PlimsollError if the directory has no archive, or if this version cannot read a study or its claims. Raise it
    too if a study has another design than its plan.
    """
    if not Path(MANIFEST).is_file():
        raise PlimsollError(f"No archive is unpacked in {Path.cwd()}: {spelling.command('remake', 'ARCHIVE')} does that.")
    names = _manifest()["studies"]
    loaded = {name: studies.load(name, designs.known()) for name in names}
    plans = {name: plan_file.read(Path("results", name, "plan.json")) for name in names}
    claims = book.load_all()
    for name, study in loaded.items():
        if (made := plans[name]["design"]) != study["design"]:
            raise PlimsollError(
                f"The study {name} has the design {study['design']} in config/studies/{name}.yaml, and {made} in "
                "the plan of its runs. Nothing was made. Copy the archive again, or make it again."
            )
        book.check_against(study, claims.get(name, []))
    return Given(names, names, loaded, plans, {}, {})
