"""Sizes, commands and outputs of the microservices: complete, checked and right, or refused."""

import pytest
from plimsoll import workloads
from plimsoll.workloads.base import InvalidOutput, Microservice, Room

ROOM = Room(192 * 2**20, 384 * 2**20, 32 * 2**20)
LINPACK = "order=3500\nthreads=1\nkernel=Haswell\nseconds=0.65\ngflops=43.9\nresidual=0.0017\n"
STREAM = "elements=6000000\ntimes=15\nthreads=1\nerror=0\ncopy=27.9\nscale=27.7\nadd=29.3\ntriad=29.4\n"
OF_STREAM = {"elements": 6000000, "times": 15, "threads": 1}
PI = (
    "digits=3000000\nthreads=2\naccuracy_bits=9965846\nneeded_bits=9965784\ncomputation_seconds=1.7\ntotal_seconds=1.8\n"
    "last=4583104394\n"
)
BONNIE = (
    "1.98,2.00,plimsoll,1,1795296479,768M,,8192,5,,,1072978,84,607007,86,,,1632147,42,18569,211,,,,,,,,,,,,,,,,,,,"
    "22577us,45937us,,9366us,3331us,,,,,,\n"
)
RATE = "131072  16384  16384    1.00     16302.81   \n"
TRANSACTIONS = "16384  131072 1        1       1.00     69583.59   \n16384  131072\n"


def result(name, text, **parameters):
    return workloads.find(name).results(text, parameters)


def test_each_result_is_found():
    assert result("linpack", LINPACK, order=3500)["gflops"] == 43.9
    assert result("stream", STREAM, **OF_STREAM)["triad"] == 29.4
    assert result("y_cruncher", PI, digits=3000000)["total_seconds"] == 1.8
    found = result("bonnie", BONNIE, data_megabytes=768, memory_megabytes=384)
    assert found == {"block_output": 1072978, "block_rewrite": 607007, "block_input": 1632147, "random_seeks": 18569}
    assert result("netperf_tcp_stream", RATE, seconds=1)["throughput"] == 16302.81
    assert result("netperf_tcp_rr", TRANSACTIONS, seconds=1)["transactions"] == 69583.59


@pytest.mark.parametrize(
    ("name", "text", "parameters", "reason"),
    [
        ("linpack", LINPACK.replace("0.0017", "160"), {"order": 3500}, "residual"),
        ("linpack", LINPACK.replace("0.0017", "nan"), {"order": 3500}, "residual"),
        ("linpack", LINPACK, {"order": 4000}, "3500 equations"),
        ("linpack", LINPACK[:40], {"order": 3500}, "seconds"),
        ("stream", STREAM.replace("error=0", "error=1e-9"), OF_STREAM, "wrong by"),
        ("stream", STREAM.replace("add=29.3", "add=0"), OF_STREAM, "all its kernels"),
        ("stream", STREAM.replace("threads=1", "threads=2"), OF_STREAM, "ran 2 threads, not 1"),
        ("y_cruncher", PI.replace("9965846", "9965000"), {"digits": 3000000}, "bits"),
        ("bonnie", BONNIE.replace("1632147,42", "+++++,+++"), {}, "too short"),
        ("bonnie", "", {}, "no line"),
        ("netperf_tcp_stream", "", {"seconds": 1}, "no result"),
        ("netperf_tcp_stream", RATE, {"seconds": 120}, "after 1 s"),
        ("netperf_tcp_rr", RATE, {"seconds": 1}, "no result"),
    ],
)
def test_what_is_incomplete_or_wrong_is_refused(name, text, parameters, reason):
    with pytest.raises(InvalidOutput, match=reason):
        result(name, text, **parameters)


def test_bonnie_s_data_are_twice_all_the_memory_and_must_have_come_from_the_disk():
    bonnie = workloads.find("bonnie")
    parameters = bonnie.parameters({}, ROOM)
    data = parameters["data_megabytes"] * 2**20
    assert data == 2 * ROOM.all_bytes == bonnie.disk_bytes(parameters)
    bonnie.check_use({"written_bytes": 2 * data, "read_bytes": 2 * data - ROOM.all_bytes}, parameters)
    with pytest.raises(InvalidOutput, match="cached"):
        bonnie.check_use({"written_bytes": 2 * data, "read_bytes": data // 2}, parameters)
    with pytest.raises(InvalidOutput, match="wrote"):
        bonnie.check_use({"written_bytes": data, "read_bytes": 2 * data}, parameters)


def test_stream_s_arrays_are_larger_than_the_caches():
    found = workloads.find("stream").parameters({"elements": 1000, "times": 5, "cache_multiple": 4}, ROOM)
    assert 8 * found["elements"] >= 4 * ROOM.cache_bytes


def test_a_substitute_says_so_and_others_do_not():
    described = workloads.described({"y_cruncher": {"digits": 100}, "linpack": {"order": 10}})
    assert described["y_cruncher"]["stands_for"] == "Y-Cruncher" and "FLINT" in described["y_cruncher"]["label"]
    assert described["linpack"]["stands_for"] == ""
    own = workloads.described({"y_cruncher": {"digits": 100, "sha256": "0" * 64}})["y_cruncher"]
    assert own["stands_for"] == "" and own["label"] == "Y-Cruncher"


def test_y_cruncher_s_own_times_are_found_in_what_it_prints():
    first = "Total Computation Time:    \x1b[01;36m12.345 seconds\x1b[0m  ( 0.206 minutes )\n"
    text = f"{first}Start-to-End Wall Time:    13.5 seconds\n"
    found = result("y_cruncher", text, digits=100, sha256="0" * 64)
    assert found == {"computation_seconds": 12.345, "total_seconds": 13.5}
    with pytest.raises(InvalidOutput, match="Start-to-End"):
        result("y_cruncher", text.splitlines()[0], digits=100, sha256="0" * 64)


def test_commands_are_lists_of_words():
    for service in workloads.of_kind(Microservice).values():
        sizes = {"order": 10, "digits": 100, "elements": 10, "times": 2, "cache_multiple": 0, "seconds": 1}
        hosts = {"server": "plimsoll-x-server", "address": "10.0.0.1", "port": "1"}
        command = service.command(service.parameters(sizes, ROOM), 0, hosts)
        # Ours, or of a package of Debian.
        places = ("/opt/plimsoll/bin/", "/usr/bin/")
        assert all(isinstance(word, str) for word in command) and command[0].startswith(places), service.name
