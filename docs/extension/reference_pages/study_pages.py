"""One page per study, from its YAML, its claims and the measurements in results/reference."""

import csv
from collections.abc import Iterator
from pathlib import Path

import yaml

from reference_pages import figures
from reference_pages.markdown import code, page, table

# Columns of a claim's verdict, and the sentences above their table.
JUDGED = ("verdict on the reference machine", "effect, or why it is unknown", "runs of each side", "q")
ON_CLAIMS = (
    "An effect has its 95 % interval in brackets. The [explanation of verdicts](../../../explanation/verdicts.md) says what "
    "they and q mean."
)


def pages(project: Path) -> dict[str, str]:
    """Return the studies' pages, and the page that lists them."""
    studies = [yaml.safe_load(path.read_text()) for path in sorted((project / "config/studies").glob("*.yaml"))]
    listed = table(["study", "question"], [(f"[{study['id']}]({study['id']}.md)", study["question"]) for study in studies])
    contents = "```{toctree}\n:hidden:\n\n" + "\n".join(study["id"] for study in studies) + "\n```"
    return {f"studies/{study['id']}": _study(project, study) for study in studies} | {
        "studies/index": page("Studies", listed, contents)
    }


def _study(project: Path, study: dict) -> str:
    folder = project / "results/reference" / study["id"]
    return page(
        f"{study['id']}: {study['title']}",
        _citation(study["citation"]),
        f"**{study['question']}**",
        _answers(study, folder),
        _figures(study, project),
        _cells(study, folder),
        _metrics(study),
        _claims(project, study, folder),
        "## What differs from the paper\n\n" + "\n".join(f"- {text}" for text in study.get("deviations", [])),
    )


def _citation(citation: dict) -> str:
    doi = f" [doi:{citation['doi']}](https://doi.org/{citation['doi']})" if "doi" in citation else ""
    return f"{citation['authors']}: {citation['venue']}, {citation['year']}.{doi}"


def _answers(study: dict, folder: Path) -> str:
    """Return what the reference measurements answer, in the sentences of the study's own page of results."""
    from plimsoll import designs
    from plimsoll.claims import answer
    from plimsoll.config import studies
    from plimsoll.pages import answer as pages_of_answers

    if not (folder / "answer.csv").is_file():
        return ""
    loaded = studies.load(study["id"], designs.known())
    shown = pages_of_answers.for_template(answer.read(folder / "answer.csv"), loaded)
    return "\n\n".join(["## The answer on the reference machine", *(text for one in shown for text in _answer(one))])


def _answer(one: dict) -> Iterator[str]:
    """Yield the paragraphs of an answer: its name if there are several, what to do, and what that rests on."""
    if one["name"]:
        yield f"### {one['name'][0].upper()}{one['name'][1:]}"
    if one["recommendation"]:
        yield f"**Recommendation**: {one['recommendation']}"
    if one["said"]:
        yield one["said"]


def _cells(study: dict, folder: Path) -> str:
    """Return the levels of each factor, and in how many cells and runs of the reference measurements they are."""
    from plimsoll import designs

    if not (folder / "runs.csv").is_file():
        return ""
    with (folder / "runs.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    factors = designs.known()[study["design"]].factors.FACTORS
    levels = [(code(factor), ", ".join(code(level) for level in _levels(runs, factor))) for factor in factors]
    cells = {tuple(run[factor] for factor in factors) for run in runs}
    intro = f"{len(cells)} cells were measured, in {len(runs)} runs. A cell is a combination of these levels."
    return f"## Cells\n\n{intro}\n\n" + table(["factor", "levels that were measured"], levels)


def _levels(runs: list[dict], factor: str) -> list[str]:
    """Return the levels of a factor in the order of their first runs."""
    return [level for level in dict.fromkeys(run[factor] for run in runs) if level]


def _metrics(study: dict) -> str:
    rows = [(code(name), one["label"], one["unit"], one["better"]) for name, one in study["metrics"].items()]
    return "## Metrics\n\n" + table(["metric", "label", "unit", "better"], rows)


def _figures(study: dict, project: Path) -> str:
    shown = [f"### {figure.title}\n\n{figure.picture}" for figure in figures.of(project, study)]
    intro = "Measured on one machine of ours (`results/reference`)."
    return "## Figures\n\n" + "\n\n".join([intro, *shown, figures.without(project, study)]) if shown else ""


def _claims(project: Path, study: dict, folder: Path) -> str:
    """Return the claims with the verdicts of the reference measurements, and what each verdict rests on."""
    claims, judged = yaml.safe_load((project / f"config/claims/{study['id']}.yaml").read_text())["claims"], _judged(folder)
    rows = [(one["id"], one["statement"], *judged.get(one["id"], [""] * len(JUDGED))) for one in claims]
    return "\n\n".join(["## Claims", ON_CLAIMS, table(["claim", "statement", *JUDGED], rows)])


def _judged(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return what the reference measurements say of each claim, as pages of results print it: the columns JUDGED."""
    import pandas as pd
    from plimsoll.claims import findings
    from plimsoll.pages import wording

    if not (folder / "claims.csv").is_file():
        return {}
    compared = wording.by_claim(pd.read_csv(folder / "comparisons.csv"))
    return {one["id"]: _verdict(one, compared.get(one["id"], [])) for one in findings.of_table(folder / "claims.csv")}


def _verdict(result: dict, comparisons: list[dict]) -> tuple[str, ...]:
    """Return the verdict on a claim, its effects or why they are unknown, its number of runs, and q."""
    from plimsoll.claims import findings
    from plimsoll.pages import formats, printed_claims

    printed = printed_claims.row(result, comparisons, []) or {"found": "", "details": [], "n": ""}
    reason = f"{formats.capital(result['reason'])}." if result["reason"] else ""
    told = " ".join(filter(None, [reason, printed["found"], *printed["details"], result.get("answered")]))
    return findings.verdict_of(result), formats.prose(told), printed["n"], formats.p_value(result["q"])
