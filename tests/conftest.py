import contextlib
import copy
import functools
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from hypothesis import settings
from plimsoll import designs, environments
from plimsoll.config import studies
from plimsoll.host import machine_lock
from plimsoll.instruments.events import COUNTERS
from plimsoll.measuring import lock, record
from plimsoll.planning import planner

from tests.project import PROJECT, Project

# How long an example takes says nothing: other tests run beside it.
settings.register_profile("plimsoll", deadline=None)
settings.load_profile("plimsoll")

DATA = Path(__file__).parent / "data"
# The measurements that come with the project.
REFERENCE = PROJECT / "results/reference"

# What is told of the sessions of a study that has one.
ONE_SESSION = {
    "sessions": [
        {"number": 1, "began": 0.0, "apart": "", "settled": 1, "testable": 2, "runs": 3, "fresh": {}, "boot": ""},
    ],
    **{"findings": [], "counts": {}, "over": None, "metrics": []},
}


def host_of(
    sockets: int,
    cores: int,
    nodes: int | None = None,
    threads: int = 1,
    memory: int = 128 * 2**30,
    l3: int = 45 * 2**20,
) -> dict:
    """A topology as discover() gives it; sockets of `cores` cores, numbered socket by socket, siblings after all cores."""
    nodes = sockets if nodes is None else nodes
    total = sockets * cores
    cpus = []
    for thread in range(threads):
        for number in range(total):
            socket = number // cores
            siblings = [number + t * total for t in range(threads)]
            cpus.append(
                {
                    "cpu": number + thread * total,
                    "core": number,
                    "socket": socket,
                    "node": socket % nodes,
                    "siblings": siblings,
                }
            )
    return {
        "cpus": cpus,
        "sockets": sockets,
        "cores": total,
        "nodes": [
            {
                "node": n,
                "cpus": [c["cpu"] for c in cpus if c["node"] == n],
                "distances": [10],
                "memory_bytes": memory,
            }
            for n in range(nodes)
        ],
        "caches": [
            {"level": 3, "type": "Unified", "bytes": l3, "cpus": [c["cpu"] for c in cpus if c["socket"] == s]}
            for s in range(sockets)
        ],
        "memory_bytes": memory * nodes,
    }


@pytest.fixture
def paper_host() -> dict:
    """liu2020's host: two sockets of 18 cores, no SMT."""
    return host_of(2, 18)


def small() -> dict:
    """One socket of two cores, without hardware counters."""
    counted = {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}
    return {**host_of(1, 2, memory=24 * 2**30, l3=32 * 2**20), "events": {**dict.fromkeys(COUNTERS), **counted}}


@pytest.fixture
def small_host() -> dict:
    """One socket of two cores, without hardware counters."""
    return small()


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((PROJECT / "config/config.yaml").read_text())


@functools.cache
def _read(name: str) -> studies.Study:
    return studies.load(name, designs.known())


def built(name: str) -> studies.Study:
    """A study, read once and copied for each test that may change it; the test is skipped where the study was taken out with
    its design (tests/dry/test_designs.py)."""
    if name not in studies.names(studies.STUDIES):
        pytest.skip(f"{name} was taken out")
    study = _read(name)
    return studies.Study(copy.deepcopy(dict(study)), study.design)


@pytest.fixture
def liu2020() -> studies.Study:
    return built("liu2020")


@pytest.fixture
def jha2021() -> studies.Study:
    return built("jha2021")


@pytest.fixture
def planned(jha2021, config, small_host) -> dict:
    """jha2021's plan, on the quick profile."""
    return planner.make(jha2021, studies.profile("quick"), small_host, config, {})


def usual(every: Iterable, names: Iterable) -> list:
    """Parameters of a test: those that are among the `names`, and the others with LONG=1 alone."""
    known, named = list(every), list(names)
    assert set(named) <= set(known)
    return [
        one if one in named else pytest.param(*one if isinstance(one, tuple) else (one,), marks=pytest.mark.long)
        for one in known
    ]


def unlike(document: dict, kind: type) -> set[str]:
    """Keys that a document has and its kind (a TypedDict) has not, and keys that the kind requires and the document lacks."""
    return (document.keys() - kind.__annotations__.keys()) | (kind.__required_keys__ - document.keys())


def tried(**changes) -> dict:
    """An attempt at a run, with what every record says of one."""
    whole = {"started": 0.0, "raw": "raw/x/1-1", "seconds": {"run": 1.0}, "noise": {"before": {"busy_share": 0.01}}}
    return {**whole, "status": "valid", "reason": None, **changes}


def recorded(**changes) -> dict:
    """A record, with what every one has."""
    of_run = {
        "format": record.FORMAT,
        "study": "s",
        "cell": {"runtime": "bare"},
        "repetition": 1,
        "block": 1,
        "place_in_order": 1,
    }
    of_run |= {"seed": 1, "profile": "quick", "fingerprint": "f", "image": {"tag": "plimsoll/x:1", "id": "sha256:1"}}
    return {**of_run, "attempts": 1, "invalid_attempts": [], **tried(), **changes}


@pytest.fixture(scope="session")
def swept():
    """Nothing is left of killed tests. Some start containers without the mark of a measurement: no run sweeps them."""
    with machine_lock.held(lambda holder: print(f"waiting for {holder}", file=sys.__stderr__, flush=True)):
        lock.sweep(environments.known().values())


def commands(numbers: Iterable[int]) -> list[str]:
    """The command lines of processes, of those that have not ended."""
    found = []
    for number in numbers:
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


@pytest.fixture
def python() -> str:
    return sys.executable


@pytest.fixture(scope="session")
def project(tmp_path_factory) -> Project:
    """A copy of the project for tests that build on each other or leave it as it was."""
    return Project(tmp_path_factory.mktemp("clone"))


@pytest.fixture
def fresh(tmp_path) -> Project:
    """A copy of the project for one test."""
    return Project(tmp_path)
