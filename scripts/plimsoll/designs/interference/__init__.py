"""Design `interference`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Interference(Design):
    """Microservices alone and in pairs, in one container or in two (jha2018, jha2021)."""

    name = "interference"


DESIGN = Interference()
