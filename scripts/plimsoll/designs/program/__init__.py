"""Design `program`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Program(Design):
    """What a runtime costs a program of the user's, and which part of it does."""

    name = "program"


DESIGN = Program()
