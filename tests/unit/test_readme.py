"""What the README says of our machine is what the reference measurements show."""

import re

import pandas as pd
import pytest

from tests.conftest import PROJECT, REFERENCE

README = (PROJECT / "README.md").read_text()
ALL = README.replace("\n", " ")


def shown(study: str, **levels: str) -> pd.DataFrame:
    """Return the ratios of a study's answer that were measured and have these levels. There is at least one."""
    table = pd.read_csv(REFERENCE / study / "answer.csv", dtype=str).dropna(subset="ratio")
    for name, level in levels.items():
        table = table[table[name] == level]
    assert len(table)
    return table.astype(dict.fromkeys(("ratio", "low", "high", "p_beyond_holm"), float))


def answer(study: str) -> str:
    """Return the answer to a study's question in the README's table."""
    [row] = re.findall(rf"^\| `{study}` .*", README, re.MULTILINE)
    return row.strip("|").split("|")[-1].strip()


def loses(study: str, most: float = 1.0, **levels: str) -> bool:
    """Whether every such ratio is below `most` with its whole interval."""
    return bool((shown(study, **levels)["high"] < most).all())


def test_messages_over_split_containers_lose_most_of_their_bandwidth():
    assert answer("liu2020") == "Over Docker containers or instances, most of the bandwidth"
    assert "lose most of their bandwidth. Plain Singularity keeps shared memory" in ALL
    split = {"granularity": "finest", "against": "baseline"}
    for runtime in ("docker", "singularity-instance"):
        for metric in ("pingpong_bandwidth", "randomring_bandwidth"):
            assert loses("liu2020", 0.5, runtime=runtime, metric=metric, **split)
            assert not loses("liu2020", runtime="singularity", metric=metric, **split)
    assert "matrix multiplication shows no clear loss" in ALL
    assert (shown("liu2020", metric="dgemm_gflops", against="baseline")["p_beyond_holm"] > 0.05).all()


@pytest.mark.parametrize("study", ["jha2021", "jha2018"])
def test_disk_reads_lose_in_one_container(study):
    assert (
        answer(study)
        == {
            "jha2021": "In one container, disk reads lose",
            "jha2018": "Disk reads lose; two Bonnie++ slow each other down",
        }[study]
    )
    assert loses(study, metric="block_input", case="2", against="baseline")
    [worst] = shown(study, metric="block_input", case="2", against="baseline")["worst_cell"]
    assert worst.startswith("2/bonnie+bonnie/")


def test_nested_creation_takes_many_times_as_long_and_a_bridge_takes_most_of_the_throughput():
    assert answer("amaral2015") == "Nested: creation takes many times as long. A bridge: most of the throughput"
    creation = shown("amaral2015", runtime="docker-nested", metric="creation_time", against="baseline")
    assert (creation["low"] > 5).all()
    local = {"answer": "for the network on one host", "metric": "throughput", "against": "baseline"}
    assert loses("amaral2015", 0.5, network="bridge", **local)


def test_storage_byte_by_byte_is_slower_in_docker_s_layers():
    assert answer("li2018") == "In Docker's layers, storage byte by byte is slower"
    for metric in ("byte_write", "byte_read"):
        assert (shown("li2018", metric=metric)["p_beyond_holm"] < 0.05).all() and loses("li2018", metric=metric)


def test_no_setting_makes_a_hadoop_job_clearly_faster():
    assert answer("li2018-hadoop") == "None clearly, with small data"
    table = shown("li2018-hadoop")
    assert ((table["low"] > 1) | (table["p_beyond_holm"] > 0.05)).all()


def test_the_daemon_and_the_bridge_are_the_largest_steps():
    assert answer("plimsoll2026") == "Open MPI's daemon in each container, then the bridge"
    ladder = ["docker-shared-ptrace", "docker-shared", "docker-shared-daemon", "docker-shared-processes"]
    ladder += ["docker-host-network", "docker"]
    of_level = shown("plimsoll2026", metric="randomring_bandwidth", against="baseline").set_index("runtime")["ratio"]
    steps = (of_level[ladder] / of_level[ladder].shift()).sort_values()
    assert list(steps.index[:2]) == ["docker-shared-daemon", "docker"]
