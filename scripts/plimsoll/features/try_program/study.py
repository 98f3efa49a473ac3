"""Writes a study of a program, and the folder in which it is measured: configuration, profile, claims, recipe of the image."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from plimsoll import paths, runtimes, spelling
from plimsoll.designs.program import ladder
from plimsoll.designs.program.factors import FILES, FIRST
from plimsoll.errors import PlimsollError, quote
from plimsoll.features.try_program import folder_copy, neighbour_runs, ranks, recipe, sif, study_content, trial
from plimsoll.features.try_program.ranks import Ranks
from plimsoll.features.try_program.study_options import StudyOptions
from plimsoll.features.try_program.trial import TrialResult
from plimsoll.interchange import Image

ID = "my-{name}"
PROFILE = "quick"
# Line of a study's file that says that its program was not tried in a container yet.
UNTRIED = re.compile(r"^ +untried: .*\n", re.MULTILINE)
# Defaults as a user would call them.
CALLED = tuple(name for name in ladder.DEFAULTS if name != "singularity-user")
# Defaults in which a program of several ranks was not tried.
WITHOUT_RANKS = frozenset({"charliecloud"})
ONE_CONTAINER = tuple(name for name in CALLED if name not in ladder.OF_SPLIT)
# A default, by the default that is measured in its place where both work.
BETTER_OF = {"podman-rootless": "podman", "podman-rootless-split": "podman-split"}
# Begins a file of claims that stays as it is: the user's own.
OWN_CLAIMS = "# Claims of your own"
HEAD = f"{folder_copy.MARK} `plimsoll reproduce {{file}}` measures it again, and goes on.\n"


class Place(NamedTuple):
    """Where a study is: its file, and the folder beside it with all else, in which it is measured."""

    file: Path
    folder: Path

    @property
    def id(self) -> str:
        """Name of the study."""
        return self.file.stem

    @property
    def results(self) -> Path:
        """Folder of the study's results."""
        return self.folder / "results" / self.id


def place_of(file: Path) -> Place:
    """Return the place of a study's file."""
    return Place(file, file.with_suffix(""))


def make(options: StudyOptions, timer: Path, tell: Callable[[str], None]) -> Place:
    """Write the recipe, the study's file and its folder. Return where they are.

    Raise PlimsollError, in one sentence, for a program that cannot be measured.
    """
    place = place_of(Path.cwd() / f"{ID.format(name=options.name)}.yaml")
    if place.results.exists():
        raise PlimsollError(
            f"{place.folder} has results of another study: give this one a name with --name, or delete that folder. "
            f"`plimsoll reproduce {place.file.name}` goes on with the old one."
        )
    _refuse_others(place)
    tried = on_host(options, timer, tell)
    if tried is None:
        _refuse_without_baseline()
    config = place.folder / "config"
    shutil.rmtree(config, ignore_errors=True)
    # Without its file, the next `plimsoll try` would take the folder for the user's own.
    with removed_if_refused(place):
        _fill(options, place, config, timer, tried, tell)
    return place


@contextlib.contextmanager
def removed_if_refused(place: Place) -> Iterator[None]:
    """Remove a study's file, and what `make` and the build of its image have written into its folder, after any exception.

    A study with results stays, and so do other files in its folder.
    """
    try:
        yield
    except BaseException:
        if not place.results.exists():
            place.file.unlink(missing_ok=True)
            for path in (place.folder / "config", place.folder / "results/images"):
                shutil.rmtree(path, ignore_errors=True)
            for path in (place.folder / "results", place.folder):
                with contextlib.suppress(OSError):
                    path.rmdir()
        raise


def _refuse_others(place: Place) -> None:
    """Raise PlimsollError if a file or a folder with the study's name is the user's own, or has claims of the user's."""
    claims = place.folder / f"config/claims/{place.id}.yaml"
    if claims.is_file() and claims.read_text().startswith(OWN_CLAIMS):
        raise PlimsollError(
            f"{claims} has claims of your own. Nothing was changed. Give the new study a name with --name, or move them."
        )
    if folder_copy.is_ours(place.file):
        return
    if place.file.exists() or (place.folder.exists() and not (place.folder.is_dir() and not any(place.folder.iterdir()))):
        own = place.file if place.file.exists() else place.folder
        raise PlimsollError(
            f"{own} exists, and `plimsoll try` has not made it. Nothing was changed. Give the study a name with --name."
        )


def _refuse_without_baseline() -> None:
    """Raise PlimsollError if the image's files in no container cannot be measured.

    Containers are compared with them where the program does not run on this host.
    """
    if reason := runtimes.unavailable((FILES,)).get(FILES):
        raise PlimsollError(
            f"The program does not run with this host's files, and {reason}, so there is nothing to compare containers with. "
            "Nothing was measured. Install the program here too, or type the command as root."
        )


def _fill(
    options: StudyOptions, place: Place, config: Path, timer: Path, tried: TrialResult | None, tell: Callable[[str], None]
) -> None:
    """Write the recipe, the configuration and the study's file."""
    made = recipe.write(options, config / "containers" / recipe.IMAGE, timer, tell)
    if options.folder:
        folder_copy.copy(options.folder, config / "folder")
    defaults = defaults_here(options.ranks, options.runtimes)
    if options.beside and (left_out := neighbour_runs.left_out(defaults)):
        tell(left_out)
    folder = digest_of(config / "folder") if options.folder else None
    content = study_content.of_study(options, place.id, made.files, tried, defaults, folder)
    content["program"] |= {"image_variables": made.variables} if made.variables else {}
    content["program"]["untried"] = "in a container of its image"
    _configure(config, content)
    write(place.file, content)


def finish(place: Place, tell: Callable[[str], None]) -> None:
    """Try the program in a container of its image, if that was not done yet, and note in the study's file what only that shows.

    Raise PlimsollError, in one sentence, if it cannot be measured there.
    """
    content = yaml.safe_load(place.file.read_text())
    if not content["program"].pop("untried", None):
        return
    options = study_content.options_of(content, place.folder / "config/folder")
    image = json.loads((place.folder / f"results/images/{recipe.IMAGE}.json").read_text())
    # It may be a link to a path in the image.
    if not os.path.lexists(Path(image["rootfs"]) / sif.ENV):
        raise PlimsollError(
            f"The image has no /{sif.ENV}, without which it cannot be compared with its files in no container. Nothing was "
            "measured. Add it: Debian has it in coreutils."
        )
    if options.ranks:
        ranks.refuse_image(Path(image["rootfs"]))
    content["program"] |= _of_container(options, image, content["program"])
    if "output" not in content["program"]:
        tell("Its output differs from run to run, so outputs are not compared: --filter PATTERN names what may differ.")
    _note(place.file, content)
    write_study(place.folder / "config", content)


def _of_container(options: StudyOptions, image: Image, program: dict) -> dict:
    """Return the keys of a study's program that a trial in a container of its image shows; none if there can be no trial.

    Raise PlimsollError if the program cannot be measured there, or if its output is another than on this host.
    """
    variables = program.get("image_variables", {})
    if not (tried := trial.in_container(options, image, variables)):
        return {}
    if "not_installed" not in program and program.get("output") not in (None, *tried.outputs):
        raise PlimsollError(
            "The program's output differs between this host and a container, so its times mean nothing. Nothing was "
            "measured. --filter PATTERN names what may differ, and --check COMMAND says whether an answer is right."
        )
    # This trial has no launcher, so it cannot watch ranks.
    written = [] if options.ranks else trial.layer_folders(options, image, variables)
    of_trial = study_content.of_trial(tried) if "not_installed" in program else {}
    return {**of_trial, **({"written": written} if written else {})}


def _note(file: Path, content: dict) -> None:
    """Write a study's file with new keys of its program in the place of UNTRIED. Comments stay if no other key changes."""
    text = file.read_text()
    before = yaml.safe_load(text)["program"]
    new = {key: value for key, value in content["program"].items() if key not in before}
    lines = textwrap.indent(yaml.safe_dump(new, sort_keys=False, width=120), "  ") if new else ""
    text = UNTRIED.sub(lambda _: lines, text, count=1)
    if yaml.safe_load(text) == content:
        file.write_text(text)
    else:
        write(file, content)


def write(file: Path, content: dict) -> None:
    """Write a study's file."""
    file.write_text(HEAD.format(file=file.name) + yaml.safe_dump(content, sort_keys=False, width=120))


def on_host(options: StudyOptions, timer: Path, tell: Callable[[str], None]) -> TrialResult | None:
    """Return what a trial on this host shows; None if the program is an image's, and does not run here. Say why.

    Raise PlimsollError if the program is this host's, and cannot be measured.
    """
    own = not (options.image or options.packages)
    if own:
        trial.refuse_other_program(options)
    name = options.command[0]
    found = shutil.which(name, path=trial.path_of(options)) or (options.folder and (options.folder / name).is_file())
    if not own and not found:
        tell(f"{name} is not installed here: the image's files in no container are what runtimes are compared with.")
        return None
    try:
        tried = trial.on_host(options, timer)
    except PlimsollError as problem:
        if own:
            raise
        tell(f"This host is left out: {problem}")
        return None
    if not own:
        tell(f"On this host the program is {found if isinstance(found, str) else name}.")
    return tried


def _is_wanted(default: str, ranks: Ranks | None) -> bool:
    """Return whether a default is measured: those that split ranks only for a user who wants that."""
    if default in ladder.OF_SPLIT:
        return bool(ranks and ranks.split)
    return ranks is None or (ranks.in_one and default not in WITHOUT_RANKS)


def refuse_unknown(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the names of runtimes whose defaults are wanted. Raise PlimsollError for another name."""
    for name in chosen:
        if name not in ONE_CONTAINER:
            known = f"Known are {', '.join(ONE_CONTAINER)}."
            raise PlimsollError(f"--runtimes {quote(name)}{spelling.hint(name, ONE_CONTAINER)}. Nothing was measured. {known}")
    return tuple(chosen)


def defaults_here(ranks: Ranks | None = None, chosen: Sequence[str] = ()) -> list[str]:
    """Return the runtimes that work here as a user would call them: all of them, or the `chosen` ones.

    Raise PlimsollError if no runtime works, or if a chosen one does not.
    """
    wanted = [name for name in CALLED if _is_wanted(name, ranks) and _one_container(name) in (chosen or ONE_CONTAINER)]
    missing = missing_here()
    there = [name for name in wanted if _one_container(name) not in missing]
    for name in chosen:
        why = f"does not work here: {missing[name]}" if name in missing else "is not tried with several ranks"
        if name in missing or name not in map(_one_container, wanted):
            raise PlimsollError(f"{name} {why}. Nothing was measured. Leave it out of --runtimes.")
    if not there:
        reasons = "; ".join(f"{runtimes.find(name).label}: {reason}" for name, reason in missing.items())
        raise PlimsollError(f"No runtime works here, so there is nothing to compare ({reasons}).")
    return [name for name in there if BETTER_OF.get(name) not in there]


def _one_container(default: str) -> str:
    """Return the runtime of a default's kind that has one container."""
    return ladder.unsplit(default) or default


def missing_here() -> dict[str, str]:
    """Return the runtimes that do not work here as a user would call them, each with the reason."""
    return runtimes.unavailable(ONE_CONTAINER)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a folder's files, with their names and modes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        # A name need not be UTF-8.
        digest.update(os.fsencode(path.relative_to(folder)) + f"\0{path.lstat().st_mode:o}\0".encode())
        if path.is_symlink():
            digest.update(os.fsencode(os.readlink(path)))
        elif path.is_file():
            with open(path, "rb") as opened:
                while part := opened.read(2**20):
                    digest.update(part)
    return digest.hexdigest()


def refuse_changed(config: Path, program: dict, error: type[PlimsollError] = PlimsollError) -> None:
    """Raise an error if the copy of the user's folder is another than the one that a study's program names."""
    wanted = program.get("folder")
    if wanted and (not (config / "folder").is_dir() or digest_of(config / "folder") != wanted):
        raise error(
            f"{config / 'folder'} has changed since `plimsoll try` copied it, so runs had different inputs, and there is no "
            "answer. Let the program write only to files that are new or below 1 MiB, and make the study again with --name."
        )


def claims_of(study: dict) -> dict:
    """Return the claims of a study: that no default is slower than the baseline."""
    [main], baseline = study["answer"]["metrics"], study["answer"]["baseline"]
    return {
        "study": study["id"],
        "questions": {"RQ1": "Does a container cost this program anything?"},
        "claims": [
            {
                "id": f"{study['id']}-c{number:02}",
                "section": "ours",
                "shown_in": ["ladder"],
                "question": "RQ1",
                "kind": "no_difference",
                "statement": f"The program is not worse with: {runtimes.find(runtime).label}.",
                "metrics": [main],
                "a": {"runtime": [runtime]},
                "b": dict(baseline),
                "scope": {"stage": [FIRST]},
                "expected": "not_worse",
                "needs": [],
                "margin": 0.01,
                "threshold": "Not worse is by less than 1 %.",
            }
            for number, runtime in enumerate(study["answer"]["rows"]["runtime"], 1)
        ],
    }


def _configure(config: Path, study: dict) -> None:
    """Write what measuring reads beside the study: the configuration, profiles and claims."""
    for folder in ("studies", "claims", "reference", "hosts"):
        (config / folder).mkdir(parents=True, exist_ok=True)
    shutil.copytree(paths.PROJECT / "config/profiles", config / "profiles")
    usual = yaml.safe_load((paths.PROJECT / "config/config.yaml").read_text())
    # Runtimes of later stages are switched on when a stage needs them: each is tried before it is measured.
    wanted = {**dict.fromkeys(ladder.everything(), "off"), **dict.fromkeys(study["experiments"][FIRST]["runtime"], "optional")}
    text = yaml.safe_dump({**usual, "studies": [study["id"]], "profile": PROFILE, "runtimes": wanted}, sort_keys=False)
    (config / "config.yaml").write_text(text)
    write_study(config, study)


def write_study(config: Path, study: dict) -> None:
    """Write a study and its claims to where measuring reads them.

    Files with the same content are not touched, nor are claims that the user has made their own.
    """
    for path, content in (("studies", study), ("claims", claims_of(study))):
        target, text = config / path / f"{study['id']}.yaml", yaml.safe_dump(content, sort_keys=False, width=120)
        there = target.read_text() if target.is_file() else ""
        if there != text and not there.startswith(OWN_CLAIMS):
            target.write_text(text)
