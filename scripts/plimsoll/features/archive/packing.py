"""Make an archive from this project's results."""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import documents, spelling
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.features.archive import archive_members, code_identity, crate, pictures, records, writing
from plimsoll.features.archive.archive_members import MeasuredSession, Member
from plimsoll.features.archive.layout import ABOUT, DRAWN, FORMAT, GIVEN, MADE, MANIFEST, METADATA, README, records_of
from plimsoll.features.archive.run_summary import Ran
from plimsoll.features.archive.writing import MemberDigest, Source
from plimsoll.interchange import Host, Plan
from plimsoll.measuring import plan_file
from plimsoll.pages import start_page, verdict_page


class Records(NamedTuple):
    """The records of a session, ready for an archive.

    `lines` is a file with a line per record, `number` how many records there are, and `bytes` the size of their files.
    `ran` says what ran, and `lacking` has the planned runs without a record.
    """

    plan: Plan
    lines: Source
    number: int
    bytes: int
    ran: Ran
    lacking: list[tuple[str, int]]


def pack(
    every: Sequence[MeasuredSession],
    results: Path,
    target: Path,
    raw: bool = False,
    drawn: bool = True,
    say: Callable[[str], None] = print,
) -> bool:
    """Put sessions of studies (archive_members.measured_sessions) into an archive.

    Return False if the same archive already exists.
    The `raw` outputs are included only on request. With `drawn` false, pictures and pages are left out; they can be
    made again. `say` is called with a sentence about missing records. Raise PlimsollError if a plan does not fit, or if
    the archive cannot be written.
    """
    members = archive_members.files(every, results, raw) | _page(every, results)
    with contextlib.ExitStack() as space:
        packed = {one.name: _records(one, space) for one in every}
        for name, one in packed.items():
            members[records_of(name)] = Member(one.lines, GIVEN)
            if one.lacking:
                say(
                    f"{name}: {len(one.lacking)} of {len(one.plan['order'])} planned runs have no record, "
                    "and are not in the archive."
                )
        members |= {name: page for one in every for name, page in _report(one)}
        if not drawn:
            members = {name: member for name, member in members.items() if member.role != MADE or not name.endswith(DRAWN)}
        members[README] = Member(Path(__file__).with_name("about.md"), ABOUT)
        said = {name: (writing.member_digest(member.source), member.role) for name, member in sorted(members.items())}
        folders = [folder for one in every for folder in (f"{one.name}/raw/",) if any(name.startswith(folder) for name in said)]
        described = _described(every, packed, results, said, folders).encode()
        said[METADATA] = writing.member_digest(described), ABOUT
        first = [(METADATA, described), (MANIFEST, _manifest(every, packed, said, raw))]
        # Everything that the description names must be a member, even a folder that has files.
        first += [(folder, b"") for folder in folders]
        return writing.write(target, [*first, *((name, member.source) for name, member in sorted(members.items()))])


def pack_study(study: Study, results: Path, target: Path, say: Callable[[str], None] = print) -> bool:
    """Put all sessions of one study into an archive, with pictures and pages. Raise PlimsollError as `pack` does."""
    return pack(archive_members.measured_sessions({study["id"]: study}, results), results, target, say=say)


def _records(session: MeasuredSession, space: contextlib.ExitStack) -> Records:
    plan = archive_members.plan_of(session)
    # A file without a name disappears with this process, however it ends.
    lines = space.enter_context(tempfile.TemporaryFile())
    there, size, ran = set(), 0, Ran()
    for packed in records.packed(session.folder / "runs"):
        if session.newest:
            _refuse_stale(packed, plan, session.folder)
        lines.write(packed.line)
        there.add(packed.path)
        size += packed.bytes
        ran.add(packed)
    lacking = [(cell, number) for cell, number in plan["order"] if f"{cell}/{number}.json" not in there]
    return Records(plan, lines, len(there), size, ran, lacking)


def _refuse_stale(packed: records.PackedRecord, plan: Plan, folder: Path) -> None:
    """Raise PlimsollError for a record whose cell has other parameters in the plan."""
    cell = plan["cells"].get(packed.path.rpartition("/")[0])
    if cell and packed.record and packed.record.get("fingerprint") != cell.get("fingerprint"):
        record = folder / "runs" / packed.path
        raise archive_members.another_plan(folder, f"{record} was measured with other parameters than {folder}/plan.json has")


def _page(every: Iterable[MeasuredSession], results: Path) -> dict[str, Member]:
    """Return the start page and the page of verdicts on these studies, and its table; empty if one of them has no verdicts yet.

    The page in the results folder cannot be used, because it may be about more or fewer studies. Raise PlimsollError if
    the verdicts are damaged or of another version.
    """
    newest: dict[str, Study] = {one.study["id"]: one.study for one in every}
    files = [tuple(results / name / file for file in verdict_page.FILES) for name in newest]
    if not all(path.is_file() for of_study in files for path in of_study):
        return {}
    try:
        gathered = verdict_page.gather(files, newest.__getitem__)
        table, page = verdict_page.table_and_page(gathered, newest.__getitem__)
        start = start_page.render(gathered, newest.__getitem__)
    except verdict_page.UNFIT as problem:
        raise PlimsollError(
            f"The verdicts in {results} are of another version of Plimsoll, or damaged ({problem!r}): "
            f"{spelling.command('reproduce', *newest)} makes them again."
        ) from problem
    made = {"results/index.html": start, "results/claims.html": page, "results/claims.csv": table.to_csv(index=False)}
    return {name: Member(text.encode(), MADE) for name, text in made.items()}


def _report(session: MeasuredSession) -> Iterable[tuple[str, Member]]:
    """Yield the report of a newest session, if it exists."""
    report = session.folder / pictures.REPORT
    if session.newest and report.is_file():
        yield f"{session.name}/{pictures.REPORT}", Member(pictures.linked(report), MADE)


def _described(
    every: Iterable[MeasuredSession],
    packed: Mapping[str, Records],
    results: Path,
    said: Mapping[str, tuple[MemberDigest, str]],
    folders: list[str],
) -> str:
    """Return the archive's description as an RO-Crate. Raw outputs appear only as their `folders`."""
    ran = {}
    for one in every:
        image = plan_file.image(results / f"images/{one.study['image']}.json")
        ran[one.name] = crate.OfSession(one.study, packed[one.name].plan, image, packed[one.name].ran)
    named = {name: about for name, about in said.items() if not name.startswith(tuple(folders))}
    return crate.described(named, folders, ran, documents.read(results / "host.json", Host, plan_file.AGAIN))


def _manifest(
    every: Iterable[MeasuredSession], packed: Mapping[str, Records], said: Mapping[str, tuple[MemberDigest, str]], raw: bool
) -> bytes:
    measured = {}
    for one in every:
        own = packed[one.name]
        numbers = {"records": own.number, "bytes": own.bytes, "lacking": own.lacking}
        measured[one.name] = {"study": one.study["id"], **numbers}
    manifest = {
        "format": FORMAT,
        "made_by": code_identity.made_by(),
        "raw": raw,
        "studies": sorted({one["study"] for one in measured.values()}),
        "measured": dict(sorted(measured.items())),
        "members": {name: {"role": role, **stated._asdict()} for name, (stated, role) in sorted(said.items())},
    }
    return (json.dumps(manifest, indent=1) + "\n").encode()
