"""Design `splitting`. plimsoll.design says which module beside this one has which part."""

from plimsoll.design import Design


class Splitting(Design):
    """One MPI application, split over more and more containers (liu2020): its deployments, schemes and affinity."""

    name = "splitting"


DESIGN = Splitting()
