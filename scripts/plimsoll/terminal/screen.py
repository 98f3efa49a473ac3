"""Print to a terminal at its width, also if its reader stops early."""

import shutil
import signal
from collections.abc import Callable


def tell(made: Callable[[int], str]) -> None:
    """Print a text that is made for the terminal's width. A reader who stops early (`head`) gets no error."""
    text = made(shutil.get_terminal_size().columns)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print(text)
