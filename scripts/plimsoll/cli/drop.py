"""`plimsoll drop`."""

from plimsoll.cli.add import Named, wish


def drop(runtimes: Named) -> None:
    """Leave these runtimes out.

    This is noted in config/local.yaml, and holds for this folder. A runtime that a study asks for is tried nevertheless.

    Examples:
      plimsoll drop docker docker-ptrace
    """
    wish(runtimes, "off", "leaves out")
