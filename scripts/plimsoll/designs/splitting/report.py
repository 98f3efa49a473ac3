"""This design's part of a study's page: names in the answer, transports, sizes, tables, tests, and what instruments cost."""

from pathlib import Path

import pandas as pd

from plimsoll import design, runtimes
from plimsoll.analysis import paper_tests
from plimsoll.analysis import tables as analysis_tables
from plimsoll.designs.splitting import host_tables, words
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT, SplittingPlan
from plimsoll.instruments.base import Instrument
from plimsoll.instruments.mpi_profile import PATTERNS
from plimsoll.measuring import plan_file, status
from plimsoll.pages.report import Sources

# Columns that values with and without an instrument have in common.
KEYS = ["metric", *(factor for factor in OF_DEPLOYMENT if factor != "instrument")]


class Report(design.Report):
    """Page of a splitting study."""

    TEMPLATE = "splitting/report.html.j2"
    GLOSSARY = words.GLOSSARY
    cell_label = staticmethod(words.cell)
    level = staticmethod(words.level)
    row = staticmethod(words.row)

    def content(
        self,
        sources: Sources,
        study: dict,
        plan: SplittingPlan,
        observations: pd.DataFrame,
        runs: pd.DataFrame,
        tests: pd.DataFrame,
    ) -> dict:
        """Return this design's variables of the page's template."""
        image = plan_file.image(sources.image)
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
            "watching": instrument_cost(observations, study["alpha"]),
            "cross_checks": cross_checks(observations, study.get("cross_checks", {})),
            "labels": {name: runtime.label for name, runtime in runtimes.known().items()},
        }


def tables(folder: Path, loaded: dict) -> list[dict]:
    """Return tables 2 to 4 as data for the page. `folder` holds the study's tables."""
    return [
        {
            "number": name.removeprefix("table0"),
            "rows": pd.read_csv(folder / f"{name}.csv", keep_default_na=False, dtype=str).to_dict("records"),
        }
        for name, table in loaded.get("tables", {}).items()
        if table["kind"] in host_tables.COLUMNS
    ]


def features(folder: Path, loaded: dict) -> dict:
    """Return table 5 as data for the page (`features`) and its name (`features_table`).

    `features` is empty if the study does not have the table.
    """
    for name, table in loaded.get("tables", {}).items():
        if table["kind"] == "features":
            rows = pd.read_csv(folder / f"{name}.csv", keep_default_na=False).to_dict("records")
            return {"features": rows, "features_table": name}
    return {"features": []}


def transports(runs: pd.DataFrame) -> list[dict]:
    """Return what carried the messages of all valid runs, one row per runtime and for one or several containers."""
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
    """Return the tables that are made from runs: `profile_table` in the paper's layout, and `locality`.

    `profile_table_unavailable` and `locality_unavailable` say why one was not measured; they are empty if it was. `folder`
    holds the study's tables.
    """
    # Imported here, because the charts take a second to import, and the terminal needs only this module's words.
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
        told[f"{key}_unavailable"] = reasons.iloc[0] if len(reasons) else ""
        if key == "profile_table":
            told[key] = [] if len(reasons) else run_tables.as_printed(made)
        else:
            told[key] = made.to_dict("records")
    return told


def significance(tests: pd.DataFrame, alpha: float) -> list[dict]:
    """Return the table of tests in groups, one per metric and comparison.

    Each group has its rows and three numbers: of p below the threshold (`below`), of adjusted p below it (`differ`), and of p
    to expect below it by chance (`by_chance`).
    """
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
    """Return the tests of Docker with the capability against Docker without it: one container, exactly subscribed, free."""
    if tests.empty:
        return []
    added = [name for name, runtime in runtimes.known().items() if getattr(runtime, "capabilities", ())]
    there = (tests["comparison"] == "against docker") & tests["runtime"].isin(added)
    return _rows(tests[there & (tests["scheme"] == "E1") & (tests["affinity"] == "any")], alpha)


def sizes(plan: SplittingPlan) -> list[dict]:
    """Return the problem sizes, one row per set of sizes, section, mode, and number of ranks and cores."""
    seen = {}
    for cell in plan["cells"].values():
        if cell["reason"] is None:
            key = {name: cell[name] for name in ("sizes", "section", "mode", "ranks", "cores")}
            said = ", ".join(f"{name} {value}" for name, value in cell["parameters"].items())
            seen[tuple(key.values())] = {**key, **cell["parameters"], "said": said}
    return list(seen.values())


def cross_checks(observations: pd.DataFrame, pairs: dict[str, str]) -> list[dict]:
    """Return one row per metric, hardware setting and mode, with the means of two metrics that should agree.

    `mean` is the mean of the metric, and `mean_other` of its partner in `pairs`, over the same runs; `n` is their number.
    """
    rows = []
    for metric, other in pairs.items():
        run = [*OF_DEPLOYMENT, "section", "repetition"]
        both = (observations.loc[observations["metric"] == name, [*run, "label", "value"]] for name in (metric, other))
        joined = pd.merge(*both, on=run, suffixes=("", "_other"))
        for (hardware, mode), group in joined.groupby(["hardware", "mode"]):
            means = {"mean": group["value"].mean(), "mean_other": group["value_other"].mean()}
            rows.append({"label": group["label"].iloc[0], "hardware": hardware, "mode": mode, "n": len(group), **means})
    return rows


def instrument_cost(observations: pd.DataFrame, alpha: float) -> list[dict]:
    """Return one row per instrument, metric and cell that was measured both with and without the instrument.

    A row has the number of runs with (`n`) and without it (`n_plain`). It also has the ratio with / without of the geometric
    means, with its 95 % interval (Welch's test on logarithms) and p. `p_holm` is p adjusted for the number of rows, and
    `differs` says whether it is below alpha.
    """
    metrics = observations.loc[observations["instrument"] == Instrument.name, "metric"].unique()
    usable = observations[observations["metric"].isin(metrics) & ~observations["censored"].astype(bool)]
    groups = dict(iter(usable.groupby([*KEYS, "instrument"])))
    rows = []
    for key, watched in groups.items():
        plain = groups.get((*key[:-1], Instrument.name))
        if key[-1] == Instrument.name or plain is None or min(len(watched), len(plain)) < 2:
            continue
        compared = paper_tests.compare(watched["value"].to_numpy(float), plain["value"].to_numpy(float), alpha)
        described = dict(zip([*KEYS, "instrument"], key, strict=True))
        numbers = {name: compared[name] for name in ("ratio", "ratio_low", "ratio_high", "p")}
        label = watched[["label", "unit"]].iloc[0].to_dict()
        rows.append({**described, **label, "n": len(watched), "n_plain": len(plain), **numbers, "p_holm": float("nan")})
    # Values that are all equal have no p.
    paper_tests.adjust(rows, "p", "p_holm")
    for row in rows:
        row["differs"] = row["p_holm"] < alpha
    return sorted(rows, key=lambda row: (row["instrument"], row["mode"], row["scheme"], row["metric"]))
