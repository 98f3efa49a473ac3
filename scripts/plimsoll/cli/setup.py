"""`plimsoll setup`."""

from plimsoll.cli import measure_commands, options, steps


def setup(studies: options.Studies = None, image: options.Image = None) -> None:
    """Only install what the other commands need.

    Examples:
      plimsoll setup
      plimsoll setup all
      plimsoll setup --image plimsoll-images.tar.gz   # build no image here
    """
    steps.set_up(measure_commands.read_selection(studies, None, None).settings, image)
