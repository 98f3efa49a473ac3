"""What only the report of a splitting study has: transports, sizes, tables, tests, and what watching cost."""

import json
from pathlib import Path

import pandas as pd

from plimsoll import runtimes
from plimsoll.charts import profile
from plimsoll.instruments.mpi import PATTERNS
from plimsoll.splitting import measured_tables, watching


def content(folder: Path, study: dict, plan: dict, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame) -> dict:
    """What the template is told beyond what all reports tell."""
    image = json.loads(Path(f"results/images/{study['image']}.json").read_text())
    return {
        "programs": {
            name: found
            for name, found in image["files"].items()
            if "plimsoll" in name or "openblas" in name or "libmpi.so" in name
        },
        "transports": transports(runs),
        "tables": tables(folder, study),
        "tests": significance(tests),
        "seccomp": seccomp(tests),
        "features": pd.read_csv(folder / "tables/table05.csv", keep_default_na=False).to_dict("records"),
        "sizes": sizes(plan),
        **measured(folder, study),
        "watching": watching.cost(observations, study["alpha"]),
        "cross_checks": watching.cross_checks(observations, study.get("cross_checks", {})),
        "labels": {name: runtime.label for name, runtime in runtimes.known().items()},
    }


def tables(folder: Path, loaded: dict) -> list[dict]:
    """Tables 2 to 4 as data for the page."""
    return [
        {
            "number": name.removeprefix("table0"),
            "rows": pd.read_csv(folder / f"tables/{name}.csv", keep_default_na=False, dtype=str).to_dict("records"),
        }
        for name in loaded.get("paper_tables", {})
    ]


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
