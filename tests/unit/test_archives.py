"""Archives: what they contain, how they are written, and which are refused."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from plimsoll import designs, paths
from plimsoll.claims import findings, verdicts
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.features.archive import (
    archive_members,
    code_identity,
    crate,
    layout,
    opening,
    packing,
    reading,
    rebuild,
    records,
    references,
    writing,
)
from plimsoll.measuring import record
from plimsoll.result_sets import sets

from tests import made_up
from tests.conftest import PROJECT, REFERENCE, built

STUDY = "plimsoll2026"
FOLDER = f"results/{STUDY}"
RECORDS, PLAN = layout.records_of(FOLDER), f"{FOLDER}/plan.json"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Made-up results of one study: its records, one of them damaged, without anything that is made from them."""
    from tests.conftest import host_of

    folder = tmp_path_factory.mktemp("measured") / "results"
    study = built(STUDY)
    made_up.write(folder / STUDY, study, made_up.plan_of(study, host_of(1, 2, memory=24 * 2**30)))
    damaged = sorted((folder / STUDY / "runs").rglob("*.json"))[5]
    damaged.write_bytes(damaged.read_bytes()[:300] + b"\xff")
    raw = folder / STUDY / "raw/a/1-1"
    raw.mkdir(parents=True)
    (raw / "stdout.txt").write_text("it said this\n")
    (raw / "elsewhere").symlink_to("/etc/passwd")
    return folder


@pytest.fixture(scope="module")
def archive(results, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "measured.zip"
    assert pack(results, target)
    return target


def pack(results: Path, target: Path, **more) -> bool:
    return packing.pack(archive_members.measured_sessions({STUDY: built(STUDY)}, results), results, target, **more)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def put(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return path


def stating(contents: dict[str, bytes], **changes: object) -> dict[str, bytes]:
    """Return members with a manifest that has their checksums, and these changes of its keys."""
    manifest = {**json.loads(contents[layout.MANIFEST]), **changes}
    for name, content in contents.items():
        if name != layout.MANIFEST:
            said = manifest["members"].setdefault(name, {"role": layout.GIVEN})
            said.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    return {**contents, layout.MANIFEST: json.dumps(manifest).encode()}


def unpacked(path: Path, folder: Path) -> None:
    folder.mkdir()
    with reading.open_archive(path) as there:
        reading.unpack(there, folder)


def test_every_record_comes_back_as_it_was(results, archive, tmp_path):
    unpacked(archive, tmp_path / "new")
    old, new = results / STUDY / "runs", tmp_path / f"new/results/{STUDY}/runs"
    names = sorted(path.relative_to(old) for path in old.rglob("*.json"))
    assert len(names) > 50 and names == sorted(path.relative_to(new) for path in new.rglob("*") if path.is_file())
    assert all((old / name).read_bytes() == (new / name).read_bytes() for name in names)
    statuses = {json.loads((new / name).read_text())["status"] for name in names[6:]}
    assert {"valid", "failed"} <= statuses


def test_what_records_have_in_common_is_there_once(archive):
    lines = [json.loads(line) for line in members(archive)[RECORDS].splitlines()]
    same = [line for line in lines if "bits" in line.get("same", {})]
    assert len(same) == sum("record" in line and line["record"]["status"] == "valid" for line in lines) - 1
    assert len(members(archive)[RECORDS]) < len(lines) * len(json.dumps(made_up.BITS))


def test_an_archive_has_what_was_asked_measured_and_built(archive, results):
    contents = members(archive)
    assert {layout.METADATA, layout.MANIFEST, layout.README, RECORDS, PLAN, "results/host.json", "Snakefile"} <= contents.keys()
    assert {f"config/studies/{STUDY}.yaml", f"config/claims/{STUDY}.yaml", "config/profiles/ci.yaml"} <= contents.keys()
    assert {
        "containers/hpcc/Dockerfile",
        "results/images/hpcc.json",
        "results/images/hpcc.sbom.json",
        "requirements.lock",
    } <= contents.keys()
    assert not any(name.startswith(f"results/{STUDY}/raw") for name in contents)
    manifest = json.loads(contents[layout.MANIFEST])
    assert manifest["format"] == layout.FORMAT and manifest["made_by"] == code_identity.made_by()
    for name, said in manifest["members"].items():
        assert (said["bytes"], said["sha256"]) == (len(contents[name]), hashlib.sha256(contents[name]).hexdigest())
    assert manifest["members"].keys() == contents.keys() - {layout.MANIFEST}
    schema = yaml.safe_load((PROJECT / "config/schemas/archive.yaml").read_text())
    assert schema["properties"]["format"]["const"] == layout.FORMAT


def test_a_small_archive_lacks_pictures_and_pages_alone(results, archive, tmp_path):
    own = tmp_path / "results"
    shutil.copytree(results, own, symlinks=True)
    drawn = (f"figures/ladder{ending}" for ending in (".png", ".pdf", ".values.json", ".csv"))
    for name in ("report.html", *drawn):
        (own / STUDY / name).parent.mkdir(exist_ok=True)
        (own / STUDY / name).write_text("drawn")
    assert pack(own, tmp_path / "small.zip", drawn=False)
    whole = set(members(archive))
    assert set(members(tmp_path / "small.zip")) == whole | {f"results/{STUDY}/figures/ladder.csv"}
    unpacked(tmp_path / "small.zip", tmp_path / "new")


def test_raw_outputs_are_in_it_if_they_are_wanted_and_links_never(results, tmp_path):
    assert pack(results, tmp_path / "raw.zip", raw=True)
    contents = members(tmp_path / "raw.zip")
    # The folder is a member too, because the description names it.
    assert [name for name in contents if "/raw/" in name] == [f"results/{STUDY}/raw/", f"results/{STUDY}/raw/a/1-1/stdout.txt"]
    unpacked(tmp_path / "raw.zip", tmp_path / "new")
    assert (tmp_path / f"new/results/{STUDY}/raw/a/1-1/stdout.txt").read_text() == "it said this\n"


def test_the_same_results_give_the_same_bytes(results, archive, tmp_path):
    for path in results.rglob("*"):
        os.utime(path, follow_symlinks=False)
    assert pack(results, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as file:
        assert {member.date_time for member in file.infolist()} == {writing.NO_TIME}
        assert all(stat.S_ISREG(member.external_attr >> 16) for member in file.infolist())


def test_nothing_that_is_there_is_written_over(results, archive, tmp_path):
    assert not pack(results, archive)
    other = tmp_path / "measured.zip"
    other.write_text("another one")
    with pytest.raises(
        PlimsollError, match=r"measured.zip exists, and has other content than this archive. It was not changed. Move it away"
    ):
        pack(results, other)
    assert other.read_text() == "another one" and list(tmp_path.iterdir()) == [other]


def test_planned_runs_that_have_no_record_are_told_and_excused(results, tmp_path):
    study, said = built(STUDY), []
    folder = tmp_path / f"results/{STUDY}"
    made_up.write(folder, study, json.loads((results / STUDY / "plan.json").read_text()))
    sorted((folder / "runs").rglob("*.json"))[0].unlink()
    pack(tmp_path / "results", tmp_path / "some.zip", say=said.append)
    assert len(said) == 1 and " of " in said[0] and said[0].endswith("planned runs have no record, and are not in the archive.")
    unpacked(tmp_path / "some.zip", tmp_path / "new")


def test_where_nothing_was_measured_there_is_nothing_to_archive(tmp_path):
    study = {STUDY: built(STUDY)}
    with pytest.raises(
        PlimsollError, match=f"^Nothing was measured of {STUDY} yet.* Type ./plimsoll reproduce {STUDY} first.$"
    ):
        archive_members.measured_sessions(study, tmp_path)
    (tmp_path / STUDY / "runs/a").mkdir(parents=True)
    (tmp_path / STUDY / "runs/a/1.json").write_text("{}")
    (tmp_path / STUDY / "plan.json").write_text("{}")
    with pytest.raises(PlimsollError, match=f"^{tmp_path}/host.json is not there, and nothing can be made"):
        archive_members.measured_sessions(study, tmp_path)


@pytest.fixture
def own(results, tmp_path) -> Path:
    """Copy of the results that a test may change."""
    return shutil.copytree(results, tmp_path / "results", symlinks=True)


def test_records_of_another_plan_are_not_archived_with_this_one(own, tmp_path):
    path = own / STUDY / "plan.json"
    plan = json.loads(path.read_text())
    cell = plan["order"][40][0]
    plan["cells"][cell]["fingerprint"] = "another"
    path.write_text(json.dumps(plan))
    with pytest.raises(
        PlimsollError, match=f"{cell}/1.json was measured with other parameters than .*: let ./plimsoll reproduce "
    ):
        pack(own, tmp_path / "new.zip")
    assert not (tmp_path / "new.zip").exists()


def test_tables_of_another_plan_are_not_archived_with_this_one(own, tmp_path):
    plan = json.loads((own / STUDY / "plan.json").read_text())
    rows = [[*cell.split("/"), repetition] for cell, repetition in plan["order"]]
    table = pd.DataFrame(rows, columns=[*plan["factors"], "repetition"])
    table.to_csv(own / STUDY / "runs.csv", index=False)
    assert pack(own, tmp_path / "new.zip")
    table.iloc[1:].to_csv(own / STUDY / "runs.csv", index=False)
    with pytest.raises(PlimsollError, match="runs.csv has other runs than .*/plan.json: let ./plimsoll reproduce "):
        pack(own, tmp_path / "newer.zip")


SLOW = """
import sys, time
from pathlib import Path
from plimsoll.features.archive import writing

class Endless:
    def seek(self, place): pass
    def read(self, size):
        print("writing", flush=True)
        time.sleep(60)

writing.write(Path(sys.argv[1]), [("a", b"x" * 1000000), ("b", Endless())])
"""


@pytest.fixture
def writer(tmp_path):
    """Yield the path of an archive and the other process that is writing it."""
    target = tmp_path / "target.zip"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(target)], stdout=subprocess.PIPE, env=environment)
    assert process.stdout.readline() == b"writing\n"
    yield target, process
    process.kill()
    process.communicate()


def test_a_killed_writer_leaves_no_archive_and_the_next_one_its_own_alone(writer):
    target, process = writer
    left = target.with_name(f".{target.name}.unfinished")
    assert left.exists() and not target.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left.exists() and not target.exists()
    assert writing.write(target, [("a", b"whole")])
    assert members(target) == {"a": b"whole"} and list(target.parent.iterdir()) == [target]


def test_two_do_not_write_the_same_archive_at_once(writer):
    target, _ = writer
    with pytest.raises(
        PlimsollError, match=r"^Another process is writing .*target.zip. Nothing was written. Wait for it to end, or stop it.$"
    ):
        writing.write(target, [("a", b"whole")])


def test_an_interrupted_writer_takes_back_what_it_has_written(tmp_path):
    class Interrupted:
        def seek(self, place):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writing.write(tmp_path / "target.zip", [("a", b"x"), ("b", Interrupted())])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(
        PlimsollError,
        match=r"none/target.zip could not be written: No such file or directory. Name another place with --file.$",
    ):
        writing.write(tmp_path / "none/target.zip", [("a", b"x")])


def without(name):
    return lambda contents: {key: value for key, value in contents.items() if key != name}


def changed(name, content):
    return lambda contents: {**contents, name: content}


def stated(name, content):
    return lambda contents: stating({**contents, name: content})


def fewer_records(contents):
    return stating({**contents, RECORDS: b"".join(contents[RECORDS].splitlines(keepends=True)[:-1])})


def fewer_records_as_said(contents):
    manifest = json.loads(contents[layout.MANIFEST])
    said = {FOLDER: {**manifest["measured"][FOLDER], "records": manifest["measured"][FOLDER]["records"] - 1}}
    return stating({**contents, RECORDS: b"".join(contents[RECORDS].splitlines(keepends=True)[:-1])}, measured=said)


def record_at(path):
    return lambda contents: stating({**contents, RECORDS: contents[RECORDS] + json.dumps({"path": path, "bytes": ""}).encode()})


def other_line(line):
    return lambda contents: stating({**contents, RECORDS: contents[RECORDS] + line})


def larger(contents):
    """Return members whose manifest states half of the true size of the records."""
    manifest = json.loads(contents[layout.MANIFEST])
    said = {FOLDER: {**manifest["measured"][FOLDER], "bytes": manifest["measured"][FOLDER]["bytes"] // 2}}
    return stating(contents, measured=said)


def huge(contents):
    manifest = json.loads(contents[layout.MANIFEST])
    return stating(contents, measured={FOLDER: {**manifest["measured"][FOLDER], "bytes": 2**50}})


def in_format(number):
    return lambda contents: stating(contents, format=number)


def another_plan(contents):
    plan = json.loads(contents[PLAN])
    return stating({**contents, PLAN: json.dumps({**plan, "study": "liu2020"}).encode()})


def of_bytes(number):
    def made(contents):
        manifest = json.loads(contents[layout.MANIFEST])
        manifest["members"][PLAN]["bytes"] = number
        return {**contents, layout.MANIFEST: json.dumps(manifest).encode()}

    return made


def with_order(order):
    return lambda contents: stated(PLAN, json.dumps({**json.loads(contents[PLAN]), "order": order}).encode())(contents)


BAD = [
    (without(layout.MANIFEST), "it has no archive.json, so `./plimsoll archive` has not made it"),
    (changed(layout.MANIFEST, b"{"), "its archive.json is no JSON"),
    (changed(layout.MANIFEST, b"[]"), "its archive.json has no keys"),
    (changed(layout.MANIFEST, b"{}"), "it does not say in which format it is"),
    (changed(layout.MANIFEST, b'{"format": 1}'), "archive.json: 'made_by' is a required property"),
    (in_format(layout.FORMAT + 1), f"it has the format {layout.FORMAT + 1}, and this version of Plimsoll reads"),
    (in_format(0), "it does not say in which format it is"),
    (in_format("1"), "it does not say in which format it is"),
    (without(PLAN), f"it lacks {PLAN}"),
    (without("Snakefile"), "it lacks Snakefile"),
    (of_bytes(10**400), f"members.{PLAN}.bytes: "),
    (changed(PLAN, b"{}"), f"its member {PLAN} is not what was written"),
    (changed("more.txt", b"more"), "it has more.txt, of which its archive.json says nothing"),
    (stated("../outside.txt", b"out"), "its member '../outside.txt' would leave the folder that it is unpacked into"),
    (stated("config/../../outside.txt", b"out"), "would leave the folder that it is unpacked into"),
    (stated("/tmp/outside.txt", b"out"), "would leave the folder that it is unpacked into"),
    (stated("config\\outside.txt", b"out"), "would leave the folder that it is unpacked into"),
    (stated("results/claims.html", b"a page"), "it would put results/claims.html where the workflow writes"),
    (stated(f"results/{STUDY}/observations.csv", b"a"), "where the workflow writes"),
    (stated(".snakemake/locks", b"a"), "it would put .snakemake/locks where the workflow writes"),
    (stated(f"results/{STUDY}/runs/a/1.json", b"a"), "where the workflow writes"),
    (another_plan, f"its plan of {STUDY} is of another study"),
    (stated(PLAN, b"{"), f"its plan of {STUDY} is not a plan: it is no complete JSON"),
    (with_order([[[], 1]]), f"its plan of {STUDY} is not a plan: order"),
    (with_order([["a", 1]]), f"its plan of {STUDY} is of another study, or names cells that it has not"),
    (fewer_records, f"records in {FOLDER}, and says that it has"),
    (fewer_records_as_said, "it lacks the record "),
    (record_at("../1.json"), "it has a record with the path '../1.json', which leaves its folder"),
    (record_at("/tmp/1.json"), "it has a record with the path '/tmp/1.json', which leaves its folder"),
    (record_at("a/1.txt"), "it has a record with the path 'a/1.txt', which leaves its folder"),
    (record_at(3), "it has a record with the path 3, which leaves its folder"),
    (other_line(b'{"path": "a/1.json", "record": {}, "same": {"bits": "none"}}'), "of its records is not a record"),
    (other_line(b'{"path": "a/1.json", "bytes": "?"}'), "of its records is not a record"),
    (other_line(b"[" * 100_000), "of its records is not a record"),
    (other_line(b"no JSON"), "of its records is not a record"),
    (larger, "its records are larger than it says"),
    (huge, "MiB unpacked, which is too much for its size"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_what_is_no_archive_of_ours_is_refused_in_one_sentence(archive, tmp_path, change, sentence):
    bad = put(tmp_path / "bad.zip", change(members(archive)))
    with pytest.raises(PlimsollError) as refused:
        unpacked(bad, tmp_path / "new")
    said = str(refused.value)
    assert sentence in said and said.startswith(str(bad)) and "\n" not in said and said.endswith(".")
    outside = [path.name for path in tmp_path.iterdir() if path.name not in ("bad.zip", "new")]
    assert outside == [] and not Path("/tmp/outside.txt").exists()


def test_an_archive_that_is_changed_as_the_bad_ones_are_but_into_itself_is_read(archive, tmp_path):
    unpacked(put(tmp_path / "good.zip", stating(members(archive))), tmp_path / "new")
    assert (tmp_path / "new" / PLAN).is_file()


def test_a_member_that_is_there_twice_or_a_link_is_refused(archive, tmp_path):
    contents = members(archive)
    twice = put(tmp_path / "twice.zip", contents)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(twice, "a") as file:
        file.writestr(PLAN, contents[PLAN])
    with pytest.raises(PlimsollError, match="it has a member twice"):
        unpacked(twice, tmp_path / "new")
    link = zipfile.ZipInfo("config/local.yaml")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with_link = stating({**contents, "config/local.yaml": b"/etc/passwd"})
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as file:
        for name, content in with_link.items():
            file.writestr(link if name == "config/local.yaml" else name, content)
    with pytest.raises(PlimsollError, match=r"its member config/local.yaml is no plain file"):
        unpacked(tmp_path / "link.zip", tmp_path / "new2")


def refused(path: Path, folder: Path) -> str:
    """Return the one sentence with which an archive is refused."""
    with pytest.raises(PlimsollError) as problem:
        unpacked(path, folder)
    assert "\n" not in str(problem.value) and str(problem.value).startswith(str(path))
    return str(problem.value)


@pytest.mark.parametrize("number", range(0, 100, 9))
def test_a_truncated_file_is_refused(archive, tmp_path, number):
    whole = archive.read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) * number // 100])
    assert "cut.zip is damaged, or no archive. Nothing was made from it. Copy it again" in refused(
        tmp_path / "cut.zip", tmp_path / "new"
    )


@pytest.mark.parametrize("name", [layout.METADATA, layout.MANIFEST, RECORDS, PLAN, "Snakefile", "results/host.json"])
def test_a_flipped_byte_is_found(archive, tmp_path, name):
    whole = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as file:
        member = file.getinfo(name)
    # A member's data follow its header, its name and its extra field.
    lengths = (int.from_bytes(whole[member.header_offset + at : member.header_offset + at + 2], "little") for at in (26, 28))
    whole[member.header_offset + 30 + sum(lengths) + member.compress_size // 2] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(whole)
    refused(tmp_path / "flipped.zip", tmp_path / "new")


def test_a_member_that_is_larger_than_it_says_is_not_read_to_its_end(archive, tmp_path):
    """The sizes in the zip file's own directory and in the manifest are both wrong."""
    bomb, said = tmp_path / "bomb.zip", 1000
    contents = members(archive)
    manifest = json.loads(contents[layout.MANIFEST])
    manifest["members"]["README.md"]["bytes"] = said
    put(bomb, {**contents, layout.MANIFEST: json.dumps(manifest).encode(), "README.md": b"\0" * 50_000_000})
    whole = bomb.read_bytes()
    bomb.write_bytes(whole.replace((50_000_000).to_bytes(4, "little"), said.to_bytes(4, "little")))
    with zipfile.ZipFile(bomb) as file:
        assert file.getinfo("README.md").file_size == said
    with pytest.raises(PlimsollError, match=r"bomb.zip (cannot be used|is damaged)"):
        unpacked(bomb, tmp_path / "new")


def test_a_disk_that_is_too_small_is_told_before_anything_is_written(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(reading.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000})())
    with pytest.raises(PlimsollError, match="MiB unpacked, and .* has 0 MiB left"):
        unpacked(archive, tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


def test_an_older_format_is_refused(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "FORMAT", 2)
    with pytest.raises(PlimsollError, match="it has the format 1, and this version of Plimsoll reads 2: take an older version"):
        unpacked(archive, tmp_path / "new")


@pytest.mark.parametrize("name", ["a/b.json", "a", "a/b-c.d/e+f.json"])
def test_paths_that_stay_inside(name):
    assert layout.inside(name)


@pytest.mark.parametrize("name", ["", ".", "..", "/a", "a/../b", "../a", "a//b", "./a", "a/.", "a/", "a\\b", "a\0b"])
def test_paths_that_do_not(name):
    assert not layout.inside(name)


def test_the_description_has_an_action_for_each_cell_and_each_failure(archive, results):
    contents = members(archive)
    graph = {entity["@id"]: entity for entity in json.loads(contents[layout.METADATA])["@graph"]}
    actions = {name: entity for name, entity in graph.items() if entity["@type"] == "CreateAction" and name != "#run"}
    there = [json.loads(line) for line in contents[RECORDS].splitlines()]
    cells = {line["path"].rpartition("/")[0] for line in there}
    assert {f"#{STUDY}/{cell}" for cell in cells} <= actions.keys()
    told = [line["record"] for line in there if "record" in line]
    failed = sum(len(one["invalid_attempts"]) + (one["status"] == "failed") for one in told)
    assert len(actions) == len(cells) + failed and failed > 5
    for entity in actions.values():
        (program,) = entity["instrument"]
        assert graph[program["@id"]]["softwareVersion"] == "3.0" and graph[program["@id"]]["name"] == "HPCC"
        assert ("error" in entity) == (entity["actionStatus"] == crate.FAILED)
    bare = actions[f"#{STUDY}/{next(cell for cell in cells if '/bare/' in cell)}"]
    docker = actions[f"#{STUDY}/{next(cell for cell in cells if '/docker/' in cell)}"]
    assert "containerImage" not in bare
    assert graph[docker["containerImage"]["@id"]]["sha256"] == made_up.image_of(built(STUDY))["id"].removeprefix("sha256:")
    assert {link["@id"] for link in graph["./"]["mentions"]} == {"#run", "#host", *actions}
    assert graph["#host"]["additionalProperty"] and graph["./"]["mainEntity"] == {"@id": "Snakefile"}
    files = {name for name, entity in graph.items() if "File" in entity["@type"]}
    assert files == contents.keys() - {layout.METADATA}


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_the_programs_of_each_cell_are_known(name, small_host):
    study = built(name)
    plan = made_up.plan_of(study, small_host, 1)
    programs = [study.design.cells.programs(plan, cell) for cell in plan["cells"].values()]
    assert programs and {program for of_cell in programs for program in of_cell} <= crate.HOMES.keys() & set(made_up.VERSIONS)


def test_the_folder_of_an_archive_is_called_as_it_is():
    assert rebuild.name_of(Path("/a/plimsoll-liu2020.zip"), []) == "plimsoll-liu2020"
    assert rebuild.name_of(Path("a b/../../.x; y.zip"), []) == "x-y"
    assert rebuild.name_of(Path("...zip"), []) == "archive"
    assert rebuild.name_of(Path("mine.zip"), [Path("/b/stricter.yaml")]) == "mine+stricter"


def test_files_that_were_changed_after_unpacking_are_found(archive, tmp_path):
    unpacked(archive, tmp_path / "new")
    runs = tmp_path / f"new/results/{STUDY}/runs"
    with reading.open_archive(archive) as there:
        assert reading.first_change(there, tmp_path / "new", set()) is None
        one = sorted(runs.rglob("*.json"))[3]
        content = one.read_bytes()
        one.write_bytes(content.replace(b"valid", b"faked"))
        assert reading.first_change(there, tmp_path / "new", set()) == str(one.relative_to(tmp_path / "new"))
        one.unlink()
        assert reading.first_change(there, tmp_path / "new", set()) == str(one.relative_to(tmp_path / "new"))
        one.write_bytes(content)
        (runs / "more.json").write_text("{}")
        assert reading.first_change(there, tmp_path / "new", set()) == f"results/{STUDY}/runs/more.json"
        (runs / "more.json").unlink()
        (tmp_path / "new" / PLAN).write_text("{}")
        assert reading.first_change(there, tmp_path / "new", set()) == PLAN
        assert reading.first_change(there, tmp_path / "new", {PLAN}) is None


def test_archiving_alone_needs_the_library_of_crates():
    """Modules that measure, or that make everything again, do not import the library."""
    lazy = (
        "plimsoll.features.archive.rebuild",
        "plimsoll.features.archive.workflow_of_archive",
        "plimsoll.measure",
        "plimsoll.workflow",
        "plimsoll.__main__",
    )
    asked = f"import sys, {', '.join(lazy)}; sys.exit('rocrate' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    assert subprocess.run([sys.executable, "-c", asked], env=environment).returncode == 0


def test_lines_are_packed_by_their_paths_whatever_order_the_disk_has(tmp_path):
    for name in ("b/2.json", "a/10.json", "a/2.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert [packed.path for packed in records.packed(tmp_path)] == ["a/10.json", "a/2.json", "b/2.json"]


def test_every_given_member_is_placed_where_the_workflow_reads(archive):
    with reading.open_archive(archive) as there:
        given = there.members(layout.GIVEN)
    assert len(given) > 50 and all(layout.PLACED.fullmatch(name) for name in given)
    assert paths.CONFIG == PROJECT / "config" and designs.known()


@pytest.fixture
def beside(tmp_path, monkeypatch) -> Path:
    """Folder where archives are unpacked to be read beside other results."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / opening.PLACE


def test_an_archive_is_read_beside_other_results_and_unpacked_once(archive, results, beside):
    # Leftover of a process that was killed while it unpacked: it is removed.
    (beside / ".unfinished/results").mkdir(parents=True)
    folder = opening.folder_of(archive)
    records_there = {path.relative_to(results): path.read_bytes() for path in results.glob(f"{STUDY}/runs/**/*.json")}
    assert {path.relative_to(folder): path.read_bytes() for path in folder.glob(f"{STUDY}/runs/**/*.json")} == records_there
    # What describes the machine is unpacked too, although nothing is made from it.
    assert (folder / "host.txt").read_bytes() == (results / "host.txt").read_bytes()
    written = (folder / STUDY / "plan.json").stat().st_mtime_ns
    assert opening.folder_of(archive) == folder and (folder / STUDY / "plan.json").stat().st_mtime_ns == written
    assert [path.name for path in beside.iterdir() if path.is_dir()] == [folder.parent.name]
    assert opening.folder_of(results) == results and opening.reference_of(results) == results


@pytest.mark.parametrize("path", sorted((PROJECT / "docs/reports/evidence").glob("*.zip")), ids=lambda path: path.stem)
def test_an_archive_that_stays_as_an_earlier_version_wrote_it_is_read(path, beside):
    study = path.stem.partition("-")[0]
    folder = opening.folder_of(path) / study
    kept = [record.read(file) for file in (folder / "runs").rglob("*.json")]
    assert len(kept) > 100 and {one["study"] for one in kept} == {study}
    assert set(sets.read(folder)) == {study}


def test_what_was_unpacked_to_be_read_is_checked_each_time(own, tmp_path, beside):
    """An archive is unpacked again if an input, a record, a product or a description of the machine was changed or removed."""
    (own / STUDY / "answer.csv").write_text("a,b\n1,2\n")
    assert pack(own, tmp_path / "made.zip")
    folder = opening.folder_of(tmp_path / "made.zip")
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    first = sorted((folder / STUDY / "runs").rglob("*.json"))[0]
    for path in (folder / STUDY / "plan.json", first, folder / STUDY / "answer.csv", folder / "host.txt"):
        for change in (lambda path: path.write_text("other"), lambda path: path.unlink()):
            change(path)
            assert opening.folder_of(tmp_path / "made.zip") == folder
            assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == there
    (folder / STUDY / "runs/more.json").write_text("{}")
    opening.folder_of(tmp_path / "made.zip")
    assert not (folder / STUDY / "runs/more.json").exists()


def test_the_archive_of_reference_measurements_is_read_in_their_place(archive, tmp_path, beside):
    """Reference measurements are only tables. Their archive has plans and records too."""
    kept = tmp_path / "reference" / STUDY
    kept.mkdir(parents=True)
    (kept / "observations.csv").write_text("study\n")
    assert opening.reference_of(kept) == kept
    shutil.copy(archive, kept / layout.reference(STUDY))
    there = opening.reference_of(kept)
    assert (
        there == opening.folder_of(archive) / STUDY and (there / "plan.json").is_file() and any(there.rglob("runs/**/*.json"))
    )
    (kept / layout.reference(STUDY)).write_bytes(b"PK")
    with pytest.raises(
        PlimsollError, match=rf"{layout.reference(STUDY)} is damaged, or no archive. Nothing was made from it. Copy it again"
    ):
        opening.reference_of(kept)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Folder with old reference measurements of a study, which new ones replace."""
    monkeypatch.setattr(references, "_write", lambda study, results, new, say: (new.mkdir(), (new / "of").write_text("new")))
    (tmp_path / STUDY).mkdir()
    (tmp_path / STUDY / "of").write_text("old")
    return tmp_path


def test_reference_measurements_are_there_at_each_moment(kept, monkeypatch):
    """Old reference measurements are moved aside, and deleted when the new ones have their place."""
    rename, seen = Path.rename, []

    def renaming(path: Path, target: Path) -> Path:
        seen.append(sorted((kept / name / "of").read_text() for name in (STUDY, f".{STUDY}.old") if (kept / name).exists()))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renaming)
    assert references.keep({"id": STUDY}, kept, kept) == kept / STUDY
    assert seen == [["old"], ["old"]] and (kept / STUDY / "of").read_text() == "new"
    assert [path.name for path in kept.iterdir()] == [STUDY]


def test_reference_measurements_that_were_moved_aside_come_back(kept, monkeypatch):
    """Another process was killed between the two renamings, and this one cannot save anything."""
    (kept / STUDY).rename(kept / f".{STUDY}.old")

    def fail(*given):
        raise PlimsollError("it was not measured")

    with monkeypatch.context() as patch, pytest.raises(PlimsollError):
        patch.setattr(references, "_write", fail)
        references.keep({"id": STUDY}, kept, kept)
    assert (kept / STUDY / "of").read_text() == "old" and [path.name for path in kept.iterdir()] == [STUDY]
    references.keep({"id": STUDY}, kept, kept)
    assert (kept / STUDY / "of").read_text() == "new" and [path.name for path in kept.iterdir()] == [STUDY]


def test_a_reference_is_answered_by_another_one(tmp_path):
    asking = {
        **findings.empty_result({"id": "a2020-c01"}, verdicts.NOT_TESTABLE, "its cells are off"),
        "answered_by": {"0": "b2020-c02"},
    }
    plain = {**findings.empty_result({"id": "a2020-c02"}, verdicts.INCONCLUSIVE, ""), "p": 0.25}
    answering = {**findings.empty_result({"id": "b2020-c02"}, verdicts.CONTRADICTED, ""), "comparisons": 3, "p": 0.001}
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    findings.table_of([asking, plain]).to_csv(own, index=False)
    findings.table_of([answering]).to_csv(other, index=False)
    before = own.read_text().splitlines()
    references.answer(own, [])
    assert own.read_text().splitlines() == before
    references.answer(own, [other])
    first, second = findings.of_table(own)
    assert (first["verdict"], first["p"], first["reason"], second["verdict"]) == (
        verdicts.CONTRADICTED,
        0.001,
        None,
        verdicts.INCONCLUSIVE,
    )
    assert own.read_text().splitlines()[2] == before[2]


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*/*.zip")), ids=lambda path: path.parent.name)
def test_tables_of_the_reference_are_those_of_its_archive(path):
    study = path.parent.name
    assert path.name == layout.reference(study)
    contents = members(path)
    for name in references.TABLES:
        assert (path.parent / name).read_bytes() == contents[f"results/{study}/{name}"]
    with reading.open_archive(path) as archive:
        assert archive.manifest["studies"] == [study]


@pytest.mark.parametrize(
    ("other", "by", "status"),
    [
        ([], "us", 0),
        (["results/s/figures/a.png", "results/s/report.html"], "us", 0),
        (["results/s/observations.csv"], "us", 1),
        (["results/s/report.html", "results/s/tables/tests.csv"], "us", 1),
        (["results/s/observations.csv"], "others", 0),
    ],
)
def test_a_table_that_is_another_by_the_same_code_is_no_success(tmp_path, monkeypatch, other, by, status):
    monkeypatch.setattr(reading, "compared", lambda archive, folder, but: (["results/s/runs.csv"], other))
    monkeypatch.setattr(reading, "rounded", lambda archive, folder, names: [])
    made_by = {"us": code_identity.made_by(), "others": {"version": "0.1", "code": "0" * 64}}[by]
    made = rebuild.comparison(reading.Archive(None, {"made_by": made_by}, ""), tmp_path, ())
    assert (made.status, made.same, made.other) == (status, ["results/s/runs.csv"], other)
    assert all(name in made.words for name in other)


def test_a_table_whose_numbers_have_other_last_digits_is_the_same(tmp_path, monkeypatch):
    made = {"results/s/tests.csv": "p\n0.30000000000000004\n", "results/s/runs.csv": "n\n3\n"}
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(reading, "compared", lambda archive, folder, but: (["results/s/report.html"], list(made)))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("results/s/tests.csv", "p\n0.3\n")
        file.writestr("results/s/runs.csv", "n\n3.0\n")
        archive = reading.Archive(file, {"made_by": code_identity.made_by()}, "")
        found = rebuild.comparison(archive, tmp_path, ())
        assert found.status == 0 and "All 3 tables" in found.words and "2 have other last digits" in found.words
        # A different number is more than rounding.
        (tmp_path / "results/s/runs.csv").write_text("n\n4\n")
        found = rebuild.comparison(archive, tmp_path, ())
        assert found.status == 1 and "Not so results/s/runs.csv: " in found.words and "results/s/tests.csv)" in found.words
        assert (found.other, found.rounded) == (["results/s/runs.csv"], ["results/s/tests.csv"])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a,b\n1,x\n", "a,b\n1.0000000000000002,x\n", True),
        ("a,b\n1,x\n", "a,b\n1.000001,x\n", False),
        ("a,b\n1,x\n", "a,b\n1,y\n", False),
        ("a,b\n1,x\n", "a,b\n1,\n", False),
        ("a,b\n1,x\n", "a,b\n1,x\n2,x\n", False),
        ("a\n1e-17\n", "a\n0.0\n", True),
        ("a\nnan\n", "a\n1\n", False),
    ],
)
def test_last_digits_are_told_from_other_numbers(one, other, same):
    assert reading.same_values(one.encode(), other.encode()) == same == reading.same_values(other.encode(), one.encode())


def test_claims_of_studies_that_are_not_in_an_archive_do_not_count(tmp_path):
    """Their encodings change with the project, and they are in the table as not measured."""
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as file:
        file.writestr(reading.CLAIMS, "id,study,asked\nx-c01,x,1\ny-c01,y,1\n")
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        archive = reading.Archive(
            file, {"studies": ["x"], "members": {reading.CLAIMS: {"role": reading.MADE, "sha256": ""}}}, ""
        )
        assert reading.compared(archive, tmp_path) == ([], [reading.CLAIMS])
        (tmp_path / reading.CLAIMS).parent.mkdir()
        for text, is_same in (
            ("id,study,asked\nx-c01,x,1\ny-c01,y,2\n", True),
            ("id,study,asked\nx-c01,x,2\ny-c01,y,1\n", False),
        ):
            (tmp_path / reading.CLAIMS).write_text(text)
            assert reading.compared(archive, tmp_path) == (([reading.CLAIMS], []) if is_same else ([], [reading.CLAIMS]))
