"""A rank or container that is stopped for a while: its section does not count, and is measured again."""

import re

import pytest

from tests.containers.conftest import PAUSED, in_the_run, pause, stop, stopped

RANK = stopped("hpcc")


@pytest.mark.parametrize(
    ("runtime", "order", "act", "said"),
    [
        pytest.param("bare", 4800, stop, RANK, marks=pytest.mark.long),
        pytest.param("docker", 2400, stop, RANK, marks=pytest.mark.long),
        ("docker", 2400, pause("docker"), PAUSED),
        pytest.param("podman", 2400, pause("podman"), PAUSED, marks=pytest.mark.long),
        pytest.param("singularity", 4800, stop, RANK, marks=pytest.mark.long),
        pytest.param("singularity-instance", 2400, stop, RANK, marks=pytest.mark.long),
        pytest.param("singularity-user", 4800, stop, RANK, marks=pytest.mark.long),
    ],
    ids=["bare", "docker", "docker-paused", "podman-paused", "singularity", "singularity-instance", "singularity-user"],
)
def test_a_section_whose_rank_or_container_was_stopped_is_measured_again(workspace, working, runtime, order, act, said):
    working(runtime)
    path = f"uma/exact/{'E1' if runtime == 'bare' else 'E2'}/{runtime}/any/default/standard/plain/randomaccess"
    acting = in_the_run("hpcc", act)
    found = workspace.run(path, parameters={**workspace.plan["cells"][path]["parameters"], "order": order})
    acting.join(10)
    assert found["status"] == "valid", found["reason"]
    assert [attempt["status"] for attempt in found["invalid_attempts"]] == ["disturbed"]
    assert re.fullmatch(said, found["invalid_attempts"][0]["reason"])
    assert found["noise"]["during"]["stopped"] == []
