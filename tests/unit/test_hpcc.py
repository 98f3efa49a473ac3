import pytest
from plimsoll import workloads
from plimsoll.errors import PlimsollError
from plimsoll.workloads import hpcc
from plimsoll.workloads.base import Application, InvalidOutput

from tests.conftest import DATA


def sample(section: str) -> str:
    """Return a complete hpccoutf.txt of one section, from a run on two cores."""
    return (DATA / f"hpcc_{section}.txt").read_text()


def test_a_transposition_of_no_processor_time_has_no_line_for_it():
    """With a coarse clock, a short transposition takes no processor time."""
    text = sample("ptrans")
    lines = text.splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if line.startswith("CPU "))
    without = "".join(lines[:last] + lines[last + 1 :])
    assert without != text
    hpcc.compare(without, hpcc.parse(text), "ptrans")


@pytest.mark.parametrize("section", ["dgemm", "stream", "fft", "ptrans", "randomaccess", "beff", "hpl"])
def test_real_output_is_accepted(section, tmp_path):
    (tmp_path / "hpccoutf.txt").write_text(sample(section))
    values = workloads.find("hpcc").results(tmp_path, {"section": section})
    for name in hpcc.SECTIONS[section][1]:
        assert values[name] > 0


def test_values_are_those_of_the_file():
    summary = hpcc.parse(sample("beff"))
    line = next(line for line in sample("beff").splitlines() if line.startswith("AvgPingPongLatency_usec="))
    assert summary["AvgPingPongLatency_usec"] == float(line.split("=")[1])


@pytest.mark.parametrize("share", [0, 0.2, 0.5, 0.9, 0.96])
def test_truncated_output_is_refused(share):
    text = sample("ptrans")
    with pytest.raises(InvalidOutput, match="exactly one complete run"):
        hpcc.parse(text[: int(len(text) * share)])


def test_output_of_two_runs_is_refused():
    with pytest.raises(InvalidOutput, match="exactly one complete run"):
        hpcc.parse(sample("ptrans") * 2)


def test_no_output_is_refused(tmp_path):
    with pytest.raises(InvalidOutput, match="no hpccoutf.txt"):
        workloads.find("hpcc").results(tmp_path, {"section": "beff"})


def test_a_failed_run_is_refused():
    summary = {**hpcc.parse(sample("beff")), "Success": 0.0}
    with pytest.raises(InvalidOutput, match="no Success=1"):
        hpcc.check(summary, "beff")


def test_a_section_that_did_not_run_is_refused():
    with pytest.raises(InvalidOutput, match="StarDGEMM_Gflops=-1"):
        hpcc.check(hpcc.parse(sample("beff")), "dgemm")


@pytest.mark.parametrize(
    ("section", "name", "wrong"),
    [
        ("ptrans", "PTRANS_residual", 17.0),
        ("ptrans", "PTRANS_residual", float("nan")),
        ("randomaccess", "MPIRandomAccess_ErrorsFraction", 0.02),
    ],
)
def test_wrong_answers_are_refused(section, name, wrong):
    with pytest.raises(InvalidOutput, match=f"check of {section} failed"):
        hpcc.check({**hpcc.parse(sample(section)), name: wrong}, section)


def test_hpl_is_judged_by_its_scaled_residual():
    good = {
        "HPL_RnormI": 1e-12,
        "HPL_AnormI": 250.0,
        "HPL_XnormI": 10.0,
        "HPL_BnormI": 0.5,
        "HPL_dMACH_EPS": 1.1e-16,
        "HPL_N": 1000.0,
    }
    assert hpcc.hpl_residual(good) == pytest.approx(1e-12 / (1.1e-16 * 2500.5 * 1000))
    summary = {"Success": 1.0, "HPL_Tflops": 0.05, **good}
    hpcc.check(summary, "hpl")
    with pytest.raises(InvalidOutput, match="check of hpl failed"):
        hpcc.check({**summary, "HPL_RnormI": 1e-8}, "hpl")


@pytest.mark.parametrize(
    ("section", "old", "new", "reason"),
    [
        ("ptrans", "PTRANS_GBs=2.34231", "PTRANS_GBs=2.3", "it printed 2.3 for its PTRANS_GBs, and 2.342 by its other numbers"),
        ("ptrans", "PTRANS_GBs=2.34231", "PTRANS_GBs=2.34231\nPTRANS_GBs=2.34231", "or has it twice"),
        ("ptrans", "PTRANS_GBs=2.34231", "PTRANS_GBs=2.34231x", "HPCC printed PTRANS_GBs=None"),
        ("ptrans", "PTRANS_GBs=2.34231", "PTRANS_GBs", "has the line 'PTRANS_GBs'"),
        ("ptrans", "PASSED    2.342", "FAILED    2.342", "the section PTRANS printed no PTRANS_GBs"),
        ("beff", "AvgPingPongLatency_usec=0.127687", "AvgPingPongLatency_usec=0.12", "for its AvgPingPongLatency_usec"),
        ("beff", "End of LatencyBandwidth section.\n", "", "exactly one section LatencyBandwidth"),
        ("randomaccess", "MPIRandomAccess_GUPs=0.0756909", "MPIRandomAccess_GUPs=0.0756", "for its MPIRandomAccess_GUPs"),
        ("fft", "MPIFFT_Gflops=2.62047", "MPIFFT_Gflops=2.6", "for its MPIFFT_Gflops"),
    ],
)
def test_a_summary_that_the_section_does_not_bear_out_is_refused(section, old, new, reason, tmp_path):
    assert old in sample(section)
    (tmp_path / "hpccoutf.txt").write_text(sample(section).replace(old, new))
    with pytest.raises(InvalidOutput, match=reason):
        workloads.find("hpcc").results(tmp_path, {"section": section})


def test_what_a_section_that_did_not_run_has_left_may_be_no_number(tmp_path):
    text = sample("ptrans").replace("StarRandomAccess_LCG_GUPs=9.53282e-130", "StarRandomAccess_LCG_GUPs=-nan")
    (tmp_path / "hpccoutf.txt").write_text(text)
    assert "StarRandomAccess_LCG_GUPs" not in workloads.find("hpcc").results(tmp_path, {"section": "ptrans"})


def test_a_profile_without_the_size_says_so():
    with pytest.raises(PlimsollError, match="The profile has no standard size of fft"):
        hpcc.Hpcc().parameters("fft", PROFILE, "standard", 2, 24 * 2**30, 0)


@pytest.mark.parametrize(("ranks", "expected"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (8, (2, 4)), (16, (4, 4))])
def test_process_grid(ranks, expected):
    assert hpcc.grid(ranks) == expected


PROFILE = {
    "hpcc": {
        "memory_share": 0.3,
        "block": 80,
        "standard": {"stream": {"order": 100, "cache_multiple": 4}, "dgemm": {"order": 6000}},
    }
}


def test_stream_s_arrays_are_four_times_the_caches():
    cache = 32 * 2**20
    order = hpcc.Hpcc().parameters("stream", PROFILE, "standard", 2, 24 * 2**30, cache)["order"]
    # HPCC divides the matrix's memory into three arrays.
    assert (order + 1) ** 2 * 8 / 3 >= 4 * cache
    assert (order - 1) ** 2 * 8 / 3 <= 4 * cache


def test_no_section_takes_more_than_its_share_of_memory():
    memory = 2**28
    order = hpcc.Hpcc().parameters("dgemm", PROFILE, "standard", 2, memory, 0)["order"]
    assert order < 6000
    assert order**2 * 8 <= 0.3 * memory


def test_input_files(tmp_path):
    benchmark = hpcc.Hpcc()
    benchmark.prepare(tmp_path, benchmark.parameters("dgemm", PROFILE, "standard", 4, 2**34, 0))
    assert (tmp_path / "hpccsections.txt").read_text() == "StarDGEMM\n"
    lines = (tmp_path / "hpccinf.txt").read_text().splitlines()
    assert [lines[n].split()[0] for n in (5, 7, 10, 11)] == ["6000", "80", "2", "2"]


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(PlimsollError, match="There is no MPI application 'linpack'; known are hpcc"):
        workloads.find("linpack", Application)


# Two ranks that share a core run one after the other. Each alone is as fast as the core.
SECONDS = 2e-9 * 1000**3 / 50  # at 50 GFLOP/s
ONE_AFTER_THE_OTHER = [[(10.0, 10.0 + SECONDS)], [(10.0 + SECONDS, 10.0 + 2 * SECONDS)]]


def test_ranks_that_do_not_overlap_are_no_faster_than_their_cores():
    (rate,) = workloads.find("hpcc").rates({"section": "dgemm"}, {"DGEMM_N": 1000.0}, ONE_AFTER_THE_OTHER).values()
    assert rate == pytest.approx(25)


def test_the_fastest_triad_but_the_first_counts_from_the_first_beginning_to_the_last_end():
    # The first triad is the fastest. In the fourth each rank takes 1 s, and both together take 1.5 s.
    pieces = [(100.0 * number, 100.0 * number + 2) for number in range(10)]
    ranks = [[(0.0, 0.1), *pieces[1:]], [(0.0, 0.1), *pieces[1:]]]
    ranks[0][3], ranks[1][3] = (300.0, 301.0), (300.5, 301.5)
    values = workloads.find("hpcc").rates({"section": "stream"}, {"STREAM_VectorSize": 1e9}, ranks)
    assert values == {"EP_STREAM_Triad_GBs": pytest.approx(24 / 1.5)}


@pytest.mark.parametrize("section", ["fft", "ptrans", "randomaccess", "beff", "hpl"])
def test_other_sections_have_no_work_side_by_side(section):
    assert workloads.find("hpcc").rates({"section": section}, {}, [[], []]) == {}


@pytest.mark.parametrize(("printed", "work"), [({"DGEMM_N": 1000.0}, [[(1.0, 2.0)], []]), ({}, ONE_AFTER_THE_OTHER)])
def test_pieces_that_are_missing_are_refused(printed, work):
    with pytest.raises(InvalidOutput, match="1 pieces of work"):
        workloads.find("hpcc").rates({"section": "dgemm"}, printed, work)
