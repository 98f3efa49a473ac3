"""Overheads: cells and their windows, programs' output, counted iterations, the paper's numbers, figures and words."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.analysis.tables import TableRequest
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.designs.overhead import attempts, papers, run_tables, statistics, words
from plimsoll.designs.overhead.factors import OverheadCell, OverheadPlan
from plimsoll.errors import PlimsollError
from plimsoll.figures import render
from plimsoll.planning import planner
from plimsoll.workloads import find
from plimsoll.workloads.base import InvalidOutput, Room

from tests.conftest import DATA, built, host_of, unlike
from tests.unit.test_charts import check, drawn

DESIGN = designs.find("overhead")

BLOCKS, ITERATIONS = 5, 3
NO_KVM = {"vm": "no virtual machine boots with KVM here"}
FIGURES = ["fig04", "fig05", "fig06", "fig07", "fig08", "fig09", "fig10"]


@pytest.fixture
def li2018() -> studies.Study:
    return built("li2018")


@pytest.fixture
def plan_of(li2018, config, small_host):
    def plan_of(profile="quick", host=small_host, without=NO_KVM, **changes):
        return planner.make(li2018, studies.profile(profile), host, {**config, "profile": profile, **changes}, without)

    return plan_of


@pytest.fixture
def plan(plan_of) -> dict:
    return plan_of()


def test_each_benchmark_runs_alone_in_each_environment(plan):
    cells = plan["cells"]
    assert {path for path in cells if path.startswith("iperf/")} == {
        f"iperf/{name}" for name in ("bare", "docker", "vm", "vm-emulated")
    }
    disk = {path.removeprefix("bonnie_with_bytes/") for path in cells if path.startswith("bonnie_with_bytes/")}
    assert disk == {"bare/own", "docker/own", "docker/volume", "vm/own", "vm-emulated/own"}
    assert {cell["reason"] for cell in cells.values() if cell["runtime"] == "vm"} == {NO_KVM["vm"]}
    assert {cell["repetitions"] for cell in cells.values() if cell["runtime"] == "docker"} == {5}
    assert {cell["repetitions"] for cell in cells.values() if cell["runtime"] == "vm-emulated"} == {1}


def test_plans_and_cells_have_the_keys_that_are_written_down(plan):
    assert unlike(plan, OverheadPlan) == set()
    assert {key for cell in plan["cells"].values() for key in unlike(cell, OverheadCell)} == set()


def test_nothing_is_emulated_where_virtual_machines_run_on_the_processor(plan_of):
    assert {cell["runtime"] for cell in plan_of(without={})["cells"].values()} == {"bare", "docker", "vm"}


def test_memory_is_limited_only_where_the_disk_is_measured_and_a_machine_has_what_its_benchmark_needs(plan):
    cells = plan["cells"]
    limit = 160 * 2**20
    assert {cells[f"bonnie_with_bytes/{where}"]["memory_bytes"] for where in ("bare/own", "docker/own", "docker/volume")} == {
        limit
    }
    assert cells["bonnie_with_bytes/vm/own"]["memory_bytes"] == limit + 112 * 2**20
    assert cells["stream/docker"]["memory_bytes"] is None and cells["stream/bare"]["memory_bytes"] is None
    stream = cells["stream/vm-emulated"]
    assert stream["memory_bytes"] > find("stream").memory_bytes(stream["parameters"])
    assert {cell["processors"] for cell in cells.values()} == {2}


def test_the_paper_s_day_is_split_over_the_blocks(plan_of):
    cell = plan_of("paper")["cells"]["stream/bare"]
    assert cell["repetitions"] * cell["window_seconds"] == 24 * 3600
    assert cell["repetitions"] * cell["warm_up_seconds"] == 3600


def test_a_host_without_the_memory_says_so(plan_of):
    small = plan_of("paper", host_of(1, 2, memory=2**30))["cells"]["bonnie_with_bytes/docker/own"]
    assert small["reason"] == "Bonnie++ with bytes would need 2.0 GiB, and runs may have 70 % of this host's memory"


def test_what_needs_root_says_so_and_the_rest_is_planned(plan_of, small_host):
    cells = plan_of(host={**small_host, "root": False})["cells"]
    assert cells["stream/bare"]["reason"] == "bare metal with the files of an image needs root on this machine"
    assert cells["iperf/docker"]["reason"].startswith("a network namespace") and cells["stream/docker"]["reason"] is None


def test_another_machine_at_the_other_end_is_another_measurement(plan_of, small_host):
    second = {"name": "far", "kernel": "Linux 6", "cpu_model": "x", "processor": 0}
    here, there = (plan_of(host=host)["cells"]["iperf/bare"] for host in (small_host, {**small_host, "second_host": second}))
    assert here["fingerprint"] != there["fingerprint"]
    unreached = plan_of(host={**small_host, "second_host": {"name": "far", "reason": "it is off"}})["cells"]
    assert unreached["iperf/bare"]["reason"] == "it is off" and unreached["stream/bare"]["reason"] is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("benchmark: [stream]", "benchmark: [sysbench]", "'sysbench' is not one of"),
        ("benchmark: [stream]", "benchmark: [bonnie]", "experiments.memory.storage: benchmarks of the disk need this key"),
        (
            "runtime: [bare, docker, vm, vm-emulated], storage",
            "runtime: [singularity], storage",
            "singularity cannot keep a single node running",
        ),
    ],
)
def test_a_study_that_cannot_be_is_refused(tmp_path, old, new, said, li2018):
    from plimsoll import designs

    path = tmp_path / "li2018.yaml"
    text = (studies.STUDIES / "li2018.yaml").read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PlimsollError, match=said):
        studies.read(path, designs.known())


IPERF = "20261125013000,10.78.0.1,40000,10.78.0.2,5001,1,0.0-{seconds},1250000000,{bits}\n"


def test_iperf_s_line_is_read_and_one_without_a_server_is_refused():
    iperf = find("iperf")
    right = IPERF.format(seconds="1.0", bits=10000000000)
    assert iperf.results(right, {"seconds": 1}) == {"throughput": 10000.0}
    for text in (
        "",
        IPERF.format(seconds="0.2", bits=50000000000),
        IPERF.format(seconds="1.0", bits=0),
        IPERF.format(seconds="x", bits=1),
        # According to the bytes, the rate is ten times as high.
        IPERF.format(seconds="1.0", bits=1000000000),
        right[:-1],
        right * 2,
        right.replace("1250000000", "nan"),
    ):
        with pytest.raises(InvalidOutput):
            iperf.results(text, {"seconds": 1})
    assert iperf.command({"seconds": 2}, 0, {"address": "10.0.0.2", "port": "4711"})[1:7] == [
        "-c",
        "10.0.0.2",
        "-p",
        "4711",
        "-t",
        "2",
    ]


HARDINFO = "1.750807; 1.750807; 2\n"


def test_hardinfo_s_result_is_read_and_an_empty_one_is_refused():
    blowfish = find("cpu_blowfish")
    assert blowfish.results(HARDINFO, {}) == {"result": 1.750807, "threads": 2.0}
    for text in (
        "",
        HARDINFO.replace("1.750807", "0.000000"),
        HARDINFO.replace(";", ","),
        HARDINFO.replace("1.750807", "nan"),
        HARDINFO.replace("1.750807", "1.75", 1),
        HARDINFO.replace("; 2", "; 0"),
        HARDINFO[:-1],
        HARDINFO * 2,
    ):
        with pytest.raises(InvalidOutput):
            blowfish.results(text, {})
    assert blowfish.command({}, 0, {})[-2:] == ["-b", "CPU Blowfish"]


def test_bonnie_s_tests_of_bytes_are_asked_for_and_read():
    with_bytes, without = find("bonnie_with_bytes"), find("bonnie")
    given = with_bytes.parameters({}, Room(2**20, 160 * 2**20, 0))
    assert given == {"data_megabytes": 320, "memory_megabytes": 160}
    assert "-f" in without.command(given, 0, {}) and "-f" not in with_bytes.command(given, 0, {})
    text = (DATA / "outputs/bonnie_with_bytes.txt").read_text()
    printed = with_bytes.results(text, given)
    fields = text.split(",")
    assert (printed["byte_output"], printed["byte_input"]) == (float(fields[9]), float(fields[15]))
    fields[9] = "+++++"
    with pytest.raises(InvalidOutput):
        with_bytes.results(",".join(fields), given)
    assert "byte_output" not in without.results(",".join(fields), given)


def test_iterations_of_the_warm_up_are_kept_and_do_not_count():
    made = [{"moment": 10.0, "counts": False}, {"moment": 11.0, "counts": True}, {"moment": 12.0, "counts": True}]
    iterations = [{"iteration": number, "reason": None} for number in (1, 2, 3)]
    told = attempts.counting(iterations, made)
    assert [one["counts"] for one in told] == [False, True, True] and told[0]["why_not"] == "it was of the warm-up"
    assert attempts.too_few(told) is None
    assert attempts.too_few(told[:1]) == "no iteration of the window ended"
    failed = attempts.counting([{"iteration": 1, "reason": "it printed no result"}], made)
    assert attempts.too_few(failed) == "iteration 1 does not count: it printed no result"


def test_one_row_per_metric_and_iteration_that_counts(li2018):
    counts = {"iteration": 2, "moment": 11.0, "begin": 5.0, "end": 14.0, "counts": True}
    values = {"byte_output": 1000.0, "byte_input": 2000.0, "block_output": 1.0, "block_rewrite": 1.0, "block_input": 1.0}
    record = {
        "cell": {"benchmark": "bonnie_with_bytes"},
        "iterations": [{**counts, "iteration": 1, "counts": False, "values": values}, {**counts, "values": values}],
    }
    twice = DESIGN.readings.observations(
        li2018, {}, {**record, "iterations": [{**counts, "values": values}, {**counts, "end": 8.0, "values": values}]}
    )
    # Iterations of nine and three seconds take six on average. That is 600 per hour, in one row.
    assert [row["value"] for row in twice if row["metric"] == "bonnie_trials"] == [600.0]
    rows = {row["metric"]: row for row in DESIGN.readings.observations(li2018, {"repetition": 1}, record)}
    assert len(rows) == 6 and {row["iteration"] for row in rows.values()} == {2}
    assert rows["byte_write"]["value"] == pytest.approx(1.024) and rows["bonnie_trials"]["value"] == pytest.approx(400)
    assert DESIGN.readings.of_run(record) == {"iterations": 2, "counted": 1} and DESIGN.readings.of_run({}) == {}


def test_the_paper_s_overheads_are_found_from_its_tables():
    """Check equation 1 with its margin, and the variability overheads of the text (54 %, 563 %, 1384 %)."""
    known = pd.read_csv(DATA / "li2018_overheads.csv").dropna(subset=["value"])
    for row in known.itertuples():
        assert statistics.overhead(row.value, row.baseline) == pytest.approx(row.overhead_after_margin, abs=1e-4)
    for row in known.dropna(subset=["variability_overhead"]).itertuples():
        assert statistics.variability_overhead(row.sd, row.baseline_sd) == pytest.approx(row.variability_overhead, abs=1e-4)
    assert statistics.variability_overhead(1.0, 2.0) == 0


def test_scores_are_shares_of_the_best():
    assert statistics.scores({"bare": 10.0, "docker": 8.0}, "higher", ["bare", "docker"]) == {"bare": 1.0, "docker": 0.8}
    assert statistics.scores({"bare": 2.0, "docker": 2.5, "other": 1.0}, "lower", ["bare", "docker"]) == {
        "bare": 1.0,
        "docker": 0.8,
        "other": 2.0,
    }


def test_the_paper_s_changes_have_the_direction_of_the_metric(li2018):
    rows = papers.reference_table("li2018_table4_computation")
    changes = {(one["metric"], one["runtime"]): one for one in papers.changes(rows, li2018["metrics"])}
    assert (
        changes["fpu_fft", "docker"]["change"] == pytest.approx(1 / 0.966 - 1)
        and changes["fpu_fft", "docker"]["sd_ratio"] is None
    )
    assert changes["cpu_cryptohash", "vm"]["change"] == pytest.approx(-0.057)
    stream = {
        (one["metric"], one["runtime"]): one
        for one in papers.changes(papers.reference_table("li2018_table5_memory"), li2018["metrics"])
    }
    assert stream["triad", "docker"]["sd_ratio"] == pytest.approx(6.63, abs=0.01)
    assert set(papers.reference_table("li2018_table5_memory")["paper_mean"] < 4) == {True}


def observed(plan: dict, study: dict) -> pd.DataFrame:
    """Return observations: each metric is 100, but 80 in a container and 20 in an emulated machine. Noise is 1 %, and 2
    % in containers. Each block has its own level."""
    random, rows = np.random.default_rng(0), []
    level = {"bare": 100.0, "docker": 80.0, "vm-emulated": 20.0}
    for cell in plan["cells"].values():
        if cell["reason"]:
            continue
        for name, metric in study["metrics"].items():
            if metric["benchmark"] != cell["benchmark"]:
                continue
            described = {key: metric[key] for key in ("label", "unit", "better")}
            levels = {factor: cell[factor] for factor in plan["factors"]}
            for block in range(1, cell["repetitions"] + 1):
                for iteration in range(2, ITERATIONS + 2):
                    noise = 0.01 * (2 if cell["runtime"] == "docker" else 1) * random.normal()
                    more = {"iteration": iteration, "moment": 60.0 * block + iteration, "repetition": block, "censored": False}
                    value = level[cell["runtime"]] * (1 + 0.1 * block) * np.exp(noise)
                    rows.append({**levels, "metric": name, **described, "value": value, **more})
    return pd.DataFrame(rows)


def test_changes_are_of_blocks_and_what_a_block_does_to_all_is_no_variation(plan, li2018):
    table = statistics.of_cells(observed(plan, li2018)).set_index(["metric", "runtime", "storage"])
    row = table.loc[("triad", "docker", "none")]
    assert row["change"] == pytest.approx(-0.2, abs=0.02) and row["change_low"] < row["change"] < row["change_high"] < -0.15
    assert (
        row["overhead"] == pytest.approx(-row["change"], abs=0.01)
        and row["blocks"] == BLOCKS
        and row["n"] == BLOCKS * ITERATIONS
    )
    # Blocks differ by tens of percent, and plain standard deviations show little else.
    assert row["sd_change"] < 0 and row["variability_overhead"] == 0 and row["spread_change"] > 0.2
    assert pd.isna(table.loc[("triad", "bare", "none"), "change"])
    assert table.loc[("triad", "bare", "none"), "score"] == 1 and row["score"] == pytest.approx(0.8, abs=0.02)
    # Emulated machines are not ranked, however fast they are.
    assert table.loc[("cpu_blowfish", "docker", "none"), "score"] == 1
    assert table.loc[("cpu_blowfish", "vm-emulated", "none"), "score"] > 3
    volume = table.loc[("byte_write", "docker", "volume")]
    assert volume["change"] == pytest.approx(-0.2, abs=0.02) and pd.isna(volume["score"])
    emulated = table.loc[("triad", "vm-emulated", "none")]
    assert pd.isna(emulated["change_low"]) and pd.isna(emulated["spread_change"])


@pytest.fixture
def shown(li2018, plan):
    def shown(name, change=lambda table: table):
        of_figure = li2018.design.cells.shown(plan, li2018, name)
        own = {**plan, "cells": {cell["path"]: cell for cell in of_figure}}
        return render.figure_data(li2018, plan, name, change(observed(own, li2018)), {})

    yield shown
    plt.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_read(shown, name):
    figure = drawn(shown(name))
    check(figure.figure)
    assert "nan" not in figure.caption + figure.alternative and NO_KVM["vm"] in figure.caption


def test_the_trajectory_says_in_words_what_varies_most(shown):
    def one_high(table):
        high = (table["metric"] == "block_read") & (table["runtime"] == "docker") & (table["storage"] == "own")
        table.loc[table[high].index[0], "value"] *= 10
        return table

    assert "Varies most: Block read, Docker, from " in drawn(shown("fig09", one_high)).alternative


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_a_valid_run_is_drawn_all_the_same(shown, name):
    drawn(shown(name, lambda table: table.iloc[:0]))


def test_the_paper_s_diamonds_are_beside_our_bars(shown):
    above, below = drawn(shown("fig08")).figure.axes
    diamonds = [line for line in above.get_lines() if line.get_marker() == "D"]
    assert len(diamonds) == 8 and {round(line.get_ydata()[0], 1) for line in diamonds} >= {0.4, -2.9}
    assert max(line.get_ydata()[0] for line in below.get_lines() if line.get_marker() == "D") == pytest.approx(15.6, abs=0.1)


def test_tables_have_the_paper_s_rows_with_ours_or_a_reason(plan, li2018, tmp_path, monkeypatch):
    monkeypatch.setattr(TableRequest, "plan", plan)
    monkeypatch.setattr(TableRequest, "observations", lambda asked: observed(plan, li2018))
    table = run_tables.means(TableRequest(li2018, "table05", tmp_path)).set_index(["metric", "runtime"])
    assert len(table) == 12 and table.loc[("triad", "docker"), "paper_mean"] == pytest.approx(3.340416)
    assert table.loc[("triad", "docker"), "change"] == pytest.approx(-0.2, abs=0.02) and set(table["unit"]) == {"GB/s"}
    # Emulated machines replace virtual machines that are unavailable, and keep their own name.
    assert "vm" not in table.index.get_level_values("runtime") and table.loc[("triad", "vm-emulated"), "n"] == ITERATIONS
    scores = run_tables.scores(TableRequest(li2018, "table04", tmp_path)).set_index(["metric", "runtime"])
    assert scores.loc[("fpu_fft", "docker"), "paper_mean"] == 0.966 and len(scores) == 18
    described = run_tables.described(TableRequest(li2018, "table02", tmp_path))
    assert set(described["unit"]) == {"s", "MiB/s"}


def test_claims_compare_like_with_like(plan_of, li2018):
    plan = plan_of(without={})
    asked = DESIGN.contrasts.comparison_finder(plan, li2018)
    claims = {claim["id"]: claim for claim in book.load("li2018")}

    def pairs(number):
        return {(contrast.a.cell, contrast.b.cell, contrast.a.metric) for contrast in asked(claims[f"li2018-{number}"])}

    assert pairs("c01") == {("iperf/docker", "iperf/bare", "iperf_throughput")}
    assert pairs("c18") == {("bonnie_with_bytes/docker/own", "bonnie_with_bytes/bare/own", "byte_write")}
    assert {(a, b) for a, b, _ in pairs("c32")} == {("bonnie_with_bytes/docker/own", "bonnie_with_bytes/docker/volume")}
    of_machines = book.parts_of(claims["li2018-c25"])[1]
    assert {contrast.a.metric for contrast in asked(of_machines)} == {"byte_write", "block_write", "block_read"}
    # A claim that compares metrics takes them from different benchmarks.
    bottleneck = [contrast for part in book.parts_of(claims["li2018-c31"])[:3] for contrast in asked(part)]
    assert len(bottleneck) == 2 * 12 and {contrast.b.reference for contrast in bottleneck} >= {"stream/bare", "fpu_fft/bare"}
    losses = asked(book.parts_of(claims["li2018-c10"])[1])
    assert {contrast.a.reference for contrast in losses} == {"fpu_fft/bare"} and len(losses) == 5
    assert all(contrast.b.reference.endswith("/bare") for contrast in losses)


def test_what_is_missing_is_named(plan, plan_of, small_host):
    missing = DESIGN.contrasts.unmet_needs(plan)
    assert NO_KVM["vm"] in missing["vm"] and "emulated ones say nothing" in missing["vm"]
    assert "windows of 600 s or more" in missing["long_windows"] and "second_host" in missing["remote_host"]
    second = {"name": "far", "kernel": "Linux 6", "cpu_model": "x", "processor": 0}
    everything = plan_of("paper", {**small_host, "second_host": second}, without={})
    assert set(DESIGN.contrasts.unmet_needs(everything)) == {"rotating_disk"}
    nested = plan_of(without={}, host={**small_host, "hypervisor": True})
    assert "hardware_virtualisation" in DESIGN.contrasts.unmet_needs(nested)


def test_cells_are_told_in_words():
    assert words.cell("iperf/bare", {}) == "iperf, Bare metal"
    assert words.cell("bonnie_with_bytes/docker/volume", {}) == "Bonnie++ with bytes, Docker on a volume"
    assert words.environment("docker", "own") == "Docker" and words.environment("bare", "own") == "Bare metal"
