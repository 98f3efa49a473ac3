"""Result sets: where one lies, and what it says of one study. A set may hold several sessions of the study."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from plimsoll import interchange
from plimsoll.analysis import collect
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record, status, system

OBSERVATIONS, RUNS, PLAN, HOST = "observations.csv", "runs.csv", "plan.json", "host.txt"
CLAIMS = ("claims.json", "claims.csv")
# Columns of observations that every version has written.
NEEDED = ("study", "metric", "label", "unit", "better", "value", "censored", "repetition", "started", "fingerprint", "profile")
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

    @cached_property
    def bits(self) -> dict[str, str]:
        """The identifier of each object that runs had mapped, by name; nothing where the set has no records."""
        return {name: bits for folder in self.folders for name, bits in _bits(folder / "runs").items()}

    @cached_property
    def cells(self) -> Mapping[str, interchange.Cell]:
        """The cells of the newest session's plan; none where the set has no plan."""
        path = self.folders[-1] / PLAN
        return json.loads(path.read_text())["cells"] if path.is_file() else {}

    @cached_property
    def verdicts(self) -> dict[str, dict]:
        """The newest session's results of claims by their names; none where it has none."""
        for name in CLAIMS:
            if (path := self.folders[-1] / name).is_file():
                return {result["id"]: result for result in _verdicts(path) if result["study"] == self.study}
        return {}


def read(path: Path) -> dict[str, ResultSet]:
    """The result sets at a path, by study: a study's results, a folder with those of several studies, or one with the numbered
    sessions of a study. PlimsollError for anything else."""
    folder = opened(path)
    if (folder / OBSERVATIONS).is_file():
        return _of_folders([[folder]])
    below = sorted(child for child in folder.iterdir() if (child / OBSERVATIONS).is_file())
    numbered = sorted((child for child in below if child.name.isdigit()), key=lambda child: int(child.name))
    if numbered:
        return _of_folders([numbered])
    if below:
        return _of_folders([[child] for child in below])
    if (folder / RESULTS).is_dir():
        return read(folder / RESULTS)
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


def _bits(runs: Path) -> dict[str, str]:
    """Of one valid record of each cell."""
    found: dict[str, str] = {}
    for folder in sorted({path.parent for path in runs.rglob("*.json")}):
        for path in sorted(folder.glob("*.json")):
            try:
                recorded = record.read(path)
            except record.Damaged:
                continue
            if recorded["status"] == status.VALID:
                found |= recorded.get("bits", {})
                break
    return found


def _verdicts(path: Path) -> list[dict]:
    try:
        if path.suffix == ".json":
            return json.loads(path.read_text())
        table = pd.read_csv(path, keep_default_na=False, dtype=str)
        return table.to_dict("records") if {"id", "study", "verdict"} <= set(table) else []
    except (ValueError, KeyError) as problem:
        raise PlimsollError(f"{path} holds no verdicts ({problem}): make it anew, or move it away.") from problem
