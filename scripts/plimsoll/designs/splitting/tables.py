"""Kinds of tables of a splitting study: liu2020's tables 1 to 6.

Planning needs only the list of kinds, so each function imports what makes its table.
"""

from plimsoll import design
from plimsoll.analysis.tables import Kind, TableRequest


def mpi_profile(request: TableRequest):
    """Return table 1: time in MPI functions, with the paper's values."""
    from plimsoll.designs.splitting import run_tables

    return run_tables.profiled(request)


def of_host(request: TableRequest):
    """Return table 2, 3 or 4: this host, its software or its schemes, with the paper's values."""
    from plimsoll.designs.splitting import host_tables

    return host_tables.make(request)


def features(request: TableRequest):
    """Return table 5: what each runtime isolates, as seen from inside, with the paper's values."""
    import pandas as pd

    from plimsoll.runtimes import isolation

    return pd.DataFrame(isolation.rows(request.read("environments"), request.table["printed"]))


def locality(request: TableRequest):
    """Return table 6: local memory accesses, with the paper's values."""
    from plimsoll.designs.splitting import run_tables

    return run_tables.located(request)


class Tables(design.Tables):
    """Kinds of tables of a splitting study."""

    KINDS = {
        "mpi-profile": Kind(mpi_profile, frozenset({"runs"})),
        "hardware": Kind(of_host, frozenset({"host"})),
        "software": Kind(of_host, frozenset({"host", "image"})),
        "schemes": Kind(of_host, frozenset({"host"})),
        "features": Kind(features, frozenset({"environments"})),
        "locality": Kind(locality, frozenset({"runs"})),
    }
