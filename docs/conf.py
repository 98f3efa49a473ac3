"""Settings of Sphinx for the documentation: `make docs`."""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "docs/extension"), str(PROJECT / "scripts")]

project = "Plimsoll"
author = "The Plimsoll authors"
release = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference_pages", "diagrams"]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Plimsoll"
html_copy_source = False
html_show_sphinx = False
nitpicky = True
# Names of other libraries, and of parts of the package that have no page.
nitpick_ignore_regex = [
    ("py:class", r"(pd|pandas|collections|Mapping|Sequence|Any|Study|Plan|plimsoll\.(config|interchange))\b.*")
]
autodoc_typehints = "both"
autodoc_member_order = "bysource"
# Docstrings have backticks around code.
default_role = "code"
# Options such as --from stay as they are typed.
smartquotes = False
