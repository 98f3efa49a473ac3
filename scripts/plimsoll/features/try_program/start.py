"""Starts the measuring of a study of a program in its folder, as a process with the study's configuration."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from plimsoll import designs, paths, spelling
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.features.try_program import recipe, study, study_options
from plimsoll.features.try_program.study import Place
from plimsoll.terminal import interruption


def measure_own(studies: Sequence[str], has_options: bool, dry_run: bool, **of_answer) -> int | None:
    """Measure the study of a program that a file has, and return the exit status.

    `studies` are the words that were typed, and `of_answer` what `answer_options` takes. `has_options`: options of papers'
    studies were typed. Raise PlimsollError for these, and for more than one file.
    """
    file = next(each for each in studies if each.endswith(".yaml"))
    if len(studies) > 1 or has_options:
        raise PlimsollError(
            f"{file} is measured alone, as it says. Nothing was measured. Leave the other words out: of the options it takes "
            "--dry-run, --fail-above, --json, --junit and --export-hyperfine."
        )
    words = answer_options(**of_answer)
    with interruption.explain():
        place = of_file(Path(file))
        if dry_run:
            return None
        image(place)
        study.finish(place, lambda text: print(f"reproduce: {text}", file=sys.stderr, flush=True))
        return measure(place, words)


def of_file(file: Path) -> Place:
    """Return the place of a study's file, whose content is checked and put where measuring reads it.

    Raise PlimsollError if the file does not fit, or if the folder with the program's files is not beside it.
    """
    place = study.place_of(file.absolute())
    config = place.folder / "config"
    if not (config / "containers" / recipe.IMAGE).is_dir():
        raise PlimsollError(
            f"{place.folder} is not beside {file.name}: it has the program's files, and `plimsoll try` makes both "
            "together. Nothing was measured."
        )
    os.environ["PLIMSOLL_CONFIG"] = str(config)
    paths.CONFIG = config
    content = dict(studies.read(file, designs.known()))
    study.refuse_changed(config, content["program"])
    study.write_study(config, content)
    return place


def image(place: Place) -> Path:
    """Build the image of a study, and return the path of its description. Raise PlimsollError if it cannot be built."""
    described = place.folder / f"results/images/{recipe.IMAGE}.json"
    described.parent.mkdir(parents=True, exist_ok=True)
    from plimsoll.config import configuration

    base = configuration.read([], file=place.folder / "config/config.yaml", local=place.folder / "config/local.yaml")[
        "base_image"
    ]
    command = ["-m", "plimsoll", "image", "--name", recipe.IMAGE, "--base", base, "--output", str(described)]
    if interruption.run([sys.executable, *command], _environment(place)):
        raise PlimsollError(f"The image of {place.id} could not be built. Nothing was measured. The reason is above.")
    return described


def measure(place: Place, options: Sequence[str]) -> int:
    """Measure a study in its folder, and return the exit status of `python -m plimsoll.features.try_program`.

    The command that Ctrl-C names from here on goes on with the study: what the user typed may have made it.
    """
    os.environ[interruption.COMMAND] = spelling.command("reproduce", shlex.quote(_from_here(place.file)))
    os.chdir(place.folder)
    return interruption.run([sys.executable, "-m", "plimsoll.features.try_program", place.id, *options], _environment(place))


def _from_here(file: Path) -> str:
    """Return the path of a file as the user would type it in the working directory."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def answer_options(fail_above: str | None, json: bool, export: Path | None, junit: Path | None) -> list[str]:
    """Return what was typed as options of `python -m plimsoll.features.try_program`. Raise PlimsollError for a wrong value."""
    share = None if fail_above is None else study_options.share(fail_above, "--fail-above")
    study_options.refuse_unwritable(export)
    study_options.refuse_unwritable(junit, "--junit")
    return [
        *(["--fail-above", f"{share:g}"] if share is not None else []),
        *(["--json"] if json else []),
        *(["--hyperfine", str(export.absolute())] if export else []),
        *(["--junit", str(junit.absolute())] if junit else []),
    ]


def _environment(place: Place) -> dict[str, str]:
    return {**paths.environment(), "PLIMSOLL_CONFIG": str(place.folder / "config")}
