"""What faults are made against: each study, cut down so that an undisturbed workflow of it takes less than a minute or so."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml
from plimsoll import designs
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.errors import PlimsollError

from tests.faults.outcome import JUDGED
from tests.project import PROJECT, Project

STUDIES = Path("config/studies")
# A disturbed run must not count: the ci profile lets everything pass. Half a processor of two is what a fault may use.
GUARD = {"share": 0.2, "seconds": 0.15}
# What every scene has.
EVERYWHERE = ("snakemake", "measuring process", "workflow", "machine")
DOCKER = ("container", "shim", "engine", "client", "image", "network")


class Scene(NamedTuple):
    """A study with what `cut` leaves of it, on the ci profile with these numbers changed in a `section` of it; `victims` are
    those that it has besides EVERYWHERE. `command` is what a user types; without one it is Snakemake with the measurements and,
    if they are `judged`, the verdicts."""

    study: str
    image: str
    cut: Callable[[dict], None]
    victims: tuple[str, ...]
    runtimes: dict[str, str]
    repetitions: int = 1
    section: str = ""
    numbers: dict = {}
    judged: bool = True
    command: tuple[str, ...] = ()

    @property
    def typed(self) -> tuple[str, ...]:
        """What a user types, word by word."""
        verdicts = (f"results/{self.study}/{JUDGED[0]}",) if self.judged else ()
        return self.command or (".venv/bin/snakemake", "--cores", "1", "measurements", *verdicts)

    def prepare(self, folder: Path) -> Project:
        """A copy of the project in a folder, with the study cut down."""
        project = Project(folder)
        (folder / ".venv").symlink_to((PROJECT / ".venv").resolve())
        for path in (folder / STUDIES).glob(f"{self.study}-*.yaml"):
            path.unlink()  # what goes on with its paper would be measured too
        _edit(folder / STUDIES / f"{self.study}.yaml", self._cut)
        _edit(folder / "config/profiles/ci.yaml", self._shorten)
        keep_claims(folder)
        local = {"studies": [self.study], "profile": "ci", "repetitions": self.repetitions, "runtimes": self.runtimes}
        (folder / "config/local.yaml").write_text(yaml.safe_dump(local))
        return project

    def _cut(self, study: dict) -> None:
        study["tables"], study["references"] = {}, study.get("references") and []
        if study["references"] is None:
            del study["references"]
        self.cut(study)
        answers = study["answer"] if isinstance(study["answer"], list) else [study["answer"]]
        for answer in answers:
            kept = [name for name in answer["metrics"] if name in study["metrics"]]
            answer["metrics"] = kept or [next(iter(study["metrics"]))]

    def _shorten(self, profile: dict) -> None:
        profile["neighbours"] = dict(GUARD)
        if self.section:
            profile[self.section].update(self.numbers)


def _edit(path: Path, change: Callable[[dict], None]) -> None:
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def keep_claims(folder: Path) -> None:
    """Leave the claims that the studies of a copy of the project can still be asked."""
    books = {path: yaml.safe_load(path.read_text()) for path in sorted((folder / "config/claims").glob("*.yaml"))}
    for path, document in books.items():
        cut = folder / STUDIES / path.name
        if cut.is_file():
            study = studies.read(cut, designs.known())
            document["claims"] = [claim for claim in document["claims"] if _fits(study, claim)] or document["claims"][:1]
    kept = {claim["id"] for document in books.values() for claim in document["claims"]}
    for path, document in books.items():
        document["claims"] = [one for one in document["claims"] if one.get("same_as") is None or one["same_as"] in kept]
        path.write_text(yaml.safe_dump(document, sort_keys=False))


def _fits(study: studies.Study, claim: dict) -> bool:
    with contextlib.suppress(PlimsollError):
        book.check_against(study, [claim])
        return True
    return False


def _liu2020(study: dict) -> None:
    whole = study["experiments"]["granularity"]
    runtimes = ["bare", "docker", "singularity", "singularity-instance"]
    levels = {"mode": ["exact"], "hardware": ["uma"], "affinity": ["any"], "runtime": runtimes}
    study["experiments"] = {"granularity": {**whole, **levels, "sections": ["randomaccess", "beff"]}}
    study["figures"] = {}


def _drawn(study: dict) -> None:
    figure = study["figures"]["fig09"]
    _liu2020(study)
    study["experiments"]["granularity"].update(runtime=["bare", "docker"], sections=["randomaccess"])
    study["figures"] = {"fig09": figure}


def _jha2021(study: dict) -> None:
    kept = ["linpack", "netperf_tcp_rr"]
    study["experiments"]["interference"].update(benchmark=kept, placement=["free"], case=["1", "2", "3a"])
    study["metrics"] = {name: one for name, one in study["metrics"].items() if one["benchmark"] in kept}
    study["figures"] = {}


def _amaral2015(study: dict) -> None:
    given = study["experiments"]
    runtimes = ["bare", "docker-nested", "vm", "vm-emulated"]
    study["experiments"] = {
        "processor": {**given["processor"], "runtime": runtimes, "instances": [1, 2, 4]},
        "creation": {**given["creation"], "runtime": ["docker", "docker-nested"], "instances": [1, 2, 4]},
        "local": {**given["local"], "ends": [["docker", "bare", "openvswitch"]]},
        "remote": {**given["remote"], "ends": [["docker", "bare", "bridge"]]},
    }
    study["figures"] = {}


def _li2018(study: dict) -> None:
    given = study["experiments"]
    study["experiments"] = {
        "communication": {**given["communication"], "runtime": ["bare", "docker"]},
        "memory": {**given["memory"], "runtime": ["vm", "vm-emulated"]},
        "storage": {**given["storage"], "runtime": ["bare", "docker"], "storage": ["own"]},
    }
    kept = [name for one in study["experiments"].values() for name in one["benchmark"]]
    study["metrics"] = {name: one for name, one in study["metrics"].items() if one["benchmark"] in kept}
    study["figures"] = {}


def _li2018_hadoop(study: dict) -> None:
    study["experiments"] = {"one_at_a_time": {**study["experiments"]["one_at_a_time"], "strategy": ["baseline"]}}
    study["figures"] = {}


def _short(study: dict) -> None:
    _liu2020(study)
    study["experiments"]["granularity"].update(runtime=["bare", "docker"])


OFF = {
    "docker-ptrace": "off",
    **dict.fromkeys(("singularity", "singularity-instance", "singularity-cgroup"), "off"),
}
OF_RANKS = ("mpirun", "rank", "instance", "instance's supervisor", "SIF", "unpacked file", "Apptainer")
SCENES = {
    "liu2020": Scene(
        "liu2020",
        "hpcc",
        _liu2020,
        (*DOCKER, *OF_RANKS),
        {"docker-ptrace": "off", "singularity-cgroup": "off", "singularity-instance": "required"},
    ),
    # What is made from records, as a user starts it.
    "liu2020, drawn": Scene(
        "liu2020",
        "hpcc",
        _drawn,
        ("command", "stage", "kernel"),
        OFF,
        command=(".venv/bin/python", "-m", "plimsoll.cli", "reproduce", "liu2020", "--profile", "ci", "--no-set-up"),
    ),
    "jha2021": Scene("jha2021", "microservices", _jha2021, (*DOCKER, "benchmark"), OFF),
    "amaral2015": Scene(
        "amaral2015",
        "nesting",
        _amaral2015,
        (*DOCKER, "benchmark", "nested engine", "guest", "switch"),
        OFF,
        section="nesting",
        numbers={"instances": 1, "machines": 1, "children": 1, "emulated": {"instances": 1, "repetitions": 1}},
    ),
    "li2018": Scene("li2018", "overhead", _li2018, (*DOCKER, "benchmark", "guest"), OFF),
    "li2018-hadoop": Scene("li2018-hadoop", "hadoop", _li2018_hadoop, (*DOCKER, "daemon", "task"), OFF),
}
# For the short form, which is a test. A run whose container lost its shim goes on to its limit. Nothing is judged, for time.
SHORT = {
    "short": Scene(
        "liu2020",
        "hpcc",
        _short,
        (*DOCKER, "mpirun", "rank", "unpacked file"),
        OFF,
        judged=False,
        section="time_limit_seconds",
        numbers={"standard": {"exact": 10, "over": 20}},
    )
}
