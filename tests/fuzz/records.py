"""Readers of the workflow's own documents: records, plans, and the files beside them."""

import contextlib
import functools
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pandas as pd
from plimsoll import designs, workloads
from plimsoll.analysis import collect, complete
from plimsoll.config import configuration, studies
from plimsoll.errors import PlimsollError
from plimsoll.features.image_file import portable
from plimsoll.host import sizing
from plimsoll.images import builder, store
from plimsoll.measuring import plan_file, progress, record, staleness, system
from plimsoll.pages import run_list
from plimsoll.planning import forecasts, planner, repetitions, sizes
from plimsoll.workloads.base import Application

from tests.conftest import DATA, host_of
from tests.fuzz.documents import OF_JSON
from tests.fuzz.mutations import OF_TEXT
from tests.fuzz.reader import Reader
from tests.fuzz.scratch import folder, put

OF_BOTH = (*OF_TEXT, *OF_JSON)
RECORDS = DATA / "records"
REFUSALS = (PlimsollError,)


@functools.cache
def study(name: str) -> studies.Study:
    """Return a study, which is read once."""
    return studies.load(name, designs.known())


@functools.cache
def config() -> dict:
    """Return the configuration without changes."""
    return configuration.read([], local=Path("/nonexistent"))


def plan_of(name: str, profile: str = "ci") -> dict:
    """Return a study's plan for a small host."""
    asked = {**config(), "profile": profile}
    return planner.make(study(name), studies.profile(profile), host_of(1, 2, memory=24 * 2**30), asked, {})


@functools.cache
def _plan(name: str) -> dict:
    return plan_of(name)


def _kept(document: dict) -> bytes:
    """Return a record as it is written to a file."""
    record.keep(put("record.json", b""), document)
    return (folder() / "record.json").read_bytes()


def _sample(name: str) -> dict:
    return json.loads((RECORDS / f"{name}.json").read_text())


def _record(name: str) -> Reader:
    """Return a reader of a study's record with its checksum, as the stages after measuring read it."""
    document = _sample(name)
    cell = document["cell"]["path"]
    number = document["repetition"]

    def read(data: bytes) -> tuple[pd.DataFrame, pd.DataFrame]:
        path = put(f"runs/{cell}/{number}.json", data)
        staleness.look(path)
        plan = {"cells": {cell: {**document["cell"], "reason": None}}, "factors": study(name).design.factors.FACTORS}
        observations, runs = collect.collect_some(folder() / "runs", plan, study(name), [(cell, number)], None)
        observations.to_csv(folder() / "observations.csv", index=False)
        runs.to_csv(folder() / "runs.csv", index=False)
        run_list.rows_of(runs, plan, folder() / "runs")
        if runs["status"].iloc[0] == "damaged":
            raise record.DamagedFile(str(runs["reason"].iloc[0]))
        return observations, runs

    def values(found: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, float]:
        rows = found[0].assign(number=lambda table: table.groupby("metric").cumcount())
        return {f"{row.metric}.{row.number}": row.value for row in rows.itertuples()}

    whole = _kept(document)
    return Reader(f"record of {name}", (whole,), read, REFUSALS, OF_BOTH, values, may_be_zero=True, share=3000)


def _older(name: str) -> Reader:
    """Return a reader of a record without a checksum. A number in it may be wrong, but nothing more."""
    checked = _record(name)
    text = json.dumps(_sample(name), indent=1).encode() + b"\n"
    return Reader(f"older record of {name}", (text,), checked.read, REFUSALS, OF_BOTH, share=2000)


def _kept_of(data: bytes) -> object:
    """Read a record as the measuring of its run does."""
    document = _sample("amaral2015")
    shutil.rmtree(folder() / "study", ignore_errors=True)
    target = put("study/runs/x/1.json", data)
    put(f"study/archive/{document['fingerprint']}/1-1.json", data)
    with contextlib.redirect_stderr(io.StringIO()):
        kept, before = staleness.usable_record(folder() / "study", document["cell"], 1, target, 2)
    if before:
        record.keep(folder() / "again.json", {**before, "invalid_attempts": staleness.attempts_of(before)})
    inside = {path.parent.parent.name for path in (folder() / "study").rglob("*.json")}
    assert inside <= {"study", "runs", "archive"}, inside
    return kept


def _plan_of_stage(name: str) -> Reader:
    text = json.dumps(_plan(name), indent=1).encode()

    def read(data: bytes) -> dict:
        plan = plan_file.read(put("plan.json", data), study(name).design.factors)
        planner.summary(plan)
        complete.check(plan, [{**plan["cells"][path], "status": "valid", "reason": ""} for path, _ in plan["order"]])
        return plan

    return Reader(f"plan of {name}", (text,), read, REFUSALS, OF_BOTH, share=1000, seconds=10.0)


def _plan_of_run(data: bytes) -> dict:
    plan = _plan("li2018-hadoop")
    cell, repetition = plan["order"][0]
    path = put("plan.json", data)
    found = plan_file.of_run(path, cell, repetition)
    plan_file.refuse_misfits(path, found, [cell], study("li2018-hadoop").design.factors.CELL)
    return found["order"].index([cell, repetition])


class _Runtime:
    name = "bare"

    def versions(self) -> dict[str, str]:
        return {"x": "1"}

    def programs(self) -> tuple[str, ...]:
        return ("true",)


def _system(data: bytes) -> str:
    put("of/system.json", data)
    put("of/runs/x/1.json", b"{}")
    return system.identity(folder() / "of", _Runtime())


def _systems() -> bytes:
    where = folder() / "noted"
    where.mkdir(exist_ok=True)
    system.note(where, [_Runtime()])
    return (where / "system.json").read_bytes()


REPETITIONS = {
    "profile": "quick",
    "cells": {"docker/baseline": 5, "docker/buffer": 7},
    "exact": True,
    "hours": {"stage": "second", "given": [1.0, 2.0], "before": 12.5, "chosen": ["liu2020-c01"]},
}


def _repetitions(data: bytes) -> object:
    put("repetitions.json", data)
    asked = repetitions.read_request(folder(), "quick")
    stages = (repetitions.noted(folder(), "quick") or {}).get("hours", {})
    made = {**config(), "profile": "quick"}
    host = host_of(1, 2, memory=24 * 2**30)
    planner.make(study("li2018-hadoop"), studies.profile("quick"), host, made, {}, asked)
    return sum(stages.get("given", []))


def _host() -> dict:
    return {**host_of(1, 2, memory=2**30), "events": {}}


def _sizes(data: bytes) -> object:
    """Read saved sizes as planning does, and return the problem size of a section that follows from them."""
    put("noted/liu2020/sizes.json", data)
    profile = studies.profile("ci")
    found = sizes.of_study(folder() / "noted", study("liu2020"), profile, _host(), lambda *_: _plan("liu2020"))
    benchmark = workloads.find("hpcc", Application)
    return benchmark.parameters("stream", profile, "standard", 2, found["node_bytes"], found["cache_bytes"])["order"]


FORECASTS = [
    {
        "made": 1795000000.0,
        "hours": hours,
        "settled": settled,
        "testable": 50,
        "forecasts": [{"hours": 3, "settled": 20}, {"hours": 10, "settled": 30}],
        "never": ["liu2020-c01", "liu2020-c02"],
    }
    for hours, settled in ((1.0, 12), (3.0, 18))
]


def _forecasts(data: bytes) -> object:
    put("forecasts.json", data)
    made = forecasts.read(folder())
    return forecasts.rows(made), forecasts.sentence("liu2020", made) if made else ""


QUEUE = ["docker/baseline/1", "docker/buffer/1", "docker/buffer/2"]
DONE = [["docker/baseline/1", 12.5, 1795000010.0, "valid", 1], ["docker/buffer/1", None, 1795000020.0, None, 0]]


def _queue(data: bytes) -> object:
    put("queue.json", data)
    put("done.jsonl", "".join(json.dumps(row) + "\n" for row in DONE).encode())
    return _progress()


def _done(data: bytes) -> object:
    put("queue.json", json.dumps(QUEUE).encode())
    put("done.jsonl", data)
    return _progress()


def _progress() -> object:
    """Return what the lines on the terminal are made of; None if no run was measured."""
    progress.waiting(folder())
    queue, done = progress._read(folder())
    told = {"status": "valid", "attempts": 1, "reason": None, "invalid_attempts": []}
    done = [row for row in done if row[1] is not None]
    return (progress.describe(queue, done, told), progress.total(done)) if done else None


IMAGE = {
    **{"tag": "plimsoll/hpcc:0123456789abcdef", "id": f"sha256:{'0' * 64}", "versions": {"Open MPI": "4.1.4"}},
    **{"files": {"opt/plimsoll/bin/hpcc": {"sha256": "1" * 64, "build_id": "2" * 40}}, "bits": {"hpcc": "3" * 64}},
    "stages": {"parent": {"tag": "plimsoll/hpcc-parent:0123456789abcdef", "id": f"sha256:{'4' * 64}"}},
}


def _image(data: bytes) -> object:
    image = plan_file.image(put("image.json", data))
    store.read_description(folder() / "image.json")
    return store.folder_of(image).relative_to(store.paths.image_store()), store.parts(image)


@contextlib.contextmanager
def _own_store() -> Iterator[None]:
    """Use a separate store of images."""
    with mock.patch.dict(os.environ, PLIMSOLL_IMAGES=str(folder() / "images")):
        yield


def _tag() -> str:
    return f"plimsoll/hpcc:{builder.identity('hpcc', 'bootstrap')}"


def _described() -> bytes:
    return json.dumps({**IMAGE, "tag": _tag()}).encode()


def _manifest() -> dict:
    described = _described()
    file = {"sha256": hashlib.sha256(described).hexdigest(), "bytes": len(described)}
    return {"format": 1, "images": [{"name": "hpcc", "tag": _tag(), "id": IMAGE["id"], "files": {"image.json": file}}]}


def _archive(manifest: bytes) -> bytes:
    """Return a file of one small image with this manifest."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, content in ((portable.MANIFEST, manifest), (f"{_tag()[9:].replace(':', '-')}/image.json", _described())):
            described = tarfile.TarInfo(name)
            described.size = len(content)
            archive.addfile(described, io.BytesIO(content))
    return packed.getvalue()


def _images_file(data: bytes) -> object:
    return _images_archive(_archive(data))


def _images_archive(data: bytes) -> object:
    with _own_store():
        (folder() / "images").mkdir(exist_ok=True)
        taken = portable.take(put("images.tar.gz", data), "bootstrap")
        left = [path.name for path in (folder() / "images").glob(".*") if path.name != store.LOCK]
        assert left == [], left
        return taken


def _table(data: bytes) -> object:
    return collect.table(put("observations.csv", data), ("runtime", "strategy"))


TABLE = (DATA.parents[1] / "results/reference/li2018-hadoop/observations.csv").read_bytes()[:3000]
NAMES = ("amaral2015", "plimsoll2026")

READERS = (
    *map(_record, NAMES),
    *map(_older, NAMES),
    Reader("record of a run", (_kept(_sample("amaral2015")),), _kept_of, REFUSALS, OF_BOTH),
    *map(_plan_of_stage, ("li2018-hadoop", "li2018")),
    Reader("plan of a run", (json.dumps(_plan("li2018-hadoop")).encode(),), _plan_of_run, REFUSALS, OF_BOTH, share=1000),
    Reader("system", (_systems(),), _system, REFUSALS, OF_BOTH, share=500),
    Reader("repetitions", (json.dumps(REPETITIONS, indent=1).encode(),), _repetitions, REFUSALS, OF_BOTH, share=1000),
    Reader("sizes", (json.dumps(sizing.present(_host())).encode(),), _sizes, REFUSALS, OF_BOTH, share=500),
    Reader("forecasts", (json.dumps(FORECASTS, indent=1).encode(),), _forecasts, REFUSALS, OF_BOTH),
    Reader("queue", (json.dumps(QUEUE, indent=1).encode(),), _queue, REFUSALS, OF_BOTH),
    Reader("crossed off", ("".join(json.dumps(row) + "\n" for row in DONE).encode(),), _done, REFUSALS, OF_BOTH),
    Reader("image", (json.dumps(IMAGE, indent=1).encode(),), _image, REFUSALS, OF_BOTH),
    Reader("images' manifest", (json.dumps(_manifest(), indent=1).encode(),), _images_file, REFUSALS, OF_BOTH, share=1000),
    Reader("images' archive", (_archive(json.dumps(_manifest()).encode()),), _images_archive, REFUSALS, OF_TEXT, share=1000),
    Reader("table", (TABLE,), _table, REFUSALS, share=1000),
)
