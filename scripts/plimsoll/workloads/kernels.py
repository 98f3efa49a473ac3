"""The kernels that a library has chosen for the processor, and whether the processor has wider vector instructions.

OpenBLAS has kernels for many processors, and chooses when it is loaded. A program of ours says which it was, and what vector
instructions it may use (containers/hpcc/rank_report.c, containers/microservices/linpack.c).
"""

import os
from typing import TypedDict

from plimsoll.errors import Lasting, shown
from plimsoll.workloads.base import InvalidOutput

LIBRARY = "OpenBLAS"
# Kernels by their names for OpenBLAS, which all runs are given.
CHOSEN, TAKEN = "PLIMSOLL_BLAS_KERNELS", "OPENBLAS_CORETYPE"
# Vector instructions from the narrowest to the widest, each with the kernels that are written for processors with them. The
# first of each fit any such processor. Excavator's are for a processor with AVX2 that is faster without it.
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
    """What a program says of its BLAS."""

    kernels: str
    threads: int
    processor: str  # its widest vector instructions


def variables() -> dict[str, str]:
    """Return the variables by which programs are given the kernels that the user names; none where the user names none."""
    named = os.environ.get(CHOSEN)
    return {TAKEN: named} if named else {}


def refuse_narrow(kernels: str, processor: str) -> None:
    """Raise Lasting if kernels use narrower vector instructions than the processor has, InvalidOutput if they are not known."""
    for widths in WIDTHS.values():
        used = [width for width, names in widths.items() if kernels in names]
        if used and processor in widths:
            break
    else:
        raise InvalidOutput(f"{LIBRARY} has no kernels {shown(kernels)} for a processor with {shown(processor)}")
    if list(widths).index(used[0]) < list(widths).index(processor):
        raise Lasting(
            f"{LIBRARY} has chosen its {kernels} kernels, which use {used[0]}, and this processor has {processor}: what it "
            "computes would be measured slower than this machine is, so it was not measured",
            f"set {CHOSEN}={widths[processor][0]}, which all runtimes are then given",
        )
