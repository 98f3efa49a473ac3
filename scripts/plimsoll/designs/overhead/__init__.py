"""Design `overhead`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Overhead(Design):
    """What a runtime costs a benchmark, and how much more the benchmark varies in it (li2018, stage 1)."""

    name = "overhead"


DESIGN = Overhead()
