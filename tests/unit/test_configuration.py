"""Configuration from the file, from the machine and from the command line. Each overrides the one before."""

import pytest
import yaml
from plimsoll.config import configuration
from plimsoll.errors import PlimsollError


@pytest.fixture
def local(tmp_path):
    return tmp_path / "local.yaml"


def read(local, *settings):
    return configuration.read(list(settings), local=local)


def test_what_a_machine_has_goes_over_the_file_and_below_the_command_line(local):
    usual = read(local)
    local.write_text('runtimes: {docker: "off", podman-rootless: optional}\nprofile: paper\n')
    here = read(local)
    assert here["profile"] == "paper" and usual["profile"] == "quick"
    assert here["runtimes"] == {**usual["runtimes"], "docker": "off", "podman-rootless": "optional"}
    told = read(local, "profile=ci", "runtimes={docker: optional}")
    assert told["profile"] == "ci" and told["runtimes"]["docker"] == "optional"
    assert told["runtimes"]["podman-rootless"] == "optional"


def test_a_wish_is_noted_once_and_keeps_what_was_noted_before(local):
    local.write_text("seed: 7\n")
    configuration.wish(["docker", "docker-ptrace"], "off", local)
    configuration.wish(["podman-rootless"], "optional", local)
    found = yaml.safe_load(local.read_text())
    assert found == {"seed": 7, "runtimes": {"docker": "off", "docker-ptrace": "off", "podman-rootless": "optional"}}
    assert local.read_text().startswith("# Settings of this machine,") and list(local.parent.iterdir()) == [local]
    assert read(local)["runtimes"]["docker"] == "off"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sead: 1\n", "unknown key 'sead'"),
        ("runtimes: {podman: never}\n", "'never' is not one of"),
        ("- x\n", "is not a mapping"),
    ],
)
def test_a_machine_s_file_that_does_not_fit_is_refused_and_left(local, text, sentence):
    local.write_text(text)
    with pytest.raises(PlimsollError, match=sentence):
        read(local)
    with pytest.raises(PlimsollError, match=sentence):
        configuration.wish(["docker"], "off", local)
    assert local.read_text() == text
