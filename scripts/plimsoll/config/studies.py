"""Studies and profiles: read them, check them, and resolve the references between them and the configuration."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll import paths, registry, spelling
from plimsoll.config import answers, yaml_files
from plimsoll.design import Design
from plimsoll.errors import PlimsollError, quote

STUDIES = paths.CONFIG / "studies"
PROFILES = paths.CONFIG / "profiles"


def names(folder: Path) -> list[str]:
    """Return the names of the YAML files in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def select(wanted: str | list[str]) -> list[str]:
    """Return the studies that the configuration's `studies` stands for: `all`, one name, names separated by commas, or
    a list.

    A study brings the studies that continue its paper. Their names are its name with a dash and more. Raise
    PlimsollError for a name that no study has.
    """
    wanted = wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted
    known = names(STUDIES)
    if wanted == ["all"]:
        return known
    for name in wanted:
        if name not in known:
            near = spelling.hint(name, known)
            raise PlimsollError(f"There is no study {quote(name)}{near}: config/studies/ has {', '.join(known)} (or type all).")
    brought = ([name, *(other for other in known if other.startswith(f"{name}-"))] for name in wanted)
    return list(dict.fromkeys(name for names in brought for name in names))


def profile(name: str) -> dict:
    """Return the profile of that name. Raise PlimsollError if no profile has it."""
    if name not in (known := names(PROFILES)):
        near = spelling.hint(name, known)
        raise PlimsollError(f"There is no profile {quote(name)}{near}: config/profiles/ has {', '.join(known)}.")
    return yaml_files.load(PROFILES / f"{name}.yaml", "profile")


def wishes(study: Mapping, runtimes: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration's wish for each runtime, for a study.

    A runtime that the study asks for is `optional` where the configuration has it off.
    """
    asked = {name: "optional" for name in study.get("asks", ()) if runtimes.get(name, "off") == "off"}
    # Keeps the configuration's order.
    return {**runtimes, **asked}


def wishes_of_all(chosen: Iterable[Mapping], runtimes: Mapping[str, str]) -> dict[str, str]:
    """Return the wish for each runtime where several studies are measured. A runtime that one of them asks for is tried."""
    together = dict(runtimes)
    for study in chosen:
        together = wishes(study, together)
    return together


class Study(dict):
    """Content of a study's file, with the `design` that it follows.

    Shared code asks the design, and never which study it is.
    """

    def __init__(self, content: Mapping, design: Design):
        super().__init__(content)
        self.design = design


def load(name: str, designs: Mapping[str, Design]) -> Study:
    """Return the study of that name. Check its file against its schema, and each name in it against what it refers to.

    Raise PlimsollError if something does not fit.
    """
    return read(STUDIES / f"{name}.yaml", designs)


def read(path: Path, designs: Mapping[str, Design]) -> Study:
    """Return the study of any file, checked as `load` does."""
    study, text = yaml_files.read(path)
    source = f"config/studies/{path.name}"
    given = study.get("design") if isinstance(study, dict) else None
    if isinstance(given, str):
        design = registry.find(designs, "design", given)
        # Checked before the schema of all studies: a mistyped key is reported as unknown here, and only as missing there.
        yaml_files.check(study, f"designs/{design.name}", source, text)
    yaml_files.check(study, "study", source, text)
    if study["id"] != path.stem:
        raise PlimsollError(
            f"{source}: id: {quote(study['id'])} is not the file's name, {path.stem!r}. Give both the same name."
        )

    def refer(key: str, values: list[str], known: list[str] | tuple[str, ...]) -> None:
        for value in values:
            if value not in known:
                raise PlimsollError(f"{source}: {key}: {quote(value)} is not one of {', '.join(known)}.")

    # A configuration may have recipes of its own: that of a user's program.
    recipes = (path for folder in (paths.PROJECT, paths.CONFIG) for path in (folder / "containers").glob("*"))
    refer("image", [study["image"]], sorted({path.name for path in recipes}))
    for name, figure in study["figures"].items():
        refer(f"figures.{name}.experiment", [figure["experiment"]], list(study["experiments"]))
        refer(f"figures.{name}.metrics", figure.get("metrics", []), list(study["metrics"]))
    printed = sorted(path.stem for path in paths.REFERENCE.glob("*.csv"))
    for name, table in study.get("tables", {}).items():
        refer(f"tables.{name}.kind", [table["kind"]], list(design.tables.KINDS))
        refer(f"tables.{name}.reference", [table["reference"]] if "reference" in table else [], printed)
    design.check.study(study, source, refer)
    answers.check(study, source, design, refer)
    resources = study.get("capacity", {})
    for name, metric in study["metrics"].items():
        refer(f"metrics.{name}.limited_by", [metric["limited_by"]] if "limited_by" in metric else [], list(resources))
    for resource, one in resources.items():
        refer(f"capacity.{resource}.alone", list(one["alone"]), design.factors.FACTORS)
    return Study(study, design.for_study(study))
