"""The system of a runtime is looked at even if the programs that start it are missing."""

import pytest
from plimsoll import runtimes
from plimsoll.measuring import system


@pytest.mark.parametrize("name", runtimes.known())
def test_a_runtime_that_is_not_installed_is_looked_at(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_PREFIX", str(tmp_path))
    programs = system.look(runtimes.known()[name])["programs"]
    assert not any(seen for program, seen in programs.items() if not program.startswith("/"))
