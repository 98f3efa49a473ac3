"""Readers of what users write: studies, claims, profiles, hosts, the configuration.

A document that passes its checks can also be planned.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from plimsoll import designs
from plimsoll.claims import book, evaluate
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.errors import PlimsollError
from plimsoll.features.hosts import named_hosts
from plimsoll.planning import availability, planner, study_plans

from tests.conftest import PROJECT, host_of
from tests.fuzz.documents import OF_YAML
from tests.fuzz.mutations import OF_TEXT
from tests.fuzz.reader import Reader
from tests.fuzz.records import config, study
from tests.fuzz.scratch import folder, put

OF_BOTH = (*OF_TEXT, *OF_YAML, *OF_YAML)
REFUSALS = (PlimsollError,)
CONFIG = PROJECT / "config"
ALL_ON = "optional"
# Planning and judging some of these takes a second, so that they get fewer inputs.
LARGE, LARGE_STUDIES, LARGE_CLAIMS = 100, ("liu2020", "jha2021"), ("liu2020", "jha2021", "jha2018", "amaral2015")


@contextmanager
def _instead(module: object, name: str, value: object) -> Iterator[None]:
    """Set a module's constant to another value."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@functools.cache
def _host() -> dict:
    return host_of(2, 4, memory=24 * 2**30)


def _planned(loaded: studies.Study, profile: dict, host: dict | None = None) -> dict:
    """Return a study's plan with all runtimes switched on, after its summary and its figures' runs were read."""
    asked = {**config(), "profile": "ci", "runtimes": dict.fromkeys(config()["runtimes"], ALL_ON)}
    plan = planner.make(loaded, profile, host or _host(), asked, {})
    planner.summary(plan)
    for name in loaded["figures"]:
        availability.figure_runs(plan, loaded, name)
    return plan


@functools.cache
def _profile() -> dict:
    return studies.profile("ci")


def _study(name: str) -> Reader:
    def read(data: bytes) -> object:
        loaded = studies.read(put(f"studies/{name}.yaml", data), designs.known())
        return _planned(loaded, _profile())

    sample, share = (CONFIG / f"studies/{name}.yaml").read_bytes(), LARGE if name in LARGE_STUDIES else 400
    return Reader(f"study {name}", (sample,), read, REFUSALS, OF_BOTH, share=share, seconds=60)


@functools.cache
def _plan(name: str) -> dict:
    return _planned(study(name), _profile())


def _claims(name: str) -> Reader:
    def read(data: bytes) -> object:
        put(f"claims/{name}.yaml", data)
        book._read.cache_clear()
        try:
            with _instead(book, "CLAIMS", folder() / "claims"):
                claims = book.load(name)
                book.check_against(study(name), claims)
                plan = _plan(name)
                nothing = pd.DataFrame(columns=["metric", *plan["factors"], "value", "repetition", "censored"])
                return evaluate.evaluate(claims, StudyObservations(study(name), plan, nothing, pd.DataFrame()), 0.05)
        finally:
            book._read.cache_clear()

    sample, share = (CONFIG / f"claims/{name}.yaml").read_bytes(), LARGE if name in LARGE_CLAIMS else 400
    return Reader(f"claims {name}", (sample,), read, REFUSALS, OF_BOTH, share=share, seconds=60)


def _read_profile(data: bytes) -> object:
    put("profiles/ci.yaml", data)
    with _instead(studies, "PROFILES", folder() / "profiles"):
        profile = studies.profile("ci")
    return [_planned(study(name), profile) for name in ("plimsoll2026", "jha2018", "amaral2015", "li2018", "li2018-hadoop")]


def _read_host(data: bytes) -> object:
    path = put("host.yaml", data)
    host = study_plans.host({"host_file": str(path)})
    return [_planned(study(name), _profile(), host) for name in ("plimsoll2026", "amaral2015", "li2018-hadoop")]


def _read_config(data: bytes) -> object:
    return configuration.read(["profile=ci"], put("config.yaml", data), Path("/nonexistent"))


def _read_local(data: bytes) -> object:
    return configuration.read(["profile=ci"], CONFIG / "config.yaml", put("local.yaml", data))


def _read_cluster(data: bytes) -> object:
    found = named_hosts.read(yaml_files.keys_of(put("cluster.yaml", data)))
    return [found.command(name) for name in found.named], found.pairs, found.image_settings


def _read_setting(data: bytes) -> object:
    text = data.decode(errors="surrogateescape")
    return configuration.read([text], CONFIG / "config.yaml", Path("/nonexistent"))


def _read_contents(data: bytes) -> object:
    return yaml_files.load(put("contents.yaml", data), "contents")


SETTINGS = (
    b"profile=paper",
    b"runtimes={docker: off, vm: optional}",
    b"repetitions=5",
    b"second_host=user@host",
    b"studies=all",
)
LOCAL = b"profile: quick\nstudies: [liu2020]\nruntimes: {docker: off, vm: optional}\nsecond_host: user@host\n"
CLUSTERS = tuple(
    (CONFIG / "cluster.yaml").read_bytes().replace(b"hosts: []", b"hosts: " + given)
    for given in (b"[n1, {name: n2, minutes: 600, cpus: 4}]", b"[{name: epyc, ssh: user@host, folder: there}]")
)
CONTENTS = (CONFIG.parent / "containers/hpcc/contents.yaml").read_bytes()

THERE = studies.names(studies.STUDIES)
READERS = (
    # A design may have been removed, with its studies.
    *map(_study, THERE),
    *map(_claims, THERE),
    Reader("profile", ((CONFIG / "profiles/ci.yaml").read_bytes(),), _read_profile, REFUSALS, OF_BOTH, share=500, seconds=30),
    Reader(
        "host",
        tuple(path.read_bytes() for path in sorted((CONFIG / "hosts").glob("*.yaml"))),
        _read_host,
        REFUSALS,
        OF_BOTH,
        share=500,
        seconds=30,
    ),
    Reader("configuration", ((CONFIG / "config.yaml").read_bytes(),), _read_config, REFUSALS, OF_BOTH, share=2000),
    Reader("configuration of a machine", (LOCAL,), _read_local, REFUSALS, OF_BOTH, share=1000),
    Reader("cluster", CLUSTERS, _read_cluster, REFUSALS, OF_BOTH, share=500, seconds=10),
    Reader("setting", SETTINGS, _read_setting, REFUSALS, OF_BOTH, share=1000),
    Reader("contents of an image", (CONTENTS,), _read_contents, REFUSALS, OF_BOTH, share=1000),
)
