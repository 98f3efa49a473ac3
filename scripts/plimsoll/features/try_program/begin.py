"""The first version of a study of a program (`plimsoll new study NAME --of program`), with comments, claims and a test."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import study, study_options, timer
from plimsoll.features.try_program.study_options import StudyOptions

# What is said above a key of the study's file, at its depth.
COMMENTS = {
    "question": "What the page asks and answers.",
    "answer": "The ratios that answer it: these runtimes beside the baseline, by the first metric.",
    "program": "What is run, and how its output is read. `plimsoll try --help` has the options that write these keys.",
    "  runs": "Runs in one start of a runtime. After it: seconds of one run, which the forecast begins with.",
    "  minutes": "Minutes of measuring, at most. It ends earlier if every interval is as narrow as `width`.",
    "  output": "SHA-256 of the output that every run must have. Without this key, outputs are not compared.",
    "metrics": "What is compared. A number in the output: `plimsoll try --metric NAME=PATTERN` shows how it is written here.",
    "experiments": "Stages: the defaults, the steps between bare metal and a default that costs something, and remedies.",
}
CLAIMS = f"""{study.OWN_CLAIMS}: without this line, `plimsoll reproduce` writes them anew.
# The first one is an example: change its statement, its sides (a and b), what is expected of a, and the margin within which
# both count as alike (0.01 is 1 %). All keys: docs/how-to/write-claims.md
"""
LIMIT, WIDTH, MINUTES = 60.0, 0.01, 5.0


def of_program(name: str, command: str, question: str, write_test: Callable[[Path, str], list[Path]]) -> list[Path]:
    """Write a study of a program into the working directory, as `plimsoll try --dry-run` does, and return its files.

    The program is run a few times, to see that it can be measured. `question` may be empty. PlimsollError if there is no
    command, if it cannot be measured, or if something of the study's name is there already. `write_test` writes the test of
    the study into its folder, and returns its files.
    """
    words = study_options.words(command)
    if not words:
        raise PlimsollError("The command to measure is missing. Nothing was written. Add --program 'COMMAND'.")
    wanted = _asked(study_options.name(name), words)
    place = study.place_of(Path.cwd() / f"{study.ID.format(name=name)}.yaml")
    if there := next((path for path in (place.file, place.folder) if path.exists()), None):
        raise PlimsollError(f"{there.name} exists already. Nothing was written. Take another name, or move it.")
    place = study.make(wanted, timer.program_path(), lambda text: print(f"new: {text}", file=sys.stderr, flush=True))
    content = yaml.safe_load(place.file.read_text())
    content |= {"question": question} if question else {}
    study.write(place.file, content)
    place.file.write_text(commented(place.file.read_text()))
    claims = place.folder / f"config/claims/{place.id}.yaml"
    study.write_study(place.folder / "config", content)
    claims.write_text(CLAIMS + _claims(content))
    return [place.file, claims, *write_test(place.folder, place.id)]


def _claims(content: dict) -> str:
    """Return the claims of a study as YAML with short lists in one line, and without references between them."""
    plain = json.loads(json.dumps(study.claims_of(content)))
    return yaml.safe_dump(plain, sort_keys=False, width=120, default_flow_style=None)


def _asked(name: str, words: tuple[str, ...]) -> StudyOptions:
    return StudyOptions(
        command=words,
        name=name,
        folder=study_options.folder_of(words, None),
        **{"image": None, "packages": (), "metrics": (), "filters": (), "check": (), "variables": {}},
        **{"minutes": MINUTES, "width": WIDTH, "limit": LIMIT},
    )


def commented(text: str) -> str:
    """Return a study's file with a comment above each key of COMMENTS. The first line stays the first."""
    lines = []
    for line in text.splitlines():
        key = line.partition(":")[0]
        if key in COMMENTS:
            lines.append(f"{' ' * (len(key) - len(key.lstrip()))}# {COMMENTS[key]}")
        lines.append(line)
    return "\n".join(lines) + "\n"
