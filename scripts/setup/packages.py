"""Prints what the runtimes need that are measured: those that the configuration switches on, and those that the studies ask for
which it names (or STUDIES, as for `make reproduce`). With "all", every runtime.

One line per runtime that needs anything: its name, its wish, the steps of set-up that it needs (`-` for none), Debian packages.
"""

import contextlib
import os
import sys

from plimsoll import environments
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.errors import PlimsollError

known = environments.known()
if sys.argv[1:] == ["all"]:
    wishes = dict.fromkeys(known, "optional")
else:
    config = configuration.read([])
    wishes = config["runtimes"]
    # What is wrong with a name or a study is told by the workflow, which comes next.
    with contextlib.suppress(PlimsollError):
        chosen = studies.selected(os.environ.get("STUDIES") or config["studies"])
        wishes = studies.wishes_of_all((yaml_files.read(studies.STUDIES / f"{name}.yaml")[0] for name in chosen), wishes)
for name, wish in wishes.items():
    if wish != "off" and name in known and (known[name].packages or known[name].steps):
        print(name, wish, ",".join(known[name].steps) or "-", *known[name].packages)
