"""Tests, benchmarks and campaigns of the project."""

import os
import re
from pathlib import Path

# What make exports to its recipes is for the commands there. A make that a test starts is given only what the test says.
_MAKEFILE = (Path(__file__).parent.parent / "Makefile").read_text()
for _name in (*" ".join(re.findall(r"^export (.*)$", _MAKEFILE, re.MULTILINE)).split(), "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(_name, None)
