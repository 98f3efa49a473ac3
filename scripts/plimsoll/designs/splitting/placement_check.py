"""Check that ranks ran where their cell says. Every run imports this module, so it does not import the affinity equations."""

from collections.abc import Sequence

from plimsoll.designs.splitting.factors import SplittingCell
from plimsoll.host import cpulist


def misplaced(cell: SplittingCell, ranks: Sequence[dict]) -> str | None:
    """Return why the ranks of a run were not where their cell places them; None if they were.

    `ranks` are the ranks' own reports in order of rank, with the kernel's lists `cpus_allowed` and `mems_allowed`. The kernel
    may list processors and nodes that the host could have but does not have. These are ignored.
    """
    each = cell["ranks_per_container"]
    for number, rank in enumerate(ranks):
        place = cell["places"][number // each]
        core = str(place["cores"][number % each]) if place["cores"] else place["cpus"]
        for what, allowed, wanted, there in (
            ("processors", rank["cpus_allowed"], core, cell["everything"]["cpus"]),
            ("memory nodes", rank["mems_allowed"], place["nodes"], cell["everything"]["nodes"]),
        ):
            seen = cpulist.format(set(cpulist.parse(allowed)) & set(cpulist.parse(there)))
            if seen != wanted:
                return f"rank {number} was allowed the {what} {seen or 'none'}, where the design has {wanted}"
    return None
