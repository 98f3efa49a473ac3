"""Builds the images that tests of containers take, before they ask for them: `python -m tests.images`."""

import sys

from plimsoll.errors import PlimsollError
from plimsoll.images import builder

from tests.project import PROJECT


def main() -> None:
    """Build every image of the project's, unless it is there. One that cannot be built is told again by the tests that ask for
    it."""
    for recipe in sorted((PROJECT / "containers").glob("*/Dockerfile")):
        try:
            builder.build(recipe.parent.name, "bootstrap")
        except PlimsollError as problem:
            print(problem, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
