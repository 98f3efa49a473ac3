"""What the workflow works on: the configuration, checked, with the plan of each study and the files that come of it.

The input functions of the rules (rules/common.smk) ask this; no stage imports it.
"""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from plimsoll import designs, environments
from plimsoll.analysis.tables import of_runs
from plimsoll.claims import book, encodings
from plimsoll.config import configuration, studies
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.images import supplied
from plimsoll.interchange import Plan, Topology
from plimsoll.measuring import progress, record, staleness, system
from plimsoll.planning import availability, bundles, configured, planner, put_aside, sessions, sizes, tries

# Snakemake measures what has the highest priority first.
FIRST = 1_000_000
# What changes where a study is judged again.
FILES = ("together.json", "sessions.json")
# Folders of results whose files' times nobody asks for.
UNTIMED = ("raw", "reference")


class Bundle(NamedTuple):
    """Runs (cell, repetition) that the same figures and tables are made from, and the names of these."""

    names: tuple[str, ...]
    runs: list[tuple[str, int]]


@dataclass(frozen=True)
class Workflow:
    """The studies that are `selected`, those that are `wanted` (a target may be a file of another one), every study by name
    with its plan, the configuration's wish for each of the `runtimes`, why optional environments are not there, the `host`
    that is planned for, if one is, and the studies of which the targets need `all_runs`."""

    selected: list[str]
    wanted: list[str]
    studies: dict[str, Study]
    plans: dict[str, Plan]
    runtimes: dict[str, str]
    unavailable: dict[str, str]
    host: Topology | None = None
    all_runs: frozenset[str] = frozenset()

    def records(self, study: str) -> list[str]:
        """Paths of a study's records, in the order of measuring."""
        return paths_of(study, self.plans[study]["order"])

    def deleted_records(self, study: str) -> list[str]:
        """Paths of the records that are not there although the observations are that were made from them: Snakemake does not
        miss what lies between two files that are there. Naming all records would make it follow each of them once more."""
        if not Path(f"results/{study}/observations.csv").exists():
            return []
        there = {str(path) for path in Path(f"results/{study}/runs").rglob("*.json")}
        return [path for path in self.records(study) if path not in there]

    def earlier_sessions(self, study: str) -> list[str]:
        """Paths of the verdicts of a study's earlier sessions."""
        files = (one.folder / "claims.json" for one in sessions.of(Path("results"), study)[:-1])
        return [str(path) for path in files if path.exists()]

    def beside(self) -> list[str]:
        """Folders of results of the studies that are not selected: the page of verdicts shows what an earlier start left in
        them. They are no inputs, as what is made of such a study would be measured for it."""
        return [f"results/{name}" for name in self.studies if name not in self.selected and Path("results", name).is_dir()]

    def beside_digest(self) -> str:
        """Changes when the verdicts on the studies do that are not selected."""
        files = [path for folder in self.beside() for path in sorted(Path(folder).glob("*.json")) if path.name in FILES]
        return record.fingerprint({str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files})

    def figures(self, study: str) -> list[str]:
        """Paths of everything that is a study's figures."""
        return [
            f"results/{study}/figures/{name}.{kind}"
            for name in self.studies[study]["figures"]
            for kind in ("pdf", "png", "csv")
        ]

    def tables(self, study: str) -> list[str]:
        """Paths of everything that is a study's tables, but that of its tests."""
        return [f"results/{study}/tables/{name}.csv" for name in self.studies[study].get("tables", {})]

    def bundle(self, study: str, bundle: str) -> list[str]:
        """The records of a bundle that Snakemake has to look at: those that are to be measured, or that are newer than the
        bundle; all of them where there is no bundle. It takes a millisecond or two for each that it is given, of thousands that
        mostly are what they were."""
        runs = self._bundles[study][bundle].runs
        try:
            made = os.stat(bundle_path(study, bundle)).st_mtime_ns
        except OSError:
            return paths_of(study, runs)
        return [path_of(study, *run) for run in runs if self._open(study, *run) or newer(path_of(study, *run), made)]

    def bundle_digest(self, study: str, bundle: str) -> str:
        """Changes when the runs of a bundle do, or what is measured in them."""
        runs = self._bundles[study][bundle].runs
        return record.fingerprint([(cell, repetition, self._fingerprint(study, cell)) for cell, repetition in runs])

    def bundles(self, study: str, name: str | None = None) -> list[str]:
        """Paths that stand for the records that a figure or a table is made from, and for no others; without a `name` for all
        records of the study."""
        return [
            bundle_path(study, bundle)
            for bundle, bundled in self._bundles[study].items()
            if name is None or name in bundled.names
        ]

    def judged(self, study: str) -> list[str]:
        """Path of the list of a study's runs, which says which of them are impossible, where all of them are measured or about
        to be: what is made of some of them leaves out the same ones. Nothing where only some were asked for."""
        path = f"results/{study}/runs.csv"
        return [path] if study in self.all_runs or (Path(path).exists() and self._measured[study]) else []

    def table_inputs(self, study: str, name: str) -> dict[str, str | list[str]]:
        """What a table is made from, by the name of the stage's option: bundles of records, and descriptions of image and
        machine."""
        loaded = self.studies[study]
        if name not in loaded.get("tables", {}):
            raise PlimsollError(f"{study} has no table {name!r}; it has {', '.join(loaded.get('tables', {}))}.")
        needs = loaded.design.tables.KINDS[loaded["tables"][name]["kind"]].needs
        image = image_of(loaded)
        every = {
            "image": image,
            "host": "results/host.json",
            "environments": tried(image),
        }
        inputs: dict[str, str | list[str]] = {option: path for option, path in every.items() if option in needs}
        if "runs" in needs:
            inputs["records"] = self.bundles(study, name)
            inputs["image"] = image
            inputs["runs"] = self.judged(study)
        return inputs

    def digest(self, study: str) -> str:
        """Changes when the study's plan does: a parameter of everything that reads the plan."""
        return self._digests[study]

    def figure_digest(self, study: str, name: str) -> str:
        """Changes when the part of the plan does that a figure shows."""
        made = self.plans[study]
        cells = availability.shown(made, self.studies[study], name)
        return record.fingerprint({"cells": cells, "repetitions": made["repetitions"]})

    def priority(self, study: str, cell: str, repetition: int) -> int:
        """Of a run: the earlier in the design's order, the higher. One study comes after the other, so that runs that are to be
        compared are not further apart than they have to be."""
        return FIRST - self._before[study] - self._places[study].get((cell, repetition), 0)

    def prerequisites(self, study: str, cell: str, repetition: int) -> list[str]:
        """What a run needs to be measured; nothing once its record is there and needs no other attempt.

        Trying the runtimes needs the image too.
        """
        if not self._open(study, cell, repetition):
            return []
        needed = [tried(image_of(self.studies[study]))]
        # Snakemake compares with what was asked for when it last ran the job. A record may come of another job's launch, and
        # the workflow may have been killed then: Snakemake knows nothing of such a one, but that it is older than this.
        return [*needed, _now(study)] if _seen(study, cell, repetition).there else needed

    def asked_for(self, study: str, cell: str, repetition: int) -> str:
        """What is asked of a run, as arguments of plimsoll.measure; if they are not those of its last job it runs again."""
        seen = _seen(study, cell, repetition)
        asked = staleness.asked_for(seen, self._fingerprint(study, cell) or "none", self._starts(study))
        return f"results/{study}/plan.json {image_of(self.studies[study])} {cell} {repetition} {asked}"

    def note_systems(self, runs: Iterable[tuple[str, str, int]]) -> None:
        """Note on which system the runs (study, cell, repetition) are about to be measured. Another, which is a PlimsollError,
        if it is not that of the study's records."""
        wanted: dict[str, set[str]] = {}
        for study, cell, _ in runs:
            wanted.setdefault(study, set()).add(self.plans[study]["cells"][cell]["runtime"])
        for study, names in wanted.items():
            system.note_answering(Path("results", study), [environments.find(name) for name in sorted(names)])

    def say_what_changes(self, runs: Iterable[tuple[str, str, int]]) -> None:
        """Say which valid records are put aside, and why, before the runs (study, cell, repetition) are measured."""
        wanted = list(runs)
        for study in self.wanted:
            of_study = [(cell, repetition) for name, cell, repetition in wanted if name == study]
            _say(put_aside.sentences(Path("results", study), self.studies[study].design, self.plans[study], of_study))

    def note_queue(self, runs: Iterable[tuple[str, str, int]]) -> None:
        """Tell the progress lines which runs (study, cell, repetition) are about to be measured."""
        for study in self.studies:
            wanted = {(cell, repetition) for of, cell, repetition in runs if of == study}
            if wanted:
                queue = sorted(wanted, key=lambda run: self._places[study].get(run, 0))
                progress.begin(Path("results", study, "progress"), [f"{cell}/{number}" for cell, number in queue])

    def wishes(self, image: str) -> dict[str, str]:
        """The wish for each runtime, of the configuration and of the wanted studies that run an image."""
        chosen = (self.studies[name] for name in self.wanted if self.studies[name]["image"] == image)
        return studies.wishes_of_all(chosen, self.runtimes)

    def plans_on(self, image: str) -> list[str]:
        """Paths of the plans of the wanted studies that run an image."""
        return [f"results/{name}/plan.json" for name in self.wanted if self.studies[name]["image"] == image]

    def observed_images(self) -> list[str]:
        """Images of the selected studies whose environments are looked at from inside."""
        chosen = (self.studies[name] for name in self.selected)
        return sorted({loaded["image"] for loaded in chosen if loaded.design.factors.OBSERVES_ENVIRONMENTS})

    def forget_other_tries(self, runs: Iterable[tuple[str, str, int]]) -> bool:
        """Forget what trying the runtimes gave on another system or in another folder, where runs (study, cell, repetition)
        need it; whether there was any."""
        return tries.forget_others(Path("results"), {self.studies[study]["image"] for study, _, _ in runs})

    def write_plans(self) -> None:
        """Put the plan of every wanted study where the jobs read it. Those of other studies stay what their results were made
        with: whether the optional runtimes that they ask for work here was not tried.

        No job that the measuring depends on may write them: Snakemake does not look at the parameters of a job whose input is
        about to be made anew, and the parameters alone say whether a run is still what was asked for.
        """
        for name in self.wanted:
            folder, plan = Path("results", name), self.plans[name]
            # Before the plan, by which it is known whether they were noted.
            _say(sizes.note(folder, plan, self.host))
            if name in book.names():
                sessions.freeze(folder, encodings.of(book.load(name)))
            planner.write(plan, folder / "plan.json")

    def _open(self, study: str, cell: str, repetition: int) -> bool:
        """Whether a run is to be measured, for the first time or again."""
        return staleness.to_measure(_seen(study, cell, repetition), self._fingerprint(study, cell), self._starts(study))

    def _fingerprint(self, study: str, cell: str) -> str | None:
        return self.plans[study]["cells"].get(cell, {}).get("fingerprint")

    def _starts(self, study: str) -> int:
        return self.plans[study]["limits"]["starts"]

    @cached_property
    def _measured(self) -> dict[str, bool]:
        """Whether no run of a study is to be measured."""
        return {name: not any(self._open(name, *run) for run in plan["order"]) for name, plan in self.plans.items()}

    @cached_property
    def _bundles(self) -> dict[str, dict[str, Bundle]]:
        return {name: _bundles_of(self.studies[name], plan) for name, plan in self.plans.items()}

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {name: record.fingerprint(plan) for name, plan in self.plans.items()}

    @cached_property
    def _places(self) -> dict[str, dict[tuple[str, int], int]]:
        return {name: {run: place for place, run in enumerate(plan["order"])} for name, plan in self.plans.items()}

    @cached_property
    def _before(self) -> dict[str, int]:
        """How many runs the studies before each have."""
        lengths = accumulate((len(plan["order"]) for plan in self.plans.values()), initial=0)
        return dict(zip(self.plans, lengths, strict=False))


def _bundles_of(study: Study, plan: Plan) -> dict[str, Bundle]:
    made_from = {name: availability.figure_runs(plan, study, name) for name in study["figures"]}
    made_from |= {name: availability.runs(plan, study, name) for name in of_runs(study)}
    by_names = bundles.of(plan["order"], made_from)
    return {record.fingerprint(names): Bundle(names, runs) for names, runs in by_names.items()}


def prepare(config: dict, named: Iterable[str] = ()) -> Workflow:
    """The workflow of a configuration; `named` are studies that the targets name, besides those that it selects. PlimsollError
    for a configuration that does not fit its schema, the studies, or this machine."""
    configuration.settle(config)
    for name in config["runtimes"]:
        environments.find(name)
    selected = studies.selected(config["studies"])
    supplied.prepare(config["programs"])
    host = configured.host(config)
    loaded = {name: studies.load(name, designs.known()) for name in studies.names(studies.STUDIES)}
    wanted = [name for name in loaded if name in {*selected, *named}]
    # Only wanted studies measure, so that only what they ask for is tried.
    wishes = studies.wishes_of_all((loaded[name] for name in wanted), config["runtimes"])
    unavailable = {} if config.get("host_file") else unavailable_here(wishes) | tries.found(Path("results"), wanted, wishes)
    claims = book.load_all()
    for name, study in loaded.items():
        book.check_against(study, claims.get(name, []))
    plans = configured.plans(loaded, config, host, unavailable, Path("results"))
    configured.refuse_out_of_reach(host, (plans[name] for name in wanted))
    for name in selected:
        if not plans[name]["cells"]:
            raise PlimsollError(
                f"No cell is left of {name}: every runtime that it needs is off. Switch one on under runtimes in "
                "config/config.yaml, or choose other studies."
            )
    return Workflow(selected, wanted, loaded, plans, config["runtimes"], unavailable, host)


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print(f"plimsoll: {sentence}", file=sys.stderr, flush=True)


def unavailable_here(wishes: dict[str, str]) -> dict[str, str]:
    """Why optional environments do not work here. A required one that does not work stops the workflow when it is tried."""
    reasons = {}
    for name, wish in wishes.items():
        if wish == "optional":
            try:
                environments.find(name).check()
            except Unavailable as reason:
                reasons[name] = str(reason)
    return reasons


def refuse_other_host(config: dict) -> None:
    """PlimsollError where the plan is for a host that is only described: nothing of it can be measured here."""
    if config.get("host_file"):
        raise PlimsollError(
            f"{config['host_file']} describes another host, which can be planned for but not measured: add --dry-run."
        )


def bring_back(results: Path) -> None:
    """Give files of results that are of the future the time of now: the clock was ahead when they were written. Snakemake
    refuses to make anything of them."""
    now = time.time()
    for place, folders, names in os.walk(results):
        folders[:] = [name for name in folders if name not in UNTIMED]
        for path in (os.path.join(place, name) for name in names):
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime > now:
                    os.utime(path, follow_symlinks=False)


@cache
def _now(study: str) -> str:
    """Path of a file that is newer than all records of a study that were there when the workflow started."""
    path = Path("results", study, "progress", "started")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def _seen(study: str, cell: str, repetition: int) -> staleness.Look:
    # A text and no Path: it is asked for tens of thousands of runs.
    return staleness.seen_at_start(path_of(study, cell, repetition))


def bundle_path(study: str, bundle: str) -> str:
    """Path that stands for the records of a bundle."""
    return f"results/{study}/progress/bundles/{bundle}"


def newer(path: str, moment: int) -> bool:
    """Whether a file was changed after a moment (nanoseconds since 1970)."""
    return os.stat(path).st_mtime_ns > moment


def path_of(study: str, cell: str, repetition: int) -> str:
    """Path of the record of a run."""
    return f"results/{study}/runs/{cell}/{repetition}.json"


def paths_of(study: str, runs: Iterable[tuple[str, int]]) -> list[str]:
    """Paths of the records of runs."""
    return [path_of(study, cell, repetition) for cell, repetition in runs]


def tried(image: str) -> str:
    """Path of what trying the environments on an image gave."""
    return image.replace(".json", ".runtimes.json")


def image_of(study: dict) -> str:
    """Path of the description of the image that a study runs."""
    return f"results/images/{study['image']}.json"


def bill_of(image: str) -> str:
    """Path of the list of what an image holds."""
    return f"{image.removesuffix('.json')}.sbom.json"
