"""Snakemake's own report: `snakemake --report` writes it offline. Pages in it: tests/dry/test_archives.py."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from plimsoll import paths
from plimsoll.features.archive import reading
from plimsoll.features.archive.layout import MANIFEST

from tests.conftest import PROJECT

STUDY, FIGURE, TABLE = "plimsoll2026", "ladder", "isolation"
ARCHIVE = PROJECT / "docs/reports/evidence/plimsoll2026-with-seccomp.zip"
PICTURE, NUMBERS = f"results/{STUDY}/figures/{FIGURE}.png", f"results/{STUDY}/tables/{TABLE}.csv"
WANTED = (PICTURE, NUMBERS)
# A download by way of these proxies fails.
OFFLINE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")


def snakemake(folder: Path, *words: str) -> str:
    """Run the workflow that measures nothing in the folder of an archive, and return what it prints."""
    rules, profile = PROJECT / "rules/remake.smk", PROJECT / "profiles/remake"
    command = [sys.executable, "-m", "snakemake", "-s", str(rules), "--workflow-profile", str(profile), "--cores", "1", *words]
    environment = {**paths.environment(), **OFFLINE}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Return a folder with an archive's inputs, and a figure and a table that are made from them."""
    folder = tmp_path_factory.mktemp("made")
    with reading.open_archive(ARCHIVE) as archive:
        reading.unpack(archive, folder)
        (folder / MANIFEST).write_bytes(archive.file.read(MANIFEST))
    snakemake(folder, *WANTED)
    return folder


def test_a_report_is_written_offline_with_captions_and_categories(made, tmp_path):
    said = snakemake(made, *WANTED, "--report", str(tmp_path / "report.zip"))
    assert "WARNING" not in said
    with zipfile.ZipFile(tmp_path / "report.zip") as report:
        page = report.read("report/report.html").decode()
        inside = {Path(name).name: report.read(name) for name in report.namelist()}
    assert all(inside[Path(path).name] == (made / path).read_bytes() for path in WANTED)
    for ending in ("alt.txt", "txt"):
        caption = (made / f"results/{STUDY}/figures/{FIGURE}.{ending}").read_text()
        assert " ".join(caption.split())[:100] in page
    assert all(f'"{word}"' in page for word in (STUDY, "Figures", "Tables"))


def test_nothing_is_made_again_for_a_report(made):
    assert "Nothing to be done" in snakemake(made, "--dry-run", *WANTED)


def test_each_caption_is_of_an_output_and_each_output_s_caption_is_there():
    files = [PROJECT / "Snakefile", *(PROJECT / "rules").glob("*.smk")]
    named = {name for file in files for name in re.findall(r'"(?:\.\./)?workflow/report/(\w+)\.rst"', file.read_text())}
    assert named == {path.stem for path in (PROJECT / "workflow/report").glob("*.rst")}
