"""`python -m plimsoll.cli`: the user's command, wherever its script is not installed."""

import sys

from plimsoll.cli import main

sys.exit(main())
