"""Cells are a microservice alone, or a pair of them, in one of the cases."""

FACTORS = ("case", "pair", "runtime", "placement")
PATTERN = "(?:1|2|3a|3b)/[a-z_+]+/[a-z-]+/[a-z-]+"
# Where a client and its server run, which the papers leave open: where the kernel likes, both on one core, on a core each.
FREE, SAME_CORE, OTHER_CORE = "free", "same-core", "other-core"
PLACEMENTS = {
    FREE: "client and server where the kernel likes",
    SAME_CORE: "client and server on one core",
    OTHER_CORE: "client and server on a core each",
}
SIZES: tuple[str, ...] = ()
OF_OBSERVATION = ("benchmark", "co_runner", "place", "iteration", "begin", "cpu_seconds", "wall_seconds")
OF_RUN = ("iterations", "counted", "share_counted")
TRIES_ENVIRONMENTS = False
# What claims say of a co-runner without naming it.
SAME, OTHERS, REST = ("same resource",), ("other resource", "other kind"), "all others"
CO_RUNNERS = (REST, *SAME, *OTHERS)
