"""Show a figure in its notebook: the question, what was measured, the picture, the tests of its cells, and the verdicts."""

import io
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Image, Markdown, display
from matplotlib.figure import Figure

from plimsoll.claims import book, findings
from plimsoll.config import studies
from plimsoll.design import Design
from plimsoll.errors import PlimsollError
from plimsoll.figures import chart, data

# Columns of a verdict that are shown.
OF_VERDICT = (
    *("id", "statement", "verdict", "in_part", "reason", "comparisons", "n_least", "n_most", "effect_least", "effect_most"),
    "arrangements",
)


class Page:
    """A figure in a study's results, and what belongs to it.

    Tests and verdicts are made after the figures. They are shown if they exist, and nothing in the figure depends on
    them.
    """

    def __init__(self, results: str | Path, figure: str, designs: Mapping[str, Design]) -> None:
        """Read a figure from `results`, a study's folder. `designs` are all designs by name.

        Raise PlimsollError if the figure is not there.
        """
        self.results = Path(results).resolve()
        try:
            self.data = data.read(self.results / "figures", figure)
        except FileNotFoundError as problem:
            there = (
                ", ".join(sorted(path.stem for path in (self.results / "figures").glob("*.json") if "." not in path.stem))
                or "no figure"
            )
            raise PlimsollError(
                f"{figure} cannot be read, because {problem.filename} is not there. {self.results}/figures has {there}."
            ) from None
        self.study = studies.load(self.data.study, designs)
        self.chart: chart.Chart = self.study.design.chart(self.data.chart)

    @cached_property
    def drawn(self) -> chart.DrawnFigure:
        """Return the figure with its summary, caption and alternative text."""
        drawn = chart.draw_figure(self.chart, self.data)
        # Jupyter displays open figures at the end of a cell. This one is shown only where the notebook asks for it.
        plt.close(drawn.figure)
        return drawn

    @property
    def runs(self) -> pd.DataFrame:
        """Return the observations of the figure's metrics. `data.observations` has the other metrics of its runs as well."""
        observations = self.data.observations
        return observations[observations["metric"].isin(self.data.metrics)] if len(observations) else observations

    def question(self) -> Markdown:
        """Return what the study asks, and what the paper says about this figure."""
        name, study = self.data.name, self.study
        number = f"figure {name.removeprefix('fig').lstrip('0')}" if name.startswith("fig") else name
        lines = [
            f"## {self.data.title}",
            f"{study['citation']['authors']} ({study['citation']['year']}), *{study['title']}*, {number}.",
            f"**The study's question.** {study['question']}",
        ]
        if paper := study.get("paper_findings", {}).get(name):
            lines.append(f"**The paper on this figure** ({study['paper_host']}). {paper}")
        claims = [claim for claim in book.load(study["id"]) if name in findings.figures_of(claim, study)]
        if claims:
            statements = [f"- `{claim['id']}` (section {claim['section']}) {claim['statement']}" for claim in claims]
            lines.append("**Its statements, one by one.**\n\n" + "\n".join(statements))
        return Markdown("\n\n".join(lines))

    def measured(self) -> pd.DataFrame:
        """Return one row per planned cell: its distinguishing factors, how many of its runs count, how many were planned."""
        table = pd.DataFrame(self.data.cells)
        if "repetitions" not in table:  # figures of earlier versions do not have them
            table["repetitions"] = self.data.repetitions
        factors = [name for name in self.data.factors if name in table]
        table = table[[*factors, "repetitions"]].drop_duplicates().rename(columns={"repetitions": "planned"})
        if len(self.data.observations):
            runs = self.data.observations.drop_duplicates([*factors, "repetition"]).groupby(factors).size().rename("n")
            table = table.merge(runs.reset_index(), on=factors, how="left")
        else:
            table["n"] = 0
        table["n"] = table["n"].fillna(0).astype(int)
        telling = [name for name in factors if table[name].nunique() > 1]
        return table[[*telling, "n", "planned"]].sort_values(telling, ignore_index=True) if telling else table

    def missing(self) -> Markdown:
        """Return what is missing from this figure, and why."""
        told = self.data
        reasons = [told.reason] if told.reason else [*told.missing, *dict.fromkeys(told.unavailable.values())]
        if told.cells and told.metrics and not told.reason:
            table = self.measured()
            if few := int((table["n"] < table["planned"]).sum()):
                reasons.append(f"{few} of {len(table)} cells have fewer valid runs than were planned")
        return Markdown("\n".join(f"- {reason}" for reason in reasons) or "Nothing is missing.")

    def show(self, output: str = "") -> None:
        """Show the figure with its caption. If `output` is given, the path of its files without extension, write them too."""
        if output:
            self.drawn.save(output)
        display(picture(self.drawn.figure, self.drawn.alternative))
        display(Markdown(f"**{self.data.title}.** {self.drawn.caption}"), Markdown(self.drawn.alternative))

    def tests(self) -> pd.DataFrame | Markdown:
        """Return the study's own tests of these cells, or a sentence that it has no test of them."""
        path = self.results / "tables/tests.csv"
        table = self._later(path, lambda: data.table(path, self.data.factors))
        if isinstance(table, Markdown):
            return table
        table = table[table["metric"].isin(self.data.metrics)]
        factors = [factor for factor in self.data.factors if factor in table]
        cells = {tuple(str(cell[factor]) for factor in factors) for cell in self.data.cells}
        own = [key in cells for key in table[factors].itertuples(index=False, name=None)]
        if not any(own):
            return Markdown("The study has no test of these cells.")
        return table[own].dropna(axis="columns", how="all").reset_index(drop=True)

    def verdicts(self) -> pd.DataFrame | Markdown:
        """Return the verdicts on the claims that name this figure, or a sentence that no claim does."""
        usual = self.results / "together.json"
        path = next((path for path in (usual, self.results / "claims.csv") if path.is_file()), usual)
        results = self._later(path, lambda: _results(path))
        if isinstance(results, Markdown):
            return results
        own = [
            row for row in results if row["study"] == self.data.study and self.data.name in findings.figures_of(row, self.study)
        ]
        if not own:
            return Markdown("No statement of the paper that Plimsoll tests names this figure.")
        return pd.DataFrame(own).reindex(columns=list(OF_VERDICT))

    def _later(self, path: Path, read: Callable[[], object]) -> object:
        """Return what is made only with the whole study, or a sentence that it is not there yet.

        Another job may be writing it at this moment, so content that cannot be read counts as not there.
        """
        try:
            content = read()
        except (OSError, TypeError, ValueError):
            return Markdown(f"`{path.name}` is not there yet: the target `all` makes it. Run this notebook again after it.")
        written = datetime.fromtimestamp(path.stat().st_mtime)
        display(Markdown(f"From `{path.name}` of {written:%Y-%m-%d %H:%M}."))
        return content


def picture(figure: Figure, alternative: str = "") -> Image:
    """Return a figure as a picture, independent of how Matplotlib would show it."""
    plt.close(figure)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=200)
    return Image(content.getvalue(), width=round(96 * figure.get_figwidth() * 1.4), alt=alternative)


def _results(path: Path) -> list[dict]:
    if path.suffix == ".json":
        return json.loads(path.read_text())
    rows = pd.read_csv(path, keep_default_na=False, na_values=[""]).to_dict("records")
    return [{**row, "shown_in": json.loads(row["shown_in"]) if isinstance(row["shown_in"], str) else []} for row in rows]
