"""What the configuration says of planning: for which host, and how a study is planned for it."""

from collections.abc import Iterable
from pathlib import Path

from plimsoll.config import studies, yaml_files
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import inventory, topology
from plimsoll.interchange import Plan, SecondHost, Topology
from plimsoll.planning import planner, repetitions


def host(config: dict) -> Topology:
    """The host that is planned for: the one that `host_file` describes, or this machine, with its second host."""
    if described := config.get("host_file"):
        return topology.described(yaml_files.load(Path(described), "host"))
    second = config.get("second_host")
    return {**inventory.here(), "second_host": _looked_at(second)} if second else inventory.here()


def _looked_at(name: str) -> SecondHost:
    # Here, because few configurations name one.
    from plimsoll.environments.networks import second_host

    try:
        return second_host.look(name)
    except Unavailable as problem:
        return {"name": name, "reason": f"the second host {name} cannot be used: {problem}"}


def refuse_out_of_reach(host: Topology, plans: Iterable[Plan]) -> None:
    """PlimsollError if a second host that the plans need cannot be used."""
    reason = host.get("second_host", {}).get("reason")
    if reason and any(cell["reason"] == reason for plan in plans for cell in plan["cells"].values()):
        raise PlimsollError(f"{reason[0].upper()}{reason[1:]}. Mend that, or set second_host to null in config/config.yaml.")


def plans(
    wanted: dict[str, studies.Study], config: dict, on: Topology, unavailable: dict[str, str], results: Path
) -> dict[str, Plan]:
    """The plan of each of the studies on a host, with the repetitions that earlier rounds of `make precise` asked for.

    `unavailable` says why environments are not there; `results` holds a folder for each study.
    """
    profile = studies.profile(config["profile"])
    return {
        name: planner.make(study, profile, on, config, unavailable, repetitions.asked(results / name, config["profile"]))
        for name, study in wanted.items()
    }
