"""The kinds of tables of a splitting study: liu2020's tables 1 to 6.

Planning asks which kinds there are: what makes them is imported when it is needed.
"""

from plimsoll.analysis.tables import Asked, Kind


def mpi_profile(asked: Asked):
    """Table 1: time in MPI functions, beside the paper's."""
    from plimsoll.designs.splitting import run_tables

    return run_tables.profiled(asked)


def of_host(asked: Asked):
    """Tables 2 to 4: this host, its software and the schemes on it, beside the paper's."""
    from plimsoll.designs.splitting import host_tables

    return host_tables.make(asked)


def features(asked: Asked):
    """Table 5: what each environment isolates, seen from inside, beside the paper's."""
    import pandas as pd

    from plimsoll.environments import isolation

    return pd.DataFrame(isolation.rows(asked.read("environments"), asked.table["printed"]))


def locality(asked: Asked):
    """Table 6: local memory accesses, beside the paper's."""
    from plimsoll.designs.splitting import run_tables

    return run_tables.located(asked)


KINDS = {
    "mpi-profile": Kind(mpi_profile, frozenset({"runs"})),
    "hardware": Kind(of_host, frozenset({"host"})),
    "software": Kind(of_host, frozenset({"host", "image"})),
    "schemes": Kind(of_host, frozenset({"host"})),
    "features": Kind(features, frozenset({"environments"})),
    "locality": Kind(locality, frozenset({"runs"})),
}
