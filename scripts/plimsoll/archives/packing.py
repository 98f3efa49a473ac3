"""From this project's results to an archive."""

import base64
import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import jinja2

from plimsoll.archives import code, crate, gathering, records, writing
from plimsoll.archives.formats import FORMAT
from plimsoll.archives.gathering import Member
from plimsoll.archives.layout import ABOUT, GIVEN, MADE, MANIFEST, METADATA, README, records_of
from plimsoll.archives.ran import Ran
from plimsoll.archives.writing import Source
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.interchange import Plan
from plimsoll.pages import verdict_page

# What the page of verdicts is made from, of each study.
OF_PAGE = ("claims.json", "comparisons.csv", "answer.csv")
# What a picture in a page begins with.
EMBEDDED = "data:image/png;base64,"


class Records(NamedTuple):
    """The records of a study: their `lines` in a file, how large their files are (`bytes`), what `ran`, and the planned runs
    that are `lacking`."""

    lines: Source
    number: int
    bytes: int
    ran: Ran
    lacking: list[tuple[str, int]]


def pack(
    studies: Mapping[str, Study], results: Path, target: Path, raw: bool = False, say: Callable[[str], None] = print
) -> bool:
    """Put studies with what was measured of them into an archive, with the `raw` outputs only if they are wanted; False if the
    same archive is there already. `say` is told what lacks. PlimsollError if one was not measured, or if the archive cannot be
    written."""
    plans = {name: gathering.plan_of(results / name) for name in studies}
    members = gathering.files(studies, results, raw) | _page(studies, results)
    for name in studies:
        members |= _report(results / name)
    with contextlib.ExitStack() as space:
        packed = {name: _records(results / name, plan, space) for name, plan in plans.items()}
        for name, one in packed.items():
            members[records_of(name)] = Member(one.lines, GIVEN)
            if one.lacking:
                say(f"{name}: {len(one.lacking)} of {len(plans[name]['order'])} planned runs have no record.")
        members[README] = Member(Path(__file__).with_name("about.md"), ABOUT)
        said = {name: (writing.stated(member.source), member.role) for name, member in sorted(members.items())}
        images = {name: json.loads((results / f"images/{study['image']}.json").read_text()) for name, study in studies.items()}
        ran = {name: crate.OfStudy(study, plans[name], images[name], packed[name].ran) for name, study in studies.items()}
        folders = {name: f"results/{name}/raw/" for name in studies if raw}
        named = {name: one for name, one in said.items() if not name.startswith(tuple(folders.values()))}
        host = json.loads((results / "host.json").read_text())
        described = crate.described(named, list(folders.values()), ran, host).encode()
        said[METADATA] = writing.stated(described), ABOUT
        first = [(METADATA, described), (MANIFEST, _manifest(said, packed, raw))]
        return writing.write(target, [*first, *((name, member.source) for name, member in sorted(members.items()))])


def _records(folder: Path, plan: Plan, space: contextlib.ExitStack) -> Records:
    # Without a name: nothing is left of it, whatever ends this process.
    lines = space.enter_context(tempfile.TemporaryFile())
    there, size, ran = set(), 0, Ran()
    for packed in records.packed(folder / "runs"):
        _refuse_stale(packed, plan, folder)
        lines.write(packed.line)
        there.add(packed.path)
        size += packed.bytes
        ran.add(packed)
    lacking = [(cell, number) for cell, number in plan["order"] if f"{cell}/{number}.json" not in there]
    return Records(lines, len(there), size, ran, lacking)


def _refuse_stale(packed: records.Packed, plan: Plan, folder: Path) -> None:
    """PlimsollError for a record whose cell has other parameters in the plan."""
    cell = plan["cells"].get(packed.path.rpartition("/")[0])
    if cell and packed.record and packed.record.get("fingerprint") != cell.get("fingerprint"):
        record = folder / "runs" / packed.path
        raise gathering.another_plan(folder, f"{record} was measured with other parameters than {folder}/plan.json has")


def _page(studies: Mapping[str, Study], results: Path) -> dict[str, Member]:
    """The page of verdicts on these studies, and its table; nothing where one of them has no verdicts yet. The page that lies
    in the results may be about more studies, or fewer."""
    files = [tuple(results / name / file for file in OF_PAGE) for name in studies]
    if not all(path.is_file() for of_study in files for path in of_study):
        return {}
    try:
        table, page = verdict_page.made(files, studies.__getitem__)
    except (KeyError, IndexError, TypeError, ValueError, jinja2.TemplateError) as problem:
        raise PlimsollError(
            f"The verdicts in {results} are of another version of Plimsoll, or damaged ({problem!r}): make reproduce "
            f"STUDIES={','.join(studies)} makes them anew."
        ) from problem
    made = {"results/claims.html": page, "results/claims.csv": table.to_csv(index=False)}
    return {name: Member(text.encode(), MADE) for name, text in made.items()}


def _report(folder: Path) -> dict[str, Member]:
    """A study's report, with links in place of its pictures, which are in the archive as files; nothing where there is none
    yet."""
    report = folder / "report.html"
    if not report.is_file():
        return {}
    page = report.read_text()
    for picture in folder.glob("figures/*.png"):
        page = page.replace(f"{EMBEDDED}{base64.b64encode(picture.read_bytes()).decode()}", f"figures/{picture.name}")
    return {f"results/{folder.name}/report.html": Member(page.encode(), MADE)}


def _manifest(said: Mapping[str, tuple[writing.Stated, str]], packed: Mapping[str, Records], raw: bool) -> bytes:
    manifest = {
        "format": FORMAT,
        "made_by": code.made_by(),
        "raw": raw,
        "studies": {
            name: {"records": one.number, "bytes": one.bytes, "lacking": one.lacking} for name, one in sorted(packed.items())
        },
        "members": {name: {"role": role, **stated._asdict()} for name, (stated, role) in sorted(said.items())},
    }
    return (json.dumps(manifest, indent=1) + "\n").encode()
