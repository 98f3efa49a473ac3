"""Cells are deployments of one MPI application: how many containers, on which cores, of which runtime."""

# The last is the benchmark's section; all sections of a deployment are shown together.
FACTORS = ("hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument", "section")
OF_DEPLOYMENT = FACTORS[:-1]
PATTERN = "[a-z]+/[a-z]+/[EOS][0-9]+/[a-z-]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+"
SIZES = ("containers", "ranks", "ranks_per_container", "cores")
OF_OBSERVATION: tuple[str, ...] = ()
OF_RUN = ("transport", "single_copy", "network_bytes")
TRIES_ENVIRONMENTS = True
# Factors that an experiment names levels of.
OF_EXPERIMENT = ("hardware", "mode", "runtime", "yield")
