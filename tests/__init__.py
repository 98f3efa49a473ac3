"""Tests, benchmarks and campaigns of the project."""

import os
import re
from pathlib import Path

# make exports variables to the commands in its recipes. A make that a test starts must get only what the test gives it.
_MAKEFILE = (Path(__file__).parent.parent / "Makefile").read_text()
for _name in (*" ".join(re.findall(r"^export (.*)$", _MAKEFILE, re.MULTILINE)).split(), "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(_name, None)
