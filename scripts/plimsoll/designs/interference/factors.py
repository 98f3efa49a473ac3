"""Cells are a microservice alone, or a pair of them, in one of the cases."""

FACTORS = ("case", "pair", "runtime")
PATTERN = "(?:1|2|3a|3b)/[a-z_+]+/[a-z-]+"
SIZES: tuple[str, ...] = ()
OF_OBSERVATION = ("benchmark", "co_runner", "place", "iteration", "begin", "cpu_seconds", "wall_seconds")
OF_RUN = ("iterations", "counted", "share_counted")
TRIES_ENVIRONMENTS = False
# What claims say of a co-runner without naming it.
SAME, OTHERS, REST = ("same resource",), ("other resource", "other kind"), "all others"
CO_RUNNERS = (REST, *SAME, *OTHERS)
