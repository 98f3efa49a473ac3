"""Checks of the names in a splitting study and its claims against what they refer to."""

from pathlib import Path

from plimsoll import design, instruments, runtimes, workloads
from plimsoll.claims import book
from plimsoll.designs.splitting import affinity, scheme, words
from plimsoll.designs.splitting.factors import OF_EXPERIMENT, Factors
from plimsoll.errors import PlimsollError, quote
from plimsoll.figures import sources
from plimsoll.instruments.base import Instrument
from plimsoll.workloads.base import Application


class Check(design.Check):
    """Checks of a splitting study."""

    # Claims also name granularity, which is not a factor of the cells.
    NAMED = (*Factors.FACTORS, *words.CLAIMED)

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check the names of runtimes, levels, sections, metrics, experiments and files in a study.

        Lists that the file abbreviates are written out: a metric's `source`, and an experiment's levels of affinity by setting.
        PlimsollError for an unknown name.
        """
        factors = study["factors"]
        sections = workloads.find(study["benchmark"], Application).sections
        refer("factors.hardware", factors["hardware"], list(scheme.SOCKETS))
        refer("factors.mode", factors["mode"], list(scheme.MODES))
        refer("factors.runtime", factors["runtime"], sorted(runtimes.known()))
        refer("asks", study.get("asks", []), factors["runtime"])
        refer("baseline", [study["baseline"]], factors["runtime"])
        refer("factors.affinity", factors["affinity"], list(affinity.LEVELS))
        refer("yield_by_mode", list(study["yield_by_mode"]), factors["mode"])
        refer("yield_by_mode", list(study["yield_by_mode"].values()), list(factors["yield"]))
        for name, metric in study["metrics"].items():
            refer(f"metrics.{name}.section", [metric["section"]], sections)
            refer(f"metrics.{name}.instrument", [metric.setdefault("instrument", Instrument.name)], list(instruments.known()))
            metric["source"] = [metric["source"]] if isinstance(metric["source"], str) else metric["source"]
        for name, experiment in study["experiments"].items():
            for factor in OF_EXPERIMENT:
                refer(f"experiments.{name}.{factor}", experiment.get(factor, []), list(factors[factor]))
            _resolve_affinity(source, name, experiment)
            for levels in experiment["affinity"].values():
                refer(f"experiments.{name}.affinity", levels, factors["affinity"])
            refer(f"experiments.{name}.sections", experiment["sections"], sections)
            refer(f"experiments.{name}.metrics", experiment.get("metrics", []), list(study["metrics"]))
            instrument = experiment.get("instrument", Instrument.name)
            refer(f"experiments.{name}.instrument", [instrument], list(instruments.known()))
        sources.check(study, source, Path(__file__).with_name("charts"), refer)
        for name, figure in study["figures"].items():
            refer(f"figures.{name}.beside", figure.get("beside", []), list(study["experiments"]))
            experiment = study["experiments"][figure["experiment"]]
            for metric in figure.get("metrics", []):
                refer(f"figures.{name}.metrics", [study["metrics"][metric]["section"]], experiment["sections"])
            refer(f"figures.{name}.affinity", figure.get("affinity", []), factors["affinity"])
            steps = figure.get("steps", {})
            refer(f"figures.{name}.steps", list(steps), factors["runtime"])
            for place, (runtime, step) in enumerate(steps.items()):
                refer(f"figures.{name}.steps.{runtime}.from", [step["from"]] if "from" in step else [], list(steps)[:place])
        for name, other in study.get("cross_checks", {}).items():
            refer("cross_checks", [name, other], list(study["metrics"]))
        for name, table in study.get("tables", {}).items():
            refer(
                f"tables.{name}.experiment", [table["experiment"]] if "experiment" in table else [], list(study["experiments"])
            )

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the levels that a claim names, of the cells' factors and of granularity. PlimsollError for an unknown level."""
        for side, named in book.levels_of(claim):
            for factor, levels in named.items():
                if factor in (*OF_EXPERIMENT, "affinity"):
                    refer(f"{side}.{factor}", levels, list(study["factors"][factor]))
                elif factor in words.CLAIMED:
                    refer(f"{side}.{factor}", levels, list(words.LEVELS[factor]))
        if not {"parts", "untestable"} & set(claim) and "id" in claim:
            _refuse_values(study, claim)


def _refuse_values(study: dict, claim: dict) -> None:
    """Raise PlimsollError if a relative quantity has no `relative_to`, or if a printed value belongs to nothing known.

    A printed value must be named like a metric of the claim or like a level of the study.
    """
    from plimsoll.claims import quantities  # here, because listing studies needs no NumPy

    quantity = quantities.find(claim.get("quantity"))
    source = f"config/claims/{study['id']}.yaml: {claim['id']}"
    if quantity.relative and "relative_to" not in claim:
        raise PlimsollError(f"{source}: relative_to is missing: the quantity {quantity.name!r} needs it.")
    levels = {level for known in study["factors"].values() if isinstance(known, list | dict) for level in known}
    unknown = [name for name in claim.get("values", {}) if name not in levels and name not in claim["metrics"]]
    if quantity.printed and unknown:
        raise PlimsollError(f"{source}: values: {quote(unknown[0])} is neither one of the claim's metrics nor a level.")


def _resolve_affinity(source: str, name: str, experiment: dict) -> None:
    """Replace an experiment's list of affinity levels for all settings by one list per setting.

    PlimsollError for a level that a setting cannot have, or for settings other than the experiment's.
    """
    key = f"{source}: experiments.{name}.affinity"
    if isinstance(experiment["affinity"], list):
        experiment["affinity"] = dict.fromkeys(experiment["hardware"], experiment["affinity"])
    if set(experiment["affinity"]) != set(experiment["hardware"]):
        raise PlimsollError(f"{key}: it must give levels for {', '.join(experiment['hardware'])}, and for nothing else.")
    for hardware, levels in experiment["affinity"].items():
        for level in levels:
            if level in affinity.LEVELS and (reason := affinity.refusal(level, hardware)):
                raise PlimsollError(f"{key}: {reason}.")
