"""Trial runs of a program before a study is made: on this host, and in a container of the image."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program import attempts, outputs
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import folder_copy, ranks
from plimsoll.features.try_program.study_options import StudyOptions
from plimsoll.images import client
from plimsoll.measuring.process import refuse_endless
from plimsoll.pages.formats import capital
from plimsoll.workloads.base import InvalidOutput

# Runs of a trial, after one that warms up.
RUNS = 2
HINT = re.compile(r"(Run|See) '.* --help'")


class TrialResult(NamedTuple):
    """What a trial showed: seconds of a run, the values of a run by metric, and the digests of the outputs."""

    seconds: float
    values: dict[str, float]
    outputs: tuple[str, ...]


def on_host(asked: StudyOptions, timer: Path) -> TrialResult:
    """Run the program on this host. Raise PlimsollError, in one sentence, if it cannot be measured."""
    if asked.ranks:
        ranks.refuse_host(path_of(asked))
    return _tried(asked, lambda folder, words: [str(timer), *words], "on this host")


def path_of(asked: StudyOptions) -> str:
    """Return the PATH that runs on this host have."""
    return asked.variables.get("PATH", attempts.PATH)


def refuse_other_program(asked: StudyOptions) -> None:
    """Raise PlimsollError if the user's PATH leads to another program than the PATH of runs, which is the same everywhere."""
    name = asked.command[0]
    own, ours = (shutil.which(name, path=path) for path in (None, path_of(asked)))
    if "/" not in name and own and (ours is None or os.path.realpath(own) != os.path.realpath(ours)):
        other = f"have {ours}" if ours else "do not find it"
        raise PlimsollError(
            f"{name} is {own} for you, and runs {other}, whose PATH is {path_of(asked)}: give its path, "
            f"`plimsoll try -- {os.path.abspath(own)}`, or the PATH with --env PATH=... . Nothing was measured."
        )


def in_container(asked: StudyOptions, tag: str, variables: dict[str, str]) -> TrialResult:
    """Run the program in a container of an image, with the image's variables.

    Raise PlimsollError, in one sentence, if it cannot be measured.
    """

    def command(folder: Path, words: list[str]) -> list[str]:
        bind = ["--rm", "--volume", f"{folder}:{folder}", "--entrypoint", f"/{attempts.TIMED}"]
        return [*client.command(), "run", *bind, tag, *words]

    return _tried(asked, command, f"in a container of {asked.image or 'its image'}", variables)


def _tried(asked: StudyOptions, command, where: str, of_image: dict[str, str] | None = None) -> TrialResult:
    with tempfile.TemporaryDirectory(prefix="plimsoll-try-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        parameters = parameters_of(asked)
        for run in range(RUNS + 1):
            prepare(asked, folder / str(run) / "work")
        variables = attempts.variables(folder, of_image or {}, asked.variables)
        (folder / "variables").write_text("".join(f"{name}={value}\0" for name, value in variables.items()))
        words = [str(folder), f"{asked.limit:g}", str(RUNS + 1), *ranks.launch_prefix(asked.ranks), *asked.command]
        try:
            done = subprocess.run(
                command(folder, words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=asked.limit * 4 + 60
            )
            if done.returncode:
                # An engine ends its reason with a hint at its help.
                said = [line for line in done.stderr.splitlines() if line.strip() and not HINT.match(line)] or [
                    "no reason is given"
                ]
                raise PlimsollError(f"{asked.command[0]} cannot be run {where}: {said[-1]}. Nothing was measured.")
            refuse_endless(folder / str(run) / name for run in range(RUNS + 1) for name in outputs.PRINTED)
            cell = {"runs": RUNS, "parameters": parameters}
            made = outputs.run_logs(folder, cell)[1:]
            read = [outputs.read(folder / str(run["run"]), run, {}, parameters) for run in made]
        except (InvalidOutput, Unavailable) as problem:
            raise PlimsollError(f"{capital(str(problem))} ({where}): nothing was measured.") from problem
        except subprocess.TimeoutExpired as problem:
            raise PlimsollError(
                f"The program did not end within {asked.limit:g} s {where}: nothing was measured. --limit gives it more."
            ) from problem
    seconds = sum(run["wall"] for run in made) / len(made)
    return TrialResult(seconds, read[-1]["values"], tuple(one["output"] for one in read))


def prepare(asked: StudyOptions, work: Path) -> None:
    """Make the folder that a run of a trial works in: a copy of the user's folder, or an empty one."""
    if asked.folder:
        folder_copy.copy(asked.folder, work)
    else:
        work.mkdir(parents=True)


def parameters_of(asked: StudyOptions) -> dict:
    """Return the keys of the study's program that say how an output is read."""
    metrics = {one.name: metric_of(one) for one in asked.metrics}
    return {
        "limit_seconds": asked.limit,
        **({"metrics": metrics} if metrics else {}),
        **({"filter": list(asked.filters)} if asked.filters else {}),
        **({"check": list(asked.check)} if asked.check else {}),
    }


def metric_of(metric) -> dict:
    """Return where a metric's number is, as a study's file says it."""
    if metric.pattern:
        return {"source": "output", "pattern": metric.pattern}
    return {"source": "json", "file": metric.file, "key": metric.key}
