"""Simulate some families of worlds, or all: python -m tests.bench.calibration.simulation [--processes N] [FAMILY ...]"""

import argparse

from tests.bench.calibration import simulation

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("families", nargs="*", metavar="FAMILY", help="beginning of a family's name")
parser.add_argument("--processes", type=int)
given = parser.parse_args()
simulation.main(given.families, given.processes)
