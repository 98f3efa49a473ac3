"""Plain Singularity of the image's unpacked files: what of what a user without privileges has is the form of the image?"""

from plimsoll.environments.apptainer import Singularity


class SingularityUnpacked(Singularity):
    """Plain Singularity with one thing changed, as users without privileges have it: the image is a folder, and no file that
    is mounted."""

    name = "singularity-unpacked"
    label = "Singularity, unpacked image"
    colour, hatch = "#66c2a5", "//"
    variant_of = "singularity"
    unpacked = True


ENVIRONMENTS = (SingularityUnpacked(),)
