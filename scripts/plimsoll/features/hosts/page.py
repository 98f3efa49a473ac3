"""Compare claims between hosts: a page and a table, with what the papers say and the reference measurements beside them.

A host is a folder with results, or an archive of one. The folder may be that of a host of rules/cluster.smk or that of
a project.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypedDict

import pandas as pd

from plimsoll import documents, paths, spelling
from plimsoll.claims import book, findings, host_agreement, result_counts, verdicts
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.design import Design
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.hosts import marker
from plimsoll.pages import formats, glossary, procedure_words, verdict_page, wording
from plimsoll.pages.verdict_page import MARKS

REFERENCE = "reference"
# Facts of a machine that are shown, by their names in host.txt.
OF_MACHINE = ("processor", "sockets, cores, hardware threads", "memory", "kernel", "distribution", "virtualisation")
NOT_MEASURED = "not measured"
# Files of the verdicts from all sessions of a study, and of their comparisons.
TOGETHER = verdict_page.FILES[:2]
# Further values of a verdict that the table has.
NUMBERS = ("n_least", "n_most", "p_supports", "p_opposes")


class Result(TypedDict):
    """A verdict on a claim, with the keys that the page reads (plimsoll.claims.findings has all of them)."""

    id: str
    study: str
    verdict: str
    in_part: bool
    reason: str | None
    whole: dict | None
    comparisons: int
    asked: dict | None
    parts: list[dict]
    paper_magnitude: dict | None
    same_as: str | None
    quantity: str | None
    size: str | None


@dataclass(frozen=True)
class Column:
    """A host, or the reference measurements.

    `results` are the verdicts by claim, and `comparisons` those that they rest on, by claim. `machines` are the facts
    of each machine, by what was measured on it. `page` is the page of the host's verdicts, if there is one.
    """

    name: str
    results: dict[str, dict]
    comparisons: dict[str, list[dict]]
    machines: dict[str, dict[str, str]]
    page: Path | None = None

    @property
    def studies(self) -> set[str]:
        """Return the names of the studies that were measured."""
        return {result["study"] for result in self.results.values()}


def write(named: Sequence[Path], opened: Sequence[Path], page: Path, table: Path, designs: Mapping[str, Design]) -> None:
    """Write the verdicts of hosts beside each other: a page for people, and a table for programs.

    `named` are the hosts as they were named, and `opened` their folders: for an archive, the one where it is unpacked.
    Without any host, the page shows all reference measurements.

    Raise PlimsollError for a host without complete verdicts, for two hosts of one name, and if there is nothing to
    show.
    """
    hosts = [read(name, folder) for name, folder in zip(named, opened, strict=True)]
    twice = [one.name for one, other in combinations(hosts, 2) if one.name == other.name]
    if twice:
        raise PlimsollError(f"Two of the folders have results of a host {twice[0]}. Rename one of them.")
    kept = reference(name for name in book.names() if not hosts or any(name in host.studies for host in hosts))
    columns = [column for column in (kept, *hosts) if column.results]
    if not columns:
        raise PlimsollError(
            "No host is named, and there are no reference measurements: "
            f"{spelling.command('hosts', 'one', 'two.zip')} takes folders with "
            "results in them, and archives."
        )
    known = [name for name in book.names() if any(name in column.studies for column in columns)]
    loaded = {name: studies.load(name, designs) for name in known}
    for path, text in ((page, render(columns, loaded, page.parent)), (table, rows(columns, loaded).to_csv(index=False))):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(text)
        new.replace(path)


def read(named: Path, folder: Path) -> Column:
    """Return the host whose results are in a folder, or in the folder results in it.

    `named` is what the user named. If it is an archive, its name is the host's name. Raise PlimsollError if the folder
    does not exist or has no complete verdicts.
    """
    if not folder.is_dir():
        raise PlimsollError(f"{named}: there is no such folder or archive.")
    results = folder / "results" if (folder / "results").is_dir() else folder
    judged = sorted(results.glob("*/claims.json"))
    # Older results have no verdicts from all sessions together.
    found = [path.with_name(TOGETHER[0]) if path.with_name(TOGETHER[0]).is_file() else path for path in judged]
    if not found:
        raise PlimsollError(
            f"{named} has no verdicts (results/<study>/claims.json). Make them there: `.venv/bin/snakemake --cores 1 "
            "results/claims.html`."
        )
    machine = _facts(results / "host.txt")
    page = results / "claims.html"
    return _column(
        _name(folder) if named == folder else named.stem,
        found,
        {"": machine} if machine else {},
        page if page.is_file() else None,
    )


def reference(names: Iterable[str]) -> Column:
    """Return the reference measurements of some studies. Each study may have been measured on another machine."""
    found = [path for name in names if (path := paths.REFERENCES / name / "claims.csv").is_file()]
    return _column(REFERENCE, found, {path.parent.name: _facts(path.parent / "host.txt") for path in found})


def _name(folder: Path) -> str:
    """Return the name of a host: the one in the mark in its folder, or the folder's name if there is no mark."""
    whole = folder.resolve()
    whole = whole.parent if whole.name == "results" else whole
    try:
        return documents.load(whole / marker.FILE, marker.Mark)["host"]
    except documents.Misfit:
        return whole.name


def _column(name: str, files: list[Path], machines: dict, page: Path | None = None) -> Column:
    results, comparisons = {}, {}
    for path in files:
        try:
            of_study = findings.of_table(path) if path.suffix == ".csv" else documents.load(path, list[Result], finite=False)
            results |= {result["id"]: result for result in of_study if result["study"] == path.parent.name}
            compared = TOGETHER[1] if path.name == TOGETHER[0] else "comparisons.csv"
            comparisons |= wording.by_claim(pd.read_csv(path.with_name(compared)))
            if unknown := {result["verdict"] for result in of_study} - set(MARKS):
                raise documents.Misfit(f"there is no verdict {quote(unknown.pop())}")
        except (documents.Misfit, OSError, ValueError, KeyError, TypeError) as problem:
            raise PlimsollError(
                f"The verdicts in {path.parent} are damaged ({problem}). Measurements are not affected. Delete its "
                "claims.json, and make it again there: `.venv/bin/snakemake --cores 1 results/claims.html`."
            ) from problem
    return Column(name, results, comparisons, machines, page)


def _facts(path: Path) -> dict[str, str]:
    """Return what host.txt says of a machine. Each of its lines has a name, two spaces or more, and a value."""
    lines = path.read_text().splitlines() if path.is_file() else []
    told = {name: words.strip() for name, _, words in (line.partition("  ") for line in lines)}
    return {name: told[name] for name in OF_MACHINE if name in told}


def rows(columns: Sequence[Column], loaded: Mapping[str, Study]) -> pd.DataFrame:
    """Return one row for each claim and each host that measured its study."""
    made = []
    for name in loaded:
        for claim in _judged(name, columns):
            there = {column.name: column.results[claim["id"]] for column in columns if claim["id"] in column.results}
            come_to = host_agreement.standing(result["verdict"] for result in there.values())
            otherwise = _otherwise(there)
            for host, result in there.items():
                comparisons = next(column.comparisons for column in columns if column.name == host).get(claim["id"], [])
                made.append(
                    {
                        **{"study": name, "id": claim["id"], "question": claim["question"], "repeats": claim.get("same_as")},
                        **{"statement": claim["statement"], "standing": come_to, "asked_otherwise": otherwise, "host": host},
                        **{"verdict": result["verdict"], "in_part": result["in_part"], **_effect(result, comparisons)},
                        **{key: result.get(key) for key in NUMBERS},
                        "reason": result["reason"],
                    }
                )
    return pd.DataFrame(made)


def _effect(result: dict, comparisons: list[dict]) -> dict:
    """Return the effect of a claim with its interval: the average that the claim is judged by, or its only comparison.

    A claim that has neither gets None for all three values.
    """
    shown = _shown(result, comparisons) or {}
    return {key: shown.get(key) for key in ("effect", "low", "high")}


def _shown(result: dict, comparisons: list[dict]) -> dict | None:
    if (whole := result["whole"]) and whole["cells"] > 1:
        return whole
    return comparisons[0] if len(comparisons) == 1 else None


def render(columns: Sequence[Column], loaded: Mapping[str, Study], folder: Path) -> str:
    """Return the page as HTML. Its links are relative to `folder`, in which it lies."""
    parts = {name: [_row(claim, columns, folder) for claim in _judged(name, columns)] for name in loaded}
    every = [claim for of_study in parts.values() for claim in of_study]
    return (
        formats.environment()
        .get_template("hosts/hosts.html.j2")
        .render(
            columns=[_host(column, folder) for column in columns],
            parts=parts,
            studies=loaded,
            questions={name: book.questions(name) for name in loaded},
            standings=_standings(every),
            differing=[claim for claim in every if claim["standing"] == host_agreement.DIFFERS],
            choices=_choices(every, columns),
            compared=_compared(columns, folder),
            verdicts=verdicts.ON_CLAIM,
            marks=MARKS,
            terms=[*glossary.SHARED, *dict.fromkeys(t for study in loaded.values() for t in study.design.report.GLOSSARY)],
        )
    )


def _judged(study: str, columns: Sequence[Column]) -> list[dict]:
    """Return the claims of a study that some host has a verdict on. A claim may be newer than all hosts."""
    return [claim for claim in book.load(study) if any(claim["id"] in column.results for column in columns)]


def _row(claim: dict, columns: Sequence[Column], folder: Path) -> dict:
    """Return the row of a claim on the page."""
    cells = [_cell(column, claim, folder) for column in columns]
    there = {column.name: column.results[claim["id"]] for column in columns if claim["id"] in column.results}
    come_to = host_agreement.standing(result["verdict"] for result in there.values())
    told = [f"{column.name}: {cell['verdict']}" for column, cell in zip(columns, cells, strict=True) if cell["verdict"]]
    return {
        **{key: claim[key] for key in ("id", "section", "question", "statement")},
        "study": claim["id"].rpartition("-")[0],
        "repeats": claim.get("same_as"),
        "paper": _paper(next(iter(there.values()))),
        "standing": come_to,
        "otherwise": _otherwise(there),
        "cells": cells,
        "verdicts": [*dict.fromkeys(cell["verdict"] for cell in cells if cell["verdict"]), *told],
    }


def _otherwise(there: Mapping[str, dict]) -> str:
    """Return the hosts that tested a claim differently from the first one; empty if none did.

    Their verdicts may differ for this reason alone.
    """
    names = list(there)
    return ", ".join(name for name in names[1:] if host_agreement.asked_alike(there[names[0]], there[name]) is False)


def _cell(column: Column, claim: dict, folder: Path) -> dict:
    result = column.results.get(claim["id"])
    if result is None:
        return {"verdict": "", "said": NOT_MEASURED, "mark": "untested", "effect": "", "reason": "", "link": None}
    return {
        "verdict": result["verdict"],
        "said": findings.verdict_of(result),
        "mark": MARKS[result["verdict"]],
        "effect": _in_words(result, column.comparisons.get(claim["id"], [])),
        "reason": formats.prose(result["reason"]),
        "link": f"{os.path.relpath(column.page, folder)}#{claim['id']}" if column.page else None,
    }


def _in_words(result: dict, comparisons: list[dict]) -> str:
    if not result["comparisons"]:
        return ""
    if shown := _shown(result, comparisons):
        of_row = {**result, "quantity": wording.quantity_of(result, shown)}
        show = wording.one_scale(wording.shower(of_row), shown)
        return formats.interval(shown["effect"], shown["low"], shown["high"], show)
    return wording.effects(result, comparisons)


def _paper(result: dict) -> str:
    """Return what the paper says, as far as it is a direction and a size."""
    expected = [(one["asked"] or {}).get("expected") for one in (result, *result["parts"])]
    words = ", ".join(dict.fromkeys(procedure_words.EXPECTED.get(word, word) for word in expected if word))
    size = result["paper_magnitude"] or {}
    low, high = (formats.percent(size.get(key)) for key in ("low", "high"))
    sized = low if low == high else f"{low} to {high}"
    return ": ".join(filter(None, (words, sized if low and high else ""))) or "as it says"


def _host(column: Column, folder: Path) -> dict:
    """Return a column for people: what it is, and how many claims have which verdict."""
    counted = result_counts.without_repeats(list(column.results.values()))
    numbers = {verdict: sum(result["verdict"] == verdict for result in counted) for verdict in verdicts.ON_CLAIM}
    return {
        "name": column.name,
        "machines": [(of, facts) for of, facts in column.machines.items() if facts],
        "studies": sorted(column.studies),
        "claims": len(counted),
        **numbers,
        **result_counts.sizes(counted),
        "fragile": result_counts.fragile(counted),
        "link": os.path.relpath(column.page, folder) if column.page else None,
    }


def _standings(every: list[dict]) -> list[dict]:
    """Return how many claims have which standing between hosts. Claims that repeat another one are not counted."""
    counted = [claim["standing"] for claim in every if not claim["repeats"]]
    return [{"name": name, "says": says, "claims": counted.count(name)} for name, says in host_agreement.STANDINGS.items()]


def _choices(every: list[dict], columns: Sequence[Column]) -> list[dict]:
    """Return the filters of the page, with the values that some claim has."""
    there = {
        "study": ("Study", [claim["study"] for claim in every]),
        "question": ("Research question", [f"{claim['study']} {claim['question']}" for claim in every]),
        "standing": ("Together", [name for name in host_agreement.STANDINGS if any(one["standing"] == name for one in every)]),
        "verdict": ("Verdict", [one for claim in every for one in claim["verdicts"]]),
    }
    order = [*verdicts.ON_CLAIM, *(f"{column.name}: {verdict}" for column in columns for verdict in verdicts.ON_CLAIM)]
    rank = {value: number for number, value in enumerate(order)}
    values = {key: sorted(dict.fromkeys(had), key=lambda value: rank.get(value, 0)) for key, (_, had) in there.items()}
    return [{"key": key, "name": name, "values": values[key]} for key, (name, _) in there.items()]


def _compared(columns: Sequence[Column], folder: Path) -> list[dict]:
    """Return links to the pages that compare two of the hosts, cell by cell, if such pages exist."""
    pairs = [(one.name, other.name) for one, other in combinations(columns, 2)]
    pages = {(one, other): Path("compare", f"{one}--{other}", "compare.html") for one, other in pairs}
    return [{"hosts": pair, "link": str(page)} for pair, page in pages.items() if (folder / page).is_file()]
