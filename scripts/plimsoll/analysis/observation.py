"""The row of an observation: one metric of a run, or of an iteration of it, with its value."""

# Keys of a metric that every observation of it has.
DESCRIBED = ("label", "unit", "better")


def row(shared: dict, name: str, metric: dict, value: float, censored: bool = False) -> dict:
    """Return the row of an observation, which has the columns of `shared` too.

    `name` and `metric` are those of the study's metric. `value` is what the record has; the metric's `factor` converts it to
    the metric's unit. `censored` says that the run reached its limit, so that the true value is at least as large.
    """
    described = {key: metric[key] for key in DESCRIBED}
    return {**shared, "metric": name, **described, "value": value * metric.get("factor", 1), "censored": censored}
