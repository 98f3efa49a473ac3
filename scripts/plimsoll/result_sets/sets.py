"""Read a set of results: find its folders, and read what they say of one study.

A set may hold several sessions of the study.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import interchange, spelling
from plimsoll.analysis import collect
from plimsoll.claims import findings
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record, status, system

OBSERVATIONS, RUNS, PLAN, HOST, RECORDS = "observations.csv", "runs.csv", "plan.json", "host.txt", "runs"
CLAIMS, COMPARISONS = ("claims.json", "claims.csv"), "comparisons.csv"
# Verdicts from all sessions of a study.
TOGETHER = "together.json"
# Columns of observations that a comparison needs.
NEEDED = ("study", "metric", "label", "unit", "better", "value", "censored", "repetition", "started", "fingerprint", "profile")
# Columns of comparisons that effects are read from.
OF_COMPARISON = (
    *("claim", "part", "arrangement", "metric", "metric_b", "label", "unit", "cell_a", "cell_b", "reference_a", "reference_b"),
    *("expected", "n", "mean_b", "test", "effect", "low", "high"),
)
RESULTS = "results"
SEVERAL = " and "


def opened(path: Path) -> Path:
    """Return the folder at a path. Raise PlimsollError if no folder is there."""
    if path.is_dir():
        return path
    raise PlimsollError(
        f"{path}: there is no such folder or archive. A and B are folders with {OBSERVATIONS} in them, or one level below, or "
        f"files that `{spelling.command('archive')}` has written."
    )


class Ran(NamedTuple):
    """What valid runs of some cells ran: the identifiers of each mapped program or library, by name, and of the images."""

    bits: dict[str, set[str]]
    images: set[str]


class SessionVerdicts(NamedTuple):
    """What a session says of claims: results by the claims' names, and the comparisons that these results rest on."""

    results: dict[str, dict]
    comparisons: pd.DataFrame


@dataclass(frozen=True)
class ResultSet:
    """What was measured of one study: one folder per session, the oldest first."""

    study: str
    folders: tuple[Path, ...]

    def observations(self, study: Study) -> pd.DataFrame:
        """Return one row per observation, with the number of its `session`.

        Raise PlimsollError for a table of an earlier version.
        """
        tables = [_read(folder / OBSERVATIONS, study) for folder in self.folders]
        return pd.concat([table.assign(session=number) for number, table in enumerate(tables, 1)], ignore_index=True)

    def runs(self, study: Study) -> pd.DataFrame:
        """Return one row per run; empty if there is no table of runs."""
        factors = study.design.factors.FACTORS
        tables = [collect.table(folder / RUNS, factors) for folder in self.folders if (folder / RUNS).is_file()]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*factors, *collect.OF_EVERY_RUN])

    @cached_property
    def facts(self) -> dict[str, str]:
        """Return what is known of the machine, by name, in words.

        Where sessions differ in a fact, all of its values are listed.
        """
        each = [_facts(folder) for folder in self.folders]
        names = dict.fromkeys(name for facts in each for name in facts)
        return {name: SEVERAL.join(dict.fromkeys(facts[name] for facts in each if name in facts)) for name in names}

    def ran(self, cells: Collection[str]) -> Ran:
        """Return what the valid runs of some cells ran; empty if the set has no records of them."""
        found = Ran({}, set())
        for recorded in (one for folder in self.folders for cell in cells for one in _valid(folder / RECORDS / cell)):
            found.images.add(recorded["image"]["id"])
            for name, bits in recorded.get("bits", {}).items():
                found.bits.setdefault(name, set()).add(bits)
        return found

    def versions(self, study: Study, cells: Collection[str], images: Collection[str]) -> dict[str, str]:
        """Return the versions of the benchmarks that some cells run, by name, from the description of the set's image.

        Return an empty mapping if the set has no plan, or if its runs used other `images` than the described ones.
        """
        described = [_image(folder, study["image"]) for folder in self.folders]
        if not self.plan or {one.get("id") for one in described} != set(images):
            return {}
        here = [self.plan["cells"][cell] for cell in cells if cell in self.plan["cells"]]
        names = {name for cell in here for name in study.design.cells.programs(self.plan, cell)}
        return {name: version for name, version in described[-1]["versions"].items() if name in names}

    @cached_property
    def plan(self) -> interchange.Plan | None:
        """Return the plan of the newest session; None if the session has no plan."""
        path = self.folders[-1] / PLAN
        return json.loads(path.read_text()) if path.is_file() else None

    @property
    def cells(self) -> Mapping[str, interchange.Cell]:
        """Return the cells in the plan of the newest session; empty if there is no plan."""
        return self.plan["cells"] if self.plan else {}

    @cached_property
    def judged(self) -> tuple[SessionVerdicts, ...]:
        """Return what each session says of claims. Raise PlimsollError for a table that cannot be used."""
        return tuple(SessionVerdicts(_verdicts(folder, self.study), _comparisons(folder)) for folder in self.folders)

    @property
    def verdicts(self) -> dict[str, dict]:
        """Return the newest session's results by the claims' names; empty if the session has no results."""
        return self.judged[-1].results

    @cached_property
    def verdicts_together(self) -> dict[str, dict]:
        """Return the results from all sessions together, by the claims' names, as pages show them.

        An older set has only the results of its newest session.
        """
        return _verdicts(self.folders[-1], self.study, (TOGETHER, *CLAIMS))


def read(path: Path, instead: Callable[[Path], Path] = lambda folder: folder) -> dict[str, ResultSet]:
    """Return the result sets at a path, by study.

    The path may be a study's results, a folder with the results of several studies, or a folder with numbered sessions
    of one study. `instead` maps the folder of a study's results to the folder to read in its place; it is not used for
    numbered sessions. Raise PlimsollError for any other path.
    """
    folder = opened(path)
    if (folder / OBSERVATIONS).is_file():
        return _of_folders([[instead(folder)]])
    below = sorted(child for child in folder.iterdir() if (child / OBSERVATIONS).is_file())
    numbered = sorted((child for child in below if child.name.isdigit()), key=lambda child: int(child.name))
    if numbered:
        return _of_folders([numbered])
    if below:
        return _of_folders([[instead(child)] for child in below])
    if (folder / RESULTS).is_dir():
        return read(folder / RESULTS, instead)
    raise PlimsollError(
        f"{path} holds no results: neither it nor a folder in it has {OBSERVATIONS}. Make it from the "
        f"records: `.venv/bin/snakemake --cores 1 results/<study>/{OBSERVATIONS}`."
    )


def _of_folders(groups: list[list[Path]]) -> dict[str, ResultSet]:
    """Return one set per group of folders. A group holds the sessions of one study.

    Raise PlimsollError if a group is of several studies, or if two groups are of the same study.
    """
    found: dict[str, ResultSet] = {}
    for folders in groups:
        names = dict.fromkeys(_study_of(folder) for folder in folders)
        if len(names) > 1:
            raise PlimsollError(
                f"{folders[0].parent} has sessions of several studies ({', '.join(names)}). Name the folder of one study."
            )
        (study,) = names
        if study in found:
            raise PlimsollError(f"{folders[0]} and {found[study].folders[0]} are both results of {study}. Name one of them.")
        found[study] = ResultSet(study, tuple(folders))
    return found


def _study_of(folder: Path) -> str:
    """Return the study that a folder's observations are of.

    Raise PlimsollError if the file is not a table of observations, or is of several studies.
    """
    path = folder / OBSERVATIONS
    try:
        names = pd.read_csv(path, usecols=["study"])["study"].dropna().unique()
    except (ValueError, pd.errors.ParserError) as problem:
        raise PlimsollError(
            f"{path} is not a table of observations ({problem}). Delete it, and make it again: "
            f"`.venv/bin/snakemake --cores 1 results/<study>/{OBSERVATIONS}`."
        ) from problem
    if len(names) > 1:
        raise PlimsollError(
            f"{path} has observations of several studies ({', '.join(names)}). Put those of each study into a "
            "folder of its own."
        )
    # Without a run that counts the table has no rows. The folder's name then tells the study.
    return str(names[0]) if len(names) else folder.name


def _read(path: Path, study: Study) -> pd.DataFrame:
    factors = study.design.factors.FACTORS
    table = collect.table(path, factors)
    lacking = [name for name in (*factors, *NEEDED) if name not in table]
    if lacking:
        raise PlimsollError(
            f"{path} has no column {lacking[0]}: an earlier version of Plimsoll wrote it, with other cells. It "
            "cannot be compared."
        )
    return table


def _facts(folder: Path) -> dict[str, str]:
    """Return what is known of the machine of a folder's runs, from host.txt in the folder or beside it and system.json."""
    near = [path for path in (folder / HOST, folder.parent / HOST) if path.is_file()]
    lines = near[0].read_text().splitlines() if near else []
    told = {name: words.strip() for name, _, words in (line.partition("  ") for line in lines) if words.strip()}
    noted = system.read(folder) or {"parts": {}}
    versions = {
        name if part == system.HOST else f"{part}, {name}": str(words)
        for part, facts in noted["parts"].items()
        for name, words in facts.items()
    }
    return told | versions


def _valid(runs: Path) -> Iterator[interchange.Record]:
    """Yield the valid records of a cell. Damaged records are skipped."""
    for path in sorted(runs.glob("*.json")):
        try:
            recorded = record.read(path)
        except record.DamagedFile:
            continue
        if recorded["status"] == status.VALID:
            yield recorded


def _image(folder: Path, name: str) -> dict:
    """Return the description of an image that lies beside a session's folder; empty if it is missing."""
    # An earlier session lies in results/sessions/<study>/<number>, three levels below the folder that holds images/.
    near = (place / f"images/{name}.json" for place in folder.resolve().parents[:3])
    path = next((path for path in near if path.is_file()), None)
    return json.loads(path.read_text()) if path else {}


def _verdicts(folder: Path, study: str, files: Sequence[str] = CLAIMS) -> dict[str, dict]:
    """Return a session's results of a study's claims, by the claims' names, from the first of the `files` that is there.

    They are empty if there is no table of results, or if another version wrote it with other columns. Raise
    PlimsollError for a file that holds no verdicts.
    """
    path = next((folder / name for name in files if (folder / name).is_file()), None)
    if path is None:
        return {}
    try:
        results = json.loads(path.read_text()) if path.suffix == ".json" else findings.of_table(path)
        return {one["id"]: one for one in results if {"id", "study", "verdict"} <= one.keys() and one["study"] == study}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PlimsollError(
            f"{path} holds no verdicts ({problem}). Make it again (`.venv/bin/snakemake --cores 1 results/claims.html`), "
            "or move it away."
        ) from problem


def _comparisons(folder: Path) -> pd.DataFrame:
    """Return a session's comparisons. Raise PlimsollError for a file that is not a table.

    They are empty if there is no table of them, or if another version wrote it with other columns.
    """
    path, none = folder / COMPARISONS, pd.DataFrame(columns=list(OF_COMPARISON))
    if not path.is_file():
        return none
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except ValueError as problem:
        raise PlimsollError(
            f"{path} holds no comparisons ({problem}). Make it again (`.venv/bin/snakemake --cores 1 results/claims.html`), "
            "or move it away."
        ) from problem
    return table if set(OF_COMPARISON) <= set(table) else none
