"""Describe an archive as a Workflow Run RO-Crate, for programs that read RO-Crates. It has an action for each cell.

https://w3id.org/ro/wfrun/workflow/0.5 says what a crate must have. The library makes only the description: zip files
that it writes contain the moment of writing (plimsoll.features.archive.writing).
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from rocrate.model.computationalworkflow import ComputationalWorkflow
from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.model.file import File
from rocrate.rocrate import ROCrate

from plimsoll import runtimes
from plimsoll.config.studies import Study
from plimsoll.features.archive.layout import ABOUT, GIVEN, MADE, MANIFEST, records_of
from plimsoll.features.archive.run_summary import Cell, FailedAttempt, Ran
from plimsoll.features.archive.writing import MemberDigest
from plimsoll.host import inventory
from plimsoll.interchange import Host, Image, Plan, StageOfImage

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
TERMS = "https://w3id.org/ro/terms/workflow-run#"
# Terms of the profiles that RO-Crate 1.1 does not define.
OWN_TERMS = ("ContainerImage", "DockerImage", "containerImage", "environment", "sha256", "tag")
COMPLETED, FAILED = (f"http://schema.org/{name}ActionStatus" for name in ("Completed", "Failed"))
KINDS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}
# Home pages of the measured programs, by their names in the images' versions.
HOMES = {
    "Bonnie++": "https://www.coker.com.au/bonnie++/",
    "HPCC": "https://hpcchallenge.org/hpcc/",
    "Hadoop": "https://hadoop.apache.org/",
    "HardInfo": "https://github.com/lpereira/hardinfo",
    "Linpack": "https://www.openblas.net/",
    "Netperf": "https://github.com/HewlettPackard/netperf",
    "STREAM": "https://www.cs.virginia.edu/stream/",
    "iperf": "https://sourceforge.net/projects/iperf2/",
    "pi": "https://flintlib.org/",
    "sysbench": "https://github.com/akopytov/sysbench",
}
# Only the publisher of the measurements can license them.
LICENCE = (
    "What comes with Plimsoll (configuration, recipes, workflow) is under Apache-2.0. "
    "The publisher of the measurements says how they may be used."
)


class OfSession(NamedTuple):
    """A session of a study in an archive: what the study says, the plan, the description of the image, and what ran."""

    study: Study
    plan: Plan
    image: Image
    ran: Ran


def described(
    files: Mapping[str, tuple[MemberDigest, str]], folders: list[str], sessions: Mapping[str, OfSession], host: Host
) -> str:
    """Return the description of an archive, ro-crate-metadata.json. The same contents give the same description.

    - `files`: the members that are named one by one, each with size, checksum and role.
    - `folders`: folders that are named only as a whole.
    - `sessions`: the sessions, by the name of their folder.
    """
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update({name: f"{TERMS}{name}" for name in OWN_TERMS})
    cells = [cell for one in sessions.values() for cell in one.ran.values() if cell.begun is not None]
    studies = {one.study["id"]: one.study for one in sessions.values()}
    begun, ended = min((cell.begun for cell in cells), default=0.0), max((cell.ended for cell in cells), default=0.0)
    root = crate.root_dataset
    root["name"] = f"Plimsoll: {', '.join(studies)} on {host['cpu_model']}"
    titles = ", ".join(study["title"] for study in studies.values())
    root["description"] = (
        f"Measurements that reproduce {titles}, with all that they were made of and all that was made of them. README.md says "
        "how to use it without software for RO-Crates."
    )
    root["datePublished"], root["license"] = _time(ended), LICENCE
    known = [_entity(crate, link, "CreativeWork", name=name, version=number) for link, (name, number) in PROFILES.items()]
    root["conformsTo"] = known
    by_role = _add_files(crate, files)
    for folder in folders:
        crate.add_dataset(dest_path=folder, properties={"name": f"{folder}: the raw outputs of the runs"})
    crate.mainEntity = workflow = _workflow(crate, files["Snakefile"][0])
    machine = _machine(crate, host)
    done = crate.add(
        ContextEntity(
            crate,
            "#run",
            properties={
                **_action(f"Plimsoll's workflow, {', '.join(studies)}", begun, ended),
                "description": "All of it: measuring, statistics, verdicts, figures and pages.",
            },
        )
    )
    done["instrument"], done["environment"] = workflow, machine
    done["object"], done["result"] = by_role[GIVEN] + _asked(crate, sessions), by_role[MADE]
    actions = [action for folder, one in sessions.items() for action in _actions(crate, folder, one)]
    root["mentions"] = [done, *actions, crate.get("#host")]
    return json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _entity(crate: ROCrate, identifier: str, kind: str, **properties: object) -> Entity:
    """Add an entity that is no file to the crate, with these properties: texts, or other entities."""
    entity = crate.add(ContextEntity(crate, identifier, properties={"@type": kind}))
    for name, value in properties.items():
        entity[name] = value
    return entity


def _add_files(crate: ROCrate, files: Mapping[str, tuple[MemberDigest, str]]) -> dict[str, list[File]]:
    """Add all files except the workflow's to the crate. Return them by role."""
    added: dict[str, list[File]] = {GIVEN: [], MADE: [], ABOUT: []}
    for name, (said, role) in files.items():
        if name != "Snakefile":
            added[role].append(crate.add_file(dest_path=name, properties=_of_file(name, said)))
    crate.add_file(dest_path=MANIFEST, properties={"name": MANIFEST, "encodingFormat": KINDS[".json"]})
    return added


def _of_file(name: str, digest: MemberDigest) -> dict:
    kind = KINDS.get(PurePosixPath(name).suffix)
    return {
        "name": name,
        "contentSize": str(digest.bytes),
        "sha256": digest.sha256,
        **({"encodingFormat": kind} if kind else {}),
    }


def _workflow(crate: ROCrate, digest: MemberDigest) -> Entity:
    language = _entity(
        crate,
        "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
        "ComputerLanguage",
        name="Snakemake",
        url="https://snakemake.readthedocs.io",
        version=version("snakemake"),
    )
    own = {"@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"], **_of_file("Snakefile", digest)}
    own |= {"name": "Plimsoll's workflow", "version": version("plimsoll")}
    workflow = crate.add(ComputationalWorkflow(crate, dest_path="Snakefile", properties=own))
    workflow["programmingLanguage"] = language
    return workflow


def _machine(crate: ROCrate, host: Host) -> list[Entity]:
    """Return the facts about the host, each as an entity of its own."""
    rows = [line.partition("  ") for line in inventory.table(host).splitlines()]
    values = [
        _entity(crate, f"#host-{number}", "PropertyValue", name=name, value=value.strip())
        for number, (name, _, value) in enumerate(rows, 1)
    ]
    _entity(crate, "#host", "IndividualProduct", name=f"the host, {host['cpu_model']}", additionalProperty=values)
    return values


def _asked(crate: ROCrate, sessions: Mapping[str, OfSession]) -> list[Entity]:
    """Return the settings that the plans were made with: profile, seed and repetitions of each session."""
    return [
        _entity(crate, f"#{_short(folder)}-{key}", "PropertyValue", name=f"{_short(folder)}: {key}", value=str(one.plan[key]))
        for folder, one in sessions.items()
        for key in ("profile", "seed", "repetitions")
    ]


def _short(folder: str) -> str:
    """Return a session's name for people: its study and, for an earlier session, its number."""
    return folder.removeprefix("results/").removeprefix("sessions/")


def _action(name: str, begun: float | None, ended: float | None, error: str | None = None) -> dict:
    done = {"@type": "CreateAction", "name": name}
    if begun is not None and ended is not None:
        done |= {"startTime": _time(begun), "endTime": _time(ended)}
    return {**done, "actionStatus": FAILED, "error": error} if error else {**done, "actionStatus": COMPLETED}


def _actions(crate: ROCrate, folder: str, one: OfSession) -> list[Entity]:
    """Return an action for each cell of a session, and for each attempt at it that failed."""
    made, name = [], _short(folder)
    files = {"object": [crate.get(f"config/studies/{one.study['id']}.yaml"), crate.get(f"{folder}/plan.json")]}
    files["result"] = [crate.get(records_of(folder))]
    for cell in one.ran.values():
        programs = _programs(crate, one, cell)
        said = f"{len(cell.statuses)} runs: {', '.join(_counted(cell.statuses))}"
        error = None if cell.counted else (cell.failed[-1].error if cell.failed else "no record of it can be read")
        whole = _action(f"{name}: {cell.path}", cell.begun, cell.ended, error)
        attempts = [(f.name, {**_action(f"{name}: {f.name}", f.begun, f.ended, f.error)}, _of_attempt(f)) for f in cell.failed]
        for path, properties, words in [(cell.path, whole, said), *attempts]:
            action = crate.add(ContextEntity(crate, f"#{name}/{quote(path, safe='/+')}", properties=properties))
            action["description"], action["instrument"] = words, programs
            for key, values in files.items():
                action[key] = values
            if image := _image(crate, one, cell):
                action["containerImage"] = image
            made.append(action)
    return made


def _counted(statuses: list[str]) -> list[str]:
    return [f"{statuses.count(one)} {one}" for one in dict.fromkeys(statuses)]


def _of_attempt(failed: FailedAttempt) -> str:
    return f"An attempt that did not count: {failed.error}"


def _programs(crate: ROCrate, one: OfSession, cell: Cell) -> list[Entity]:
    """Return the programs that a cell measures, or the workflow itself if it measures no program."""
    planned = one.plan["cells"].get(cell.path)
    names = one.study.design.cells.programs(one.plan, planned) if planned else []
    # If the image was replaced since, the versions in it are unknown.
    versions = one.image["versions"] if cell.image and cell.image["id"] == one.image["id"] else {}
    return [_program(crate, name, versions.get(name, "not known")) for name in names] or [crate.mainEntity]


def _program(crate: ROCrate, name: str, number: str) -> Entity:
    home = HOMES.get(name)
    identifier = f"{home}#{quote(number)}" if home else f"#program-{quote(name)}-{quote(number)}"
    if there := crate.get(identifier):
        return there
    known = {"name": name, "softwareVersion": number, **({"url": home} if home else {})}
    return _entity(crate, identifier, "SoftwareApplication", **known)


def _image(crate: ROCrate, one: OfSession, cell: Cell) -> Entity | None:
    """Return the image whose files ran; None for bare metal."""
    planned = one.plan["cells"].get(cell.path)
    if planned is None or cell.image is None:
        return None
    runtime = runtimes.known().get(planned["runtime"])
    bare = runtime and not runtime.has_containers and not runtime.own_kernels
    return None if bare else _container_image(crate, cell.image)


def _container_image(crate: ROCrate, image: StageOfImage) -> Entity:
    identifier = f"#image-{image['id'].removeprefix('sha256:')}"
    if there := crate.get(identifier):
        return there
    name, _, tag = image["tag"].partition(":")
    made = _entity(crate, identifier, "ContainerImage", name=name, tag=tag, sha256=image["id"].removeprefix("sha256:"))
    made["additionalType"] = {"@id": f"{TERMS}DockerImage"}
    return made
