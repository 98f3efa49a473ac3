"""Data that a figure is drawn from: its observations, and what the plan says of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path

import pandas as pd

TABLES = ("observations", "tables")
# Fields whose key in a figure's file is of an earlier version.
KEYS = {"unavailable": "unseen"}


@dataclass(frozen=True)
class FigureData:
    """Everything that a chart is drawn from.

    `metrics` describes each metric that is shown (label, unit, better). `cells` are those that were planned and can be
    measured here. Each has its factors, and the number of runs that were planned of it (`repetitions`). The field
    `repetitions` is the number for the whole figure.

    `missing` says which cells are unavailable here, and why; `unavailable` says why single metrics are. `reason` says why
    nothing is shown: nothing can be measured here, or no run counts. A `reason` of None means that something is shown.
    `options` are what the study's figure and its design add.

    `observations` has one row per metric of a run that counts. `tables` has what else the design has gathered, by name.
    """

    study: str
    name: str
    title: str
    design: str
    chart: str
    factors: list[str]
    metrics: dict[str, dict]
    repetitions: int
    profile: str
    cells: list[dict]
    missing: list[str] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    options: dict = field(default_factory=dict)
    observations: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False, repr=False)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict, compare=False, repr=False)

    def to_json(self) -> str:
        """Return all of the data except the tables, as JSON."""
        described = [item.name for item in fields(self) if item.name not in TABLES]
        return json.dumps({KEYS.get(name, name): getattr(self, name) for name in described}) + "\n"

    @classmethod
    def from_json(cls, text: str, observations: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> "FigureData":
        """Return the data that `to_json` wrote, together with its tables."""
        names = {key: name for name, key in KEYS.items()}
        described = {names.get(key, key): value for key, value in json.loads(text).items()}
        return cls(**described, observations=observations, tables=tables)

    def write(self, folder: Path) -> None:
        """Write the data into a folder: <name>.json, <name>.observations.csv, and <name>.<table>.csv for each other table."""
        (folder / f"{self.name}.json").write_text(self.to_json())
        for kind, table in {"observations": self.observations, **self.tables}.items():
            table.to_csv(folder / f"{self.name}.{kind}.csv", index=False)

    def per_metric(self, build: Callable[["FigureData", str], pd.DataFrame]) -> list[pd.DataFrame]:
        """Return one table per metric that is available here, as `build` makes it."""
        return [build(self, metric) for metric in self.metrics if metric not in self.unavailable]


def read(folder: Path, name: str) -> FigureData:
    """Read the data of a figure that `write` left in a folder of figures.

    If the figure has no observations of its own there, those of its cells are taken from the study's table, one folder
    up. Raise FileNotFoundError if the figure is not there.
    """
    text = (folder / f"{name}.json").read_text()
    described = json.loads(text)
    tables = {
        path.name.removeprefix(f"{name}.").removesuffix(".csv"): table(path, described["factors"])
        for path in sorted(folder.glob(f"{name}.*.csv"))
    }
    observations = tables.pop("observations", None)
    if observations is None:
        observations = _of_cells(table(folder.parent / "observations.csv", described["factors"]), described)
    return FigureData.from_json(text, observations, tables)


def table(path: Path, factors: list[str]) -> pd.DataFrame:
    """Read a table as it was written.

    Levels of the factors are text, whatever they look like. Only empty fields are missing.
    """
    return pd.read_csv(path, dtype=dict.fromkeys(factors, str), keep_default_na=False, na_values=[""])


def _of_cells(observations: pd.DataFrame, described: dict) -> pd.DataFrame:
    if described["reason"] is not None or not described["metrics"]:
        return observations.iloc[:0]
    factors = described["factors"]
    wanted = {tuple(str(cell[factor]) for factor in factors) for cell in described["cells"]}
    own = [key in wanted for key in observations[factors].itertuples(index=False, name=None)]
    return observations[own].reset_index(drop=True)
