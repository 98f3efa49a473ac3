"""Build the images that tests of containers need, before they need them: `python -m tests.images`."""

import sys

from plimsoll.errors import PlimsollError
from plimsoll.images import builder

from tests.project import PROJECT


def main() -> None:
    """Build every image of the project that is not there. If one cannot be built, the tests that need it report that again."""
    for recipe in sorted((PROJECT / "containers").glob("*/Dockerfile")):
        try:
            builder.build(recipe.parent.name, "bootstrap")
        except PlimsollError as problem:
            print(problem, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
