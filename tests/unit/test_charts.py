import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plimsoll.charts import (
    affinity,
    cells,
    contention,
    events,
    granularity,
    hardware,
    patterns,
    profile,
    scenarios,
    style,
    yielding,
)
from plimsoll.instruments.mpi import PATTERNS


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


RUNTIMES = ("bare", "docker", "singularity", "singularity-cgroup", "singularity-instance")


def data(schemes, missing=(), levels=("any",)):
    random = np.random.default_rng(0)
    planned, rows = [], []
    for (mode, scheme), runtime, level in itertools.product(schemes, RUNTIMES, levels):
        if runtime == "bare" and scheme[1] != "1":
            continue
        cell = {
            "hardware": "uma",
            "mode": mode,
            "scheme": scheme,
            "runtime": runtime,
            "affinity": level,
            "yield": "default",
            "sizes": "standard",
            "instrument": "plain",
            "containers": 2,
            "ranks_per_container": 1,
        }
        planned.append(cell)
        if (scheme, runtime) not in missing:
            for value in random.normal(10, 0.2, 6):
                rows.append(
                    {
                        **cell,
                        "metric": "m",
                        "label": "A metric",
                        "unit": "GB/s",
                        "better": "higher",
                        "value": value,
                        "censored": False,
                    }
                )
    plan = {"repetitions": 6, "profile": "quick", "cells": planned, "impossible": ["numa: there is one socket"]}
    return pd.DataFrame(rows), plan


SMALL = [("exact", "E1"), ("exact", "E2"), ("over", "O1"), ("over", "O2")]
PAPER = [*(("exact", f"E{n}") for n in range(1, 6)), *(("over", f"O{n}") for n in range(1, 5))]


@pytest.mark.parametrize("levels", [("any",), ("any", "pin")])
@pytest.mark.parametrize("schemes", [SMALL, PAPER])
def test_a_figure_is_written_whole(tmp_path, schemes, levels):
    observations, plan = data(schemes, levels=levels)
    summary = cells.summarise(observations, "m", plan)
    style.save(granularity.draw(summary, observations, "m"), str(tmp_path / "f"))
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "f.png").stat().st_size > 20_000


def test_the_same_data_give_the_same_pdf(tmp_path):
    observations, plan = data(SMALL)
    summary = cells.summarise(observations, "m", plan)
    for name in "ab":
        style.save(granularity.draw(summary, observations, "m"), str(tmp_path / name))
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_summary_numbers():
    observations, plan = data(SMALL)
    summary = cells.summarise(observations, "m", plan)
    assert len(summary) == len(plan["cells"])
    row = summary[(summary["scheme"] == "E2") & (summary["runtime"] == "docker")].iloc[0]
    values = observations[(observations["scheme"] == "E2") & (observations["runtime"] == "docker")]["value"]
    bare = observations[(observations["scheme"] == "E1") & (observations["runtime"] == "bare")]["value"]
    assert row["n"] == 6 and row["mean"] == pytest.approx(values.mean())
    assert row["mean_low"] < row["mean"] < row["mean_high"]
    assert row["ratio_to_bare"] == pytest.approx(values.mean() / bare.mean())


def test_a_cell_without_valid_runs_is_shown_as_such(tmp_path):
    observations, plan = data(SMALL, missing=[("E2", "docker")])
    summary = cells.summarise(observations, "m", plan)
    assert summary.set_index(["scheme", "runtime"]).loc[("E2", "docker"), "n"] == 0
    figure = granularity.draw(summary, observations, "m")
    assert "no valid run" in [text.get_text() for axis in figure.axes for text in axis.texts]
    assert "n = 0 to 6" in granularity.caption(summary, plan)


def test_a_figure_without_any_valid_run_is_still_drawn():
    observations, plan = data(SMALL)
    nothing = observations.iloc[:0]
    granularity.draw(cells.summarise(nothing, "m", plan), nothing, "m")


def test_the_caption_states_n_whiskers_and_what_is_impossible():
    observations, plan = data(SMALL)
    text = granularity.caption(cells.summarise(observations, "m", plan), plan)
    for part in ("n = 6", "95 % interval of the mean", "6 planned", "numa: there is one socket", "quick"):
        assert part in text


def test_every_runtime_has_a_colour_of_its_own():
    from plimsoll import runtimes

    assert set(style.COLOURS) == set(runtimes.known()) == set(style.HATCHES)
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)


def test_affinity_is_drawn_with_the_ratio_to_free_scheduling(tmp_path):
    observations, plan = data(SMALL[1::2], levels=("any", "cpumem", "cpumempin"))
    observations.loc[observations["affinity"] == "cpumem", "value"] *= 2
    summary = affinity.summarise(observations, "m", plan)
    ratios = summary.groupby("affinity")["ratio_to_any"].mean()
    assert (
        ratios["any"] == 1
        and ratios["cpumem"] == pytest.approx(2, rel=0.1)
        and ratios["cpumempin"] == pytest.approx(1, rel=0.1)
    )
    style.save(affinity.draw(summary, observations, "m"), str(tmp_path / "f"))
    assert (tmp_path / "f.png").stat().st_size > 20_000
    assert "CPUMEM" not in affinity.caption(summary, plan) and "(ANY)" in affinity.caption(summary, plan)


def test_a_difference_of_settings_is_relative_to_numa(tmp_path):
    uma, plan = data(PAPER, levels=("any", "pin"))
    numa = uma.assign(hardware="numa", value=uma["value"] * 1.25)
    observations = pd.concat([uma, numa])
    summary = hardware.summarise(observations, "m", plan)
    assert summary["difference"].to_numpy() == pytest.approx(-20)
    assert (summary["difference_low"] < -20).all() and (summary["difference_high"] > -20).all()
    style.save(hardware.draw(summary, observations, "m"), str(tmp_path / "f"))
    assert (tmp_path / "f.png").stat().st_size > 20_000


def yields():
    observations, plan = data([("over", "O1"), ("over", "O2")])
    parts = []
    for number, level in enumerate(("default", "disabled", "enabled")):
        parts.append(observations.assign(**{"yield": level, "section": "fft", "value": observations["value"] * (3 - number)}))
    table = pd.concat(parts)
    slow = (table["yield"] == "disabled") & (table["runtime"] == "docker") & (table["scheme"] == "O2")
    table["censored"] = table["censored"] | slow
    wanted = [
        {**cell, "yield": level, "section": "fft"} for cell in plan["cells"] for level in ("default", "disabled", "enabled")
    ]
    return table, {**plan, "cells": wanted}


def test_a_run_at_its_limit_is_shown_as_at_least_this_slow():
    observations, plan = yields()
    summary = yielding.summarise(observations, ["m"], plan)
    row = summary.set_index(["runtime", "scheme", "yield"]).loc[("docker", "O2", "disabled")]
    assert row["censored"] == 6 and np.isnan(row["mean_low"])
    figure = yielding.draw(summary, observations, ["m"])
    assert "6/6" in [text.get_text() for text in figure.axes[0].texts]


def test_scenarios_show_every_container_of_the_paper_s_host(liu2020, config, paper_host, tmp_path):
    from plimsoll import figures, plan, study

    made = plan.make(liu2020, study.profile("paper"), paper_host, config, {})
    for name, containers in (("fig04", 2 * (31 + 15)), ("fig30", None)):
        shown = figures.shown(made, liu2020, name)
        summary = scenarios.summarise(pd.DataFrame(), [], shown)
        if containers:
            assert len(summary) == containers
            assert set(summary.loc[summary["scheme"] == "O2", "cpus"]) == {"0-3,18-21", "0-7"}
        else:
            pinned = summary[
                (summary["affinity"] == "cpumempin") & (summary["scheme"] == "O2") & (summary["hardware"] == "numa")
            ]
            assert list(pinned["core_of_rank"]) == ["0 0 1 1 2 2 3 3", "18 18 19 19 20 20 21 21"]
        style.save(scenarios.draw(summary, pd.DataFrame(), [], shown["sockets"]), str(tmp_path / name))
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000


def test_what_cannot_be_measured_is_said_in_place_of_the_figure(tmp_path):
    style.save(style.statement("A metric", "there is one socket"), str(tmp_path / "f"))
    assert (tmp_path / "f.png").stat().st_size > 3_000


def written(figure, tmp_path):
    style.save(figure, str(tmp_path / "f"))
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "f.png").stat().st_size > 20_000


@pytest.mark.parametrize(("by", "levels"), [("runtime", ("any",)), ("affinity", ("any", "cpumem", "cpumempin"))])
@pytest.mark.parametrize("schemes", [SMALL, PAPER])
def test_events_are_drawn_where_they_are_counted_and_the_others_named(tmp_path, schemes, by, levels):
    observations, plan = data(schemes, levels=levels)
    blind = "this host does not count l3 misses"
    plan = {**plan, "unseen": {"misses": blind, "loads": blind}}
    summary = events.summarise(observations, ["m", "misses", "loads"], plan)
    assert set(summary["metric"]) == {"m"}
    figure = events.draw(summary, observations, by, plan)
    assert blind in figure.get_supxlabel().replace("\n", " ")
    written(figure, tmp_path)
    caption = events.caption(summary, plan, by)
    assert caption.count(blind) == 1 and "Not measured, numa: there is one socket" in caption


def test_a_host_that_counts_nothing_has_an_empty_table_with_a_header():
    observations, plan = data(SMALL)
    table = events.summarise(observations, ["misses"], {**plan, "unseen": {"misses": "not here"}})
    assert len(table) == 0 and {"metric", "mean", "n"} <= set(table)


def profiled(shares):
    rows = [
        {"hardware": "uma", "mode": mode, "section": section, "what": what, "repetition": n, "calls": 3 * n, "seconds": 1.0}
        | {"share": share * (1 + 0.01 * n)}
        for mode in ("exact", "over")
        for section in profile.SECTIONS
        for what, share in shares.items()
        for n in (1, 2, 3)
    ]
    return pd.DataFrame(rows)


def test_an_mpi_profile_is_stacked_up_to_the_share_in_all_functions(tmp_path):
    shares = {pattern: 0.01 * (number + 1) for number, pattern in enumerate(PATTERNS)}
    summary = profile.summarise(profiled({"all": sum(shares.values()), **shares, "MPI_Send": 0.01}))
    assert len(summary) == 2 * 6 * (1 + 9)
    figure = profile.draw(summary)
    for axis in figure.axes:
        # Of each benchmark a grey bar and its coloured parts, which end where the number says.
        ends = [patch.get_x() + patch.get_width() for patch in axis.patches if patch.get_width() < 100]
        assert max(ends) == pytest.approx(100 * 1.02 * sum(shares.values()))
    written(figure, tmp_path)
    row = summary[summary["what"] == "barrier"].iloc[0]
    assert (row["calls_least"], row["calls_most"], row["n"]) == (3, 9, 3)
    assert "n = 3 runs" in profile.caption(summary, {"repetitions": 3, "profile": "quick", "impossible": []})


def test_times_of_patterns_are_set_against_one_container(tmp_path):
    observations, plan = data(SMALL)
    observations.loc[observations["scheme"].str.endswith("2"), "value"] *= 2
    docker = observations[observations["runtime"] == "docker"].assign(label="MPI_Send")
    metrics = ["beff_sendrecv_seconds", "beff_transfer_seconds", "beff_wait_seconds"]
    points = pd.concat([docker.assign(metric=metric) for metric in metrics])
    cells_of_docker = [{**cell, "containers": int(cell["scheme"][1])} for cell in plan["cells"] if cell["runtime"] == "docker"]
    summary = patterns.summarise(points, metrics, {**plan, "cells": cells_of_docker})
    assert summary.groupby("scheme")["ratio_to_one"].mean().to_dict() == {
        **{"E1": pytest.approx(1), "O1": pytest.approx(1)},
        **{"E2": pytest.approx(2, abs=0.1), "O2": pytest.approx(2, abs=0.1)},
    }
    written(patterns.draw(summary, points, metrics), tmp_path)


def test_memory_contention_is_drawn_against_one_rank_alone(tmp_path):
    observations, plan = data([*PAPER[:5], ("exact", "S1")])
    observations["value"] = np.where(observations["scheme"] == "S1", 0.25, 1.5)
    both = pd.concat([observations, observations.assign(hardware="numa", value=observations["value"] / 2)])
    cells_of_both = [*plan["cells"], *({**cell, "hardware": "numa"} for cell in plan["cells"])]
    summary = contention.summarise(both, "m", {**plan, "cells": cells_of_both})
    assert "S1" not in set(summary["scheme"])
    measured = summary[summary["n"] > 0]
    # One rank alone of singularity and others: only E1 and S1 have bare metal.
    means = measured.groupby("hardware")["mean"].unique()
    assert means["uma"] == pytest.approx([(1.5 - 0.25) / 1.25])
    assert means["numa"] == pytest.approx([(0.75 - 0.125) / 1.125])
    written(contention.draw(summary, both, "m"), tmp_path)
