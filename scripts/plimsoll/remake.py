"""From an archive to all that is made of measurements, in a folder of its own: without containers, and without measuring.

What the archive gives is unpacked into results/from/<name of the archive>/, which looks like the project's own folder: there
the workflow's rules find it by the same paths (rules/remake.smk), and what they make lies beside it. What was measured on this
machine is nowhere near.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths
from plimsoll.archives import code, places, reading
from plimsoll.archives.layout import MANIFEST
from plimsoll.archives.reading import Archive
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, first_of
from plimsoll.terminal import interruption

# Below the results of this machine.
PLACE = "from"
# What another reading of the paper changes.
OF_CLAIMS = (
    *("/claims.json", "/claims.csv", "/comparisons.csv", "/sessions.json", "/sessions.csv"),
    *("/together.json", "/together.csv", "/claims.html", "/report.html"),
)
# What is compared.
MADE, TABLE = "tables, texts, pictures and pages", ".csv"


class Remade(NamedTuple):
    """How what was made again compares with what is in an archive, in words, and the exit status: 1 if a table is another, of
    the same version of the code."""

    words: str
    status: int = 0


def remake(source: Path, claims: list[Path], results: Path) -> Remade:
    """Make everything from an archive, with other claims where files of `claims` are given; how it compares with what is in the
    archive. `results` is the folder of this machine's results. PlimsollError for an archive that cannot be used,
    claims that are none of its studies', or if something cannot be made."""
    own = {yaml_files.load(path, "claims")["study"]: path for path in claims}
    place = results / PLACE
    place.mkdir(parents=True, exist_ok=True)
    with reading.opened(source) as archive:
        names = archive.manifest["studies"]
        if others := sorted(own.keys() - set(names)):
            raise PlimsollError(f"{own[others[0]]} has the claims of {others[0]}, and {source} has {', '.join(names)}.")
        folder = place / name_of(source, list(own.values()))
        with places.alone(place):
            _have(archive, folder, source, {f"config/claims/{study}.yaml" for study in own})
        for study, path in own.items():
            _put(path, folder / f"config/claims/{study}.yaml")
        _snakemake(folder, source)
        _findings(folder, names)
        return comparison(archive, folder, OF_CLAIMS if own else ())


def name_of(source: Path, claims: list[Path]) -> str:
    """What the folder of an archive is called: as the archive is, and as the files of claims, if it is judged by these."""
    stems = [source.name.removesuffix(".zip"), *(path.stem for path in claims)]
    return re.sub(r"[^\w.+-]+", "-", "+".join(stems)).strip(".-+") or "archive"


def _have(archive: Archive, folder: Path, source: Path, replaced: set[str]) -> None:
    """Have in a folder what an archive gives, as it is in the archive but for members that are `replaced`; what was made there
    before stays. PlimsollError if the folder is another archive's, or if what was given was changed in it."""
    remedy = f"delete {folder}, in which nothing was measured, and start again"
    noted = folder / MANIFEST
    if not folder.exists():
        with places.whole(folder) as new:
            reading.unpack(archive, new)
            (new / MANIFEST).write_bytes(archive.file.read(MANIFEST))
    elif not noted.is_file() or hashlib.sha256(noted.read_bytes()).hexdigest() != archive.identity:
        raise PlimsollError(f"{folder} was made from another archive than {source}: {remedy}, or give the file another name.")
    elif changed := reading.changed(archive, folder, replaced):
        raise PlimsollError(f"{folder / changed} is not what {source} has: {remedy} (CLAIMS=... judges by your own claims).")


def _put(path: Path, target: Path) -> None:
    """Put a file in another's place, unless it is there: what is made from it would be made again."""
    content = path.read_bytes()
    if target.read_bytes() != content:
        temporary = target.with_name(f".{target.name}")
        temporary.write_bytes(content)
        temporary.rename(target)


def _snakemake(folder: Path, source: Path) -> None:
    """Run the workflow that measures nothing. PlimsollError if it fails: its own words are above."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(paths.PROJECT / "rules/remake.smk")]
    command += ["--directory", str(folder), "--workflow-profile", str(paths.PROJECT / "profiles/remake")]
    processors = len(os.sched_getaffinity(0))
    if interruption.run([*command, "--cores", str(processors), "all"], _environment()):
        where = folder / "results/*/logs/"
        raise PlimsollError(f"Not everything could be made from {source}: the reason is above, and in {where}.")


def _findings(folder: Path, names: list[str]) -> None:
    """Tell the most telling findings. That they cannot be told is no failure: they are on the pages."""
    command = [sys.executable, "-m", "plimsoll", "findings", "--results", str(folder / "results"), f"studies={','.join(names)}"]
    subprocess.run(command, env={**_environment(), "PLIMSOLL_CONFIG": str(folder.resolve() / "config")})


def _environment() -> dict[str, str]:
    """This process's, in which this project's package is found, however this process was started."""
    modules = [str(paths.PROJECT / "scripts"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, modules))}


def comparison(archive: Archive, folder: Path, but: tuple[str, ...]) -> Remade:
    """Whether what was made in a folder is what the archive has; `but` are ends of paths that are meant to differ."""
    same, other = reading.compared(archive, folder, but)
    whole, where = len(same) + len(other), f"Everything is in {folder}."
    if not whole:
        return Remade(f"The archive has no {MADE} to compare with. {where}")
    if not other:
        return Remade(f"All {whole} {MADE} of the archive were made again, byte for byte. {where}")
    if rounds := reading.rounded(archive, folder, [name for name in other if name.endswith(TABLE)]):
        where = f"{len(rounds)} have other last digits, as processors round otherwise ({first_of(rounds)}). {where}"
        if not (other := [name for name in other if name not in rounds]):
            return Remade(f"All {whole} {MADE} of the archive were made again, {len(same)} byte for byte. {where}")
    told = f"{len(same)} of {whole} {MADE} are byte for byte those of the archive. Not so {first_of(other)}"
    by, here = archive.manifest["made_by"], code.made_by()
    if by != here:
        versions = [f"{one['version']}, code {one['code'][:8]}" for one in (by, here)]
        return Remade(f"{told}: another version wrote the archive ({versions[0]}; here {versions[1]}). {where}")
    why = "they were made by another version before they were archived, or of other records, or a processor rounds otherwise"
    # The same code makes the same tables of the same records; libraries that draw may differ from machine to machine.
    return Remade(f"{told}: {why}. {where}", int(any(name.endswith(TABLE) for name in other)))
