"""Cells of a study that splits one application over more and more containers (liu2020), on a host. Every function is pure."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

from plimsoll import design, instruments, runtimes, workloads
from plimsoll.designs.splitting import affinity, scheme
from plimsoll.designs.splitting.factors import SplittingCell, SplittingPlan
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import cpulist, sizing, topology
from plimsoll.instruments.base import Instrument
from plimsoll.interchange import Topology
from plimsoll.measuring import record
from plimsoll.planning import availability
from plimsoll.workloads.base import Application

STANDARD = "standard"
# Value of a profile's `baseline`: the baseline is repeated as often as is best for the comparisons with it.
MORE_OFTEN = "more often"
# The schemes of a setting that an experiment takes. `finest` is one container per core, `extended` includes more containers
# than cores (figures 15 and 40), and `alone` is one rank on one core (figures 27 and 28).
CHOICES = {
    "all": lambda row: not row.beyond and not row.alone,
    "single": lambda row: row.containers == 1 and not row.alone,
    "several": lambda row: row.containers > 1 and not row.beyond,
    "finest": lambda row: row.containers == row.cores > 1,
    "ends": lambda row: row.containers in (1, row.cores) and not row.alone,
    "extended": lambda row: not row.alone,
    "alone": lambda row: row.alone,
}


class Cells(design.Cells):
    """Cells of a splitting study."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, SplittingCell]]:
        """Return (experiment, cell) for every cell that an experiment wants, including cells that cannot be measured here."""
        cells = [
            (name, cell)
            for name, experiment in study["experiments"].items()
            for hardware in experiment["hardware"]
            for cell in self._cells(study, profile, host, config, unavailable, experiment, hardware)
        ]
        measurable = [cell for _, cell in cells if not cell["reason"]]
        _add_starting(workloads.find(study["benchmark"], Application), measurable)
        if profile["baseline"] == MORE_OFTEN:
            _repeat_baseline(study, measurable)
        return cells

    def _cells(self, study, profile, host, config, unavailable, experiment, hardware) -> list[SplittingCell]:
        largest = study["factors"]["processes"]
        try:
            setting, missing = scheme.setting(hardware, host, largest), None
        except Unavailable as reason:
            # List the cells that a host with this setting would have.
            setting, missing = _paper_setting(hardware, largest), str(reason)
        settings = instruments.find(experiment.get("instrument", Instrument.name)).settings(host)
        cells = []
        rows = [row for row in scheme.schemes(setting) if row.mode in experiment["mode"]]
        for row in filter(CHOICES[experiment["schemes"]], rows):
            yields = experiment.get("yield", [study["yield_by_mode"][row.mode]])
            levels = product(experiment["runtime"], experiment["affinity"][hardware], yields, experiment["sections"])
            for runtime, level, yielding, section in levels:
                if config["runtimes"].get(runtime, "off") == "off" or (row.containers > 1 and not _several(runtime, level)):
                    continue
                cell = _cell(study, experiment, row, hardware, runtime, level, yielding, section)
                cell["host"] = sizing.of_host(host)["host"]
                blind = _blind(study, experiment, cell, settings)
                cell["reason"] = missing or unavailable.get(runtime) or settings.get("reason") or (blind and blind.reason)
                cell["useful"] = not blind
                # The instrument's settings define what is measured, so they are keys of the cell.
                cell.update({key: value for key, value in settings.items() if key != "reason"})
                try:
                    places = affinity.places(level, setting, row, experiment.get("share_cores", False))
                except Unavailable as reason:
                    cell.update(useful=False, reason=f"{level} is not defined here: {reason}")
                else:
                    if missing is None:
                        _refuse_outside(cell["path"], places, host)
                        _refuse_binding(cell["path"], places, row)
                        cell.update(_details(study, profile, host, setting, cell, places, row))
                        cell["reason"] = cell["reason"] or _unplaceable(cell, host)
                        cell["fingerprint"] = record.identify(self.measured(cell))
                cells.append(cell)
        return cells

    def unavailable_metrics(self, plan: SplittingPlan, study: dict, metrics: list[str]) -> dict[str, Unavailable]:
        """Return the metrics that this host's instruments cannot measure, by name."""
        found = {
            name: _unavailable_metric(study["metrics"][name], plan["instruments"][study["metrics"][name]["instrument"]])
            for name in metrics
        }
        return {name: unavailable for name, unavailable in found.items() if unavailable}

    def measured(self, cell: SplittingCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint.

        The other sections of its launch are not among them: they do not change what is measured
        (docs/explanation/architecture.md).
        """
        keys = ["path", "host", "containers", "ranks", "places", "mpi_parameters", "parameters"]
        if cell["keep_timeouts"]:
            keys.append("time_limit_seconds")
        if "events" in cell:
            keys.append("events")
        return {key: cell[key] for key in keys}

    def shown(self, plan: SplittingPlan, study: dict, name: str) -> list[SplittingCell]:
        """Return the plan's cells that a figure or table shows, including cells that cannot be measured here."""
        figure = {**study["figures"], **study.get("tables", {})}[name]
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

    def memory_share(self, profile: dict) -> float:
        """Return the share of the smallest memory node that the profile gives a problem."""
        return profile["hpcc"]["memory_share"]

    def problem_bytes(self, plan: SplittingPlan) -> int:
        """Return the memory (bytes) of the plan's largest problem; 0 if the plan has none."""
        benchmark = workloads.find(plan["benchmark"], Application)
        parameters = (cell["parameters"] for cell in plan["cells"].values() if "parameters" in cell)
        return max(map(benchmark.memory_bytes, parameters), default=0)

    def repetitions(self, profile: dict) -> int:
        """Return the profile's number of repetitions."""
        return profile["repetitions"]

    def kind(self, cell: SplittingCell) -> str:
        """Return `one node` or `several nodes`: the launcher starts and connects ranks differently in these two cases."""
        return "one node" if cell["containers"] == 1 else "several nodes"

    def trial(self, plan: SplittingPlan, cells: Sequence[SplittingCell]) -> SplittingCell:
        """Return the cell that shows soonest that ranks reach each other, with a small problem.

        Cells without an instrument and without affinity are preferred.
        """
        benchmark = workloads.find(plan["benchmark"], Application)

        def ease(cell: SplittingCell) -> tuple:
            special = cell["instrument"] != Instrument.name, cell["affinity"] != "any", benchmark.brief.index(cell["section"])
            return (*special, cell["expected_seconds"], cell["path"])

        easiest = min(cells, key=ease)
        return {**easiest, "parameters": benchmark.smallest(easiest["parameters"])}

    def plan_extras(self, study: dict, host: Topology) -> dict:
        """Return this design's keys of the plan: the benchmark, the cores of each socket, each instrument's settings, and
        the kernel's release if it is known."""
        return {
            "benchmark": study["benchmark"],
            "sockets": {str(socket): cores for socket, cores in topology.cores_of_sockets(host).items()},
            "instruments": {name: instruments.find(name).settings(host) for name in instruments.known()},
            **({"kernel": host["kernel"]} if "kernel" in host else {}),
        }

    def host_facts(self, machine: Topology) -> dict[str, str]:
        """Return the number of cores of each hardware setting on a machine, or why the machine does not have the setting."""
        facts = {}
        for name in scheme.SOCKETS:
            try:
                facts[f"hardware setting {name}"] = f"{scheme.setting(name, machine, scheme.LARGEST).cores} core(s)"
            except Unavailable as reason:
                facts[f"hardware setting {name}"] = f"not here: {reason}"
        return facts

    def programs(self, plan: SplittingPlan, cell: SplittingCell) -> list[str]:
        """Return the application whose section the cell measures."""
        return [workloads.find(plan["benchmark"], Application).software]


def _repeat_baseline(study: dict, cells: list[SplittingCell]) -> None:
    """Set how often bare metal without affinity runs in each block: the square root of the number of deployments compared.

    These are the other deployments of its hardware setting and mode. All of them are compared with it, so its noise is part of
    each comparison (Dunnett 1955).
    """
    usual = {"affinity": "any", "sizes": STANDARD, "instrument": Instrument.name}
    alike: dict[tuple, set[str]] = {}
    for cell in cells:
        if all(cell[key] == level for key, level in usual.items() if key != "affinity"):
            alike.setdefault((cell["hardware"], cell["mode"]), set()).add(cell["launch"])
    for cell in cells:
        if cell["runtime"] == study["baseline"] and all(cell[key] == level for key, level in usual.items()):
            others = alike[cell["hardware"], cell["mode"]] - {cell["launch"]}
            cell["per_block"] = max(1, round(math.sqrt(len(others))))


def _add_starting(benchmark: Application, cells: list[SplittingCell]) -> None:
    """Add to each cell's expected seconds its share of the time that its launch takes to start."""
    together = Counter(launch for launch, _ in {(cell["launch"], cell["path"]) for cell in cells})
    for cell in cells:
        cell["expected_seconds"] += benchmark.starting_seconds(cell["ranks"]) / together[cell["launch"]]


def _unplaceable(cell: dict, host: Topology) -> str | None:
    """Return why this user cannot confine a cell's nodes to their places; None if that is possible."""
    runtime = runtimes.find(cell["runtime"])
    places = {(place["cpus"], place["nodes"]) for place in cell["places"]}
    shared = len(places) == 1 and all(nodes == cell["everything"]["nodes"] for _, nodes in places)
    if not cell["restricted"] or runtime.own_places or host.get("cpusets", True) or (runtime.bound and shared):
        return None
    return f"{runtime.label}: processors of its containers' own take cpusets, which this user may not make"


def _blind(study: dict, experiment: dict, cell: SplittingCell, settings: dict) -> Unavailable | None:
    """Return why a cell's instrument can measure none of the experiment's metrics here; None if it can measure one."""
    of_cell = {"section": cell["section"], "instrument": cell["instrument"]}
    named = (study["metrics"][name] for name in experiment.get("metrics", study["metrics"]))
    wanted = [metric for metric in named if of_cell.items() <= metric.items()]
    found = [_unavailable_metric(metric, settings) for metric in wanted]
    return None if not found or None in found else availability.join(found)


def _unavailable_metric(metric: dict, settings: dict) -> Unavailable | None:
    instrument = instruments.find(metric["instrument"])
    reasons = (instrument.missing(source, settings) for source in metric["source"])
    return next((Unavailable(reason) for reason in reasons if reason), None)


def _several(runtime: str, level: str) -> bool:
    """Return whether a runtime has deployments in several containers at a level of affinity.

    Bare metal has them only where groups of ranks have cores of their own.
    """
    return runtimes.find(runtime).has_containers or affinity.LEVELS[level].by_container


def _paper_setting(hardware: str, largest: int) -> scheme.Setting:
    count = scheme.SOCKETS[hardware]
    sockets, nodes = (tuple(range(largest)),) * count, tuple((node,) for node in range(count))
    return scheme.Setting(hardware, sockets, nodes, largest)


def _cell(study, experiment, row, hardware, runtime, level, yielding, section) -> dict:
    sizes, instrument = experiment.get("sizes", "standard"), experiment.get("instrument", Instrument.name)
    deployment = f"{hardware}/{row.mode}/{row.name}/{runtime}/{level}/{yielding}/{sizes}/{instrument}"
    return {
        "path": f"{deployment}/{section}",
        "launch": deployment,
        "part": section,
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
        # A run that reaches its limit then counts as censored: it takes at least that long.
        "keep_timeouts": experiment.get("keep_timeouts", False),
        "experiments": [],
    }


def _details(
    study: dict,
    profile: dict,
    host: Topology,
    setting: scheme.Setting,
    cell: SplittingCell,
    places: list[affinity.Place],
    row: scheme.Scheme,
) -> dict:
    benchmark = workloads.find(study["benchmark"], Application)
    known = sizing.of_host(host)
    everything = topology.everything(host)
    logical = {cpu["cpu"]: cpu["core"] for cpu in host["cpus"]}
    if len({place.cpus for place in places}) == 1:
        # All processes of the launcher are confined to these cores, and Open MPI numbers only the cores that it may use.
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
    # A single rank gets the problem that each rank has when all cores are in use.
    ranks = setting.cores if row.alone else row.ranks
    wanted, memory = (cell["section"], profile, cell["sizes"]), (known["node_bytes"], known["cache_bytes"])
    parameters = benchmark.parameters(*wanted, ranks, *memory)
    if row.alone:
        parameters = benchmark.of_one_rank(parameters, ranks)
    return {
        "places": described,
        # Set no cpuset for a place that is the whole host: it would be one more difference between the runtimes.
        "restricted": affinity.LEVELS[cell["affinity"]].bound
        or any({"cpus": p["cpus"], "nodes": p["nodes"]} != everything for p in described),
        "everything": everything,
        "parameters": parameters,
        "short": benchmark.short(*wanted, *memory),
        "time_limit_seconds": profile["time_limit_seconds"][cell["sizes"]][scheme.OVER if row.ratio > 1 else scheme.EXACT],
        "expected_seconds": benchmark.expected_seconds(parameters, row.ranks, row.cores),
    }


def _refuse_outside(path: str, places: list[affinity.Place], host: Topology) -> None:
    """Raise PlimsollError if a place names a processor or memory node that the host does not have."""
    for what, wanted, there in (
        ("processors", {c for p in places for c in (*p.cpus, *p.cores)}, {cpu["cpu"] for cpu in host["cpus"]}),
        ("memory nodes", {n for p in places for n in p.nodes}, {node["node"] for node in host["nodes"]}),
    ):
        if wanted - there:
            raise PlimsollError(
                f"The cell {path} would use the {what} {cpulist.format(wanted)}, and this host has "
                f"{cpulist.format(there)}. Nothing was measured. If host_file names a description, correct it; otherwise "
                "please report this fault of Plimsoll."
            )


def _refuse_binding(path: str, places: list[affinity.Place], row: scheme.Scheme) -> None:
    """Raise PlimsollError if the places make a rankfile that Open MPI refuses.

    It refuses one that does not have a core for each rank, or that has a core outside the container's processors.
    """
    for number, place in enumerate(places, start=1):
        if not place.cores:
            continue
        if len(place.cores) != row.ranks_per_container:
            raise PlimsollError(
                f"The cell {path} gives the {row.ranks_per_container} ranks of container {number} {len(place.cores)} cores: "
                "Open MPI needs one for each rank. Nothing was measured. Please report this fault of Plimsoll."
            )
        if foreign := set(place.cores) - set(place.cpus):
            raise PlimsollError(
                f"The cell {path} binds ranks of container {number} to the cores {cpulist.format(foreign)}, which the "
                "container may not use, which Open MPI refuses. Nothing was measured. Please report this fault of Plimsoll."
            )
