"""Studies, profiles and the configuration: read, checked, and references between them resolved."""

from pathlib import Path

from plimsoll import designs, documents, paths
from plimsoll.errors import PlimsollError

STUDIES = paths.PROJECT / "config/studies"
PROFILES = paths.PROJECT / "config/profiles"


def names(folder: Path) -> list[str]:
    """Names of the YAML files in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def selected(wanted: str | list[str]) -> list[str]:
    """Studies that the configuration's `studies` stands for: `all`, one name, names separated by commas, or a list."""
    wanted = wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted
    known = names(STUDIES)
    if wanted == ["all"]:
        return known
    for name in wanted:
        if name not in known:
            raise PlimsollError(f"There is no study {name!r}: config/studies/ has {', '.join(known)} (or say all).")
    return list(dict.fromkeys(wanted))


def profile(name: str) -> dict:
    """The profile of that name."""
    if name not in names(PROFILES):
        raise PlimsollError(f"There is no profile {name!r}: config/profiles/ has {', '.join(names(PROFILES))}.")
    return documents.load(PROFILES / f"{name}.yaml", "profile")


def load(path: Path) -> dict:
    """A study file, checked against its schema, and each name in it against what it refers to."""
    study, text = documents.read(path)
    source = f"config/studies/{path.name}"
    design = designs.find(study["design"]) if isinstance(study, dict) and isinstance(study.get("design"), str) else None
    if design:
        # Before what all designs have in common: a key that is mistyped is unknown here, and missing there.
        documents.check(study, f"designs/{design.name}", source, text)
    documents.check(study, "study", source, text)
    if study["id"] != path.stem:
        raise PlimsollError(f"{source}: id: {study['id']!r} is not the file's name, {path.stem!r}.")

    def refer(key: str, values: list[str], known: list[str] | tuple[str, ...]) -> None:
        for value in values:
            if value not in known:
                raise PlimsollError(f"{source}: {key}: {value!r} is not one of {', '.join(known)}.")

    refer("image", [study["image"]], sorted(p.name for p in (paths.PROJECT / "containers").iterdir()))
    for name, figure in study["figures"].items():
        refer(f"figures.{name}.experiment", [figure["experiment"]], list(study["experiments"]))
        refer(f"figures.{name}.metrics", figure.get("metrics", []), list(study["metrics"]))
        if not (paths.PROJECT / f"notebooks/{figure['notebook']}.ipynb").is_file():
            raise PlimsollError(f"{source}: figures.{name}.notebook: there is no notebooks/{figure['notebook']}.ipynb.")
    design.check(study, source, refer)
    return study
