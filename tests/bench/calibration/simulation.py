"""Type I error and power of the paper's procedure and of ours, by simulation."""

import multiprocessing

import numpy as np
import pandas as pd
from plimsoll.analysis import paper_tests
from plimsoll.claims import verdicts

from tests.bench.calibration import ALPHA, FOLDER, MARGIN, ours, verdict, write

# Coefficient of variation of about 5 %, the spread of an ordinary benchmark; bimodal as the latencies of shared memory are.
DRAWS = {
    "normal": lambda random, shape: 1 + 0.05 * random.standard_normal(shape),
    "log-normal": lambda random, shape: np.exp(0.05 * random.standard_normal(shape)),
    "bimodal": lambda random, shape: (
        np.where(random.random(shape) < 0.7, 1.0, 1.1) * np.exp(0.01 * random.standard_normal(shape))
    ),
}
EFFECTS = (0.0, 0.02, 0.05, 0.1, 0.2)


def main(draws: int = 10_000) -> None:
    """Share of significant differences, ours and the paper's, by distribution, n and effect; and of wrong verdicts."""
    cases = [
        (name, n, effect, draws if effect in (0.0, MARGIN) else draws // 5)
        for name in DRAWS
        for n in (5, 10)
        for effect in EFFECTS
    ]
    with multiprocessing.Pool() as pool:
        table = pd.DataFrame(pool.map(_simulate, cases, chunksize=1))
    write(table, "simulation")
    _draw_simulation(table)
    print(table[table["effect"] == 0].to_string(index=False, float_format="%.4f"))


def _simulate(case: tuple[str, int, float, int]) -> dict:
    name, n, effect, draws = case
    random = np.random.default_rng([n, int(1000 * effect), len(name)])
    a, b = (1 + effect) * DRAWS[name](random, (draws, n)), DRAWS[name](random, (draws, n))
    counts = dict.fromkeys(
        ("paper", "ours", "covered", "alike", "difference reproduced", "likeness reproduced", "likeness contradicted"), 0
    )
    for x, y in zip(a, b, strict=True):
        p, p_like, low, high = ours(x, y)
        counts["paper"] += paper_tests.paper_test(x, y, ALPHA)["p"] < ALPHA
        counts["ours"] += p < ALPHA
        counts["covered"] += low <= effect <= high
        counts["alike"] += p_like < ALPHA
        counts["difference reproduced"] += verdict("higher", x, y) == verdicts.REPRODUCED
        same_verdict = verdict("no_difference", x, y)
        counts["likeness reproduced"] += same_verdict == verdicts.REPRODUCED
        counts["likeness contradicted"] += same_verdict == verdicts.CONTRADICTED
    return {
        "distribution": name,
        "n": n,
        "effect": effect,
        "draws": draws,
        **{key: count / draws for key, count in counts.items()},
    }


def _draw_simulation(table: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from plimsoll.figures import style

    style.apply()
    figure, axes = plt.subplots(1, 3, figsize=(2 * style.COLUMN_INCHES, 2.4), sharey=True, layout="constrained")
    colours = {"paper": "#d55e00", "ours": "#0072b2"}
    for axis, (name, group) in zip(axes, table.groupby("distribution", sort=False), strict=True):
        for n, of_n in group.groupby("n"):
            for procedure, colour in colours.items():
                label = f"{'the paper' if procedure == 'paper' else procedure}, n = {n}"
                axis.plot(
                    100 * of_n["effect"],
                    of_n[procedure],
                    color=colour,
                    linestyle="-" if n == 10 else "--",
                    marker="o",
                    markersize=3,
                    label=label,
                )
        axis.axhline(ALPHA, color="#808080", linewidth=0.6)
        axis.set_title(name, loc="left")
        axis.set_xlabel("true difference (%)")
    axes[0].set_ylabel(f"share with p < {ALPHA}")
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, handlelength=3)
    style.save(figure, str(FOLDER / "simulation"))
