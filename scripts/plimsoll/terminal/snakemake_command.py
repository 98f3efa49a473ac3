"""Start a workflow of this project from one of its commands."""

import sys
from pathlib import Path

import yte


def command(snakefile: Path, profile: Path, *words: str) -> list[str]:
    """Return the command of a workflow with the settings of a profile as options, after its `words`.

    Snakemake prints a line about each profile that it reads itself, and a command may start several workflows.
    """
    with open(profile / "config.yaml") as file:
        settings = yte.process_yaml(file, require_use_yte=True)
    own = ["--snakefile", str(snakefile), *words, "--workflow-profile", "none"]
    return [sys.executable, "-m", "snakemake", *own, *(word for each in settings.items() for word in _option(*each))]


def _option(name: str, value: object) -> list[str]:
    """Return a setting of a profile as words of a command line."""
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
