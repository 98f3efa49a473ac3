"""Restore a removed image from its copy in the store: the same bits with the same digest.

A rebuilt image would have another digest, and records of two builds are not compared.
"""

from plimsoll.images import forms
from plimsoll.images.store import folder_of, hold, in_engine, load
from plimsoll.interchange import Image
from plimsoll.runtimes.image_forms import form_problem, unpacked_problem

# Forms of an image that are a single file.
FILES = ("sif", "archive", "disk")


@hold()
def restore(image: Image) -> None:
    """Restore the forms of an image that are missing or have changed.

    Raise Outage if there is no copy, Unavailable if a step fails.
    """
    if not in_engine(image):
        load(image)
    if unpacked_problem(image) or any(form_problem(image, form) for form in FILES if form in image):
        forms.unpack(image["tag"], folder_of(image), image.get("stages", {}))
