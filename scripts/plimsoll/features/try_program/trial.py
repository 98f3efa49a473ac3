"""Trial runs of a program before a study is made: on this host, and in a container of the image."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program import attempts, outputs, watched_run
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import folder_copy, ranks
from plimsoll.features.try_program.study_options import StudyOptions
from plimsoll.host.disk import Room
from plimsoll.images import client
from plimsoll.interchange import Image
from plimsoll.measuring import process
from plimsoll.measuring.watch import Stops, Watch
from plimsoll.pages.formats import capital
from plimsoll.runtimes import apptainer, mounts, steps
from plimsoll.runtimes.base import Spec
from plimsoll.workloads.base import InvalidOutput

# Runs of a trial, after one that warms up.
RUNS = 2
# Limit for what is around the program's runs, and for the end of a trial after SIGTERM (s).
AROUND, END_SECONDS = 60.0, 10.0
HINT = re.compile(r"(Run|See) '.* --help'")
# What programs print that do not reach another one.
OF_NETWORK = re.compile("(?i)connection refused|unreachable|no route to host|name resolution|name or service|resolve host")


class TrialResult(NamedTuple):
    """What a trial showed: seconds of a run, the values of a run by metric, and the digests of the outputs."""

    seconds: float
    values: dict[str, float]
    outputs: tuple[str, ...]


def on_host(options: StudyOptions, timer: Path) -> TrialResult:
    """Run the program on this host. Raise PlimsollError, in one sentence, if it cannot be measured."""
    if options.ranks:
        ranks.refuse_host(path_of(options))
    return _tried(options, lambda folder, words: [str(timer), *words], "on this host")


def path_of(options: StudyOptions) -> str:
    """Return the PATH that runs on this host have."""
    return options.variables.get("PATH", attempts.PATH)


def refuse_other_program(options: StudyOptions) -> None:
    """Raise PlimsollError if the user's PATH leads to another program than the PATH of runs, which is the same everywhere."""
    name = options.command[0]
    own, ours = (shutil.which(name, path=path) for path in (None, path_of(options)))
    if "/" not in name and own and (ours is None or os.path.realpath(own) != os.path.realpath(ours)):
        other = f"have {ours}" if ours else "do not find it"
        raise PlimsollError(
            f"{name} is {own} for you, and runs {other}, whose PATH is {path_of(options)}: give its path, "
            f"`plimsoll try -- {os.path.abspath(own)}`, or the PATH with --env PATH=... . Nothing was measured."
        )


def in_container(options: StudyOptions, image: Image, variables: dict[str, str]) -> TrialResult | None:
    """Run the program in a container of an image, with the image's variables: the engine's, or Apptainer's without one.

    Return None if neither works here. Raise PlimsollError, in one sentence, if it cannot be measured.
    """
    if not client.works() and not apptainer.is_installed():
        return None
    return _tried(options, partial(_contained, image), "in a container of its image", variables)


def layer_folders(options: StudyOptions, image: Image, variables: dict[str, str]) -> list[str]:
    """Return the folders of a container's own layers in which the program opens files for writing.

    Folders that a remedy makes volumes of anyway are left out. It is empty for a program that cannot be watched, and without
    an engine, whose containers alone have such layers.
    """
    if not client.works():
        return []
    with tempfile.TemporaryDirectory(prefix="plimsoll-try-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        _fill(options, folder, folder / "given" if options.folder else None, variables)
        words = [str(folder), f"{options.limit:g}", watched_run.COUNT, *options.command]
        with contextlib.suppress(TimeoutError, Unavailable):
            _started(_contained(image, folder, words), folder, options.limit + AROUND)
        found = watched_run.layer_folders(folder)
    return [one for one in found if not any(Path(one).is_relative_to(place) for place in steps.WRITTEN) and ":" not in one]


def _contained(image: Image, folder: Path, words: list[str]) -> list[str]:
    """Return the command that starts the timer in a container of an image, with a folder and words."""
    timer = f"/{attempts.TIMED}"
    if not client.works():
        return [*apptainer.execute(Spec(run="try", name="try", image=image, folder=folder), "--cleanenv"), timer, *words]
    # The engine passes signals on to the container, in which a first process of its own would ignore them (--init).
    settings = ["--rm", "--init", *mounts.bind(folder, folder), "--entrypoint", timer]
    return [*client.command(), "run", *settings, image["tag"], *words]


def _tried(options: StudyOptions, command, where: str, of_image: dict[str, str] | None = None) -> TrialResult:
    parameters = parameters_of(options)
    with tempfile.TemporaryDirectory(prefix="plimsoll-try-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        given = folder / "given" if options.folder else None
        _fill(options, folder, given, of_image or {})
        linked = attempts.linked_files(given) if given else {}
        words = [str(folder), f"{options.limit:g}", str(RUNS + 1), *ranks.launch_prefix(options.ranks), *options.command]
        try:
            if problem := _started(command(folder, words), folder, options.limit * (RUNS + 2) + AROUND):
                raise PlimsollError(f"{options.command[0]} cannot be run {where}: {problem}. Nothing was measured.")
            if given:
                attempts.refuse_changed(linked, given)
            made = outputs.run_logs(folder, {"runs": RUNS, "parameters": parameters})[1:]
            read = [outputs.read(folder / str(run["run"]), run, {}, parameters) for run in made]
        except (InvalidOutput, Unavailable) as problem:
            network = ", whose network is not this host's" if of_image is not None and OF_NETWORK.search(str(problem)) else ""
            raise refusal(problem, where + network) from problem
        except TimeoutError as problem:
            raise PlimsollError(
                f"The program did not end within {options.limit:g} s {where}: nothing was measured. --limit gives it more."
            ) from problem
    seconds = sum(run["wall"] for run in made) / len(made)
    return TrialResult(seconds, read[-1]["values"], tuple(one["output"] for one in read))


def _fill(options: StudyOptions, folder: Path, given: Path | None, of_image: dict[str, str]) -> None:
    """Make what a trial's runs have in its folder, as a study's runs have it: folders to work in, a home, and variables.

    `given` takes a copy of the user's folder, of which each run has a copy with links to large files.
    """
    if given:
        folder_copy.copy(options.folder, given)
    for run in range(RUNS + 1):
        attempts.make_work(given, folder / str(run) / "work")
    home = folder / "home"
    home.mkdir()
    variables = attempts.variables(home, of_image, options.variables)
    (folder / "variables").write_text(attempts.as_text(variables))


def refusal(problem: Exception, where: str) -> PlimsollError:
    """Return the error that ends a trial, in one sentence. `where` the program ran follows in brackets."""
    return PlimsollError(f"{capital(str(problem))} ({where}): nothing was measured.")


def disk_watch(folder: Path) -> Watch:
    """Return the watch that ends a program, with Unavailable, before the disk of its folder is full."""
    return Watch(Room({"its working folder": folder}), Stops({}))


def _started(words: list[str], folder: Path, limit: float) -> str | None:
    """Run a command that times the program. Return why it could not be started; None if it could.

    Raise TimeoutError if it does not end within `limit` seconds, and Unavailable if the program prints without end, or is about
    to fill the disk of its folder.
    """
    printed = [folder / str(run) / name for run in range(RUNS + 1) for name in outputs.PRINTED]
    started = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        ended = process.ended_within(started.pid, limit, printed, disk_watch(folder))
    finally:
        code = _end(started)
        said = started.stderr.read().decode(errors="replace").splitlines()
        started.stderr.close()
    if not ended:
        raise TimeoutError
    if not code:
        return None
    # An engine ends its reason with a hint at its help.
    return next((line for line in reversed(said) if line.strip() and not HINT.match(line)), "no reason is given")


def _end(started: subprocess.Popen) -> int:
    """End a command that may have ended, and return its exit code. A client of an engine needs time to end its container."""
    if started.poll() is None:
        started.terminate()
        process.ended_within(started.pid, END_SECONDS)
    return process.kill(started)


def prepare(options: StudyOptions, work: Path) -> None:
    """Make the folder that a run of a trial works in: a copy of the user's folder, or an empty one."""
    if options.folder:
        folder_copy.copy(options.folder, work)
    else:
        work.mkdir(parents=True)


def parameters_of(options: StudyOptions) -> dict:
    """Return the keys of the study's program that say how an output is read."""
    metrics = {one.name: metric_of(one) for one in options.metrics}
    return {
        "limit_seconds": options.limit,
        **({"metrics": metrics} if metrics else {}),
        **({"filter": list(options.filters)} if options.filters else {}),
        **({"check": list(options.check)} if options.check else {}),
    }


def metric_of(metric) -> dict:
    """Return where a metric's number is, as a study's file says it."""
    if metric.pattern:
        return {"source": "output", "pattern": metric.pattern}
    return {"source": "json", "file": metric.file, "key": metric.key}
