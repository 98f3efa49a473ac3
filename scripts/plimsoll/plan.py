"""From a study, a profile and a host to the cells to measure, each with everything that a run needs to know.

Pure: the plan of any host can be made on any machine.
"""

import hashlib
import json
import os
from itertools import product
from pathlib import Path

from plimsoll import affinity, benchmarks, cpulist, instruments, order, runtimes, scheme, topology
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.instruments.base import Instrument

# The factors of a cell, in the order of its path, which ends with the benchmark's section.
FACTORS = ("hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument")
# Which schemes of a setting an experiment takes; `extended` goes on to more containers than cores (figures 15 and 40), `alone`
# is one rank on one core (figures 27 and 28).
CHOICES = {
    "all": lambda row: not row.beyond and not row.alone,
    "single": lambda row: row.containers == 1 and not row.alone,
    "several": lambda row: row.containers > 1 and not row.beyond,
    "ends": lambda row: row.containers in (1, row.cores) and not row.alone,
    "extended": lambda row: not row.alone,
    "alone": lambda row: row.alone,
}


def make(
    study: dict, profile: dict, host: dict, config: dict, unavailable: dict[str, str], more: dict[str, int] | None = None
) -> dict:
    """The plan: `cells` by path, `order` of the runs, and what they were made from.

    `host` is a topology (plimsoll.topology.discover), `unavailable` gives the reason for each runtime that does not work
    here, `more` the repetitions of cells that have more than the others. A cell that cannot be measured is in the plan with a
    `reason`; it has no runs.
    """
    repetitions = config.get("repetitions") or profile["repetitions"]
    wanted = [
        (name, cell)
        for name, experiment in study["experiments"].items()
        for hardware in experiment["hardware"]
        for cell in _cells(study, profile, host, config, unavailable, experiment, hardware)
    ]
    # What one experiment has no use for, another may: one that lets containers share cores, or that wants another metric. The
    # cell is then the other's alone.
    used = {cell["path"] for _, cell in wanted if cell["useful"]}
    cells: dict[str, dict] = {}
    for name, cell in wanted:
        if not cell["useful"] and cell["path"] in used:
            continue
        cells.setdefault(cell["path"], cell)["experiments"].append(name)
    for path, cell in cells.items():
        cell["repetitions"] = max(repetitions, (more or {}).get(path, 0)) if cell["reason"] is None else 0
    return {
        "study": study["id"],
        "benchmark": study["benchmark"],
        "image": study["image"],
        "seed": config["seed"],
        "repetitions": repetitions,
        "profile": config["profile"],
        "sockets": {str(socket): cores for socket, cores in topology.cores_of_sockets(host).items()},
        "instruments": {name: instruments.find(name).settings(host) for name in instruments.known()},
        "limits": {key: profile[key] for key in ("attempts", "idle", "neighbours")},
        "cells": cells,
        "order": order.blocks(
            {path: cell["repetitions"] for path, cell in cells.items() if not cell["reason"]}, config["seed"]
        ),
    }


def _cells(study, profile, host, config, unavailable, experiment, hardware) -> list[dict]:
    largest = study["factors"]["processes"]
    try:
        setting, missing = scheme.setting(hardware, host, largest), None
    except Unavailable as reason:
        # The cells that a host with this setting would have: so that they can be listed.
        setting, missing = _paper_setting(hardware, largest), str(reason)
    settings = instruments.find(experiment.get("instrument", Instrument.name)).settings(host)
    cells = []
    for row in filter(CHOICES[experiment["schemes"]], scheme.schemes(setting)):
        yields = experiment.get("yield", [study["yield_by_mode"][row.mode]])
        levels = product(experiment["runtime"], experiment["affinity"][hardware], yields, experiment["sections"])
        for runtime, level, yielding, section in levels:
            if (
                row.mode not in experiment["mode"]
                or config["runtimes"].get(runtime, "off") == "off"
                or (row.containers > 1 and not _several(runtime, level))
            ):
                continue
            cell = _cell(study, experiment, row, hardware, runtime, level, yielding, section)
            cell["host"] = topology.identity(host)
            unseen = _unseen(study, experiment, cell, settings)
            cell["reason"] = missing or unavailable.get(runtime) or settings.get("reason") or unseen
            cell["useful"] = not unseen
            # What an instrument is told is part of what is measured.
            cell.update({key: value for key, value in settings.items() if key != "reason"})
            try:
                places = affinity.places(level, setting, row, experiment.get("share_cores", False))
            except affinity.Undefined as reason:
                cell.update(useful=False, reason=f"{level} is not defined here: {reason}")
            else:
                if missing is None:
                    _refuse_outside(cell["path"], places, host)
                    _refuse_binding(cell["path"], places, row)
                    cell.update(_details(study, profile, host, setting, cell, places, row))
                    cell["fingerprint"] = fingerprint(cell)
            cells.append(cell)
    return cells


def _unseen(study: dict, experiment: dict, cell: dict, settings: dict) -> str | None:
    """Why a cell's instrument sees nothing here of what the experiment wants of it; None if it sees something."""
    of_cell = {"section": cell["section"], "instrument": cell["instrument"]}
    named = (study["metrics"][name] for name in experiment.get("metrics", study["metrics"]))
    wanted = [metric for metric in named if of_cell.items() <= metric.items()]
    reasons = [_unseen_metric(metric, settings) for metric in wanted]
    return None if not reasons or None in reasons else "; ".join(dict.fromkeys(filter(None, reasons)))


def _unseen_metric(metric: dict, settings: dict) -> str | None:
    instrument = instruments.find(metric["instrument"])
    return next((reason for source in metric["source"] if (reason := instrument.missing(source, settings))), None)


def unseen(plan: dict, study: dict, metrics: list[str]) -> dict[str, str]:
    """Those of the metrics that this host's instruments cannot see, each with the reason."""
    reasons = {
        name: _unseen_metric(study["metrics"][name], plan["instruments"][study["metrics"][name]["instrument"]])
        for name in metrics
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _several(runtime: str, level: str) -> bool:
    """Whether a runtime has several deployments at a level: bare metal only where groups of ranks have cores of their own."""
    return runtimes.find(runtime).containers or affinity.LEVELS[level].by_container


def _paper_setting(hardware: str, largest: int) -> scheme.Setting:
    count = scheme.SOCKETS[hardware]
    return scheme.Setting(hardware, tuple(tuple(range(largest)) for _ in range(count)), tuple(range(count)), largest)


def _cell(study, experiment, row, hardware, runtime, level, yielding, section) -> dict:
    sizes, instrument = experiment.get("sizes", "standard"), experiment.get("instrument", Instrument.name)
    return {
        "path": f"{hardware}/{row.mode}/{row.name}/{runtime}/{level}/{yielding}/{sizes}/{instrument}/{section}",
        "hardware": hardware,
        "mode": row.mode,
        "scheme": row.name,
        "runtime": runtime,
        "affinity": level,
        "yield": yielding,
        "sizes": sizes,
        "instrument": instrument,
        "section": section,
        "containers": row.containers,
        "ranks": row.ranks,
        "ranks_per_container": row.ranks_per_container,
        "cores": row.cores,
        "mpi_parameters": study["factors"]["yield"][yielding],
        # A run that hits its limit is then an observation of its own: at least this slow.
        "keep_timeouts": experiment.get("keep_timeouts", False),
        "experiments": [],
    }


def _details(
    study: dict,
    profile: dict,
    host: dict,
    setting: scheme.Setting,
    cell: dict,
    places: list[affinity.Place],
    row: scheme.Scheme,
) -> dict:
    benchmark = benchmarks.find(study["benchmark"])
    memory = min(node["memory_bytes"] or host["memory_bytes"] for node in host["nodes"])
    everything = topology.everything(host)
    logical = topology.logical_cores(host)
    if len({place.cpus for place in places}) == 1:
        # All of the launcher's processes are then confined to these cores, and Open MPI counts only what it may use.
        visible = sorted(logical[core] for core in places[0].cpus)
        logical = {core: visible.index(number) for core, number in logical.items() if number in visible}
    described = [
        {
            "cpus": cpulist.format(place.cpus),
            "nodes": cpulist.format(place.nodes),
            "cores": list(place.cores),
            "slots": [logical[core] for core in place.cores],
        }
        for place in places
    ]
    caches = topology.last_level_cache_bytes(host)
    # One rank alone has what each rank has where the cores are all in use.
    ranks = setting.cores if row.alone else row.ranks
    parameters = benchmark.parameters(cell["section"], profile, cell["sizes"], ranks, memory, caches)
    if row.alone:
        parameters = benchmark.of_one_rank(parameters, ranks)
    return {
        "places": described,
        # A cpuset that leaves nothing out is not set: it would be one more difference between the runtimes.
        "restricted": any({"cpus": p["cpus"], "nodes": p["nodes"]} != everything for p in described),
        "everything": everything,
        "parameters": parameters,
        "time_limit_seconds": profile["time_limit_seconds"][cell["sizes"]][row.mode],
        "expected_seconds": benchmark.expected_seconds(parameters, row.ranks, row.cores),
    }


def _refuse_outside(path: str, places: list[affinity.Place], host: dict) -> None:
    """PlimsollError if a place names a processor or memory node that the host has not."""
    for what, wanted, there in (
        ("processors", {c for p in places for c in (*p.cpus, *p.cores)}, {cpu["cpu"] for cpu in host["cpus"]}),
        ("memory nodes", {n for p in places for n in p.nodes}, {node["node"] for node in host["nodes"]}),
    ):
        if wanted - there:
            raise PlimsollError(
                f"The cell {path} would use the {what} {cpulist.format(wanted)}, and this host has "
                f"{cpulist.format(there)}: the host's description does not fit together."
            )


def _refuse_binding(path: str, places: list[affinity.Place], row: scheme.Scheme) -> None:
    """PlimsollError if the places make a rankfile that Open MPI refuses: not one core for each rank, or a foreign one."""
    for number, place in enumerate(places, start=1):
        if not place.cores:
            continue
        if len(place.cores) != row.ranks_per_container:
            raise PlimsollError(
                f"The cell {path} gives the {row.ranks_per_container} ranks of container {number} {len(place.cores)} cores: "
                "Open MPI refuses a rankfile without a line for each rank."
            )
        if foreign := set(place.cores) - set(place.cpus):
            raise PlimsollError(
                f"The cell {path} binds ranks of container {number} to the cores {cpulist.format(foreign)}, which the "
                "container may not use: Open MPI refuses such a rankfile."
            )


def fingerprint(cell: dict) -> str:
    """Identifies what is measured: two runs with the same fingerprint are repetitions of each other."""
    keys = ["path", "host", "containers", "ranks", "places", "mpi_parameters", "parameters"]
    if cell["keep_timeouts"]:
        keys.append("time_limit_seconds")
    if "events" in cell:
        keys.append("events")
    return hashlib.sha256(json.dumps([cell[key] for key in keys], sort_keys=True).encode()).hexdigest()[:16]


def shown(plan: dict, study: dict, name: str) -> list[dict]:
    """The plan's cells that a figure shows, those that cannot be measured here as well."""
    figure = study["figures"][name]
    experiments = {figure["experiment"], *figure.get("beside", [])}
    sections = {study["metrics"][metric]["section"] for metric in figure.get("metrics", [])}
    levels = figure.get("affinity", list(affinity.LEVELS))
    return [
        cell
        for cell in plan["cells"].values()
        if experiments & set(cell["experiments"])
        and cell["affinity"] in levels
        and (not sections or cell["section"] in sections)
    ]


def why_not(plan: dict, study: dict, name: str) -> str | None:
    """Why nothing of a figure can be measured here; None if something can.

    A figure that compares the levels of a factor (`compares`) needs each of them.
    """
    cells, factor = shown(plan, study, name), study["figures"][name].get("compares")
    by_level: dict[str, list[dict]] = {}
    for cell in cells:
        by_level.setdefault(cell[factor] if factor else "", []).append(cell)
    for of_level in by_level.values():
        reasons = {cell["reason"] for cell in of_level}
        if None not in reasons:
            return "; ".join(sorted(reasons))
    if not cells:
        return "the configuration leaves out every cell of it"
    metrics = study["figures"][name].get("metrics", [])
    blind = unseen(plan, study, metrics)
    return "; ".join(dict.fromkeys(blind.values())) if metrics and len(blind) == len(metrics) else None


def figure_runs(plan: dict, study: dict, name: str) -> list[tuple[str, int]]:
    """The runs that a figure is made from, in order: none for a drawing of the design, or if it cannot be made here."""
    if not study["figures"][name].get("metrics") or why_not(plan, study, name):
        return []
    paths = {cell["path"] for cell in shown(plan, study, name)}
    return [(path, repetition) for path, repetition in plan["order"] if path in paths]


def experiment_runs(plan: dict, name: str) -> list[tuple[str, int]]:
    """The runs of an experiment, in order."""
    return [(path, repetition) for path, repetition in plan["order"] if name in plan["cells"][path]["experiments"]]


def experiment_reason(plan: dict, name: str) -> str | None:
    """Why nothing of an experiment can be measured here; None if something can."""
    reasons = {cell["reason"] for cell in plan["cells"].values() if name in cell["experiments"]}
    return None if None in reasons else "; ".join(sorted(reasons)) or "the configuration leaves out every cell of it"


def _each(plan: dict) -> str:
    numbers = {cell["repetitions"] for cell in plan["cells"].values() if cell["reason"] is None} or {plan["repetitions"]}
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"


def summary(plan: dict) -> str:
    """What a plan comes to, for people: cells and runs by experiment and hardware setting, what cannot be measured, hours."""
    lines = [f"{plan['study']}: {len(plan['order'])} runs, {_each(plan)} of each cell (profile {plan['profile']})"]
    counts: dict[tuple, list[float]] = {}
    for cell in plan["cells"].values():
        for experiment in cell["experiments"]:
            row = counts.setdefault((experiment, cell["hardware"]), [0, 0, 0.0])
            row[0 if cell["reason"] is None else 1] += 1
            row[2] += 0 if cell["reason"] else cell["expected_seconds"] * cell["repetitions"] / 3600
    lines += [f"  {'experiment':<20} {'setting':<8} {'cells':>6} {'cannot':>7} {'hours':>7}"]
    for (experiment, hardware), (cells, cannot, hours) in counts.items():
        lines.append(f"  {experiment:<20} {hardware:<8} {cells:>6} {cannot:>7} {hours:>7.1f}")
    measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
    hours = sum(cell["expected_seconds"] * cell["repetitions"] for cell in measurable) / 3600
    lines.append(f"  all, cells of several experiments once: {len(measurable)} cells, about {hours:.1f} hours")
    reasons: dict[str, int] = {}
    for cell in plan["cells"].values():
        if cell["reason"]:
            reasons[cell["reason"]] = reasons.get(cell["reason"], 0) + 1
    lines += [f"  {number} cells cannot be measured: {reason}" for reason, number in reasons.items()]
    return "\n".join(lines)


def digest(plan: dict) -> str:
    """Changes when the plan does."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]


def settings(values: dict) -> str:
    """The part of the configuration that a plan is made from, as one JSON argument."""
    keys = ("profile", "seed", "repetitions", "runtimes")
    return json.dumps(
        {key: value for key, value in values.items() if key in keys or key in runtimes.known()},
        sort_keys=True,
    )


def write(plan: dict, path: Path) -> None:
    """Put a plan in place in one step; a file that holds it already is left alone."""
    text = json.dumps(plan, separators=(",", ":")) + "\n"
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.rename(path)
