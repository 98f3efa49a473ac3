"""From results to an archive and back: all that is made from measurements is made again without measuring."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from plimsoll.config import studies
from plimsoll.features.archive import layout, reading, references

from tests import crates, made_up
from tests.conftest import REFERENCE, usual
from tests.project import Project

FIGURES = 1
SMALL, MADE = "plimsoll2026", "results/from/plimsoll-plimsoll2026"
ARCHIVE = f"plimsoll-{SMALL}.zip"
# An archive with a table that is not what its records give, and the folder for what is made from it.
UNLIKE, MADE_OF_UNLIKE = "unlike.zip", "results/from/unlike"
# These studies are left out, because with figures and pages they take as long as all others together. Other studies
# have their designs, and their tables are made again from the project's own archives.
LARGE = {"liu2020", "jha2021"}
# With these variables no engine answers, and no other runtime is found.
NOTHING = {"PATH": "/usr/bin:/bin", "DOCKER_HOST": "unix:///nonexistent.sock"}


class Archived(Project):
    """A copy of the project that can make up results, archive them, and make them again."""

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess:
        given = {**self.environment, "PYTHONPATH": f"{self.folder}/scripts:{self.folder}", **environment}
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=self.folder, env=given, capture_output=True, text=True, timeout=900
        )

    def make_up(self, study: str, figures: int, sessions: int = 1) -> None:
        """Write what the workflow would write for sessions of a study. The study keeps only some figures, each of
        another chart, because drawing takes most of the time."""
        with self.edited(f"config/studies/{study}.yaml") as content:
            of_chart = {figure["chart"]: name for name, figure in content["figures"].items()}
            kept = sorted(of_chart.values())[:figures]
            content["figures"] = {name: content["figures"][name] for name in kept}
        done = self.run("tests.made_up", study, str(sessions))
        assert done.returncode == 0, done.stderr

    def archive(self, study: str, *words: str) -> subprocess.CompletedProcess:
        done = self.run("plimsoll.cli", "archive", study, *words)
        assert done.returncode == 0, done.stderr
        return done

    def remake(self, archive: str, *words: str) -> subprocess.CompletedProcess:
        return self.run("plimsoll.cli", "remake", archive, *words, **NOTHING)

    def contents(self, folder: str) -> dict[str, tuple[bytes, int]]:
        """Return (content, time of the last change in ns) of every file below a folder, by its path there."""
        files = [path for path in (self.folder / folder).rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder / folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Archived:
    return Archived(tmp_path_factory.mktemp("archived"))


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Archived:
    """Return a project with two archives of two sessions of a small study, with one figure. In one archive a table was
    changed. Tests leave all of this as it is."""
    made = Archived(tmp_path_factory.mktemp("small"))
    made.make_up(SMALL, FIGURES, sessions=2)
    assert made.archive(SMALL).stdout.startswith(f"{ARCHIVE} (")
    runs = made.folder / f"results/{SMALL}/runs.csv"
    content = runs.read_text()
    runs.write_text(content.replace("failed", "valid"))
    made.archive(SMALL, "--file", UNLIKE)
    runs.write_text(content)
    return made


@pytest.fixture(scope="module")
def remade(small) -> Archived:
    """Return the project of `small`, with all that is made from its archive.

    Copies of it lie where other archives of the same records would be made again, so that only what differs is made there.
    """
    made_again(small, SMALL, f"plimsoll-{SMALL}")
    for copy in (f"{MADE}+lenient", MADE_OF_UNLIKE):
        shutil.copytree(small.folder / MADE, small.folder / copy, symlinks=True)
    return small


@pytest.fixture(scope="module")
def reference(small) -> Path:
    """Return the folder of reference measurements that are the results of `small`."""
    done = small.run("plimsoll", "keep-reference", f"studies={SMALL}")
    assert done.returncode == 0, done.stderr
    return small.folder / f"results/reference/{SMALL}"


def made_again(project: Archived, study: str, archive: str) -> None:
    """Make everything again from an archive, and check that each table is the same, byte for byte."""
    before = project.contents(f"results/{study}")
    done = project.remake(f"{archive}.zip")
    assert done.returncode == 0, done.stderr
    assert before == project.contents(f"results/{study}")
    after = project.contents(f"results/from/{archive}/results/{study}")
    tables = [name for name in before if name.endswith(".csv")]
    assert len(tables) > 5 and any(name.startswith("figures/") for name in tables)
    assert [name for name in tables if after[name][0] != before[name][0]] == []
    assert re.search(r"All \d+ tables, texts, pictures and pages of the archive were made again, byte for", done.stdout)
    for kind in ("figures/*.png", "figures/*.pdf", "notebooks/*.ipynb"):
        assert len(project.files(f"results/from/{archive}/results/{study}/{kind}")) == FIGURES
    assert len(after["report.html"][0]) > 10_000
    with zipfile.ZipFile(project.folder / f"{archive}.zip") as file:
        report = file.read(f"results/{study}/report.html").decode()
    # Pictures are there once, as files.
    figure = next(name for name in after if name.endswith(".png"))
    assert "base64" not in report and f'src="{figure}"' in report
    assert (project.folder / f"results/from/{archive}/results/claims.html").stat().st_size > 10_000


def one_sentence(done: subprocess.CompletedProcess) -> str:
    """Return the one sentence that a refused command printed."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("plimsoll: ")]
    assert len(said) == 1, done.stderr
    return said[0]


@pytest.mark.long
@pytest.mark.parametrize("study", [name for name in studies.names(studies.STUDIES) if name not in {*LARGE, SMALL}])
def test_an_archive_gives_every_table_of_a_study_again_byte_for_byte(project, study):
    """The fixture `remade` checks this of the small study."""
    project.make_up(study, FIGURES)
    project.archive(study, "--file", f"{study}.zip")
    made_again(project, study, study)


# References of the project that are archives too.
ARCHIVED = sorted(path.parent.name for path in REFERENCE.glob("*/reference-*.zip"))
OTHER_TABLES = re.compile(r"results/[^/]+/(tables/[^/]+|sessions)\.csv")


@pytest.mark.parametrize("study", usual(ARCHIVED, [name for name in ("plimsoll2026",) if name in ARCHIVED]))
def test_reference_measurements_are_made_again_on_another_checkout(project, study):
    """Today's code makes from the records of the project's own archives what is shown of them, verdicts too. Figures
    and pages are left out, because they take most of the time."""
    folder = project.folder / f"results/from/tables-of-{study}"
    folder.mkdir(parents=True)
    with reading.open_archive(project.folder / f"results/reference/{study}/{layout.reference(study)}") as archive:
        reading.unpack(archive, folder)
        (folder / layout.MANIFEST).write_bytes(archive.file.read(layout.MANIFEST))
        shown = {name: archive.file.read(name) for name in archive.file.namelist() if OTHER_TABLES.fullmatch(name)}
    assert any("/tables/tests.csv" in name for name in shown)
    words = ["--snakefile", "rules/remake.smk", "--workflow-profile", "profiles/remake", "--directory", str(folder)]
    tables = [f"results/{study}/{name}" for name in (*references.TABLES, "together.json")]
    done = project.run("snakemake", *words, "--cores", "2", *tables, *shown, **NOTHING)
    assert done.returncode == 0, done.stderr
    for name in references.TABLES:
        assert reading.same_values(
            (folder / f"results/{study}/{name}").read_bytes(), (REFERENCE / study / name).read_bytes()
        ), name
    assert [name for name, content in shown.items() if not reading.same_values((folder / name).read_bytes(), content)] == []
    judged = json.loads((folder / f"results/{study}/together.json").read_text())
    # Beside the archive, some claims have the verdicts of other references that answer them.
    claims = pd.read_csv(REFERENCE / study / "claims.csv").set_index("id")
    own = claims[claims["answered_by"] == "{}"]["verdict"].to_dict()
    assert own and {result["id"]: result["verdict"] for result in judged if result["id"] in own} == own


@pytest.mark.parametrize(
    ("archived", "option"), [(f"{SMALL},amaral2015", "--raw"), pytest.param("amaral2015", "--small", marks=pytest.mark.long)]
)
def test_an_archive_is_a_workflow_run_crate(small, archived, option):
    """Cells of one study measure a program, and the other study has cells that measure none."""
    small.make_up("amaral2015", 0)
    raw = small.folder / f"results/{SMALL}/raw/a/1-1/stdout.txt"
    raw.parent.mkdir(parents=True)
    raw.write_text("it said this\n")
    name = f"crate{option}.zip"
    small.archive(archived, "--file", name, option)
    shutil.rmtree(raw.parents[2])
    shutil.rmtree(small.folder / "results/amaral2015")
    with zipfile.ZipFile(small.folder / name) as file:
        assert (f"results/{SMALL}/raw/a/1-1/stdout.txt" in file.namelist()) == (option == "--raw")
    assert crates.issues(small.folder / name) == []


def test_a_crate_that_lacks_what_is_required_is_found(small):
    """The validator finds problems, and is not only called."""
    lacking = small.folder / "lacking.zip"
    with zipfile.ZipFile(small.folder / ARCHIVE) as whole, zipfile.ZipFile(lacking, "w") as file:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "ro-crate-metadata.json":
                content = content.replace(b'"mainEntity"', b'"citation"').replace(b'"instrument"', b'"about"')
            file.writestr(name, content)
    found = " ".join(crates.issues(lacking))
    assert "mainEntity" in found and "instrument" in found


def test_what_was_made_once_is_kept_and_nothing_else_is_taken_for_it(remade):
    page = remade.folder / MADE / "results/claims.html"
    first = page.stat().st_mtime_ns
    again = remade.remake(ARCHIVE, "--json")
    assert again.returncode == 0 and page.stat().st_mtime_ns == first and "Nothing to be done" in again.stderr
    told = json.loads(again.stdout)
    assert told["same"] and told["other"] == told["rounded"] == [] and told["folder"] == str(remade.folder / MADE)
    # A record was changed.
    record = remade.folder / remade.files(f"{MADE}/results/{SMALL}/runs/**/*.json")[0]
    content = record.read_text()
    record.write_text(content.replace("valid", "failed"))
    said = one_sentence(remade.remake(ARCHIVE))
    assert f"{record.relative_to(remade.folder)} is not what {ARCHIVE} has: delete {MADE}" in said
    record.write_text(content)
    # Another archive has the same name.
    other = remade.folder / "elsewhere" / ARCHIVE
    other.parent.mkdir()
    told = json.loads(remade.archive(SMALL, "--raw", "--file", str(other), "--json").stdout)
    whole = {"file": str(remade.folder / other), "bytes": (remade.folder / other).stat().st_size}
    assert told == {**whole, "new": True, "studies": [SMALL]}
    assert f"{MADE} was made from another archive than {other}: delete" in one_sentence(remade.remake(str(other)))


def test_earlier_sessions_are_in_an_archive_and_judged_again(remade):
    there = f"results/sessions/{SMALL}/1"
    before, after = remade.contents(there), remade.contents(f"{MADE}/{there}")
    assert all(before[name][0] == after[name][0] for name in ("claims.json", "comparisons.csv", "observations.csv", "runs.csv"))
    told = json.loads((remade.folder / MADE / f"results/{SMALL}/sessions.json").read_text())
    assert [one["number"] for one in told["sessions"]] == [1, 2] and not any(one["apart"] for one in told["sessions"])
    records = [name for name in before if name.startswith("runs/")]
    assert records and all(before[name][0] == after[name][0] for name in records)


def test_reference_measurements_are_an_archive_and_its_tables(small, reference):
    assert {path.name for path in reference.iterdir()} == {
        *("answer.csv", "claims.csv", "comparisons.csv", "figures", "host.txt", "observations.csv", "runs.csv", "tables"),
        f"reference-{SMALL}.zip",
    }
    pictures, values = (
        {path.name.removesuffix(ending) for path in (reference / "figures").glob(f"*{ending}")} for ending in references.SHOWN
    )
    assert pictures == values and len(pictures) == FIGURES
    for name in references.TABLES:
        assert (reference / name).read_bytes() == (small.folder / f"results/{SMALL}" / name).read_bytes()
    assert set(pd.read_csv(reference / "claims.csv")["study"]) == {SMALL}


@pytest.mark.long
def test_all_is_made_again_from_reference_measurements(small, reference):
    again = small.remake(f"results/reference/{SMALL}/reference-{SMALL}.zip", "--json")
    assert again.returncode == 0, again.stderr
    told, made = json.loads(again.stdout), small.folder / f"results/from/reference-{SMALL}/results"
    assert told["same"] and told["other"] == told["rounded"] == [] and told["folder"] == str(made.parent)
    for name in references.TABLES:
        assert (reference / name).read_bytes() == (made / SMALL / name).read_bytes()
    assert (made / SMALL / "report.html").is_file()


def test_tables_that_are_not_what_the_records_give_are_named(remade):
    """What is made from the records is there already."""
    with zipfile.ZipFile(remade.folder / UNLIKE) as file:
        (remade.folder / MADE_OF_UNLIKE / layout.MANIFEST).write_bytes(file.read(layout.MANIFEST))
    done = remade.remake(UNLIKE)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "Nothing to be done" in done.stderr
    assert f"Not so results/{SMALL}/runs.csv: they were made by another version before" in done.stdout


def test_there_is_no_rule_that_measures_or_looks_at_this_machine(remade):
    words = ("--snakefile", "rules/remake.smk", "--workflow-profile", "profiles/remake", "--directory", MADE)
    done = remade.run("snakemake", *words, "--list-rules", **NOTHING)
    assert done.returncode == 0, done.stderr
    of_newest = {"all", "collect", "tests", "variance", "table", "claims", "sessions", "verdicts", "figure", "report"}
    assert set(done.stdout.split()) == of_newest | {"collect_earlier", "claims_earlier"}


def test_claims_of_one_s_own_judge_an_archive_in_a_folder_of_their_own(remade):
    claims = yaml.safe_load((remade.folder / f"config/claims/{SMALL}.yaml").read_text())
    for claim in claims["claims"]:
        claim.update(margin=0.9, threshold="nearly all is alike")
    (remade.folder / "lenient.yaml").write_text(yaml.safe_dump(claims, sort_keys=False))
    done = remade.remake(ARCHIVE, "--claims", "lenient.yaml")
    assert done.returncode == 0, done.stderr
    assert "were made again, byte for byte" in done.stdout
    judged = json.loads((remade.folder / f"{MADE}+lenient/results/{SMALL}/claims.json").read_text())
    assert {result["margin"] for result in judged} == {0.9}
    # The file has claims of another study, and then no valid claims.
    shutil.copy(remade.folder / "config/claims/liu2020.yaml", remade.folder / "other.yaml")
    said = one_sentence(remade.remake(ARCHIVE, "--claims", "other.yaml"))
    assert f"other.yaml has claims of liu2020, and {ARCHIVE} has measurements of {SMALL}." in said
    (remade.folder / "none.yaml").write_text("study: [\n")
    assert "none.yaml, line 2: not valid YAML" in one_sentence(remade.remake(ARCHIVE, "--claims", "none.yaml"))


def test_what_cannot_be_archived_or_used_is_told_in_one_sentence(tmp_path):
    empty = Archived(tmp_path)
    done = empty.run("plimsoll.cli", "archive", "liu2020")
    assert one_sentence(done) == (
        "plimsoll: Nothing was measured of liu2020 yet, so nothing was archived. Type ./plimsoll reproduce liu2020 first."
    )
    assert not empty.files("*.zip")
    assert "none.zip: No such file or directory" in one_sentence(empty.remake("none.zip"))
    assert "README.md is damaged, or no archive" in one_sentence(empty.remake("README.md"))
    with zipfile.ZipFile(empty.folder / "foreign.zip", "w") as file:
        file.writestr("hello.txt", "hello")
    assert "foreign.zip cannot be used: it has no archive.json" in one_sentence(empty.remake("foreign.zip"))
    assert not empty.files("results/from/*/")


def test_two_archives_are_compared(small):
    """Archives from before and after a change: the difference is reported, and the exit status is 1."""
    observations = small.folder / f"results/{SMALL}/observations.csv"
    content = observations.read_bytes()
    table = pd.read_csv(observations, keep_default_na=False)
    own = (table["runtime"] == "docker") & table["metric"].str.endswith("bandwidth")
    table.loc[own, "value"] /= 3
    table.to_csv(observations, index=False)
    small.archive(SMALL, "--file", "after.zip")
    observations.write_bytes(content)
    before = small.contents(f"results/{SMALL}")
    same = small.run("plimsoll.cli", "compare", ARCHIVE, ARCHIVE, "--out", "same", **NOTHING)
    assert same.returncode == 0, same.stderr
    done = small.run("plimsoll.cli", "compare", ARCHIVE, "after.zip", "--out", "changed", COLUMNS="100", **NOTHING)
    assert done.returncode == 1, done.stderr
    rows = pd.read_csv(small.folder / "changed/compare.csv")
    worse = rows[rows["answer"] == "worse"]
    assert set(worse["runtime"]) == {"docker"} and worse["metric"].str.endswith("bandwidth").all() and len(worse) > 1
    # Both archives have records, so that their bits are known, and claims are compared with their effects.
    assert f"Both ran the same bits ({len(made_up.BITS)} programs and libraries)." in " ".join(done.stdout.split())
    assert (rows["kind"] == "effect").sum() > 10 and "−67 % [" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("comparisons are worse in B (exit 1)")
    assert len(small.files("results/compare/archives/*/results")) == 2 and small.contents(f"results/{SMALL}") == before


def test_results_of_another_folder_are_archived_where_they_are_named(small, tmp_path):
    """Results of a host of rules/cluster.smk are archived in this way. The file is the same as from inside the folder."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "plimsoll.cli",
            "archive",
            SMALL,
            "--directory",
            str(small.folder),
            "--file",
            str(small.folder / "host.zip"),
        ],
        cwd=tmp_path,
        env=small.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    made = small.folder / "host.zip"
    assert done.stdout.startswith(f"{made} (") and list(tmp_path.iterdir()) == []
    small.archive(SMALL, "--file", "here.zip")
    assert made.read_bytes() == (small.folder / "here.zip").read_bytes()


def test_what_was_measured_of_other_studies_is_named(small, tmp_path):
    """An archive and the list have the studies that are selected, and say that there are others."""
    record_of_another = small.folder / "results/jha2018/runs/1/linpack/docker/1.json"
    record_of_another.parent.mkdir(parents=True)
    record_of_another.write_text("{}")
    try:
        done = small.run("plimsoll.cli", "archive", SMALL, "--file", str(tmp_path / "one.zip"))
        assert "jha2018: it was measured too, and is left out. ./plimsoll archive all archives everything." in done.stderr
        done = small.run("plimsoll.cli", "list", SMALL)
        said = " ".join(done.stdout.split())
        assert "Other studies: " in said and "jha2018 (measured), " in said and "./plimsoll list all lists everything." in said
    finally:
        shutil.rmtree(small.folder / "results/jha2018")


def test_a_report_of_snakemake_has_the_pages_of_all_that_was_made(remade, tmp_path):
    """Without a target it is about everything."""
    options = ("-s", "rules/remake.smk", "--workflow-profile", "profiles/remake", "--directory", MADE, "--cores", "1")
    done = remade.run("snakemake", *options, "--report", str(tmp_path / "report.zip"), **NOTHING)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "report.zip") as report:
        page = report.read("report/report.html").decode()
        names = [name.rpartition("/")[2] for name in report.namelist()]
    # The report's own file has the name of the study's page.
    assert names.count("report.html") == 2 and "claims.html" in names and '"All studies"' in page
    assert "Claims of all studies with their verdicts." in page and "its answer, verdicts, figures" in page
