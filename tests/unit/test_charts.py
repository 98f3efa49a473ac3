import itertools

import numpy as np
import pandas as pd
import pytest
from plimsoll.charts import granularity, style

RUNTIMES = ("bare", "docker", "singularity", "singularity-cgroup", "singularity-instance")


def data(schemes, missing=()):
    random = np.random.default_rng(0)
    cells, rows = [], []
    for (mode, scheme), runtime in itertools.product(schemes, RUNTIMES):
        if runtime == "bare" and scheme[1] != "1":
            continue
        cell = {
            "hardware": "uma",
            "mode": mode,
            "scheme": scheme,
            "runtime": runtime,
            "affinity": "any",
            "containers": 2,
            "ranks_per_container": 1,
        }
        cells.append(cell)
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
                    }
                )
    plan = {"repetitions": 6, "profile": "quick", "cells": cells, "impossible": ["numa: there is one socket"]}
    return pd.DataFrame(rows), plan


SMALL = [("exact", "E1"), ("exact", "E2"), ("over", "O1"), ("over", "O2")]
PAPER = [*(("exact", f"E{n}") for n in range(1, 6)), *(("over", f"O{n}") for n in range(1, 5))]


@pytest.mark.parametrize("schemes", [SMALL, PAPER])
def test_a_figure_is_written_whole(tmp_path, schemes):
    observations, plan = data(schemes)
    summary = granularity.summarise(observations, "m", plan)
    style.save(granularity.draw(summary, observations, "m"), str(tmp_path / "f"))
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "f.png").stat().st_size > 20_000


def test_the_same_data_give_the_same_pdf(tmp_path):
    observations, plan = data(SMALL)
    summary = granularity.summarise(observations, "m", plan)
    for name in "ab":
        style.save(granularity.draw(summary, observations, "m"), str(tmp_path / name))
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_summary_numbers():
    observations, plan = data(SMALL)
    summary = granularity.summarise(observations, "m", plan)
    assert len(summary) == len(plan["cells"])
    row = summary[(summary["scheme"] == "E2") & (summary["runtime"] == "docker")].iloc[0]
    values = observations[(observations["scheme"] == "E2") & (observations["runtime"] == "docker")]["value"]
    bare = observations[(observations["scheme"] == "E1") & (observations["runtime"] == "bare")]["value"]
    assert row["n"] == 6 and row["mean"] == pytest.approx(values.mean())
    assert row["mean_low"] < row["mean"] < row["mean_high"]
    assert row["ratio_to_bare"] == pytest.approx(values.mean() / bare.mean())


def test_a_cell_without_valid_runs_is_shown_as_such(tmp_path):
    observations, plan = data(SMALL, missing=[("E2", "docker")])
    summary = granularity.summarise(observations, "m", plan)
    assert summary.set_index(["scheme", "runtime"]).loc[("E2", "docker"), "n"] == 0
    figure = granularity.draw(summary, observations, "m")
    assert "no valid run" in [text.get_text() for axis in figure.axes for text in axis.texts]
    assert "n = 0 to 6" in granularity.caption(summary, plan)


def test_a_figure_without_any_valid_run_is_still_drawn():
    observations, plan = data(SMALL)
    nothing = observations.iloc[:0]
    granularity.draw(granularity.summarise(nothing, "m", plan), nothing, "m")


def test_the_caption_states_n_whiskers_and_what_is_impossible():
    observations, plan = data(SMALL)
    text = granularity.caption(granularity.summarise(observations, "m", plan), plan)
    for part in ("n = 6", "95 % interval of the mean", "6 planned", "numa: there is one socket", "quick"):
        assert part in text


def test_every_runtime_has_a_colour_of_its_own():
    from plimsoll import runtimes

    assert set(style.COLOURS) == set(runtimes.known()) == set(style.HATCHES)
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)
