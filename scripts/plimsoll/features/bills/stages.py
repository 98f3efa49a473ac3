"""Stages of the workflow that concern bills of materials."""

import argparse
from collections.abc import Callable


def add(stage: Callable) -> None:
    """Add the stages to the command line of stages."""
    stage(_sbom, paths=("image", "output"), says="{image.stem}: listing what its image holds")


def _sbom(options: argparse.Namespace) -> None:
    """list what an image holds, as a software bill of materials"""
    from plimsoll.features.bills import image_layers, sbom
    from plimsoll.images import store
    from plimsoll.measuring import plan_file

    image = plan_file.image(options.image)
    store.keep(image)
    with image_layers.open_images(store.folder_of(image) / store.ARCHIVE, store.parts(image)) as (whole, *stages):
        bill = sbom.bill(whole, stages)
    options.output.write_text(bill)
