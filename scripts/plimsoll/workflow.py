"""The workflow's view of the project: the checked configuration, the plan of each study, and the files made from it.

The input functions of the rules (rules/common.smk) use it. No stage imports it.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from plimsoll import designs, runtimes, spelling, target_paths
from plimsoll.analysis.tables import of_runs
from plimsoll.claims import book, encodings
from plimsoll.config import configuration, studies
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError, say
from plimsoll.host import file_times
from plimsoll.images import supplied_programs
from plimsoll.interchange import Plan, Topology
from plimsoll.measuring import progress, record, staleness, system
from plimsoll.planning import availability, bundles, planner, record_moves, sessions, sizes, study_plans, tries

# Highest priority of a run. Snakemake measures runs with a higher priority first.
FIRST = 1_000_000
# Files that change when a study is judged again.
FILES = ("together.json", "sessions.json")


class Bundle(NamedTuple):
    """Runs (cell, repetition) from which the same figures and tables are made, and the `names` of these."""

    names: tuple[str, ...]
    runs: list[tuple[str, int]]


@dataclass(frozen=True)
class Workflow:
    """The studies of a configuration, and all that the rules need to know about them.

    - `selected`: the studies that the configuration selects.
    - `wanted`: these, and studies that a target names.
    - `studies`, `plans`: every study and its plan, by name.
    - `runtimes`: the configuration's wish for each runtime.
    - `unavailable`: why optional runtimes are unavailable.
    - `host`: the host that is planned for, if there is one.
    - `all_runs`: the studies of which the targets need all runs.
    """

    selected: list[str]
    wanted: list[str]
    studies: dict[str, Study]
    plans: dict[str, Plan]
    runtimes: dict[str, str]
    unavailable: dict[str, str]
    host: Topology | None = None
    all_runs: frozenset[str] = frozenset()

    def records(self, study: str) -> list[str]:
        """Return the paths of a study's records, in the order of measuring."""
        return target_paths.paths_of(study, self.plans[study]["order"])

    def deleted_records(self, study: str) -> list[str]:
        """Return the paths of records that are missing although the observations made from them exist.

        Snakemake does not notice a missing file between two existing ones. To name all records would make it follow
        each of them once more.
        """
        if not Path(f"results/{study}/observations.csv").exists():
            return []
        there = {str(path) for path in Path(f"results/{study}/runs").rglob("*.json")}
        return [path for path in self.records(study) if path not in there]

    def earlier_sessions(self, study: str) -> list[str]:
        """Return the paths of the verdicts of a study's earlier sessions."""
        files = (one.folder / "claims.json" for one in sessions.of_study(Path("results"), study)[:-1])
        return [str(path) for path in files if path.exists()]

    def beside(self) -> list[str]:
        """Return the folders of results of studies that are not selected. The page of verdicts shows what an earlier
        start left in them.

        They are no inputs of the page, because Snakemake would then measure these studies for it.
        """
        return [f"results/{name}" for name in self.studies if name not in self.selected and Path("results", name).is_dir()]

    def beside_digest(self) -> str:
        """Return a digest that changes when the verdicts of studies that are not selected change."""
        files = [path for folder in self.beside() for path in sorted(Path(folder).glob("*.json")) if path.name in FILES]
        return record.fingerprint({str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files})

    def figures(self, study: str) -> list[str]:
        """Return the paths of all files of a study's figures."""
        return [
            f"results/{study}/figures/{name}.{kind}"
            for name in self.studies[study]["figures"]
            for kind in ("pdf", "png", "csv")
        ]

    def tables(self, study: str) -> list[str]:
        """Return the paths of a study's tables, without the table of its tests."""
        return [f"results/{study}/tables/{name}.csv" for name in self.studies[study].get("tables", {})]

    def bundle(self, study: str, bundle: str) -> list[str]:
        """Return the records of a bundle that Snakemake has to look at: those to be measured, and those newer than the
        bundle.

        If the bundle does not exist, return all its records. Snakemake takes a millisecond or two per path, and most of
        thousands of records have not changed. A deleted record is between two files that may be newer than all others,
        and Snakemake makes such a file only if something beside it is new.
        """
        every = self._bundles[study][bundle].runs
        try:
            made = os.stat(target_paths.bundle_path(study, bundle)).st_mtime_ns
        except OSError:
            return target_paths.paths_of(study, every)
        runs = [run for run in every if self._open(study, *run) or file_times.newer(target_paths.path_of(study, *run), made)]
        newer = [] if all(_seen(study, *run).there for run in runs) else [_now(study)]
        return [*target_paths.paths_of(study, runs), *newer]

    def bundle_digest(self, study: str, bundle: str) -> str:
        """Return a digest that changes when the runs of a bundle change, or what is measured in them."""
        runs = self._bundles[study][bundle].runs
        return record.fingerprint([(cell, repetition, self._fingerprint(study, cell)) for cell, repetition in runs])

    def bundles(self, study: str, name: str | None = None) -> list[str]:
        """Return the paths of the bundles that cover exactly the records of a figure or a table.

        Without a `name`, return those of all records of the study.
        """
        return [
            target_paths.bundle_path(study, bundle)
            for bundle, bundled in self._bundles[study].items()
            if name is None or name in bundled.names
        ]

    def judged(self, study: str) -> list[str]:
        """Return the path of the list of a study's runs, if all of them are measured or about to be. Otherwise return
        no path.

        The list says which runs are impossible. Files that are made from some of the runs leave out the same ones. If
        only some runs were requested, there is no such list to wait for.
        """
        path = f"results/{study}/runs.csv"
        return [path] if study in self.all_runs or (Path(path).exists() and self._measured[study]) else []

    def table_inputs(self, study: str, name: str) -> dict[str, str | list[str]]:
        """Return the inputs of a table by the names of the stage's options: bundles of records, descriptions of image
        and machine.

        Raise PlimsollError if the study has no such table.
        """
        loaded = self.studies[study]
        if name not in loaded.get("tables", {}):
            raise PlimsollError(f"{study} has no table {name!r}; it has {', '.join(loaded.get('tables', {}))}.")
        needs = loaded.design.tables.KINDS[loaded["tables"][name]["kind"]].needs
        image = target_paths.image_of(loaded)
        every = {
            "image": image,
            "host": "results/host.json",
            "environments": target_paths.tried(image),
        }
        inputs: dict[str, str | list[str]] = {option: path for option, path in every.items() if option in needs}
        if "runs" in needs:
            inputs["records"] = self.bundles(study, name)
            inputs["image"] = image
            inputs["runs"] = self.judged(study)
        return inputs

    def digest(self, study: str) -> str:
        """Return a digest that changes when the study's plan changes. It is a parameter of every job that reads the plan."""
        return self._digests[study]

    def figure_digest(self, study: str, name: str) -> str:
        """Return a digest that changes when the part of the plan changes that a figure shows."""
        made = self.plans[study]
        cells = availability.shown_cells(made, self.studies[study], name)
        return record.fingerprint({"cells": cells, "repetitions": made["repetitions"]})

    def priority(self, study: str, cell: str, repetition: int) -> int:
        """Return the priority of a run: the earlier in the design's order, the higher.

        The studies follow each other, so that runs to be compared are as close in time as possible.
        """
        return FIRST - self._before[study] - self._places[study].get((cell, repetition), 0)

    def prerequisites(self, study: str, cell: str, repetition: int) -> list[str]:
        """Return the files that a run needs before it can be measured; none if its record exists and needs no other
        attempt.

        The results of trying the runtimes are enough, because trying them needs the image too.
        """
        if not self._open(study, cell, repetition):
            return []
        needed = [target_paths.tried(target_paths.image_of(self.studies[study]))]
        # Snakemake compares a job's parameters with those of the last time it ran the job. A record may come from
        # another job's launch, and the workflow may then have been killed. Snakemake knows nothing about such a record,
        # except that it is older than this file.
        return [*needed, _now(study)] if _seen(study, cell, repetition).there else needed

    def asked_for(self, study: str, cell: str, repetition: int) -> str:
        """Return the parameters of a run's job, as arguments of plimsoll.measure.

        If they differ from those of its last job, it runs again.
        """
        seen = _seen(study, cell, repetition)
        asked = staleness.asked_for(seen, self._fingerprint(study, cell) or "none", self._starts(study))
        return f"results/{study}/plan.json {target_paths.image_of(self.studies[study])} {cell} {repetition} {asked}"

    def note_systems(self, runs: Iterable[tuple[str, str, int]]) -> None:
        """Save the system on which the runs (study, cell, repetition) are about to be measured.

        Raise system.Another, a PlimsollError, if it is not the system of the study's records.
        """
        wanted: dict[str, set[str]] = {}
        for study, cell, _ in runs:
            wanted.setdefault(study, set()).add(self.plans[study]["cells"][cell]["runtime"])
        for study, names in wanted.items():
            system.note_answering(Path("results", study), [runtimes.find(name) for name in sorted(names)])

    def say_what_changes(self, runs: Iterable[tuple[str, str, int]]) -> None:
        """Print which valid records are moved to the archive, and why, before the runs (study, cell, repetition) are
        measured."""
        wanted = list(runs)
        for study in self.wanted:
            of_study = [(cell, repetition) for name, cell, repetition in wanted if name == study]
            design = self.studies[study].design
            for sentence in record_moves.sentences(Path("results", study), design, self.plans[study], of_study):
                say(sentence)

    def note_queue(self, runs: Iterable[tuple[str, str, int]]) -> dict[str, list[str]]:
        """Save the queue of runs (study, cell, repetition) that are about to be measured.

        Return it by study, as 'cell/repetition' in order.
        """
        queues = {}
        for study in self.studies:
            wanted = {(cell, repetition) for of, cell, repetition in runs if of == study}
            if wanted:
                queue = sorted(wanted, key=lambda run: self._places[study].get(run, 0))
                queues[study] = [f"{cell}/{number}" for cell, number in queue]
                progress.begin(Path("results", study, "progress"), queues[study])
        return queues

    def wishes(self, image: str) -> dict[str, str]:
        """Return the wish for each runtime, from the configuration and from the wanted studies that run an image."""
        chosen = (self.studies[name] for name in self.wanted if self.studies[name]["image"] == image)
        return studies.wishes_of_all(chosen, self.runtimes)

    def plans_on(self, image: str) -> list[str]:
        """Return the paths of the plans of the wanted studies that run an image."""
        return [f"results/{name}/plan.json" for name in self.wanted if self.studies[name]["image"] == image]

    def observed_images(self) -> list[str]:
        """Return the images of selected studies that observe their runtimes from inside."""
        chosen = (self.studies[name] for name in self.selected)
        return sorted({loaded["image"] for loaded in chosen if loaded.design.factors.OBSERVES_RUNTIMES})

    def forget_other_tries(self, runs: Iterable[tuple[str, str, int]]) -> bool:
        """Delete the results of trying runtimes on another system or in another folder that these runs (study, cell,
        repetition) need.

        Return whether there were any.
        """
        return tries.forget_others(Path("results"), {self.studies[study]["image"] for study, _, _ in runs})

    def write_plans(self) -> None:
        """Write the plan of every wanted study to the place where the jobs read it.

        Plans of other studies stay those that their results were made with. It was not tried whether the optional
        runtimes that those studies request work here.

        No job on which the measuring depends may write plans. Snakemake does not look at the parameters of a job whose
        input is about to be made again. But only the parameters say whether a run still is what was requested.
        """
        for name in self.wanted:
            folder, plan = Path("results", name), self.plans[name]
            # Written before the plan: a plan with sizes implies that they were saved.
            for sentence in sizes.note(folder, plan, self.host):
                say(sentence)
            if name in book.names():
                of_metrics = encodings.of_metrics(self.studies[name]["metrics"])
                sessions.freeze(folder, encodings.of_claims(book.load(name)), of_metrics)
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
        """By study, whether none of its runs is to be measured."""
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
        """By study, the number of runs of the studies before it."""
        lengths = accumulate((len(plan["order"]) for plan in self.plans.values()), initial=0)
        return dict(zip(self.plans, lengths, strict=False))


def _bundles_of(study: Study, plan: Plan) -> dict[str, Bundle]:
    made_from = {name: availability.figure_runs(plan, study, name) for name in study["figures"]}
    made_from |= {name: availability.runs(plan, study, name) for name in of_runs(study)}
    by_names = bundles.group(plan["order"], made_from)
    return {record.fingerprint(names): Bundle(names, runs) for names, runs in by_names.items()}


def prepare(config: dict, named: Iterable[str] = ()) -> Workflow:
    """Return the workflow of a configuration. `named` are studies that the targets name, in addition to those that it
    selects.

    Raise PlimsollError if the configuration does not fit its schema, the studies, or this machine.
    """
    configuration.validate(config)
    for name in config["runtimes"]:
        runtimes.find(name)
    selected = studies.select(config["studies"])
    supplied_programs.prepare(config["programs"])
    host = study_plans.host(config)
    loaded = {name: studies.load(name, designs.known()) for name in studies.names(studies.STUDIES)}
    wanted = [name for name in loaded if name in {*selected, *named}]
    # Only wanted studies are measured, so only the runtimes that they request are tried.
    wishes = studies.wishes_of_all((loaded[name] for name in wanted), config["runtimes"])
    unavailable = (
        {} if config.get("host_file") else unavailable_here(wishes) | tries.known_failures(Path("results"), wanted, wishes)
    )
    claims = book.load_all()
    for name in wanted:
        book.check_against(loaded[name], claims.get(name, []))
    plans = study_plans.plans(loaded, config, host, unavailable, Path("results"))
    study_plans.refuse_out_of_reach(host, (plans[name] for name in wanted))
    for name in selected:
        if not plans[name]["cells"]:
            raise PlimsollError(
                f"No cell is left of {name}: every runtime that it needs is off. Nothing was measured. Type "
                f"{spelling.command('add', 'RUNTIME')} to turn one on, or choose other studies."
            )
    return Workflow(selected, wanted, loaded, plans, config["runtimes"], unavailable, host)


def unavailable_here(wishes: dict[str, str]) -> dict[str, str]:
    """Return why optional runtimes do not work here, by name.

    A required runtime that does not work stops the workflow when it is tried.
    """
    return runtimes.unavailable(name for name, wish in wishes.items() if wish == "optional")


def refuse_other_host(config: dict) -> None:
    """Raise PlimsollError if the plan is for a host that is only described: nothing of it can be measured here."""
    if config.get("host_file"):
        raise PlimsollError(
            f"{config['host_file']} describes another host, for which plans can be made. Nothing can be "
            "measured on it from here. Add --dry-run."
        )


@cache
def _now(study: str) -> str:
    """Return the path of a file that is newer than all records of a study at the start of this workflow."""
    path = Path("results", study, "progress", "started")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def _seen(study: str, cell: str, repetition: int) -> staleness.Look:
    # A string instead of a Path: this is called for tens of thousands of runs.
    return staleness.seen_at_start(target_paths.path_of(study, cell, repetition))
