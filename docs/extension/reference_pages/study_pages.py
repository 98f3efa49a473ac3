"""One page per study, from its YAML, its claims and the measurements in results/reference."""

import csv
from pathlib import Path

import yaml

from reference_pages import figures
from reference_pages.markdown import code, page, table


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
        _figures(study, project),
        _metrics(study),
        _claims(project, study, folder),
        "## What differs from the paper\n\n" + "\n".join(f"- {text}" for text in study.get("deviations", [])),
    )


def _citation(citation: dict) -> str:
    doi = f" [doi:{citation['doi']}](https://doi.org/{citation['doi']})" if "doi" in citation else ""
    return f"{citation['authors']}: {citation['venue']}, {citation['year']}.{doi}"


def _metrics(study: dict) -> str:
    rows = [(code(name), one["label"], one["unit"], one["better"]) for name, one in study["metrics"].items()]
    return "## Metrics\n\n" + table(["metric", "label", "unit", "better"], rows)


def _figures(study: dict, project: Path) -> str:
    shown = [f"### {figure.title}\n\n{figure.picture}" for figure in figures.of(project, study)]
    intro = "Measured on one machine of ours (`results/reference`)."
    return "## Figures\n\n" + "\n\n".join([intro, *shown]) if shown else ""


def _claims(project: Path, study: dict, folder: Path) -> str:
    claims = yaml.safe_load((project / f"config/claims/{study['id']}.yaml").read_text())["claims"]
    verdicts = {}
    if (folder / "claims.csv").is_file():
        with (folder / "claims.csv").open(newline="") as file:
            verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    rows = [(one["id"], one["statement"], verdicts.get(one["id"], "")) for one in claims]
    return "## Claims\n\n" + table(["claim", "statement", "verdict on the reference machine"], rows)
