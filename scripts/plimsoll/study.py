"""Studies, profiles and the configuration: read, checked, and references between them resolved."""

from pathlib import Path

from plimsoll import affinity, benchmarks, documents, instruments, paths, runtimes
from plimsoll.errors import PlimsollError
from plimsoll.instruments.base import Instrument

STUDIES = paths.PROJECT / "config/studies"
REFERENCE = paths.PROJECT / "config/reference"
PROFILES = paths.PROJECT / "config/profiles"
# Factors that an experiment names levels of.
FACTORS = ("hardware", "mode", "runtime", "yield")


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
    study = documents.load(path, "study")
    source = f"config/studies/{path.name}"
    if study["id"] != path.stem:
        raise PlimsollError(f"{source}: id: {study['id']!r} is not the file's name, {path.stem!r}.")
    factors = study["factors"]
    sections = benchmarks.find(study["benchmark"]).sections

    def refer(key: str, values: list[str], known: list[str] | tuple[str, ...]) -> None:
        for value in values:
            if value not in known:
                raise PlimsollError(f"{source}: {key}: {value!r} is not one of {', '.join(known)}.")

    refer("image", [study["image"]], sorted(p.name for p in (paths.PROJECT / "containers").iterdir()))
    refer("factors.runtime", factors["runtime"], sorted(runtimes.known()))
    refer("baseline", [study["baseline"]], factors["runtime"])
    refer("factors.affinity", factors["affinity"], list(affinity.LEVELS))
    refer("yield_by_mode", list(study["yield_by_mode"]), factors["mode"])
    refer("yield_by_mode", list(study["yield_by_mode"].values()), list(factors["yield"]))
    for name, metric in study["metrics"].items():
        refer(f"metrics.{name}.section", [metric["section"]], sections)
        refer(f"metrics.{name}.instrument", [metric.setdefault("instrument", Instrument.name)], list(instruments.known()))
        metric["source"] = [metric["source"]] if isinstance(metric["source"], str) else metric["source"]
    for name, experiment in study["experiments"].items():
        for factor in FACTORS:
            refer(f"experiments.{name}.{factor}", experiment.get(factor, []), list(factors[factor]))
        _resolve_affinity(source, name, experiment)
        for levels in experiment["affinity"].values():
            refer(f"experiments.{name}.affinity", levels, factors["affinity"])
        refer(f"experiments.{name}.sections", experiment["sections"], sections)
        refer(f"experiments.{name}.metrics", experiment.get("metrics", []), list(study["metrics"]))
        refer(f"experiments.{name}.instrument", [experiment.get("instrument", Instrument.name)], list(instruments.known()))
    for name, figure in study["figures"].items():
        refer(f"figures.{name}.experiment", [figure["experiment"]], list(study["experiments"]))
        refer(f"figures.{name}.beside", figure.get("beside", []), list(study["experiments"]))
        experiment = study["experiments"][figure["experiment"]]
        refer(f"figures.{name}.metrics", figure.get("metrics", []), list(study["metrics"]))
        for metric in figure.get("metrics", []):
            refer(f"figures.{name}.metrics", [study["metrics"][metric]["section"]], experiment["sections"])
        refer(f"figures.{name}.affinity", figure.get("affinity", []), factors["affinity"])
        if not (paths.PROJECT / f"notebooks/{figure['notebook']}.ipynb").is_file():
            raise PlimsollError(f"{source}: figures.{name}.notebook: there is no notebooks/{figure['notebook']}.ipynb.")
    for name, other in study.get("cross_checks", {}).items():
        refer("cross_checks", [name, other], list(study["metrics"]))
    for name, table in study.get("measured_tables", {}).items():
        refer(f"measured_tables.{name}.experiment", [table["experiment"]], list(study["experiments"]))
        refer(f"measured_tables.{name}.reference", [table["reference"]], [path.stem for path in REFERENCE.glob("*.csv")])
    return study


def _resolve_affinity(source: str, name: str, experiment: dict) -> None:
    """Turn a list of levels for all settings into one a setting; PlimsollError for a level that a setting cannot have."""
    key = f"{source}: experiments.{name}.affinity"
    if isinstance(experiment["affinity"], list):
        experiment["affinity"] = dict.fromkeys(experiment["hardware"], experiment["affinity"])
    if set(experiment["affinity"]) != set(experiment["hardware"]):
        raise PlimsollError(f"{key}: it must give levels for {', '.join(experiment['hardware'])}, and for nothing else.")
    for hardware, levels in experiment["affinity"].items():
        for level in levels:
            if level in affinity.LEVELS and (reason := affinity.refusal(level, hardware)):
                raise PlimsollError(f"{key}: {reason}.")
