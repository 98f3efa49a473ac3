"""Prints which Debian packages the runtimes need that config/config.yaml switches on; with "all", every runtime.

One line per runtime that needs any: its name, its wish, the packages.
"""

import sys

from plimsoll import environments, paths
from plimsoll.config import yaml_files

known = environments.known()
if sys.argv[1:] == ["all"]:
    wishes = dict.fromkeys(known, "optional")
else:
    wishes = yaml_files.load(paths.PROJECT / "config/config.yaml", "config")["runtimes"]
for name, wish in wishes.items():
    if wish != "off" and name in known and known[name].packages:
        print(name, wish, *known[name].packages)
