"""`python -m plimsoll.features.try_program STUDY`: measure a study of a program in the working directory, and tell the answer.

PLIMSOLL_CONFIG names the study's configuration. `plimsoll try` and `plimsoll reproduce` start it.
"""

import contextlib
import filecmp
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from plimsoll.cli.statuses import Status
from plimsoll.config.studies import Study
from plimsoll.errors import Incomplete, Outage, PlimsollError, plain, run_guarded
from plimsoll.terminal import interruption


def main(words: list[str]) -> int:
    """Measure, and print the answer. Return the exit status (plimsoll.cli.statuses).

    It is INCOMPLETE if a default loses more than `--fail-above`, or if that is unknown. It is USAGE if nothing is measured as
    the study says it.
    """
    import argparse

    parser = argparse.ArgumentParser(prog="python -m plimsoll.features.try_program", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--fail-above", type=float)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--hyperfine", type=Path)
    parser.add_argument("--junit", type=Path)
    given = parser.parse_args(words)

    def work() -> int:
        with interruption.explain():
            return _measure(given)

    return run_guarded(work, Status.USAGE)


def _measure(given) -> int:
    from plimsoll import designs
    from plimsoll.config import studies
    from plimsoll.features.try_program import stages

    study = studies.load(given.study, designs.known())
    folder = Path("results", study["id"])
    stages.refuse_short(study, folder)
    with _as_incomplete():
        # Messages of the workflow belong to the errors where the output is for a program.
        with _aside(given.json):
            found, observations = _measured(study, folder)
        answer = _answered(study, folder, found, observations)
        print(json.dumps(answer, indent=1) if given.json else _as_text(study, answer))
        _export(given, study, folder, found, observations, answer)
        return _judged(study, found, given.fail_above)


@contextlib.contextmanager
def _as_incomplete() -> Iterator[None]:
    """Raise Incomplete in place of other errors that a user can fix: what was measured is kept."""
    try:
        yield
    except (Incomplete, Outage):
        raise
    except PlimsollError as problem:
        raise Incomplete(str(problem)) from problem


def _measured(study: Study, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure, and make pages and an archive. Return what each comparison shows, and the observations."""
    from plimsoll import rounds
    from plimsoll.features.try_program import stages

    found = stages.measure(study, folder)
    observations = stages.observed(folder)
    if observations.empty:
        raise Incomplete(f"No run of {study['id']} counts{stages.most_frequent(folder)}. {folder}/runs.csv has the reasons.")
    # The start page comes with the claims of all studies, and without a summary of them in the terminal.
    rounds.make([f"{folder}/report.html", "results/index.html"], [])
    _archive(study)
    return found, observations


def _answered(study: Study, folder: Path, found: pd.DataFrame, observations: pd.DataFrame) -> dict:
    """Return the answer as a document, which is written into the folder of the results."""
    from plimsoll import paths
    from plimsoll.analysis import collect
    from plimsoll.designs.program import program_answer, side_differences
    from plimsoll.features.try_program import study as making
    from plimsoll.measuring import plan_file

    making.refuse_changed(paths.CONFIG, study["program"], Incomplete)
    why = side_differences.of_steps(folder / "runs", found)
    plan = plan_file.read(folder / "plan.json")
    known = program_answer.uncounted(plan, collect.table(folder / "runs.csv", plan["factors"]))
    answer = program_answer.document(study, observations, found, why, known)
    answer["unavailable"] = _missing(study, folder)
    (folder / "try.json").write_text(json.dumps(answer, indent=1) + "\n")
    return answer


def _as_text(study: Study, answer: dict) -> str:
    """Return the answer for people: sentences, what could not be measured, what differed, and the files that were made."""
    from plimsoll.designs.program import program_answer, words
    from plimsoll.designs.program.factors import FIRST
    from plimsoll.features.try_program import folder_copy

    made = [f"  {path}" for path in folder_copy.made(Path.cwd(), study["id"])]
    # The sentences of the answer have the reasons of the study's own runtimes.
    others = {name: why for name, why in answer["unavailable"].items() if name not in study["experiments"][FIRST]["runtime"]}
    reasons = [f"{words.level('runtime', name)} ({plain(why)})" for name, why in others.items()]
    missing = [f"Not measured here: {'; '.join(reasons)}."] if reasons else []
    return "\n".join(["", *answer["answer"], *missing, *program_answer.reasons(answer["why"]), *made])


def _export(given, study: Study, folder: Path, found: pd.DataFrame, observations: pd.DataFrame, answer: dict) -> None:
    """Write the files for other programs. Raise Incomplete if one cannot be written."""
    from plimsoll.designs.program import program_answer
    from plimsoll.features.try_program import junit

    texts = {}
    if given.hyperfine:
        texts[given.hyperfine] = json.dumps(program_answer.hyperfine(study, observations, folder / "runs"), indent=1) + "\n"
    if given.junit:
        texts[given.junit] = junit.text(study, found, answer["answer"], answer["unavailable"], given.fail_above)
    for path, text in texts.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise Incomplete(
                f"{path} cannot be written ({problem.strerror}). What was measured is kept, and the answer is in "
                f"{folder.absolute()}/try.json."
            ) from problem


def _missing(study, folder: Path) -> dict[str, str]:
    """Return the runtimes of the first pass, and other defaults, that cannot be measured here, each with the reason."""
    from plimsoll.designs.program.factors import FIRST
    from plimsoll.features.try_program import study as making
    from plimsoll.measuring import plan_file

    cells = plan_file.read(folder / "plan.json")["cells"].values()
    planned_ones = {cell["runtime"]: cell["reason"] for cell in cells if cell["stage"] == FIRST}
    missing = making.missing_here()
    # A default in whose place another one is measured is missing only where that one is.
    others = {
        name: reason
        for name, reason in missing.items()
        if name not in planned_ones and making.BETTER_OF.get(name, name) in missing
    }
    return {**{name: reason for name, reason in planned_ones.items() if reason}, **others}


def _judged(study, found, most: float | None) -> int:
    """Return 1 if a default surely loses more than `most`, otherwise 0.

    Raise Incomplete if that is unknown of one, or if no default has an answer.
    """
    from plimsoll.designs.program import program_answer, words

    goes_on = f"What was measured is kept, and `plimsoll reproduce {study['id']}.yaml` goes on."
    unknown = program_answer.unanswered(study, found)
    if unknown and unknown == program_answer.defaults(study):
        raise Incomplete(f"There is no answer for any runtime. {goes_on}")
    if most is None:
        return 0
    if program_answer.loss(study, found) > most:
        return 1
    if unknown:
        names = ", ".join(words.level("runtime", name) for name in unknown)
        raise Incomplete(f"Whether it loses more than {most:.3g} is unknown of: {names}. {goes_on}")
    return 0


def _archive(study) -> None:
    """Write all that was measured and made of a study into an archive, beside those of earlier measurements.

    Raise PlimsollError if that cannot be done.
    """
    from plimsoll import features
    from plimsoll.features.try_program import folder_copy
    from plimsoll.measuring import lock

    if pack := features.find("pack"):
        there = folder_copy.archives(Path(), study["id"])
        target = folder_copy.next_archive(Path(), study["id"])
        with lock.hold_folder():
            pack(study, Path("results"), target, lambda text: print(text, file=sys.stderr))
        if there and filecmp.cmp(there[-1], target, shallow=False):
            target.unlink()


class _aside:
    """Sends what this process and its children print to standard error, if `wanted`."""

    def __init__(self, wanted: bool):
        self.wanted = wanted

    def __enter__(self) -> None:
        if self.wanted:
            sys.stdout.flush()
            self.kept = os.dup(1)
            os.dup2(2, 1)

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            sys.stdout.flush()
            os.dup2(self.kept, 1)
            os.close(self.kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
