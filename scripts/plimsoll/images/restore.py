"""Makes an image that was removed again from its copy in the store: the same bits with the same digest.

An image that is built anew has another digest, and records of two builds are not compared.
"""

from plimsoll.environments.base import form_problem, unpacked_problem
from plimsoll.images import forms
from plimsoll.images.store import alone, folder_of, in_engine, load
from plimsoll.interchange import Image

# Forms of an image that are one file.
FILES = ("sif", "archive", "disk")


@alone()
def restore(image: Image) -> None:
    """Make forms of an image again that are gone, or have changed. Outage if there is no copy, Unavailable if a step fails."""
    if not in_engine(image):
        load(image)
    if unpacked_problem(image) or any(form_problem(image, form) for form in FILES if form in image):
        forms.unpack(image["tag"], folder_of(image), image.get("stages", {}))
