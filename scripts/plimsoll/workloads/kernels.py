"""Kernels that a library has chosen for the processor, and whether the processor has wider vector instructions.

OpenBLAS has kernels for many processors, and chooses when it is loaded. Our programs report which kernels it chose, and
which vector instructions the processor offers (containers/hpcc/rank_report.c, containers/microservices/linpack.c).
"""

import os
from typing import TypedDict

from plimsoll.errors import Lasting, quote
from plimsoll.workloads.base import InvalidOutput

LIBRARY = "OpenBLAS"
# The user's variable with a kernel name of OpenBLAS, and OpenBLAS's own variable, through which all runs get that name.
CHOSEN, TAKEN = "PLIMSOLL_BLAS_KERNELS", "OPENBLAS_CORETYPE"
# Vector instructions from the narrowest to the widest, each with the kernels that use them. The first kernel of each
# runs on any processor with these instructions. Excavator's kernels are for a processor with AVX2 that is faster
# without it.
WIDTHS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86": {
        "SSE": (
            *("Nehalem", "Prescott", "Core2", "Penryn", "Dunnington", "Atom", "Nano"),
            *("Opteron", "Opteron_SSE3", "Barcelona", "Bobcat"),
        ),
        "AVX": ("Sandybridge", "Bulldozer", "Piledriver", "Steamroller"),
        "AVX2": ("Haswell", "Zen", "Excavator"),
        "AVX-512": ("SkylakeX", "Cooperlake", "SapphireRapids"),
    },
    "Arm": {
        "NEON": (
            *("armv8", "cortexa53", "cortexa55", "cortexa57", "cortexa72", "cortexa73", "falkor", "thunderx", "thunderx2t99"),
            *("thunderx3t110", "tsv110", "emag8180", "neoversen1", "vortex", "vortexm4"),
        ),
        "SVE": ("armv8sve", "neoversev1", "neoversev2", "neoversen2", "a64fx", "armv9sme"),
    },
}


class Chosen(TypedDict):
    """A program's report about its BLAS."""

    kernels: str
    threads: int
    processor: str  # its widest vector instructions


def variables() -> dict[str, str]:
    """Return the environment variables that give programs the kernels which the user names; empty if the user names none."""
    named = os.environ.get(CHOSEN)
    return {TAKEN: named} if named else {}


def refuse_narrow(kernels: str, processor: str) -> None:
    """Raise Lasting if the kernels use narrower vector instructions than the processor has.

    Raise InvalidOutput if they are unknown.
    """
    for widths in WIDTHS.values():
        used = [width for width, names in widths.items() if kernels in names]
        if used and processor in widths:
            break
    else:
        raise InvalidOutput(f"{LIBRARY} has no kernels {quote(kernels)} for a processor with {quote(processor)}")
    if list(widths).index(used[0]) < list(widths).index(processor):
        raise Lasting(
            f"{LIBRARY} has chosen its {kernels} kernels, which use {used[0]}, and this processor has {processor}: what it "
            "computes would be measured slower than this machine is, so it was not measured",
            f"set {CHOSEN}={widths[processor][0]}, which all runtimes are then given",
        )
