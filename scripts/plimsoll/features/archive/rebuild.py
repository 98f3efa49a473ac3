"""Make everything that is made from measurements again from an archive, in a folder of its own: no containers, no
measuring.

The archive is unpacked into results/from/<name of the archive>/, which looks like the project's own folder. The
workflow's rules find the files there by the same paths (rules/remake.smk), and write their results beside them.
Measurements of this machine are not touched.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths
from plimsoll.config import yaml_files
from plimsoll.errors import Incomplete, PlimsollError, first_of
from plimsoll.features.archive import archive_folders, code_identity, reading
from plimsoll.features.archive.layout import MANIFEST
from plimsoll.features.archive.reading import Archive
from plimsoll.terminal import interruption, snakemake_command

# Folder below the results of this machine.
PLACE = "from"
# Ends of the paths that other claims change.
OF_CLAIMS = (
    *("/claims.json", "/claims.csv", "/comparisons.csv", "/sessions.json", "/sessions.csv"),
    *("/together.json", "/together.csv", "/claims.html", "/index.html", "/report.html"),
)
# Words for what is compared, and the ending of tables.
MADE, TABLE = "tables, texts, pictures and pages", ".csv"


class Remade(NamedTuple):
    """How the files that were made again in `folder` compare with the archive, in words and by their paths.

    Files in `same` have the same content, those in `rounded` other last digits. The exit `status` is 1 if the same
    version of the code made a different table.
    """

    words: str
    folder: Path
    same: list[str]
    rounded: list[str]
    other: list[str]
    status: int = 0


def remake(source: Path, claims: list[Path], results: Path) -> Remade:
    """Make everything from an archive again, and compare it with the archive.

    Files in `claims` replace the claims of their studies. `results` is the folder of this machine's results. Raise
    PlimsollError if the archive cannot be used, if claims are of a study that it does not have, or if something cannot
    be made.
    """
    own = {yaml_files.load(path, "claims")["study"]: path for path in claims}
    place = results / PLACE
    place.mkdir(parents=True, exist_ok=True)
    with reading.open_archive(source) as archive:
        names = archive.manifest["studies"]
        if others := sorted(own.keys() - set(names)):
            raise PlimsollError(
                f"{own[others[0]]} has claims of {others[0]}, and {source} has measurements of {', '.join(names)}. "
                "Nothing was made. Give claims of these studies."
            )
        folder = place / name_of(source, list(own.values()))
        with archive_folders.hold(place):
            _have(archive, folder, source, {f"config/claims/{study}.yaml" for study in own})
        for study, path in own.items():
            _put(path, folder / f"config/claims/{study}.yaml")
        _snakemake(folder, source)
        return comparison(archive, folder, OF_CLAIMS if own else ())


def name_of(source: Path, claims: list[Path]) -> str:
    """Return the name of an archive's folder: the archive's name, then the names of the claims files by which it is judged."""
    stems = [source.name.removesuffix(".zip"), *(path.stem for path in claims)]
    return re.sub(r"[^\w.+-]+", "-", "+".join(stems)).strip(".-+") or "archive"


def _have(archive: Archive, folder: Path, source: Path, replaced: set[str]) -> None:
    """Unpack an archive's inputs into a folder. If the folder exists, check its inputs instead, except those that are
    `replaced`.

    Files that were made there before stay. Raise PlimsollError if the folder is another archive's, or if an input was
    changed in it.
    """
    remedy = f"delete {folder}, in which nothing was measured, and type the command again"
    noted = folder / MANIFEST
    if not folder.exists():
        with archive_folders.whole(folder) as new:
            reading.unpack(archive, new)
            (new / MANIFEST).write_bytes(archive.file.read(MANIFEST))
    elif not noted.is_file() or hashlib.sha256(noted.read_bytes()).hexdigest() != archive.identity:
        raise PlimsollError(f"{folder} was made from another archive than {source}: {remedy}, or give the file another name.")
    elif changed := reading.first_change(archive, folder, replaced):
        raise PlimsollError(f"{folder / changed} is not what {source} has: {remedy} (--claims judges by your own claims).")


def _put(path: Path, target: Path) -> None:
    """Put a copy of a file in another one's place if the contents differ.

    A newer file would make Snakemake repeat what depends on it.
    """
    content = path.read_bytes()
    if target.read_bytes() != content:
        temporary = target.with_name(f".{target.name}")
        temporary.write_bytes(content)
        temporary.rename(target)


def _snakemake(folder: Path, source: Path) -> None:
    """Run the workflow that measures nothing. Raise PlimsollError if it fails; its own messages are above."""
    words = ["--directory", str(folder), "--cores", str(len(os.sched_getaffinity(0))), "all"]
    command = snakemake_command.command(paths.PROJECT / "rules/remake.smk", paths.PROJECT / "profiles/remake", *words)
    if interruption.run(command, paths.environment()):
        where = folder / "results/*/logs/"
        raise Incomplete(
            f"Not everything could be made from {source}. The reason is above, and in {where}. What was made "
            "is kept: type the command again when the cause is removed."
        )


def tell_findings(folder: Path) -> None:
    """Print the most telling claims about the measurements in a folder. A failure is ignored: the pages show them too."""
    names = ",".join(json.loads((folder / MANIFEST).read_text())["studies"])
    command = [sys.executable, "-m", "plimsoll", "findings", "--results", str(folder / "results"), f"studies={names}"]
    subprocess.run(command, env={**paths.environment(), "PLIMSOLL_CONFIG": str(folder.resolve() / "config")})


def comparison(archive: Archive, folder: Path, but: tuple[str, ...]) -> Remade:
    """Compare the files that were made in a folder with the archive. Paths with an ending in `but` are expected to differ."""
    same, other = reading.compared(archive, folder, but)
    rounded = reading.rounded(archive, folder, [name for name in other if name.endswith(TABLE)])
    other = [name for name in other if name not in rounded]
    by, here = archive.manifest["made_by"], code_identity.made_by()
    words = _comparison_words(same, rounded, other, [] if by == here else [by, here])
    # The same code makes the same tables from the same records. Libraries that draw may differ between machines.
    status = int(by == here and any(name.endswith(TABLE) for name in other))
    return Remade(f"{words} Everything is in {folder}.", folder, same, rounded, other, status)


def _comparison_words(same: list[str], rounded: list[str], other: list[str], versions: list[dict]) -> str:
    """Return a comparison in words. `versions` are those of the archive's code and of this code if they differ."""
    whole = len(same) + len(rounded) + len(other)
    digits = f" {len(rounded)} have other last digits, as processors round otherwise ({first_of(rounded)})." if rounded else ""
    if not whole:
        return f"The archive has no {MADE} to compare with."
    if not other:
        exactly = f"{len(same)} byte for byte" if rounded else "byte for byte"
        return f"All {whole} {MADE} of the archive were made again, {exactly}.{digits}"
    why = "they were made by another version before they were archived, or of other records, or a processor rounds otherwise"
    if versions:
        theirs, ours = (f"{one['version']} with code {one['code'][:8]}" for one in versions)
        why = f"other code wrote the archive (version {theirs}; here {ours})"
    return f"{len(same)} of {whole} {MADE} are byte for byte those of the archive. Not so {first_of(other)}: {why}.{digits}"
