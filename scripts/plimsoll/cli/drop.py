"""`plimsoll drop`."""

from plimsoll.cli.add import Named, wish


def drop(runtimes: Named) -> None:
    """Never measure these runtimes on this machine.

    This is noted in config/local.yaml, which is of this machine alone.

    Examples:
      plimsoll drop docker docker-ptrace
    """
    wish(runtimes, "off", "leaves out")
