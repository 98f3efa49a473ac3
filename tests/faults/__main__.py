"""Make faults during workflows: python -m tests.faults --seed SEED (--number NUMBER | --faults FAULTS | --hours HOURS).
See docs/reports/faults.md."""

import argparse
import hashlib
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from plimsoll import paths

from tests.conftest import PROJECT
from tests.faults import drawing, means, scenes
from tests.faults.campaign import Campaign, Result, good, last, summary
from tests.faults.scenes import SCENES, SHORT
from tests.workflow import machine

# A campaign has one line per fault. The campaigns of the SEEDS, which the docs show, come with the project.
RESULTS, SHOWN = PROJECT / ".cache/faults", PROJECT / "docs/reports/calibration"
# Folder for the machine's files. It is on a disk and not in a place for temporary files, because the machine has its own.
PLACE = paths.SYSTEM_IMAGE_STORE.parent
SEED, SEEDS = 2026, (2026, 2027)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign. Return 1 if something was lost or left, 2 if there can be no campaign here, and else 0."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    if reason := machine.missing():
        print(f"No faults can be made here: {reason}.", file=sys.stderr)
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    known, by = SHORT if options.short else SCENES, stamp()
    path = log(options.seed, options.short)
    made = of(by, path.read_text()) if path.exists() else []
    end = time.monotonic() + 3600 * (options.hours or (math.inf if options.faults else 1.0))
    results: list[dict] = []
    with Campaign(folder(), known) as campaign, open(path, "a") as file:
        first = [one["fault"]["number"] for one in last(made) if not good(one)] if options.again else []
        for number in options.number or chain(first, _from_where_it_stopped(made)):
            enough = struck([*made, *results]) >= (options.faults or math.inf)
            if not options.number and (enough or time.monotonic() > end):
                break
            fault = drawing.draw(options.seed, number, known)
            if fault.scene not in (options.scenes or known) or fault.victim not in (options.victims or [fault.victim]):
                continue
            result = campaign.run(fault)
            results.append({**json.loads(result.line()), "by": by})
            file.write(line(results[-1]) + "\n")
            file.flush()
            print(f"{number}: {fault.scene}: {fault.victim} {fault.how}: {_told(result)}", flush=True)
    shown = results if options.number else [*made, *results]
    print(summary(shown))
    return int(not all(map(good, last(shown))))


def log(seed: int, short: bool = False) -> Path:
    """Return the file that has one line per fault of a campaign."""
    return SHOWN / f"faults_{seed}.jsonl" if seed in SEEDS and not short else RESULTS / f"{seed}{'-short' * short}.jsonl"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, nargs="+", help="only these faults, whether they were made before or not")
    parser.add_argument("--again", action="store_true", help="first those after which something was lost, wrong or left")
    parser.add_argument("--faults", type=int, help="until so many have struck a process")
    parser.add_argument("--hours", type=float, help="1 if nothing else is said")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), help="only faults in these")
    parser.add_argument("--short", action="store_true", help="the scene of the short form, in which faults are soon made")
    parser.add_argument("--victims", nargs="+", help="only faults on these")
    return parser


def folder() -> Path:
    """Make a new folder for a machine's files, and return it."""
    PLACE.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="plimsoll-faults-", dir=PLACE))


def stamp() -> dict[str, str]:
    """Return what faults are made by: the `commit`, and `scenes`, a digest of the modules that they are drawn from.

    With another digest, the same number is another fault.
    """
    commit = _git("describe", "--always", "--abbrev=40") or "none"
    changed = _git("status", "--porcelain", "--", ".", ":!docs")
    drawn_from = b"".join(Path(module.__file__).read_bytes() for module in (drawing, means, scenes))
    digest = hashlib.sha256(drawn_from).hexdigest()[:16]
    return {"commit": f"{commit}-dirty" if changed else commit, "scenes": digest}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True).stdout.strip()


def of(by: dict[str, str], lines: str) -> list[dict]:
    """Return the results in a campaign's lines that were made in the same scenes, whatever the commit."""
    return [one for one in map(json.loads, lines.splitlines()) if one.get("by", {}).get("scenes") == by["scenes"]]


def line(result: dict) -> str:
    """Return a result as a line of a campaign, without the folders of the machine on which it was made."""
    text = json.dumps(result)
    # Python's own folder differs from the project's .venv if that is a link.
    for folder in (PLACE, PROJECT, Path(sys.prefix).resolve(), Path.home()):
        text = text.replace(str(folder), "~")
    return text


def struck(results: list[dict]) -> int:
    """Return how many faults have hit a victim in their last result."""
    return sum(bool(one["struck"]) for one in last(results))


def _end(*_: object) -> None:
    """Exit with status 143 on SIGTERM, so that the machine is taken down first."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def _from_where_it_stopped(made: list[dict]) -> Iterator[int]:
    known = {one["fault"]["number"] for one in made}
    number = 0
    while True:
        number += 1
        if number not in known:
            yield number


def _told(result: Result) -> str:
    if not result.struck:
        return "nobody there"
    said = "; ".join([*result.problems, *result.wrong, *(f"left {what}" for what in result.left)]) or "completed"
    return f"{result.struck}: {said} ({result.seconds:g} s, {result.codes})"


if __name__ == "__main__":
    sys.exit(main())
