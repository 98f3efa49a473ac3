"""Checks of the names in a study of nesting and in its claims."""

from pathlib import Path

from plimsoll import design, runtimes
from plimsoll.claims import book
from plimsoll.designs.nesting.factors import (
    BARE,
    CHILD_NETWORK,
    CPU,
    ENVIRONMENT,
    EVERY,
    MOST,
    NETWORK,
    NETWORKS,
    ONE,
    PARENT_NETWORK,
    TASKS,
    TWO,
    WIRED,
    WORDS,
    Factors,
)
from plimsoll.errors import PlimsollError
from plimsoll.figures import sources


class Check(design.Check):
    """Checks of a study of nesting."""

    NAMED = (*Factors.FACTORS, ENVIRONMENT, PARENT_NETWORK, CHILD_NETWORK, "total")

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check the runtimes, ends of networks, experiments, metrics and charts that a study names.

        Call `refer` with each name and the names that are known; it raises PlimsollError for an unknown one. Raise
        PlimsollError too in three more cases:

        - an experiment needs a runtime that creates containers one by one, and its runtime does not;
        - two ends cannot be on their network;
        - a figure does not fit its chart.
        """
        known = sorted(runtimes.known())
        for name, experiment in study["experiments"].items():
            if experiment["task"] == NETWORK:
                _ends(experiment["ends"], f"experiments.{name}.ends", source, refer)
                continue
            refer(f"experiments.{name}.runtime", experiment["runtime"], known)
            for runtime in experiment["runtime"]:
                if experiment["task"] != CPU and not hasattr(runtimes.find(runtime), "foreground"):
                    raise PlimsollError(
                        f"{source}: experiments.{name}.runtime: {runtime} does not create containers one by one. Name another."
                    )
        ends = [end for one in study["experiments"].values() for end in one.get("ends", [])]
        measured = [runtime for one in study["experiments"].values() for runtime in one.get("runtime", [])]
        measured += [runtime for client, server, _ in ends for runtime in (client, server)] + ([WIRED] if ends else [])
        refer("asks", study.get("asks", []), measured)
        for kind in ("figures", "tables"):
            for name, item in study.get(kind, {}).items():
                refer(f"{kind}.{name}.experiment", [item["experiment"], *item.get("beside", [])], list(study["experiments"]))
                refer(f"{kind}.{name}.metrics", item["metrics"], list(study["metrics"]))
        sources.check(study, source, Path(__file__).with_name("charts"), refer)

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the tasks, runtimes, networks and numbers that a claim names, or the words for them.

        Call `refer` with each name and the names that are known; it raises PlimsollError for an unknown one.
        """
        numbers = {
            key: sorted({str(number) for one in study["experiments"].values() for number in one.get(key, [1])}, key=int)
            for key in ("instances", "children")
        }
        for side, levels in book.levels_of(claim):
            refer(f"{side}.task", levels.get("task", []), list(TASKS))
            for key in ("runtime", "server", ENVIRONMENT):
                refer(f"{side}.{key}", levels.get(key, []), sorted(runtimes.known()))
            for key in ("network", PARENT_NETWORK, CHILD_NETWORK):
                parts = [part for level in levels.get(key, []) for part in level.split("+")]
                refer(f"{side}.{key}", parts, list(NETWORKS))
            refer(f"{side}.hosts", levels.get("hosts", []), [ONE, TWO])
            refer(f"{side}.instances", levels.get("instances", []), [*numbers["instances"], *WORDS, EVERY])
            refer(f"{side}.children", levels.get("children", []), [*numbers["children"], EVERY])
            refer(f"{side}.total", levels.get("total", []), ["256", MOST])


def _ends(ends: list[list[str]], key: str, source: str, refer: design.Refer) -> None:
    """Check the runtimes and the network of each [client, server, network].

    Raise PlimsollError if a runtime or a network is unknown, or if these ends cannot be on this network.
    """
    for client, server, network in ends:
        refer(key, [client, server], sorted(runtimes.known()))
        nested = any(runtimes.find(end).nested for end in (client, server))
        if network == "host" and any(runtimes.find(end).own_kernels for end in (client, server)):
            raise PlimsollError(
                f"{source}: {key}: {client}, {server}: a virtual machine cannot be on the host's network. Name another network."
            )
        refer(key, network.split("+"), list(NETWORKS))
        if len(network.split("+")) != 1 + nested:
            wanted = "its parent's and its own (host+bridge)" if nested else "one network"
            raise PlimsollError(f"{source}: {key}: {client}, {server}: '{network}' must name {wanted}.")
        if runtimes.find(server).nested and network != "bridge+host":
            raise PlimsollError(
                f"{source}: {key}: {client}, {server}: a nested server must be on its parent's network, and that on a bridge "
                f"(bridge+host), not on '{network}'. Nothing outside reaches it on another network."
            )
        if {client, server} == {BARE} and network != "host":
            raise PlimsollError(
                f"{source}: {key}: {client}, {server}: bare metal is on the network 'host', not on '{network}'. Write host."
            )
