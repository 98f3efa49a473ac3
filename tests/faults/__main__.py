"""python -m tests.faults --seed SEED (--number NUMBER | --hours HOURS): docs/faults.md."""

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import PROJECT
from tests.faults import drawing
from tests.faults.campaign import Campaign, summary
from tests.faults.scenes import SCENES, SHORT
from tests.workflow import machine

# Of a campaign there is a line of each fault.
RESULTS = PROJECT / ".cache/faults"
# The machine's files: on a disk, and not in a place for temporary files, as it has one of its own.
PLACE = "/var/tmp"


def main(arguments: list[str] | None = None) -> int:
    """Exit status 1 if something was lost or left, 2 if there can be no campaign here."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--number", type=int, nargs="+", help="only these faults, whether they were made before or not")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), help="only faults in these")
    parser.add_argument("--short", action="store_true", help="the scene of the short form, in which faults are soon made")
    parser.add_argument("--victims", nargs="+", help="only faults on these")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    if reason := machine.missing():
        print(f"No faults can be made here: {reason}.", file=sys.stderr)
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    known = SHORT if options.short else SCENES
    path = RESULTS / f"{options.seed}{'-short' * options.short}.jsonl"
    made = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    wanted = iter(options.number or _from_where_it_stopped(made))
    end, results = time.monotonic() + 3600 * options.hours, []
    with Campaign(Path(tempfile.mkdtemp(prefix="plimsoll-faults-", dir=PLACE)), known) as campaign, open(path, "a") as file:
        for number in wanted:
            if not options.number and time.monotonic() > end:
                break
            fault = drawing.draw(options.seed, number, known)
            if fault.scene not in (options.scenes or known) or fault.victim not in (options.victims or [fault.victim]):
                continue
            result = campaign.run(fault)
            results.append(json.loads(result.line()))
            file.write(result.line() + "\n")
            file.flush()
            print(f"{number}: {fault.scene}: {fault.victim} {fault.how}: {_told(result)}", flush=True)
    shown = results if options.number else [*made, *results]
    print(summary(shown))
    return int(any(one["problems"] or one["left"] for one in shown))


def _end(*_: object) -> None:
    """The machine is taken down before this ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def _from_where_it_stopped(made: list[dict]):
    known = {one["fault"]["number"] for one in made}
    number = 0
    while True:
        number += 1
        if number not in known:
            yield number


def _told(result) -> str:
    if not result.struck:
        return "nobody there"
    said = "; ".join([*result.problems, *(f"left {what}" for what in result.left)]) or "completed"
    return f"{result.struck}: {said} ({result.seconds:g} s, {result.codes})"


if __name__ == "__main__":
    sys.exit(main())
