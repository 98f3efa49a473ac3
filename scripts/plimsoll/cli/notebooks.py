"""`plimsoll notebooks`."""

import os
import subprocess
import sys

from plimsoll import paths
from plimsoll.cli import options, steps


def notebooks(set_up: options.SetUp = True) -> int:
    """Open the figures' notebooks in JupyterLab.

    They are on the measurements in results/reference. It measures nothing.

    Examples:
      plimsoll notebooks
    """
    if set_up:
        steps.set_up()
    # JupyterLab runs as root only with this option.
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    command = [sys.executable, "-m", "jupyter", "lab", *as_root]
    return subprocess.run(command, cwd=paths.PROJECT / "notebooks", env=paths.environment()).returncode
