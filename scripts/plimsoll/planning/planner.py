"""Make a plan: from a study, a profile and a host to the cells to measure, each with everything that a run needs to
know.

The functions need only their arguments, so the plan of any host can be made on any machine.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll.config import studies
from plimsoll.design import Design
from plimsoll.errors import PlimsollError, hours_in_words, many
from plimsoll.host import sizing
from plimsoll.interchange import Cell, Plan, Topology
from plimsoll.measuring.failing_groups import Group
from plimsoll.planning import tries
from plimsoll.planning.repetitions import NOTHING, RequestedRepetitions

# Upper limit of a plan's runs: they would take years.
MOST_RUNS = 1_000_000


def make(
    study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str], asked: RequestedRepetitions = NOTHING
) -> Plan:
    """Return the plan of a study: its `cells` by path, the `order` of the runs, and what these were made from.

    - `host`: a topology (plimsoll.host.topology.discover); its `sizes` are what problem sizes follow from, if they were
      decided before.
    - `unavailable`: the reason for each runtime that does not work here, or that did not work in a study or on an image
      (plimsoll.planning.tries).
    - `asked`: repetitions of cells that replace the profile's or add to them.

    A cell that cannot be measured is in the plan with a `reason`, and has no runs. Raise PlimsollError if the plan
    would have too many runs.
    """
    design, host = study.design, {**host, "sizes": sizing.of_host(host)}
    config = {**config, "runtimes": studies.wishes(study, config["runtimes"])}
    repetitions = config.get("repetitions") or design.cells.repetitions(profile)
    reasons = tries.of_study(unavailable, study["id"], study["image"])
    wanted = design.cells.wanted(study, profile, host, config, reasons.runtimes)
    given_up = _leave_out(design, wanted, reasons, config["runtimes"])
    # A cell may be useless for one experiment and useful for another, such as one that lets containers share cores or
    # that wants another metric. The cell then belongs to the other one alone.
    used = {cell["path"] for _, cell in wanted if cell["useful"]}
    cells: dict[str, Cell] = {}
    for name, cell in wanted:
        if not cell["useful"] and cell["path"] in used:
            continue
        cells.setdefault(cell["path"], cell)["experiments"].append(name)
    for path, cell in cells.items():
        # A design may set its own number of repetitions for a cell.
        usual = (config.get("repetitions") or cell.get("repetitions", repetitions)) * cell.get("per_block", 1)
        wanted_of = max(0 if asked.exact else usual, asked.cells.get(path, 0))
        cell["repetitions"] = wanted_of if cell["reason"] is None else 0
    if (runs := sum(cell["repetitions"] for cell in cells.values())) > MOST_RUNS:
        raise PlimsollError(
            f"{study['id']} would have {runs} runs, and no plan has more than {MOST_RUNS}: make `repetitions` smaller in "
            f"config/profiles/{config['profile']}.yaml or in config/config.yaml."
        )
    return {
        "study": study["id"],
        "design": design.name,
        "factors": list(design.factors.FACTORS),
        "image": study["image"],
        "seed": config["seed"],
        "repetitions": repetitions,
        "profile": config["profile"],
        **design.cells.plan_extras(study, host),
        "sizes": sizing.of_host(host),
        "limits": {key: profile[key] for key in ("attempts", "starts", "idle", "neighbours")},
        **({"given_up": given_up} if given_up else {}),
        "cells": cells,
        "order": blocks(
            {path: cell["repetitions"] for path, cell in cells.items() if not cell["reason"]},
            config["seed"],
            {path: cell["launch"] for path, cell in cells.items() if "launch" in cell},
            {path: cell["per_block"] for path, cell in cells.items() if "per_block" in cell},
        ),
    }


def blocks(
    repetitions: dict[str, int],
    seed: int,
    launches: Mapping[str, str] | None = None,
    each: Mapping[str, int] | None = None,
) -> list[tuple[str, int]]:
    """Return (cell, repetition) in the order of measuring. Repetitions count from 1.

    In each block every cell runs once, or as often as `each` says, in an order drawn from the seed. `repetitions` has the
    number of repetitions of each cell, and `launches` the launch that measures a cell. Cells of a launch follow each other,
    in an order that is drawn each time.

    Drift of the machine then affects all cells alike (randomised complete blocks). A block that only some cells need
    has these in the order that they would have among all cells. The same cells and the same seed give the same order.
    """
    cells: dict[str, list[str]] = {}
    for cell in sorted(repetitions):
        cells.setdefault((launches or {}).get(cell, cell), []).append(cell)
    often = {launch: max((each or {}).get(cell, 1) for cell in cells[launch]) for launch in cells}
    number = max((math.ceil(count / (each or {}).get(cell, 1)) for cell, count in repetitions.items()), default=0)
    order = []
    for block in range(1, number + 1):
        drawn = [launch for launch in sorted(cells) for _ in range(often[launch])]
        random.Random(f"{seed}/{block}").shuffle(drawn)
        made = dict.fromkeys(cells, 0)
        for launch in drawn:
            made[launch] += 1
            repetition = (block - 1) * often[launch] + made[launch]
            parts = list(cells[launch])
            random.Random(f"{seed}/{repetition}/{launch}").shuffle(parts)
            order.extend((cell, repetition) for cell in parts if repetitions[cell] >= repetition)
    return order


def _leave_out(design: Design, wanted: list[tuple[str, Cell]], reasons: tries.Reasons, wishes: dict) -> dict[str, str]:
    """Set the reason of cells whose group was found not to work.

    Return the groups of required runtimes that this start of the workflow has given up, with the reasons.
    """
    given_up = {}
    for _, cell in wanted:
        kind = design.cells.kind(cell)
        if not cell["reason"] and (reason := tries.of_cell(reasons, cell, kind)):
            cell["reason"] = reason
            group = Group(cell["runtime"], kind).text
            if group in reasons.given_up and wishes[cell["runtime"]] == "required":
                given_up[group] = reason
    return given_up


def _each(plan: Plan) -> str:
    numbers = {cell["repetitions"] for cell in plan["cells"].values() if cell["reason"] is None} or {plan["repetitions"]}
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"


def summary(plan: Plan) -> str:
    """Summarise a plan as text: the cells that can be measured and their time, by experiment and first factor; then how
    many cells cannot be measured, by reason."""
    first = plan["factors"][0]
    lines = [f"{plan['study']}: {many(len(plan['order']), 'run')}, {_each(plan)} of each cell (profile {plan['profile']})"]
    cells = [cell for cell in plan["cells"].values() if cell["reason"] is None and cell["repetitions"]]
    by_row: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        for experiment in cell["experiments"]:
            by_row.setdefault((experiment, cell[first]), []).append(cell)
    lines += [f"  {'experiment':<20} {first:<12} {'cells':>6}  time"]
    lines += [f"  {name:<20} {level:<12} {len(own):>6}  {_time(own)}" for (name, level), own in by_row.items()]
    lines.append(f"  all, cells of several experiments once: {many(len(cells), 'cell')}, about {_time(cells)}")
    unavailable = unavailable_cells(plan).items()
    return "\n".join([*lines, *(f"  {many(number, 'cell')} cannot be measured: {reason}" for reason, number in unavailable)])


def _time(cells: Iterable[Cell]) -> str:
    seconds = sum(cell["expected_seconds"] * cell["repetitions"] for cell in cells)
    return hours_in_words(seconds / 3600) if seconds else "no time"


def unavailable_cells(plan: Plan) -> dict[str, int]:
    """Return the reasons why cells cannot be measured here, each with the number of its cells."""
    return Counter(cell["reason"] for cell in plan["cells"].values() if cell["reason"])


def other_sizes(one: Plan, other: Plan) -> list[str]:
    """Return the paths of the cells whose problem sizes differ between two plans."""
    shared = one["cells"].keys() & other["cells"].keys()
    both = {path: [plan["cells"][path].get("parameters") for plan in (one, other)] for path in shared}
    return [path for path, (a, b) in both.items() if a and b and a != b]


def settings(values: dict) -> str:
    """Return the part of the configuration that a plan is made from, as one JSON argument."""
    keys = ("profile", "seed", "repetitions", "runtimes", "programs", "second_host", "cluster_hosts")
    return json.dumps(
        {key: value for key, value in values.items() if key in keys},
        sort_keys=True,
    )


def write(plan: Plan, path: Path) -> None:
    """Write a plan to a file in one step. A file that has the same content is not touched."""
    text = json.dumps(plan, separators=(",", ":")) + "\n"
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.rename(path)
