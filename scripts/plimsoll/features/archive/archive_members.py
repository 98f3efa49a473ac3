"""Choose the files for an archive of this project's results, and check that the necessary ones exist."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths, spelling
from plimsoll.analysis import cell_paths, complete
from plimsoll.config.studies import Study
from plimsoll.errors import DamagedFile, PlimsollError
from plimsoll.features.archive.layout import ABOUT, GIVEN, MADE, OF_CONFIG, OF_EARLIER, OF_PROJECT, OF_RESULTS, OF_STUDY
from plimsoll.features.archive.writing import Source
from plimsoll.images import settings
from plimsoll.interchange import Plan
from plimsoll.measuring import plan_file, record
from plimsoll.planning import sessions


class Member(NamedTuple):
    """A member of an archive: the `source` of its content, and its `role` when everything is made again
    (plimsoll.features.archive.layout)."""

    source: Source
    role: str


class MeasuredSession(NamedTuple):
    """A session of a study that has records.

    `name` is the name of its folder in an archive, `folder` the folder on this machine, and `newest` says whether it is
    the study's newest session.
    """

    name: str
    study: Study
    folder: Path
    newest: bool


def measured_sessions(studies: Mapping[str, Study], results: Path) -> list[MeasuredSession]:
    """Return every session of the studies that has records and a plan. Studies whose newest session has no records are
    left out.

    Raise PlimsollError if no study has records, or if a file that describes the measurements is missing.
    """
    there = {name: study for name, study in studies.items() if record.any_below(results / name)}
    if not there:
        raise PlimsollError(
            f"Nothing was measured of {', '.join(studies)} yet, so nothing was archived. "
            f"Type {spelling.command('reproduce', *studies)} first."
        )
    for name, study in there.items():
        for needed in (results / name / "plan.json", results / "host.json", results / f"images/{study['image']}.json"):
            if not needed.is_file():
                raise PlimsollError(
                    f"{needed} is not there, and nothing can be made from the records of {name} without it. Let "
                    f"{spelling.command('reproduce', name)} finish first."
                )
    return [
        MeasuredSession(
            f"results/{one.folder.relative_to(results).as_posix()}", study, one.folder, one.folder == results / name
        )
        for name, study in there.items()
        for one in sessions.of_study(results, name)
        if record.any_below(one.folder) and (one.folder / "plan.json").is_file()
    ]


def plan_of(session: MeasuredSession) -> Plan:
    """Return the plan of a session.

    Raise PlimsollError if the newest session's list of runs was made with another plan. An earlier session is taken as
    it is.
    """
    folder = session.folder
    plan, runs = plan_file.read(folder / "plan.json", session.study.design.factors), folder / "runs.csv"
    if session.newest and runs.is_file():
        try:
            rows = complete.rows_of(runs)
            made = {(cell_paths.of_row(row, plan["factors"]), int(row["repetition"])) for row in rows}
        except (KeyError, TypeError, ValueError) as problem:
            raise DamagedFile(
                f"{runs} is damaged, so nothing was archived. The records are not affected. Delete it, and type "
                f"{spelling.command('reproduce', folder.name)}, which makes a new one from them."
            ) from problem
        if made != set(plan["order"]):
            raise another_plan(folder, f"{runs} has other runs than {folder}/plan.json")
    return plan


def another_plan(folder: Path, what: str) -> PlimsollError:
    """Return the error for a study whose plan was made again after its records or its tables."""
    return PlimsollError(
        f"{what}: let {spelling.command('reproduce', folder.name)} finish with the settings that it was measured with. "
        "Then archive it."
    )


def files(every: Iterable[MeasuredSession], results: Path, raw: bool) -> dict[str, Member]:
    """Return the members of an archive that are files here, by their names. The `raw` outputs are included only on request."""
    found = dict(_of("config/", paths.CONFIG, OF_CONFIG))
    found |= _of("", paths.PROJECT, OF_PROJECT)
    found |= _of("results/", results, OF_RESULTS)
    for session in every:
        study, prefix = session.study, f"{session.name}/"
        wanted = {**OF_STUDY, MADE: [*OF_STUDY[MADE], *_made(study)]} if session.newest else OF_EARLIER
        found |= _of(prefix, session.folder, wanted)
        found |= _of("results/", results, {GIVEN: [f"images/{study['image']}.json", f"images/{study['image']}.runtimes.json"]})
        found |= _of("results/", results, {ABOUT: [f"images/{study['image']}.sbom.json"]})
        # A recipe of the configuration's own is there already, without the files that a user's program needs.
        sources = (path for path in settings.sources(study["image"]) if path.is_relative_to(paths.PROJECT))
        found |= _of("", paths.PROJECT, {ABOUT: [path.relative_to(paths.PROJECT).as_posix() for path in sources]})
        if raw:
            found |= _of(prefix, session.folder, {GIVEN: ["raw/**/*"]})
    return found


def _made(study: Study) -> list[str]:
    """Return the patterns of a study's figures and tables.

    Files that it no longer has may lie in the same folders, so it names each.
    """
    tables = [f"tables/{name}.csv" for name in ("tests", *study.get("tables", {}))]
    return [*tables, *(f"figures/{name}.*" for name in study["figures"])]


def _of(prefix: str, folder: Path, patterns: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, Member]]:
    """Yield (name, member) for the files of a folder that match the patterns of a role.

    Links are left out: they may lead anywhere.
    """
    for role, of_role in patterns.items():
        for pattern in of_role:
            for path in folder.glob(pattern):
                if path.is_file() and not path.is_symlink():
                    yield f"{prefix}{path.relative_to(folder).as_posix()}", Member(path, role)
