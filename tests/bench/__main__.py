"""Run every short bench and print its numbers. Long benches, and those that write to docs/, run only by name."""

import sys

from tests.bench import (
    agreement,
    analysis,
    creation,
    instruments,
    levels,
    looks,
    open_findings,
    overhead,
    precise,
    spending,
    starting,
    together,
    users,
)
from tests.bench.calibration import halves, known, moderated, noise, rejudge, same, sessions, simulation, stages, tries

BENCHES = {
    "overhead": overhead.main,
    "starting": starting.main,
    "agreement": agreement.main,
    "analysis": analysis.main,
    "precise": precise.main,
    "creation": creation.main,
    "looks": looks.main,
    "users": users.main,
    "together": together.main,
}
LONG = {
    "instruments": instruments.main,
    "halves": halves.main,
    "same": same.main,
    "known": known.main,
    "noise": noise.main,
    "levels": levels.main,
    "moderated": moderated.main,
    "rejudge": rejudge.main,
    "simulation": simulation.main,
    "stages": stages.main,
    "sessions": sessions.main,
    "spending": spending.main,
    "open": open_findings.main,
    "tries": tries.main,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHES:
        bench = {**BENCHES, **LONG}[name]
        print(f"\n{name}: {sys.modules[bench.__module__].__doc__.strip().splitlines()[0]}\n", flush=True)
        bench()
