"""Design `nesting`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Nesting(Design):
    """Programs in many instances, creation of containers, and networks between them (amaral2015)."""

    name = "nesting"


DESIGN = Nesting()
