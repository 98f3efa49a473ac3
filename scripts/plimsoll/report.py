"""One self-contained page: host, what ran, what could not and why, figures, tests, features, deviations."""

import base64
import json
from pathlib import Path

import pandas as pd

from plimsoll import behaviour, collect, host, measured_tables, page, record, runtimes, study, watching
from plimsoll import figures as drawing
from plimsoll import plan as planning
from plimsoll.charts import profile
from plimsoll.claims import evaluate, verdicts
from plimsoll.claims import page as claims_page
from plimsoll.instruments.mpi import PATTERNS


def render(study_name: str, folder: Path) -> str:
    """The report of a study from what lies in its results folder."""
    loaded = study.load(study.STUDIES / f"{study_name}.yaml")
    plan = collect.load_plan(folder)
    runs = pd.read_csv(folder / "runs.csv")
    observations, tests = (pd.read_csv(folder / name) for name in ("observations.csv", "tables/tests.csv"))
    image = json.loads(Path(f"results/images/{loaded['image']}.json").read_text())
    found = json.loads(Path("results/host.json").read_text())
    results, _ = claims_page.read(folder)
    return (
        page.environment()
        .get_template("report.html.j2")
        .render(
            study=loaded,
            plan=plan,
            host_table=host.table(found),
            host=found,
            image=image,
            programs={
                name: found
                for name, found in image["files"].items()
                if "plimsoll" in name or "openblas" in name or "libmpi.so" in name
            },
            summary=summarise(runs),
            not_counted=runs[~runs["status"].isin(record.COUNTED)].fillna("").to_dict("records"),
            repeated=int((runs["attempts"] > 1).sum()),
            attempts=int(runs["attempts"].sum()),
            transports=transports(runs),
            impossible=impossible(plan),
            figures=figures(folder, loaded, plan, results),
            tables=tables(folder, loaded),
            tests=significance(tests),
            seccomp=seccomp(tests),
            features=pd.read_csv(folder / "tables/table05.csv", keep_default_na=False).to_dict("records"),
            sizes=sizes(plan),
            **measured(folder, loaded),
            claims_of_table={name: _of_table(results, loaded, name) for name in loaded.get("measured_tables", {})},
            watching=watching.cost(observations, loaded["alpha"]),
            cross_checks=watching.cross_checks(observations, loaded.get("cross_checks", {})),
            labels={name: runtime.label for name, runtime in runtimes.known().items()},
            minutes=(runs["started"].max() - runs["started"].min()) / 60,
            version=_version(),
            summary_of_claims=evaluate.summarise(results),
            verdicts=verdicts.VERDICTS[:4],
            marks=claims_page.MARKS,
            findings={
                verdict: [r for r in results if r["verdict"] == verdict and not r["same_as"]]
                for verdict in verdicts.VERDICTS[:3]
            },
            behaviour=behaviour.describe(observations[observations["instrument"] == "plain"]),
        )
    )


def _version() -> str:
    from importlib.metadata import version

    return version("plimsoll")


def summarise(runs: pd.DataFrame) -> list[dict]:
    """Runs by status."""
    counts = runs["status"].value_counts()
    return [{"status": status, "runs": int(number)} for status, number in counts.items()]


def transports(runs: pd.DataFrame) -> list[dict]:
    """What carried the messages, by runtime and number of containers, as seen in every valid run."""
    valid = runs[runs["status"] == "valid"].assign(several=lambda table: table["containers"] > 1)
    valid = valid[(valid["runtime"] != "bare") | ~valid["several"]]
    rows = []
    for (runtime, several), group in valid.groupby(["runtime", "several"], sort=False):
        carried = group["transport"].value_counts()
        copy = ", ".join(sorted(set(group["single_copy"])))
        text = "; ".join(f"{name}: {number} runs" for name, number in carried.items())
        rows.append({"runtime": runtime, "containers": "several" if several else "one", "carried": text, "copy": copy})
    return sorted(rows, key=lambda row: (row["runtime"], row["containers"]))


def impossible(plan: dict) -> list[dict]:
    """Reasons for cells that cannot be measured here, with how many cells each concerns."""
    reasons: dict[str, int] = {}
    for cell in plan["cells"].values():
        if cell["reason"]:
            reasons[cell["reason"]] = reasons.get(cell["reason"], 0) + 1
    return [{"reason": reason, "cells": number} for reason, number in reasons.items()]


def figures(folder: Path, loaded: dict, plan: dict, results: list[dict]) -> list[dict]:
    """Each figure as data for the page, with caption, what the paper says, and the claims that it shows; without an image where
    it cannot be made here."""
    found = []
    for name, figure in loaded["figures"].items():
        reason = planning.why_not(plan, loaded, name)
        image = None if reason else base64.b64encode((folder / f"figures/{name}.png").read_bytes()).decode()
        found.append(
            {
                "name": name,
                "number": name.removeprefix("fig").lstrip("0"),
                "section": loaded["experiments"][figure["experiment"]]["section"],
                "title": drawing.title(loaded, name),
                "image": image,
                "caption": (folder / f"figures/{name}.txt").read_text().strip(),
                "paper": loaded.get("paper_findings", {}).get(name, ""),
                "claims": [result for result in results if name in evaluate.figures_of(result, loaded)],
            }
        )
    return found


def tables(folder: Path, loaded: dict) -> list[dict]:
    """Tables 2 to 4 as data for the page."""
    return [
        {
            "number": name.removeprefix("table0"),
            "rows": pd.read_csv(folder / f"tables/{name}.csv", keep_default_na=False, dtype=str).to_dict("records"),
        }
        for name in loaded.get("paper_tables", {})
    ]


def _of_table(results: list[dict], loaded: dict, name: str) -> list[dict]:
    return [result for result in results if name in evaluate.tables_of(result, loaded)]


def measured(folder: Path, loaded: dict) -> dict:
    """Tables that were made from runs: `profile_table` in the paper's layout, `locality`, and the reason in `.._not_here`."""
    groups = [group.replace("_", " ") for group, _ in PATTERNS.values()]
    found: dict = {
        "patterns": [label for label, _ in profile.LOOK.values()],
        "pattern_groups": [(group, groups.count(group)) for group in dict.fromkeys(groups)],
    }
    for name, table in loaded.get("measured_tables", {}).items():
        made = pd.read_csv(folder / f"tables/{name}.csv")
        key = {"mpi-profile": "profile_table", "locality": "locality"}[table["kind"]]
        reasons = made["not_here"].dropna() if "not_here" in made else pd.Series(dtype=str)
        found[f"{key}_not_here"] = reasons.iloc[0] if len(reasons) else ""
        if key == "profile_table":
            found[key] = [] if len(reasons) else measured_tables.as_printed(made)
        else:
            found[key] = made.to_dict("records")
    return found


def significance(tests: pd.DataFrame) -> list[dict]:
    """The table of tests, by metric and comparison."""
    groups = []
    for (label, comparison), group in tests.groupby(["label", "comparison"], sort=False):
        differ = int(group["significant"].eq(True).sum())
        rows = group.fillna("").to_dict("records")
        groups.append({"label": label, "comparison": comparison, "differ": differ, "rows": rows})
    return groups


def seccomp(tests: pd.DataFrame) -> list[dict]:
    """Tests of Docker with the capability against Docker without it."""
    return tests[tests["comparison"] == "against docker"].fillna("").to_dict("records") if len(tests) else []


def sizes(plan: dict) -> list[dict]:
    """Problem sizes, one row a set of sizes, section and number of ranks."""
    seen = {}
    for cell in plan["cells"].values():
        if cell["reason"] is None:
            key = {name: cell[name] for name in ("sizes", "section", "mode", "ranks", "cores")}
            seen[tuple(key.values())] = {**key, **cell["parameters"]}
    return list(seen.values())
