"""What only the report of an interference study has: protocol, limits, recommendations and the tables of statistics."""

from pathlib import Path

import pandas as pd

from plimsoll import microservices, record
from plimsoll.interference import cells


def content(folder: Path, study: dict, plan: dict, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame) -> dict:
    """What the template is told beyond what all reports tell."""
    parameters = cells.parameters(plan)
    described = microservices.described(parameters)
    measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
    return {
        "microservices": [{**described[name], "name": name, "parameters": parameters[name]} for name in described],
        "protocol": _protocol(measurable),
        "limits": limits(folder, plan, runs),
        "shares": shares(runs),
        "letters": {name: found["letter"] for name, found in described.items()},
        "recommended": pd.read_csv(folder / "tables/recommendation.csv").to_dict("records"),
        "tables": tables(folder, study),
    }


def _protocol(measurable: list[dict]) -> dict:
    """The numbers of the protocol, from the cells."""
    alone = next((cell for cell in measurable if cell["iterations"]), {})
    pair = next((cell for cell in measurable if cell["window_seconds"]), {})
    cell = alone or pair
    return {
        "iterations": alone.get("iterations"),
        "window_seconds": pair.get("window_seconds"),
        "limit_seconds": cell.get("iteration_limit_seconds"),
        "host_limits": cell.get("host_limits", {}),
    }


def limits(folder: Path, plan: dict, runs: pd.DataFrame) -> list[dict]:
    """What containers may use by case, as it was seen from inside in every valid run: one row a different sight."""
    seen: dict[tuple, int] = {}
    for run in runs[runs["status"] == "valid"].to_dict("records"):
        path = "/".join(run[factor] for factor in plan["factors"])
        found = record.read(record.path_of(folder / "runs", path, run["repetition"]))
        for sight in found["limits_seen"]:
            memory = sight["memory_bytes"] and f"{sight['memory_bytes'] / 2**20:.0f} MiB"
            weight = {None: "not asked for", True: "applied", False: "not possible here"}[found["block_io_weight_works"]]
            key = (run["case"], sight["cpus"], sight["nodes"], memory or "not visible from inside", weight)
            seen[key] = seen.get(key, 0) + 1
    names = ("case", "cpus", "nodes", "memory", "block_io_weight")
    return [{**dict(zip(names, key, strict=True)), "containers": number} for key, number in sorted(seen.items())]


def shares(runs: pd.DataFrame) -> list[dict]:
    """By case: iterations that were made and that count, and the smallest share of a member of a run."""
    rows = []
    for case, group in runs[runs["status"] == "valid"].groupby("case"):
        made, counted = (
            sum(int(number) for text in group[name].astype(str) for number in text.split())
            for name in ("iterations", "counted")
        )
        rows.append({"case": case, "made": made, "counted": counted, "least": group["share_counted"].min()})
    return rows


def tables(folder: Path, study: dict) -> list[dict]:
    """The paper's tables with ours, as data for the page."""
    found = []
    for name, table in study["measured_tables"].items():
        if "reference" not in table:
            continue
        rows = pd.read_csv(folder / f"tables/{name}.csv", keep_default_na=False)
        number = name.removeprefix("table").lstrip("0")
        found.append({"name": name, "number": number, "kind": table["kind"], "rows": rows.to_dict("records")})
    return found
