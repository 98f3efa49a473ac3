"""Plan studies as the configuration says: choose the host, and make each study's plan for it."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from plimsoll import paths
from plimsoll.config import studies, yaml_files
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import inventory, topology
from plimsoll.interchange import ClusterHost, Plan, SecondHost, Sizes, Topology
from plimsoll.planning import planner, repetitions, sizes

# Upper limit of processors in Linux as it is usually built.
MOST_PROCESSORS = 8192
Other = TypeVar("Other", SecondHost, ClusterHost)


def host(config: dict) -> Topology:
    """Return the host to plan for: the one that `host_file` describes, or this machine.

    This machine's description has the configured second host and the other hosts of clusters. Raise PlimsollError if a
    file describes more processors than a kernel supports.
    """
    if described := config.get("host_file"):
        file = yaml_files.load(paths.configured_file(described), "host")
        if (number := file["sockets"] * file["cores_per_socket"] * file["threads_per_core"]) > MOST_PROCESSORS:
            raise PlimsollError(
                f"{described} has {number} processors, and no kernel supports more than {MOST_PROCESSORS}. Correct "
                "its sockets, cores and threads."
            )
        return topology.from_description(file)
    host = inventory.here()
    # Imported here: few configurations name another host.
    if second := config.get("second_host"):
        from plimsoll.runtimes.networks import second_host

        host["second_host"] = _looked_at("second host", second, second_host.look)
    if others := config.get("cluster_hosts"):
        from plimsoll.runtimes import docker_elsewhere

        host["cluster_hosts"] = [_looked_at("cluster's host", name, docker_elsewhere.look) for name in others]
    return host


def _looked_at(what: str, name: str, look: Callable[[str], Other]) -> Other:
    try:
        return look(name)
    except Unavailable as problem:
        return {"name": name, "reason": f"the {what} {name} cannot be used: {problem}"}


def refuse_out_of_reach(host: Topology, plans: Iterable[Plan]) -> None:
    """Raise PlimsollError if another machine that a plan needs cannot be used."""
    reasons = {cell["reason"] for plan in plans for cell in plan["cells"].values() if cell["reason"]}
    named = {"second_host to null": [host.get("second_host", {})], "cluster_hosts to []": host.get("cluster_hosts", [])}
    for remedy, others in named.items():
        for reason in (other["reason"] for other in others if other.get("reason") in reasons):
            raise PlimsollError(
                f"{reason[0].upper()}{reason[1:]}. Nothing was measured. Repair that, or set {remedy} in config/config.yaml."
            )


def plans(
    wanted: dict[str, studies.Study], config: dict, on: Topology, unavailable: dict[str, str], results: Path
) -> dict[str, Plan]:
    """Return the plan of each study on a host, by name.

    A plan has the repetitions that earlier rounds of `plimsoll precise` or stages of a time requested, and the problem sizes
    that were decided before. `unavailable` gives the reasons for unavailable runtimes; `results` has a folder for each
    study.
    """
    profile = studies.profile(config["profile"])
    made = {}
    for name, study in wanted.items():
        asked = repetitions.read_request(results / name, config["profile"])
        make = partial(_plan, study, on, config, unavailable, asked)
        made[name] = make(profile, sizes.of_study(results, study, profile, on, make))
    return made


def _plan(
    study: studies.Study,
    on: Topology,
    config: dict,
    unavailable: dict[str, str],
    asked: repetitions.RequestedRepetitions,
    profile: dict,
    known: Sizes,
) -> Plan:
    return planner.make(study, profile, {**on, "sizes": known}, config, unavailable, asked)
