"""Temporary folders of Snakemake: they are removed if their workflow was killed, and stay otherwise."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from plimsoll.host import temporary

NOTES = """
import sys, time
from pathlib import Path
from plimsoll.host import temporary
temporary.note(Path(sys.argv[1]))
print("noted", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the folder of a workflow, which is also the place of temporary folders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_temporary_folder_of_a_killed_workflow_is_removed_by_the_next_start(folder):
    killed, own, other = (Path(temporary.tempfile.mkdtemp(prefix="snakemake")) for _ in range(3))
    workflow = subprocess.Popen([sys.executable, "-c", NOTES, str(killed)], stdout=subprocess.PIPE, text=True)
    assert workflow.stdout.readline() == "noted\n"
    temporary.note(own)
    temporary.note(folder / "snakemakeended")
    assert temporary.remove_of_killed() == [] and killed.exists()  # its workflow still runs
    workflow.send_signal(signal.SIGKILL)
    workflow.wait()
    workflow.stdout.close()
    assert temporary.remove_of_killed() == [str(killed)]
    assert not killed.exists() and own.exists() and other.exists()
    assert [noted.name for noted in temporary.NOTES.iterdir()] == [own.name]


def test_a_folder_that_its_workflow_has_removed_is_no_more_noted_when_it_has_ended(folder):
    temporary.NOTES.mkdir(parents=True)
    (temporary.NOTES / "snakemakeended").touch()
    assert temporary.remove_of_killed() == [] == list(temporary.NOTES.iterdir())
