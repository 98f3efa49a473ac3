"""HPC Challenge 1.5.0, one section per run (containers/hpcc/select-sections.patch makes sections selectable)."""

import math
from pathlib import Path

from plimsoll.workloads import stream
from plimsoll.workloads.base import Application, InvalidOutput

# Our name of a section: HPCC's name, and the values that it must have printed.
SECTIONS = {
    "dgemm": ("StarDGEMM", ("StarDGEMM_Gflops",)),
    "stream": ("StarSTREAM", tuple(f"StarSTREAM_{kernel.capitalize()}" for kernel in stream.KERNELS)),
    "fft": ("MPIFFT", ("MPIFFT_Gflops",)),
    "ptrans": ("PTRANS", ("PTRANS_GBs",)),
    "randomaccess": ("MPIRandomAccess", ("MPIRandomAccess_GUPs",)),
    "beff": (
        "LatencyBandwidth",
        (
            "AvgPingPongLatency_usec",
            "AvgPingPongBandwidth_GBytes",
            "RandomlyOrderedRingLatency_usec",
            "RandomlyOrderedRingBandwidth_GBytes",
        ),
    ),
    "hpl": ("HPL", ("HPL_Tflops",)),
}
# HPCC's own limits: the share of wrong updates in RandomAccess, and the threshold of hpccinf.txt for scaled residuals.
RANDOMACCESS_ERRORS = 0.01
RESIDUAL = 16.0
# HPCC prints G-FFT's largest error unscaled; a right transform of any size that fits a machine stays far below this.
FFT_ERROR = 1e-10

# Core seconds for each word of the N * N, for a plan's estimate.
SECONDS_A_WORD = {"fft": 1.3e-8, "ptrans": 3.4e-8, "stream": 2.1e-8}

INPUT = """\
HPLinpack benchmark input file
written by Plimsoll
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{order}      Ns
1            # of NBs
{block}      NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows}       Ps
{columns}    Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
0            values of N
0            number of additional blocking sizes for PTRANS
0            values of NB
"""


def grid(ranks: int) -> tuple[int, int]:
    """Rows and columns of the process grid: as square as the number of ranks allows, rows <= columns."""
    rows = max(r for r in range(1, math.isqrt(ranks) + 1) if ranks % r == 0)
    return rows, ranks // rows


class Hpcc(Application):
    """HPC Challenge; a section's problem follows from the order N of a matrix of N * N doubles over all ranks."""

    name = "hpcc"
    software = "HPCC"
    program = "/opt/plimsoll/bin/hpcc"
    sections = tuple(SECTIONS)

    def parameters(self, section: str, profile: dict, sizes: str, ranks: int, memory_bytes: int, cache_bytes: int) -> dict:
        """Order N, block and process grid of a section.

        N is the profile's, raised for STREAM until each of its arrays is `cache_multiple` times the last-level caches, and
        lowered to the profile's share of the memory.
        """
        limits = profile["hpcc"]
        wanted = limits[sizes]["dgemm" if section == "hpl" else section]
        # HPCC splits the matrix's memory into STREAM's arrays.
        arrays = stream.ARRAYS * stream.words(wanted.get("cache_multiple", 0), cache_bytes)
        order = max(wanted["order"], math.isqrt(int(arrays)))
        order = min(order, math.isqrt(int(limits["memory_share"] * memory_bytes / 8)))
        rows, columns = grid(ranks)
        return {"section": section, "order": order, "block": limits["block"], "rows": rows, "columns": columns}

    def of_one_rank(self, parameters: dict, ranks: int) -> dict:
        """A matrix of one rank's part of the words."""
        return {**parameters, "order": math.isqrt(parameters["order"] ** 2 // ranks), "rows": 1, "columns": 1}

    def region(self, parameters: dict) -> str:
        """HPCC's name of the section."""
        return SECTIONS[parameters["section"]][0]

    def expected_seconds(self, parameters: dict, ranks: int, cores: int) -> float:
        """From operation counts and rates seen on two cores of an AMD EPYC and two sockets' worth of caution: right to a factor
        of two or so.

        G-RandomAccess is far slower over-subscribed, and stops after a minute by itself.
        """
        words, ratio = parameters["order"] ** 2, ranks / cores
        if parameters["section"] in ("dgemm", "hpl"):
            seconds = 1.5 * ratio * 2 * (words / (3 * ranks)) ** 1.5 / 35e9
        elif parameters["section"] == "randomaccess":
            seconds = min(60, 1e-7 * words / cores * (30 if ratio > 1 else 1))
        else:
            seconds = SECONDS_A_WORD.get(parameters["section"], 0) * words / cores
        return 0.35 + 0.05 * ranks + seconds

    def starting_seconds(self, ranks: int) -> float:
        """Containers, and looking: seen on two cores of an AMD EPYC."""
        return 1.1

    def prepare(self, folder: Path, parameters: dict) -> None:
        """Write hpccinf.txt and the list of sections."""
        (folder / "hpccinf.txt").write_text(INPUT.format(**parameters))
        (folder / "hpccsections.txt").write_text(SECTIONS[parameters["section"]][0] + "\n")

    def results(self, folder: Path, parameters: dict) -> dict[str, float]:
        """Values of the summary section of hpccoutf.txt."""
        try:
            text = (folder / "hpccoutf.txt").read_text(errors="replace")
        except OSError as error:
            raise InvalidOutput("HPCC left no hpccoutf.txt") from error
        return check(parse(text), parameters["section"])


def parse(text: str) -> dict[str, float]:
    """Numbers of the summary of one complete hpccoutf.txt; InvalidOutput if it is truncated or holds two runs."""
    begin, end = "Begin of Summary section.", "End of Summary section."
    if text.count(begin) != 1 or text.count(end) != 1 or "End of HPC Challenge tests." not in text:
        raise InvalidOutput("hpccoutf.txt does not hold exactly one complete run")
    summary = {}
    for line in text[text.index(begin) : text.index(end)].splitlines():
        name, equals, value = line.partition("=")
        if equals:
            try:
                summary[name] = float(value)
            except ValueError:
                continue  # dates and names are not results
    return summary


def check(summary: dict[str, float], section: str) -> dict[str, float]:
    """The summary, if HPCC's own checks passed for the section; InvalidOutput otherwise."""
    if summary.get("Success") != 1:
        raise InvalidOutput("HPCC printed no Success=1")
    for name in SECTIONS[section][1]:
        if not (summary.get(name, -1) > 0 and math.isfinite(summary[name])):
            raise InvalidOutput(f"HPCC printed {name}={summary.get(name)}")
    checks = {
        "randomaccess": (lambda: summary["MPIRandomAccess_ErrorsFraction"], RANDOMACCESS_ERRORS),
        "ptrans": (lambda: summary["PTRANS_residual"], RESIDUAL),
        "fft": (lambda: summary["MPIFFT_maxErr"], FFT_ERROR),
        "hpl": (lambda: hpl_residual(summary), RESIDUAL),
    }
    if section in checks:
        measure, limit = checks[section]
        try:
            error = measure()
        except KeyError as missing:
            raise InvalidOutput(f"HPCC printed no {missing.args[0]}") from missing
        if not 0 <= error <= limit:
            raise InvalidOutput(f"HPCC's check of {section} failed: its error is {error:g}, at most {limit:g} is allowed")
    return summary


def hpl_residual(summary: dict[str, float]) -> float:
    """HPL's scaled residual: ||Ax-b|| / (eps * (||A|| ||x|| + ||b||) * N), in the infinity norm."""
    scale = summary["HPL_AnormI"] * summary["HPL_XnormI"] + summary["HPL_BnormI"]
    return summary["HPL_RnormI"] / (summary["HPL_dMACH_EPS"] * scale * summary["HPL_N"])


WORKLOADS = (Hpcc(),)
