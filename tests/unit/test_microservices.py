"""Sizes, commands and outputs of the microservices. Outputs are complete, checked and right, or refused."""

import pytest
from plimsoll import workloads
from plimsoll.errors import Lasting
from plimsoll.services import iterations
from plimsoll.workloads import loop
from plimsoll.workloads.base import InvalidOutput, Microservice, Room

from tests.conftest import DATA

ROOM = Room(192 * 2**20, 384 * 2**20, 32 * 2**20)


def printed(name: str) -> str:
    """Return what a program has printed."""
    return (DATA / "outputs" / name).read_text()


LINPACK, STREAM, PI, BONNIE = (printed(f"{name}.txt") for name in ("linpack", "stream", "pi", "bonnie"))
RATE, TRANSACTIONS = printed("netperf_stream.txt"), printed("netperf_rr.txt")
OF_STREAM = {"elements": 6000000, "times": 15, "threads": 1}
OF_BONNIE = {"data_megabytes": 768, "memory_megabytes": 384}


def result(name, text, **parameters):
    return workloads.find(name).results(text, parameters)


def test_each_result_is_found():
    assert result("linpack", LINPACK, order=3500)["gflops"] == 43.904519
    assert result("stream", STREAM, **OF_STREAM)["triad"] == 29.402218
    assert result("y_cruncher", PI, digits=3000000)["total_seconds"] == 1.812907
    found = result("bonnie", BONNIE, **OF_BONNIE)
    assert found == {"block_output": 1072978, "block_rewrite": 607007, "block_input": 1632147, "random_seeks": 18569}
    assert result("netperf_tcp_stream", RATE, seconds=1)["throughput"] == 16302.81
    assert result("netperf_tcp_rr", TRANSACTIONS, seconds=1)["transactions"] == 69583.59


@pytest.mark.parametrize(
    ("name", "text", "parameters", "reason"),
    [
        ("linpack", LINPACK.replace("=0.0017", "=160.0017"), {"order": 3500}, "residual"),
        ("linpack", LINPACK.replace("0.00171829", "nan"), {"order": 3500}, "line 7 of its output is 'residual=nan'"),
        (
            "linpack",
            LINPACK.replace("=43", "=44"),
            {"order": 3500},
            "44.9045 for its GFLOP/s, and 43.9045 by its other numbers",
        ),
        ("linpack", LINPACK, {"order": 4000}, "3500 equations"),
        ("linpack", LINPACK[:64], {"order": 3500}, "line 5 of its output is 'seconds=0.651', where it ends"),
        ("linpack", LINPACK[:-1], {"order": 3500}, "ends before line 8"),
        ("linpack", LINPACK + LINPACK, {"order": 3500}, "line 8"),
        ("linpack", "", {"order": 3500}, "it printed nothing"),
        ("stream", STREAM.replace("error=0", "error=1e-09"), OF_STREAM, "wrong by"),
        ("stream", STREAM.replace("add=29", "add=0").replace("0.310441", "0.000000"), OF_STREAM, "all its kernels"),
        ("stream", STREAM.replace("threads=1", "threads=2"), OF_STREAM, "ran 2 threads, not 1"),
        ("y_cruncher", PI.replace("9965846", "9965000"), {"digits": 3000000}, "bits"),
        ("bonnie", BONNIE.replace("1632147,42", "+++++,+++"), OF_BONNIE, "too short"),
        ("bonnie", BONNIE.replace("768M", "320M"), OF_BONNIE, "it wrote '320M', and not 768 MiB"),
        ("bonnie", BONNIE.replace("1072978", "0"), OF_BONNIE, "block_output"),
        ("bonnie", BONNIE[:-1], OF_BONNIE, "no line"),
        ("bonnie", "", OF_BONNIE, "no line"),
        ("netperf_tcp_stream", "", {"seconds": 1}, "it printed nothing"),
        ("netperf_tcp_stream", RATE.replace(".81", ".8"), {"seconds": 1}, "did not print what it should"),
        ("netperf_tcp_stream", RATE * 2, {"seconds": 1}, "line 2"),
        ("netperf_tcp_stream", RATE, {"seconds": 120}, "after 1 s"),
        ("netperf_tcp_rr", RATE, {"seconds": 1}, "line 1"),
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


def test_the_kernels_of_linpack_are_told_and_narrow_ones_stop_the_study(tmp_path):
    line = (DATA / "outputs/loop_once.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(line)
    (tmp_path / "1.out").write_text(LINPACK)
    assert iterations.kernels(workloads.find("linpack"), [tmp_path]) == {"OpenBLAS": "Haswell"}
    assert iterations.kernels(workloads.find("stream"), [tmp_path]) == {}
    with pytest.raises(Lasting, match="Nehalem kernels, which use SSE, and this processor has AVX2"):
        result("linpack", LINPACK.replace("Haswell", "Nehalem"), order=3500)


def test_linpack_is_given_the_kernels_that_the_user_names(monkeypatch):
    linpack = workloads.find("linpack")
    assert linpack.command({"order": 9}, 0, {}) == ["/opt/plimsoll/bin/linpack", "9"]
    monkeypatch.setenv("PLIMSOLL_BLAS_KERNELS", "Haswell")
    assert linpack.command({"order": 9}, 0, {})[:2] == ["/usr/bin/env", "OPENBLAS_CORETYPE=Haswell"]


def test_a_substitute_says_so_and_others_do_not():
    described = workloads.describe({"y_cruncher": {"digits": 100}, "linpack": {"order": 10}})
    assert described["y_cruncher"]["stands_for"] == "Y-Cruncher" and "FLINT" in described["y_cruncher"]["label"]
    assert described["linpack"]["stands_for"] == ""
    own = workloads.describe({"y_cruncher": {"digits": 100, "sha256": "0" * 64}})["y_cruncher"]
    assert own["stands_for"] == "" and own["label"] == "Y-Cruncher"


def test_y_cruncher_s_own_times_are_found_in_what_it_prints():
    first = "Total Computation Time:    \x1b[01;36m12.345 seconds\x1b[0m  ( 0.206 minutes )\n"
    text = f"{first}Start-to-End Wall Time:    13.5 seconds\n"
    with pytest.raises(InvalidOutput, match="2.345 for its 'Total Computation Time:', and 12.36 by its other numbers"):
        result("y_cruncher", text.replace("12.345", "2.345"), digits=100, sha256="0" * 64)
    found = result("y_cruncher", text, digits=100, sha256="0" * 64)
    assert found == {"computation_seconds": 12.345, "total_seconds": 13.5}
    with pytest.raises(InvalidOutput, match="Start-to-End"):
        result("y_cruncher", f"{text.splitlines()[0]}\n", digits=100, sha256="0" * 64)


def test_commands_are_lists_of_words():
    for service in workloads.of_kind(Microservice).values():
        sizes = {"order": 10, "digits": 100, "elements": 10, "times": 2, "cache_multiple": 0, "seconds": 1}
        hosts = {"server": "plimsoll-x-server", "address": "10.0.0.1", "port": "1"}
        command = service.command(service.parameters(sizes, ROOM), 0, hosts)
        # Programs of this project or of a Debian package.
        places = ("/opt/plimsoll/bin/", "/usr/bin/")
        assert all(isinstance(word, str) for word in command) and command[0].startswith(places), service.name


def test_an_iteration_cannot_take_longer_than_its_process(tmp_path):
    line = (DATA / "outputs/loop_once.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(line)
    (tmp_path / "1.out").write_text(LINPACK)
    linpack = workloads.find("linpack")
    (made,) = iterations.read(linpack, {"order": 3500}, 10.0, [tmp_path])
    assert made["values"]["gflops"] == 43.904519
    slow = LINPACK.replace("0.651592", "6.515920").replace("43.904519", "4.390452")
    (tmp_path / "1.out").write_text(slow)
    (made,) = iterations.read(linpack, {"order": 3500}, 10.0, [tmp_path])
    assert made["values"] is None and made["reason"] == "by what it printed it took 6.52 s, and its process lasted 0.647 s"


def test_an_iteration_that_left_a_process_at_work_does_not_count(tmp_path):
    line = (DATA / "outputs/loop_once.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(line.replace('"left": ""', '"left": "sleep"'))
    (tmp_path / "1.out").write_text(LINPACK)
    (made,) = iterations.read(workloads.find("linpack"), {"order": 3500}, 10.0, [tmp_path])
    assert made["values"] is None and made["reason"] == "it ended before what it had started: sleep went on"
    assert "left" not in made


def test_the_log_of_a_loop_is_whole_or_gives_nothing(tmp_path):
    line = (DATA / "outputs/loop_once.jsonl").read_text()
    second = line.replace('"iteration": 1', '"iteration": 2').replace("501.", "503.").replace("502.", "504.")
    log = loop.log_of(tmp_path)
    log.write_text(line + second)
    assert [one["iteration"] for one in loop.read(log)] == [1, 2]
    log.write_text(line + second[:40])
    assert len(loop.read(log)) == 1
    for text in (
        line + line,
        second,
        line.replace("0.632232", "x"),
        line.replace("{", "{{", 1),
        f"{second}{line}",
        f"\0{line}",
    ):
        log.write_text(text)
        with pytest.raises(InvalidOutput, match="log|does not follow"):
            loop.read(log)
    # Lines were lost: only the iteration after the last line may have printed, because it was ended with the loop.
    log.write_text(line)
    for number in (1, 2, 3):
        loop.output_of(tmp_path, number).write_text("")
    with pytest.raises(InvalidOutput, match="ends after 1 of them, and it began others"):
        loop.all_of(tmp_path)


def test_what_is_no_file_of_a_program_s_is_refused(tmp_path):
    from plimsoll.workloads import program_output as reader

    (tmp_path / "large").write_bytes(b"x" * (reader.MOST_BYTES + 1))
    with pytest.raises(InvalidOutput, match="longer than 4 MiB"):
        reader.text_of(tmp_path / "large")
    with pytest.raises(InvalidOutput, match="left no missing"):
        reader.text_of(tmp_path / "missing")
