"""Write the files of a comparison of two sets of results: tables for programs, the page, JUnit's XML, and the figures."""

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from plimsoll.features.compare import comparison_figure, effects, junit, page
from plimsoll.features.compare import words as words
from plimsoll.features.compare.studies import CELL, ComparedStudy, Outcome
from plimsoll.features.compare.two_sets import Terms
from plimsoll.figures import style

FORMAT, STEM = 1, "compare"
# These columns come first. Columns that only say how a number was computed stand last.
FIRST = ("study", "kind", "metric", "label", "unit", "better", "cell", "runtime", "name", "answer")


def write(
    compared: Mapping[str, ComparedStudy], paths: tuple[Path, Path], terms: Terms, ended: Outcome, folder: Path
) -> list[Path]:
    """Write the files of a comparison into a folder, and return their paths. Each file is put in place complete.

    They are compare.csv, compare.json, compare.junit.xml and compare.html, and for each study compare-<study>.png, .pdf
    and .csv.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".compare-") as place:
        new = Path(place)
        pictures = {name: picture for name, one in compared.items() if (picture := _figure(name, one, terms, new))}
        table(compared).to_csv(new / f"{STEM}.csv", index=False)
        texts = {
            "json": _json(compared, paths, terms, ended),
            "junit.xml": junit.text(compared),
            "html": page.render(compared, paths, terms, ended, pictures),
        }
        for ending, text in texts.items():
            (new / f"{STEM}.{ending}").write_text(text, encoding="utf-8")
        return [file.rename(folder / file.name) for file in sorted(new.iterdir())]


def _figure(name: str, one: ComparedStudy, terms: Terms, folder: Path) -> bytes | None:
    """Draw a study's figure and save it in a folder. Return its PNG, or None if there is nothing to draw."""
    rows = one.rows[one.rows["kind"] == CELL]
    figure = comparison_figure.draw(rows, terms.margin)
    if figure is None:
        return None
    stem = folder / f"{STEM}-{name}"
    style.save(figure, stem)
    table({name: replace(one, effects=effects.NOTHING)}).query("kind == @CELL").to_csv(f"{stem}.csv", index=False)
    return Path(f"{stem}.png").read_bytes()


def table(compared: Mapping[str, ComparedStudy]) -> pd.DataFrame:
    """Return all rows of all studies, and the effects that claims rest on, each with its name for people."""
    tables = [table for study, one in compared.items() for table in (_rows(study, one), _effects(study, one))]
    whole = pd.concat([one for one in tables if len(one)] or tables[:1], ignore_index=True)
    return whole.reindex(columns=[*FIRST, *(name for name in whole if name not in FIRST)])


def _rows(study: str, one: ComparedStudy) -> pd.DataFrame:
    return one.rows.assign(study=study, name=[words.name(row, one.study) for row in one.rows.to_dict("records")])


def _effects(study: str, one: ComparedStudy) -> pd.DataFrame:
    rows = one.effects.rows
    named = [words.effect(row, one.study) for row in rows.to_dict("records")]
    return rows.assign(study=study, kind=effects.EFFECT, name=named)


def _json(compared: Mapping[str, ComparedStudy], paths: tuple[Path, Path], terms: Terms, ended: Outcome) -> str:
    told = {
        "format": FORMAT,
        **{side: str(path) for side, path in zip("ab", paths, strict=True)},
        **{"margin": terms.margin, "alpha": terms.alpha, "session_blocks": _number(terms.session_blocks)},
        **{"status": ended.status, "decided": ended.reason},
        "studies": {name: _study(name, one) for name, one in compared.items()},
    }
    return json.dumps(told, indent=1, allow_nan=False) + "\n"


def _study(name: str, one: ComparedStudy) -> dict:
    return {
        "refusal": one.refusal,
        "profiles": one.profiles,
        "differing": [fact._asdict() for fact in one.differing],
        "bits": [fact._asdict() for fact in one.bits.other],
        "bits_unknown_of": one.bits.silent,
        "versions": None if one.bits.versions is None else [fact._asdict() for fact in one.bits.versions],
        "decided_by": "claims" if one.by_claims else "cells",
        "same": one.same,
        "left_out": one.left_out,
        "counts": one.counts(),
        "rows": _records(_rows(name, one)),
        "metrics": _records(one.metrics),
        "findings": one.findings,
        "effects": _records(_effects(name, one)),
    }


def _records(rows: pd.DataFrame) -> list[dict]:
    return [{key: _number(value) for key, value in row.items()} for row in rows.to_dict("records")]


def _number(value):
    """Return a value that JSON has: NaN and infinity become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
