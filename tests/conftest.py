import contextlib
import copy
import functools
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from hypothesis import settings
from plimsoll import designs, runtimes
from plimsoll.config import studies
from plimsoll.host import machine_lock, processes
from plimsoll.instruments.events import COUNTERS
from plimsoll.measuring import lock, record
from plimsoll.planning import planner

from tests.project import PROJECT, Project

# No deadline for an example: its duration says nothing, because other tests run at the same time.
settings.register_profile("plimsoll", deadline=None)
settings.load_profile("plimsoll")

DATA = Path(__file__).parent / "data"
# Reference measurements that come with the project.
REFERENCE = PROJECT / "results/reference"

# What `verdict_page.render` takes as `told` for a study that has one session.
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
    """Return a topology like that of discover(). Sockets have `cores` cores each, numbered socket by socket; siblings
    follow all cores."""
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
    """Host of liu2020: two sockets of 18 cores, no SMT."""
    return host_of(2, 18)


def small() -> dict:
    """Return a host with one socket of two cores and without hardware counters."""
    counted = {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}
    return {**host_of(1, 2, memory=24 * 2**30, l3=32 * 2**20), "events": {**dict.fromkeys(COUNTERS), **counted}}


@pytest.fixture
def small_host() -> dict:
    """Host with one socket of two cores and without hardware counters."""
    return small()


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((PROJECT / "config/config.yaml").read_text())


@functools.cache
def _read(name: str) -> studies.Study:
    return studies.load(name, designs.known())


def built(name: str) -> studies.Study:
    """Return a copy of a study that the test may change. Skip the test if the study was removed with its design
    (tests/dry/test_designs.py)."""
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
    """Plan of jha2021 on the quick profile."""
    return planner.make(jha2021, studies.profile("quick"), small_host, config, {})


def usual(every: Iterable, names: Iterable) -> list:
    """Return `every` as parameters of a test. Those that are not among the `names` run only with LONG=1."""
    known, named = list(every), list(names)
    assert set(named) <= set(known)
    return [
        one if one in named else pytest.param(*one if isinstance(one, tuple) else (one,), marks=pytest.mark.long)
        for one in known
    ]


def of_each_design(place: int) -> list:
    """Return all studies as parameters of a test. Those that are not at this place among the studies of their design run only
    with LONG=1: the others run the same code."""
    by_design: dict[str, list[str]] = {}
    for name in studies.names(studies.STUDIES):
        design = re.search(r"^design: (.+)$", (studies.STUDIES / f"{name}.yaml").read_text(), re.MULTILINE)
        by_design.setdefault(design[1], []).append(name)
    return usual(studies.names(studies.STUDIES), [names[place] for names in by_design.values()])


def unlike(document: dict, kind: type) -> set[str]:
    """Return the keys that a document has but its TypedDict `kind` does not, and the keys that the kind requires but it
    lacks."""
    return (document.keys() - kind.__annotations__.keys()) | (kind.__required_keys__ - document.keys())


def tried(**changes) -> dict:
    """Return an attempt at a run, with the keys that every record has for one."""
    whole = {"started": 0.0, "raw": "raw/x/1-1", "seconds": {"run": 1.0}, "noise": {"before": {"busy_share": 0.01}}}
    return {**whole, "status": "valid", "reason": None, **changes}


def recorded(**changes) -> dict:
    """Return a record, with the keys that every record has."""
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
    """Sweep what killed tests left. Some tests start containers without the marker of a measurement, so no run sweeps those."""
    with machine_lock.hold(lambda holder: print(f"waiting for {holder}", file=sys.__stderr__, flush=True)):
        lock.sweep(runtimes.known().values())


def begun(words: list[str], **options) -> subprocess.Popen:
    """Start a program that has variables, and return its process once they and its words can be read.

    Popen returns while the kernel is still filling them in: about every tenth process shows no variables at first.
    """
    process = subprocess.Popen(words, **options)
    while not processes.environment(process.pid):
        assert process.poll() is None
    return process


def commands(numbers: Iterable[int]) -> list[str]:
    """Return the command lines of the processes with these numbers that have not ended."""
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
    """Copy of the project for tests that build on each other or leave it unchanged."""
    return Project(tmp_path_factory.mktemp("clone"))


@pytest.fixture
def fresh(tmp_path) -> Project:
    """Copy of the project for one test."""
    return Project(tmp_path)
