"""What ranks report, and what their launcher prints: how messages travelled, and why a launch failed."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import shorten
from plimsoll.workloads import program_output

# Network bytes per rank above which messages went over TCP. The launcher's own traffic is about 100 kB per rank.
MANY_BYTES = 10_000_000
# Prefixes of a runtime's lines that do not explain a failure, and the maximal length of a quoted failure (characters).
REMARKS = ("INFO:", "WARNING:")
LONGEST = 200
# What carried messages where no transport was seen.
NOTHING = "nothing"


def transport(ranks: Sequence[dict]) -> dict:
    """Return how messages travelled: `carried_by` in words, and the counts behind it.

    A rank maps the Open MPI shared-memory segments of itself and of every peer that it shares memory with. It reaches all
    other peers over TCP, the only other transport in the image's configuration. The bytes that crossed the network interfaces
    are a check: many of them mean TCP, whatever the segments say.
    """
    segments = [rank["shared_memory_segments"] for rank in ranks]
    network = sum(sum(rank["network_bytes"].values()) for rank in ranks)
    shared = max(segments) > 1
    tcp = min(segments) < len(ranks) or network > MANY_BYTES * len(ranks)
    return {
        "carried_by": carried_by(shared, tcp and len(ranks) > 1),
        "shared_memory_segments": segments,
        "network_bytes": network,
        "single_copy": ranks[0]["single_copy"],
    }


def carried_by(shared: bool, tcp: bool) -> str:
    """Return the transports that carried messages, in words."""
    names = [name for name, used in (("shared memory", shared), ("TCP", tcp)) if used]
    return " and ".join(names) or NOTHING


def first_words(folder: Path) -> str:
    """Return the first paragraph of standard error that explains a failure, each line once.

    Later paragraphs often only follow from the first.
    """
    said = []
    for line in program_output.lines(folder / "stderr.txt"):
        if line and not line.startswith(("---", *REMARKS)):
            said.append(line)
        elif said:
            break
    return shorten(" ".join(dict.fromkeys(said)), LONGEST) or "it printed nothing"
