"""Kinds of tables of a splitting study: liu2020's tables 1 to 6."""

from plimsoll import design
from plimsoll.analysis.tables import Kind


class Tables(design.Tables):
    """Time in MPI functions, this host, its software, its schemes, what runtimes isolate, and local memory accesses."""

    KINDS = {
        "mpi-profile": Kind("run_tables.profiled", {"runs"}),
        "hardware": Kind("host_tables.make", {"host"}),
        "software": Kind("host_tables.make", {"host", "image"}),
        "schemes": Kind("host_tables.make", {"host"}),
        "features": Kind("host_tables.features", {"environments"}),
        "locality": Kind("run_tables.located", {"runs"}),
    }
