"""Write what a judged table has: tables, figures, page, JUnit, and one file with all of it and its inputs."""

import json
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from plimsoll.claims import findings
from plimsoll.designs.table import assumptions, inputs, junit, metric_figures, page
from plimsoll.designs.table.inputs import Inputs
from plimsoll.designs.table.judged_study import JudgedStudy
from plimsoll.errors import PlimsollError
from plimsoll.figures import drawn_values, style
from plimsoll.pages import wording
from plimsoll.planning import planner

# The time that files in the archive have: the same results give the same archive.
EPOCH = (1980, 1, 1, 0, 0, 0)
PAGE = "report.html"


def write(judged: JudgedStudy, folder: Path, written: Sequence[Path]) -> Path:
    """Write everything below `folder`, and return the path of the page.

    `written` are the files that the study is written in, if any. The archive has them, the claims and the data, besides the
    results. Other files that lie in `folder` stay there, and out of the archive. PlimsollError if nothing can be written there.
    """
    # All is made elsewhere first, so that what is written is known.
    with TemporaryDirectory() as place:
        made = Path(place)
        given = inputs.of_study(judged.source.document, judged.claims_file, judged.source.files, written)
        _write(judged, made, given)
        _archive(made / f"{judged.study['id']}.zip", made, given.contents)
        try:
            shutil.copytree(made, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
        except OSError as error:
            raise PlimsollError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return folder / PAGE


def _write(judged: JudgedStudy, folder: Path, given: Inputs) -> None:
    """Write everything but the archive."""
    for below in ("figures", "tables"):
        (folder / below).mkdir(parents=True, exist_ok=True)
    cells, observations = _tables(judged, folder, given)
    figures = [_figure(judged, name, folder, cells, observations) for name in judged.study["metrics"]]
    assumed = assumptions.said(judged.source.rows, cells)
    (folder / PAGE).write_text(page.render(judged, figures, cells, assumed))
    (folder / "junit.xml").write_text(
        junit.text(judged.study["id"], judged.results, [rests_on(judged, one) for one in judged.results])
    )


def rests_on(judged: JudgedStudy, result: dict) -> str:
    """Return in words what a verdict rests on: the effects, the runs, q, and what is missing."""
    rows = page.of_claim(judged, result)
    if not rows:
        return result["reason"]
    told = [f"{wording.effects(result, rows)} ({wording.rests_on(result, rows)}).", wording.on_the_whole(result)]
    told += [wording.size(result), wording.fragile(result), page.needed(result)]
    return " ".join(filter(None, told))


def _tables(judged: JudgedStudy, folder: Path, given: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write the tables of a study, under the names that studies which are measured have. Return (cells, observations)."""
    from plimsoll.designs.table import row_observations

    study, factors = judged.study, judged.study.design.factors.FACTORS
    rows = [replace(row, where=given.place(row.where)) for row in judged.source.rows]
    made = pd.DataFrame() if judged.summarised else row_observations.observations(study, rows)
    cells = assumptions.of_means(rows, study) if judged.summarised else assumptions.of_cells(made, factors)
    cells.to_csv(folder / "cells.csv", index=False)
    made.to_csv(folder / "observations.csv", index=False)
    (pd.DataFrame() if made.empty else study.design.readings.tests(study, made)).to_csv(
        folder / "tables/tests.csv", index=False
    )
    judged.comparisons.to_csv(folder / "comparisons.csv", index=False)
    findings.table_of(judged.results).to_csv(folder / "claims.csv", index=False)
    (folder / "claims.json").write_text(json.dumps(judged.results, indent=1, allow_nan=True) + "\n")
    planner.write(judged.measured.plan, folder / "plan.json")
    if judged.answer is not None:
        judged.answer.to_csv(folder / "answer.csv", index=False)
    return cells, made


def _figure(judged: JudgedStudy, metric: str, folder: Path, cells: pd.DataFrame, observations: pd.DataFrame) -> dict:
    """Write a metric's figure, its values, caption and data, and return what the page shows of it."""
    import matplotlib.pyplot as plt

    figure, caption, alternative = metric_figures.draw(judged.study, metric, cells, observations)
    stem = folder / "figures" / metric.replace("/", "_")
    style.save(figure, stem)
    drawn_values.write(figure, stem, judged.study["metrics"][metric]["unit"] or "")
    plt.close(figure)
    cells[cells["metric"] == metric].to_csv(f"{stem}.csv", index=False)
    for end, text in (("txt", caption), ("alt.txt", alternative)):
        Path(f"{stem}.{end}").write_text(text + "\n")
    label = judged.study["metrics"][metric]["label"]
    return {"name": stem.name, "title": label, "picture": f"{stem}.png", "caption": caption, "alt": alternative}


def _archive(target: Path, folder: Path, given: dict[str, bytes]) -> None:
    """Write an archive of the inputs that are `given` and the results. The same content gives the same bytes."""
    made = sorted(path for path in folder.rglob("*") if path.is_file() and path != target)
    files = {f"results/{path.relative_to(folder)}": path.read_bytes() for path in made}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | given).items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
