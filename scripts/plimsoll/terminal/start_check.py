"""Check that the workflow can start in this folder, before Snakemake reads the configuration or writes anything."""

import atexit
import os
import tempfile
from pathlib import Path
from typing import NoReturn

from plimsoll import paths
from plimsoll.config import configuration, yaml_files
from plimsoll.errors import PlimsollError, say
from plimsoll.terminal import request
from plimsoll.terminal.live import display


def or_refuse(words: list[str]) -> None:
    """End the workflow with one sentence if its configuration is not YAML, or if its folders cannot be written.

    `words` is Snakemake's command line. In a dry run nothing is written to results/, so these folders are not checked.
    """
    try:
        for file in configuration.files():
            yaml_files.keys_of(file)
        check_folders(Path(), [Path(".snakemake")] if request.parse(words).dry else [Path(".snakemake"), *results(Path())])
    except PlimsollError as problem:
        refuse(problem)


def results(project: Path) -> list[Path]:
    """Return the folder of results, and each folder in it."""
    whole = project / "results"
    return [whole, *(sorted(path for path in whole.iterdir() if path.is_dir()) if whole.is_dir() else ())]


def check_folders(project: Path, wanted: list[Path]) -> None:
    """Raise PlimsollError for the first of the folders in which no file can be made.

    A folder that does not exist is made in `project`, so `project` is checked in its place.
    """
    for folder in wanted:
        there = folder if folder.is_dir() else project
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as problem:
            where = f"{folder}/" if there != project else "The project's folder" if at_home() else f"The folder {Path.cwd()}"
            raise PlimsollError(
                f"{where} cannot be written ({problem.strerror}): run Plimsoll in a copy that is yours and can be written, or "
                "with --directory in a folder that is."
            ) from problem


def at_home() -> bool:
    """Return whether the workflow runs in the project's own folder."""
    return Path.cwd() == paths.PROJECT


def refuse(problem: object) -> NoReturn:
    """Print one sentence and end the workflow, without Snakemake's traceback around it. No other line follows it."""
    if display.current:
        display.current.close()
    say(str(problem))
    # os._exit skips the exit handlers, which remove Snakemake's temporary folder among others.
    atexit._run_exitfuncs()
    os._exit(1)
