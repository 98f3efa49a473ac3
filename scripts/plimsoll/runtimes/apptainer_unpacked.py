"""Plain Singularity of the image's unpacked files. It separates the effect of the image's form from the other effects
of missing privileges."""

from plimsoll.runtimes.apptainer import Singularity


class SingularityUnpacked(Singularity):
    """Plain Singularity with one thing changed: the image is a folder, and not a file that is mounted. Users without
    privileges have it so."""

    name = "singularity-unpacked"
    label = "Singularity, unpacked image"
    colour, hatch = "#66c2a5", "//"
    variant_of = "singularity"
    unpacked = True


RUNTIMES = (SingularityUnpacked(),)
