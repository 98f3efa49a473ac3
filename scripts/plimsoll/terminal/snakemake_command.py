"""Start a workflow of this project from one of its commands."""

import sys
from collections.abc import Sequence
from pathlib import Path

import yte

from plimsoll import paths


def command(snakefile: Path, profile: Path, *words: str) -> list[str]:
    """Return the command of a workflow with the settings of a profile as options, after its `words`.

    Snakemake prints a line about each profile that it reads itself, and a command may start several workflows.
    """
    with open(profile / "config.yaml") as file:
        settings = yte.process_yaml(file, require_use_yte=True)
    own = ["--snakefile", str(snakefile), *words, "--workflow-profile", "none"]
    return [sys.executable, "-m", "snakemake", *own, *(word for each in settings.items() for word in _option(*each))]


def of_project(targets: Sequence[str], settings: Sequence[str], cores: int = 1) -> list[str]:
    """Return the command of the project's workflow for some targets. `settings` are the words after --config."""
    words = ["--cores", str(cores), *targets, *(["--config", *settings] if settings else [])]
    return command(paths.PROJECT / "Snakefile", paths.PROJECT / "profiles/default", *words)


def _option(name: str, value: object) -> list[str]:
    """Return a setting of a profile as words of a command line."""
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
