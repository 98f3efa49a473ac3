"""Paths of the files that the rules make, as the rules name them: from the folder that has results/ in it."""

from collections.abc import Iterable


def bundle_path(study: str, bundle: str) -> str:
    """Return the path of the file that stands for the records of a bundle."""
    return f"results/{study}/progress/bundles/{bundle}"


def path_of(study: str, cell: str, repetition: int) -> str:
    """Return the path of a run's record."""
    return f"results/{study}/runs/{cell}/{repetition}.json"


def paths_of(study: str, runs: Iterable[tuple[str, int]]) -> list[str]:
    """Return the paths of runs' records."""
    return [path_of(study, cell, repetition) for cell, repetition in runs]


def tried(image: str) -> str:
    """Return the path of the results of trying the runtimes on an image."""
    return image.replace(".json", ".runtimes.json")


def image_of(study: dict) -> str:
    """Return the path of the description of a study's image."""
    return f"results/images/{study['image']}.json"
