"""What only the report of a splitting study has: the answer, transports, sizes, tables, tests, and what watching cost."""

from pathlib import Path

import pandas as pd

from plimsoll import environments
from plimsoll.analysis import tables as analysis_tables
from plimsoll.designs.splitting import host_tables, watching, words
from plimsoll.designs.splitting.factors import SplittingPlan
from plimsoll.instruments.mpi_profile import PATTERNS
from plimsoll.measuring import planned, status
from plimsoll.pages.report import Sources

TEMPLATE = "splitting/report.html.j2"
short, level, row, GLOSSARY = words.cell, words.level, words.row, words.GLOSSARY


def content(
    sources: Sources, study: dict, plan: SplittingPlan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
) -> dict:
    """What the template is told beyond what all reports tell."""
    image = planned.image(sources.image)
    return {
        "programs": {
            name: file
            for name, file in image["files"].items()
            if "plimsoll" in name or "openblas" in name or "libmpi.so" in name
        },
        "transports": transports(runs),
        "tables": tables(sources.tables, study),
        "tests": significance(tests, study["alpha"]),
        "seccomp": seccomp(tests, study["alpha"]),
        **features(sources.tables, study),
        "sizes": sizes(plan),
        "short": dict.fromkeys(cell["short"] for cell in plan["cells"].values() if cell.get("short")),
        **measured(sources.tables, study),
        "watching": watching.cost(observations, study["alpha"]),
        "cross_checks": watching.cross_checks(observations, study.get("cross_checks", {})),
        "labels": {name: runtime.label for name, runtime in environments.known().items()},
    }


def tables(folder: Path, loaded: dict) -> list[dict]:
    """Tables 2 to 4 as data for the page; `folder` holds the study's tables."""
    return [
        {
            "number": name.removeprefix("table0"),
            "rows": pd.read_csv(folder / f"{name}.csv", keep_default_na=False, dtype=str).to_dict("records"),
        }
        for name, table in loaded.get("tables", {}).items()
        if table["kind"] in host_tables.COLUMNS
    ]


def features(folder: Path, loaded: dict) -> dict:
    """Table 5 as data for the page, `features` (none where the study does not have it), and its name, `features_table`."""
    for name, table in loaded.get("tables", {}).items():
        if table["kind"] == "features":
            rows = pd.read_csv(folder / f"{name}.csv", keep_default_na=False).to_dict("records")
            return {"features": rows, "features_table": name}
    return {"features": []}


def transports(runs: pd.DataFrame) -> list[dict]:
    """What carried the messages, by runtime and number of containers, as seen in every valid run."""
    valid = runs[runs["status"] == status.VALID].assign(several=lambda table: table["containers"] > 1)
    valid = valid[(valid["runtime"] != "bare") | ~valid["several"]]
    rows = []
    for (runtime, several), group in valid.groupby(["runtime", "several"], sort=False):
        carried = group["transport"].value_counts()
        allowed = ", ".join(sorted(set(group["single_copy"])))
        text = "; ".join(f"{name}: {number} runs" for name, number in carried.items())
        rows.append(
            {"runtime": runtime, "containers": "several" if several else "one", "carried": text, "single_copy": allowed}
        )
    return sorted(rows, key=lambda row: (row["runtime"], row["containers"]))


def measured(folder: Path, loaded: dict) -> dict:
    """Tables that were made from runs: `profile_table` in the paper's layout, `locality`, and the reason in `.._not_here`;
    `folder` holds the study's tables."""
    # Here, because what draws takes a second to import, and the terminal asks this module only for words.
    from plimsoll.designs.splitting import run_tables
    from plimsoll.designs.splitting.charts import profile

    groups = [group.replace("_", " ") for group, _ in PATTERNS.values()]
    told: dict = {
        "patterns": [label for label, _ in profile.LOOK.values()],
        "pattern_groups": [(group, groups.count(group)) for group in dict.fromkeys(groups)],
    }
    for name, table in analysis_tables.of_runs(loaded).items():
        made = pd.read_csv(folder / f"{name}.csv")
        key = {"mpi-profile": "profile_table", "locality": "locality"}[table["kind"]]
        reasons = made["not_here"].dropna() if "not_here" in made else pd.Series(dtype=str)
        told[f"{key}_not_here"] = reasons.iloc[0] if len(reasons) else ""
        if key == "profile_table":
            told[key] = [] if len(reasons) else run_tables.as_printed(made)
        else:
            told[key] = made.to_dict("records")
    return told


def significance(tests: pd.DataFrame, alpha: float) -> list[dict]:
    """The table of tests, one group per metric and comparison: its rows, how many of them have a p below the threshold, how
    many still do when p is adjusted, and how many would by chance."""
    groups = []
    for (label, comparison), group in [] if tests.empty else tests.groupby(["label", "comparison"], sort=False):
        tested = int(group["p"].notna().sum())
        numbers = {
            "below": int(group["p"].lt(alpha).sum()),
            "differ": int(group["p_holm"].lt(alpha).sum()),
            "by_chance": alpha * tested,
        }
        groups.append({"label": label, "comparison": comparison, **numbers, "rows": _rows(group, alpha)})
    return groups


def _rows(group: pd.DataFrame, alpha: float) -> list[dict]:
    return group.assign(differs=group["p_holm"].lt(alpha)).astype(object).fillna("").to_dict("records")


def seccomp(tests: pd.DataFrame, alpha: float) -> list[dict]:
    """Tests of Docker with the capability against Docker without it, in one container, exactly subscribed and free."""
    if tests.empty:
        return []
    added = [name for name, environment in environments.known().items() if getattr(environment, "capabilities", ())]
    there = (tests["comparison"] == "against docker") & tests["runtime"].isin(added)
    return _rows(tests[there & (tests["scheme"] == "E1") & (tests["affinity"] == "any")], alpha)


def sizes(plan: SplittingPlan) -> list[dict]:
    """Problem sizes, one row per set of sizes, section and number of ranks."""
    seen = {}
    for cell in plan["cells"].values():
        if cell["reason"] is None:
            key = {name: cell[name] for name in ("sizes", "section", "mode", "ranks", "cores")}
            said = ", ".join(f"{name} {value}" for name, value in cell["parameters"].items())
            seen[tuple(key.values())] = {**key, **cell["parameters"], "said": said}
    return list(seen.values())
