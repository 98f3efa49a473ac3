"""HPC Challenge 1.5.0, one section per run (containers/hpcc/select-sections.patch makes sections selectable)."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import PlimsollError, quote
from plimsoll.host import run_files
from plimsoll.workloads import program_output, stream
from plimsoll.workloads.base import Application, InvalidOutput, Work

# By our name of a section: HPCC's name, and the values that it must have printed.
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
# HPCC prints G-FFT's largest error unscaled. A correct transform of any size that fits a machine stays far below this
# limit.
FFT_ERROR = 1e-10
# The end of hpccoutf.txt.
END = re.compile(r"End of Summary section[.]\n#+\nEnd of HPC Challenge tests[.]\nCurrent time [^\n]*\n\n#{72}\n\Z")
NUMBER = re.compile(f"-?{program_output.GENERAL}")


class Line(NamedTuple):
    """Where a section prints one of its results itself, besides the summary.

    `pattern` matches the number, `factor` converts it into the summary's unit, and `digits` is the number of decimals
    that it is rounded to.
    """

    pattern: str
    factor: float
    digits: int


def _line(pattern: str, digits: int, factor: float = 1.0) -> Line:
    return Line(
        pattern.format(number=f"({program_output.fixed_point(digits)})", other=program_output.fixed_point(digits)),
        factor,
        digits,
    )


_DETAILED = "Detailed benchmark results:\nPing Pong:\n"
_THREE = r"min / avg / max: +{other} / +{number} / +{other} "
_RANDOM_RING = "On randomly  ordered ring: latency= +"
# By the names in the summary. HPL's result follows from its size and time. PTRANS prints the lowest rate so far of each
# test: the last one is its result. A test that took no processor time, by a coarse clock, has no line for it.
LINES = {
    "StarDGEMM_Gflops": _line("\nAverage Gflop/s {number}\n", 6),
    **{f"StarSTREAM_{name}": _line(f"\nAverage {name} GB/s {{number}}\n", 6) for name in map(str.capitalize, stream.KERNELS)},
    "MPIFFT_Gflops": _line("\nGflop/s: +{number}\n", 3),
    "PTRANS_GBs": _line(r"\nWALL [ 0-9.]+ PASSED +{number} +[0-9.]+\n(?:CPU [^\n]* PASSED [^\n]*\n)?\nFinished", 3),
    "MPIRandomAccess_GUPs": _line(r"\n{number} Billion[(]10\^9[)] Updates +per second \[GUP/s\]\n", 9),
    "AvgPingPongLatency_usec": _line(f"{_DETAILED}Latency +{_THREE}msecs\n", 6, 1e3),
    "AvgPingPongBandwidth_GBytes": _line(f"{_DETAILED}Latency [^\n]*\nBandwidth {_THREE}MByte/s\n", 3, 1e-3),
    "RandomlyOrderedRingLatency_usec": _line(_RANDOM_RING + "{number} msec, bandwidth= +{other} MB/s\n", 6, 1e3),
    "RandomlyOrderedRingBandwidth_GBytes": _line(_RANDOM_RING + "{other} msec, bandwidth= +{number} MB/s\n", 6, 1e-3),
}


class SideBySide(NamedTuple):
    """Work that all ranks do at the same time.

    `name` names its rate, and `size` the number in the summary that its amount follows from. `amount` gives the work of
    one rank in 1e9 operations or bytes, and `pieces` how many pieces of it a rank does.
    """

    name: str
    size: str
    amount: Callable[[float], float]
    pieces: int


# The embarrassingly parallel sections. STREAM's work is that of its triad.
SIDE_BY_SIDE = {
    "dgemm": SideBySide("EP_DGEMM_Gflops", "DGEMM_N", lambda order: 2e-9 * order**3, 1),
    "stream": SideBySide(
        "EP_STREAM_Triad_GBs", "STREAM_VectorSize", lambda words: 1e-9 * stream.WORDS["triad"] * stream.WORD * words, 10
    ),
}
# The summary's numbers have six digits.
SIX_DIGITS = 1e-5
# HPL's result has a tolerance of its own, because its time is rounded too.
HPL_RATE, HPL_SHARE = "HPL_Tflops", 1e-3

# Order of a matrix with which every section works, on as many ranks as a host has cores.
SMALLEST = 1000
# Core seconds per matrix element (N * N in all), for a plan's estimate.
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
    """Return (rows, columns) of the process grid: as square as the number of ranks allows, rows <= columns."""
    rows = max(r for r in range(1, math.isqrt(ranks) + 1) if ranks % r == 0)
    return rows, ranks // rows


def _size(section: str, profile: dict, sizes: str) -> dict:
    """Return what the profile says about a section's size. Raise PlimsollError if it has no entry."""
    name = "dgemm" if section == "hpl" else section
    if name not in profile["hpcc"][sizes]:
        raise PlimsollError(
            f"The profile has no {sizes} size of {name}. Nothing was measured. Add hpcc.{sizes}.{name} to the "
            "profile's file in config/profiles/."
        )
    return profile["hpcc"][sizes][name]


def _wanted(section: str, profile: dict, sizes: str, cache_bytes: int) -> int:
    """Return the order that a section should have, by the profile and the caches."""
    size = _size(section, profile, sizes)
    # HPCC splits the matrix's memory into STREAM's arrays.
    arrays = stream.ARRAYS * stream.words(size.get("cache_multiple", 0), cache_bytes)
    return max(size["order"], math.isqrt(int(arrays)))


def _most(profile: dict, memory_bytes: int) -> int:
    """Return the largest order whose matrix fits into the profile's share of the memory."""
    return math.isqrt(int(profile["hpcc"]["memory_share"] * memory_bytes / stream.WORD))


class Hpcc(Application):
    """HPC Challenge. A section's problem follows from the order N of a matrix of N * N doubles over all ranks."""

    name = "hpcc"
    software = "HPCC"
    program = "/opt/plimsoll/bin/hpcc"
    sections = tuple(SECTIONS)
    brief = ("fft", "randomaccess", "ptrans", "beff", "hpl", "dgemm", "stream")

    def parameters(self, section: str, profile: dict, sizes: str, ranks: int, memory_bytes: int, cache_bytes: int) -> dict:
        """Return order N, block size and process grid of a section.

        N is the profile's. For STREAM it is raised until each array is `cache_multiple` times the last-level caches. It
        is lowered to fit the profile's share of the memory.
        """
        order = min(_wanted(section, profile, sizes, cache_bytes), _most(profile, memory_bytes))
        rows, columns = grid(ranks)
        return {"section": section, "order": order, "block": profile["hpcc"]["block"], "rows": rows, "columns": columns}

    def short(self, section: str, profile: dict, sizes: str, memory_bytes: int, cache_bytes: int) -> str:
        """Name the order N that a section has and the one that it should have, and why; empty if they are equal."""
        wanted, most = _wanted(section, profile, sizes, cache_bytes), _most(profile, memory_bytes)
        if wanted <= most:
            return ""
        multiple = _size(section, profile, sizes).get("cache_multiple")
        method = f" (arrays of {multiple:g} times the last-level caches)" if multiple else ""
        share, memory = f"{profile['hpcc']['memory_share'] * 100:g} %", f"{memory_bytes / 2**30:.1f} GiB"
        return (
            f"{section} has N = {most} and should have {wanted}{method}: a section may use {share} of the smallest memory "
            f"node, which had {memory} when problem sizes were decided"
        )

    def memory_bytes(self, parameters: dict) -> int:
        """Return the size of the matrix in bytes."""
        return stream.WORD * parameters["order"] ** 2

    def of_one_rank(self, parameters: dict, ranks: int) -> dict:
        """Return the parameters for a matrix with one rank's part of the elements."""
        return {**parameters, "order": math.isqrt(parameters["order"] ** 2 // ranks), "rows": 1, "columns": 1}

    def smallest(self, parameters: dict) -> dict:
        """Return the parameters for a matrix of the order SMALLEST, or of its own order if that is smaller."""
        return {**parameters, "order": min(SMALLEST, parameters["order"])}

    def region(self, parameters: dict) -> str:
        """Return HPCC's name of the section."""
        return SECTIONS[parameters["section"]][0]

    def expected_seconds(self, parameters: dict, ranks: int, cores: int) -> float:
        """Estimate the duration from operation counts and rates, correct to a factor of about two.

        The rates were seen on two cores of an AMD EPYC; a margin for two sockets is added. G-RandomAccess is far slower
        when it is over-subscribed, and stops after a minute.
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
        """Return the time for containers and for looking at the machine, as seen on two cores of an AMD EPYC."""
        return 1.1

    def prepare(self, folder: Path, parameters: dict) -> None:
        """Write hpccinf.txt and the list of sections."""
        run_files.write(folder / "hpccinf.txt", INPUT.format(**parameters))
        run_files.write(folder / "hpccsections.txt", SECTIONS[parameters["section"]][0] + "\n")

    def results(self, folder: Path, parameters: dict) -> dict[str, float]:
        """Return the values in the summary of hpccoutf.txt.

        Raise InvalidOutput if they differ from what the section printed itself, or if HPCC's own checks did not pass.
        """
        text = program_output.text_of(folder / "hpccoutf.txt")
        summary = check(parse(text), parameters["section"])
        compare(text, summary, parameters["section"])
        return summary

    def rates(self, parameters: dict, values: dict[str, float], work: Work) -> dict[str, float]:
        """Return the rate of one rank: its work over the time from the first rank's start to the last rank's end.

        HPCC's own rates are means of the ranks' rates (StarDGEMM), or take the time of the rank that began last
        (StarSTREAM). Ranks that share a core need not overlap. So HPCC's rates may add up to more than the cores can do
        (Hoefler and Belli 2015, rules 3 and 4). If there are several pieces, the fastest one counts, without the first,
        as in STREAM.
        """
        if not (together := SIDE_BY_SIDE.get(parameters["section"])):
            return {}
        if any(len(pieces) != together.pieces for pieces in work) or not values.get(together.size, 0) > 0:
            raise InvalidOutput(f"the ranks did not say when each of {together.pieces} pieces of work began and ended")
        spans = [max(ended for _, ended in piece) - min(begun for begun, _ in piece) for piece in zip(*work, strict=True)]
        return {together.name: together.amount(values[together.size]) / min(spans[1:] or spans)}


def parse(text: str) -> dict[str, float]:
    """Return the numbers in the summary of one complete hpccoutf.txt, by name.

    Raise InvalidOutput if the file is truncated or holds two runs, or if a line of the summary has another form.
    """
    summary_part = between(text, "Summary")
    if summary_part is None or not END.search(text):
        raise InvalidOutput("hpccoutf.txt does not hold exactly one complete run")
    summary, seen = {}, set()
    for line in summary_part.strip("\n").split("\n"):
        name, equals, value = line.partition("=")
        if not equals or name in seen:
            raise InvalidOutput(f"the summary of hpccoutf.txt has the line {quote(line)}, or has it twice")
        seen.add(name)
        # Dates and names are not results. A section that did not run is no result either: what HPCC prints for it need
        # not be a number.
        if NUMBER.fullmatch(value) and math.isfinite(number := float(value)):
            summary[name] = number
    return summary


def between(text: str, name: str) -> str | None:
    """Return the text of hpccoutf.txt between the start and the end of a section.

    Return None unless each of them occurs once.
    """
    begin, end = (f"\n{edge} of {name} section.\n" for edge in ("Begin", "End"))
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        return None
    return text[text.index(begin) + len(begin) - 1 : text.index(end) + 1]


def compare(text: str, summary: dict[str, float], section: str) -> None:
    """Raise InvalidOutput if a result in the summary of hpccoutf.txt differs from what the section printed itself."""
    region = SECTIONS[section][0]
    part = between(text, region)
    if part is None:
        raise InvalidOutput(f"hpccoutf.txt does not hold exactly one section {region}")
    for name in SECTIONS[section][1]:
        own, rounded = (hpl_rate(summary), 0.0) if name == HPL_RATE else _own(part, name, region)
        program_output.agree(name, summary[name], own, HPL_SHARE if name == HPL_RATE else SIX_DIGITS, rounded)


def _own(part: str, name: str, region: str) -> tuple[float, float]:
    """Return a result as the section printed it itself, in the summary's unit, and its rounding error."""
    line = LINES[name]
    found = re.findall(line.pattern, part)
    if len(found) != 1:
        raise InvalidOutput(f"the section {region} printed no {name}, or more than one")
    return line.factor * float(found[0]), 0.6 * line.factor * 10**-line.digits


def check(summary: dict[str, float], section: str) -> dict[str, float]:
    """Return the summary if HPCC's own checks passed for the section. Raise InvalidOutput otherwise."""
    if summary.get("Success") != 1:
        raise InvalidOutput("HPCC printed no Success=1")
    for name in SECTIONS[section][1]:
        if not (summary.get(name, -1) > 0 and math.isfinite(summary[name])):
            raise InvalidOutput(f"HPCC printed {name}={summary.get(name)}")
    checks: dict[str, tuple[Callable[[], float], float]] = {
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
        except ArithmeticError as problem:
            raise InvalidOutput(f"HPCC's check of {section} cannot be made with the numbers that it printed") from problem
        if not 0 <= error <= limit:
            raise InvalidOutput(f"HPCC's check of {section} failed: its error is {error:g}, at most {limit:g} is allowed")
    return summary


def hpl_residual(summary: dict[str, float]) -> float:
    """Return HPL's scaled residual: ||Ax-b|| / (eps * (||A|| ||x|| + ||b||) * N), in the infinity norm."""
    scale = summary["HPL_AnormI"] * summary["HPL_XnormI"] + summary["HPL_BnormI"]
    return summary["HPL_RnormI"] / (summary["HPL_dMACH_EPS"] * scale * summary["HPL_N"])


def hpl_rate(summary: dict[str, float]) -> float:
    """Return HPL's rate in TFLOP/s, from its size and its time.

    Raise InvalidOutput if one of these is missing or not positive.
    """
    order, seconds = (summary.get(name, 0.0) for name in ("HPL_N", "HPL_time"))
    if order <= 0 or seconds <= 0:
        raise InvalidOutput(f"HPCC printed HPL_N={order:g} and HPL_time={seconds:g}")
    return (2 / 3 * order**3 + 3 / 2 * order**2) / seconds / 1e12


WORKLOADS = (Hpcc(),)
