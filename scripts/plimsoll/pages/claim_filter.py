"""Filters of the claims on the page of verdicts: study, verdict, research question, runtime, metric.

All functions are pure.
"""

from plimsoll.claims import book
from plimsoll.config.studies import Study

# Attributes of a claim on the page, and their names for people. A claim may have several runtimes and metrics.
BY = {"study": "Study", "verdict": "Verdict", "question": "Research question", "runtime": "Runtime", "metric": "Metric"}


def of_claim(result: dict, rows: list[dict], study: Study) -> dict:
    """Return `runtimes` and `metrics_named` of a claim, in words.

    They are those of its comparisons (`rows`). Without comparisons, they are those that the claim names.
    """
    if not rows:
        return {"runtimes": _named_runtimes(result, study), "metrics_named": _named_metrics(result, study)}
    # A cell's path may lack factors, but only factors that come after the runtime.
    place = study.design.factors.FACTORS.index("runtime")
    paths = [row[side].split("/") for row in rows for side in ("cell_a", "cell_b") if "/" in str(row[side])]
    runtimes = sorted({path[place] for path in paths})
    return {
        "runtimes": [study.design.report.level("runtime", name) for name in runtimes],
        "metrics_named": sorted({row["label"] for row in rows}),
    }


def _named_runtimes(result: dict, study: Study) -> list[str]:
    asked = (result, *result["parts"])
    runtimes = {name for one in asked for _, levels in book.levels_of(one["asked"]) for name in levels.get("runtime", [])}
    return [study.design.report.level("runtime", name) for name in sorted(runtimes)]


def _named_metrics(result: dict, study: Study) -> list[str]:
    claim = next((claim for claim in book.load(study["id"]) if claim["id"] == result["id"]), {"metrics": []})
    return sorted({study["metrics"][name]["label"] for name in claim["metrics"] if name in study["metrics"]})


def choices(claims: list[dict]) -> list[dict]:
    """Return the filters, one for each of BY: `key`, `name`, and the `values` that some claim has."""
    values = {
        "study": (claim["study"] for claim in claims),
        "verdict": (claim["verdict"] for claim in claims),
        "question": (f"{claim['study']} {claim['question']}" for claim in claims),
        "runtime": (name for claim in claims for name in claim["runtimes"]),
        "metric": (name for claim in claims for name in claim["metrics_named"]),
    }
    return [{"key": key, "name": BY[key], "values": sorted(set(values[key]), key=str.lower)} for key in BY]
