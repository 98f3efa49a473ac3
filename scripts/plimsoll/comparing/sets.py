"""Result sets: where one lies, and what it says of one study. A set may hold several sessions of the study."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import interchange
from plimsoll.analysis import collect
from plimsoll.claims import findings
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record, status, system

OBSERVATIONS, RUNS, PLAN, HOST, RECORDS = "observations.csv", "runs.csv", "plan.json", "host.txt", "runs"
CLAIMS, COMPARISONS = ("claims.json", "claims.csv"), "comparisons.csv"
# Columns of observations that every version has written.
NEEDED = ("study", "metric", "label", "unit", "better", "value", "censored", "repetition", "started", "fingerprint", "profile")
# Columns of comparisons that effects are read from.
OF_COMPARISON = (
    *("claim", "part", "arrangement", "metric", "metric_b", "label", "unit", "cell_a", "cell_b", "reference_a", "reference_b"),
    *("expected", "n", "mean_b", "test", "effect", "low", "high"),
)
RESULTS = "results"
SEVERAL = " and "


def opened(path: Path) -> Path:
    """The folder that a path names. PlimsollError if there is none."""
    if path.is_dir():
        return path
    raise PlimsollError(
        f"{path}: there is no such folder or archive. A and B are folders with {OBSERVATIONS} in them, or one level below, or "
        "files that `make archive` has written."
    )


class Ran(NamedTuple):
    """What valid runs of some cells ran: the identifiers of each object that they had mapped, by name, and of the images."""

    bits: dict[str, set[str]]
    images: set[str]


class Judged(NamedTuple):
    """What a session says of findings: results by their names, and the comparisons that these rest on."""

    results: dict[str, dict]
    comparisons: pd.DataFrame


@dataclass(frozen=True)
class ResultSet:
    """What was measured of one study: one folder for each session, the oldest first."""

    study: str
    folders: tuple[Path, ...]

    def observations(self, study: Study) -> pd.DataFrame:
        """One row per observation, with its `session`. PlimsollError for a table that an earlier version has written."""
        tables = [_read(folder / OBSERVATIONS, study) for folder in self.folders]
        return pd.concat([table.assign(session=number) for number, table in enumerate(tables, 1)], ignore_index=True)

    def runs(self, study: Study) -> pd.DataFrame:
        """One row per run; none where the table is not there."""
        factors = study.design.factors.FACTORS
        tables = [collect.table(folder / RUNS, factors) for folder in self.folders if (folder / RUNS).is_file()]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*factors, *collect.OF_EVERY_RUN])

    @cached_property
    def facts(self) -> dict[str, str]:
        """What the machine was, by name, in words; where sessions had several of a kind, all of them."""
        each = [_facts(folder) for folder in self.folders]
        names = dict.fromkeys(name for facts in each for name in facts)
        return {name: SEVERAL.join(dict.fromkeys(facts[name] for facts in each if name in facts)) for name in names}

    def ran(self, cells: Collection[str]) -> Ran:
        """What valid runs of some cells ran; nothing where the set has no records of them."""
        found = Ran({}, set())
        for recorded in (one for folder in self.folders for cell in cells for one in _valid(folder / RECORDS / cell)):
            found.images.add(recorded["image"]["id"])
            for name, bits in recorded.get("bits", {}).items():
                found.bits.setdefault(name, set()).add(bits)
        return found

    def versions(self, study: Study, cells: Collection[str], images: Collection[str]) -> dict[str, str]:
        """Versions of the benchmarks that some cells run, by name, from the description of the set's image; nothing where it is
        not known that this is the one of all `images` that its runs were made with."""
        described = [_image(folder, study["image"]) for folder in self.folders]
        if not self.plan or {one.get("id") for one in described} != set(images):
            return {}
        here = [self.plan["cells"][cell] for cell in cells if cell in self.plan["cells"]]
        names = {name for cell in here for name in study.design.cells.programs(self.plan, cell)}
        return {name: version for name, version in described[-1]["versions"].items() if name in names}

    @cached_property
    def plan(self) -> interchange.Plan | None:
        """The newest session's plan; None where the set has none."""
        path = self.folders[-1] / PLAN
        return json.loads(path.read_text()) if path.is_file() else None

    @property
    def cells(self) -> Mapping[str, interchange.Cell]:
        """The cells of the newest session's plan; none where the set has no plan."""
        return self.plan["cells"] if self.plan else {}

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """What each session says of findings. PlimsollError for a table that does not hold what it should."""
        return tuple(Judged(_verdicts(folder, self.study), _comparisons(folder)) for folder in self.folders)

    @property
    def verdicts(self) -> dict[str, dict]:
        """The newest session's results of claims by their names; none where it has none."""
        return self.judged[-1].results


def read(path: Path, instead: Callable[[Path], Path] = lambda folder: folder) -> dict[str, ResultSet]:
    """The result sets at a path, by study: a study's results, a folder with those of several studies, or one with the numbered
    sessions of a study. `instead` gives the folder that is read in the place of one of a study. PlimsollError for anything
    else."""
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
        f"{path} holds no results: neither it nor a folder in it has {OBSERVATIONS}, which `snakemake --cores 1 "
        f"results/<study>/{OBSERVATIONS}` makes of what was measured."
    )


def _of_folders(groups: list[list[Path]]) -> dict[str, ResultSet]:
    """A set of each group of folders, the sessions of one study."""
    found: dict[str, ResultSet] = {}
    for folders in groups:
        names = dict.fromkeys(_study_of(folder) for folder in folders)
        if len(names) > 1:
            raise PlimsollError(
                f"{folders[0].parent} has sessions of several studies ({', '.join(names)}): compare one at a time."
            )
        (study,) = names
        if study in found:
            raise PlimsollError(f"{folders[0]} and {found[study].folders[0]} are both of {study}: name one of them.")
        found[study] = ResultSet(study, tuple(folders))
    return found


def _study_of(folder: Path) -> str:
    """The study that a folder's observations are of."""
    path = folder / OBSERVATIONS
    try:
        names = pd.read_csv(path, usecols=["study"])["study"].dropna().unique()
    except (ValueError, pd.errors.ParserError) as problem:
        raise PlimsollError(f"{path} is no table of observations ({problem}): collect it anew.") from problem
    if len(names) > 1:
        raise PlimsollError(f"{path} has observations of several studies ({', '.join(names)}): each has a folder of its own.")
    # Nothing counts in a study without rows; its folder says which it is.
    return str(names[0]) if len(names) else folder.name


def _read(path: Path, study: Study) -> pd.DataFrame:
    factors = study.design.factors.FACTORS
    table = collect.table(path, factors)
    lacking = [name for name in (*factors, *NEEDED) if name not in table]
    if lacking:
        raise PlimsollError(
            f"{path} has no column {lacking[0]}: an earlier version wrote it, whose cells were others. It cannot be compared."
        )
    return table


def _facts(folder: Path) -> dict[str, str]:
    """What is said of the machine that a folder's runs were made on: by host.txt in it or beside it, and by system.json."""
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
    """A cell's valid records."""
    for path in sorted(runs.glob("*.json")):
        try:
            recorded = record.read(path)
        except record.Damaged:
            continue
        if recorded["status"] == status.VALID:
            yield recorded


def _image(folder: Path, name: str) -> dict:
    """The description of an image that lies beside a session's folder; nothing where there is none."""
    # Of an earlier session: results/sessions/<study>/<number>.
    near = (place / f"images/{name}.json" for place in folder.resolve().parents[:3])
    path = next((path for path in near if path.is_file()), None)
    return json.loads(path.read_text()) if path else {}


def _verdicts(folder: Path, study: str) -> dict[str, dict]:
    """A session's results of a study's claims, by their names; none where there is no table of them, or one of a version that
    told others."""
    path = next((folder / name for name in CLAIMS if (folder / name).is_file()), None)
    if path is None:
        return {}
    try:
        results = json.loads(path.read_text()) if path.suffix == ".json" else findings.of_table(path)
        return {one["id"]: one for one in results if {"id", "study", "verdict"} <= one.keys() and one["study"] == study}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PlimsollError(f"{path} holds no verdicts ({problem}): make it anew, or move it away.") from problem


def _comparisons(folder: Path) -> pd.DataFrame:
    """A session's comparisons; none where there is no table of them, or one of a version that had others."""
    path, none = folder / COMPARISONS, pd.DataFrame(columns=list(OF_COMPARISON))
    if not path.is_file():
        return none
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except ValueError as problem:
        raise PlimsollError(f"{path} holds no comparisons ({problem}): make it anew, or move it away.") from problem
    return table if set(OF_COMPARISON) <= set(table) else none
