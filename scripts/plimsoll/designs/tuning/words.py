"""Names of levels and cells of a study of tuning, for people."""

from plimsoll import runtimes
from plimsoll.designs.tuning.strategies import parts
from plimsoll.pages.glossary import Term

GLOSSARY = (
    Term("strategy", "Settings of Hadoop, or a number of workers, that are meant to make a job faster.", ("strategies",)),
    Term("spill", "A map task that fills its buffer sorts what is in it and writes it to the disk.", ("spills", "spilled")),
    Term(
        "negative control",
        "Something that is known to do nothing, measured like the rest: an effect of it would be a fault of the measurement.",
    ),
    Term(
        "interaction",
        "How much more two strategies change a time together than each of them alone would let expect.",
        ("interactions",),
    ),
)


def level(factor: str, name: str) -> str:
    """Return a level of a factor for people. A name without words of its own is kept, with blanks for underscores."""
    if factor == "runtime" and name in runtimes.known():
        return runtimes.find(name).label
    if factor == "strategy":
        return " and ".join(part.replace("_", " ").replace("lzo", "LZO").replace("lz4", "LZ4") for part in parts(name))
    return name.replace("_", " ")


def cell(path: str, metric: dict) -> str:
    """Return a cell for people: where it runs, and what is set."""
    runtime, strategy = path.split("/")
    return f"{level('runtime', runtime)}, {level('strategy', strategy)}"
