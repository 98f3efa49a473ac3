"""What the configuration says of planning: for which host, and how a study is planned for it."""

from pathlib import Path

from plimsoll.config import studies, yaml_files
from plimsoll.host import inventory, topology
from plimsoll.interchange import Plan, Topology
from plimsoll.planning import planner, repetitions


def host(config: dict) -> Topology:
    """The host that is planned for: the one that `host_file` describes, or this machine."""
    described = config.get("host_file")
    return topology.described(yaml_files.load(Path(described), "host")) if described else inventory.here()


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
