"""Design `tuning`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Tuning(Design):
    """What settings of a Hadoop cluster in containers do to the time of a job (li2018, stage 2)."""

    name = "tuning"


DESIGN = Tuning()
