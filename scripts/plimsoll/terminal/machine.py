"""Collect what the listing is made from: the plans for this machine, which runtimes answer, and what lies in results/.

The listing needs no container engine, and waits for none. A runtime that does not answer in time is listed with that
reason.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths, runtimes, spelling
from plimsoll.config import configuration, studies
from plimsoll.config.studies import Study
from plimsoll.design import Design
from plimsoll.errors import PlimsollError
from plimsoll.host import threads
from plimsoll.interchange import Plan
from plimsoll.measuring import record
from plimsoll.planning import study_plans, tries
from plimsoll.terminal import listing, measured_runs

PATIENCE_SECONDS = 1.5
RESULTS = Path("results")


class Machine(NamedTuple):
    """The selected studies on this machine: their plans, the standings of their runs, and the runtimes."""

    profile: str
    studies: dict[str, Study]
    plans: dict[str, Plan]
    there: dict[str, dict[listing.Run, str]]
    runtimes: dict[str, listing.Runtime]

    def sections(self, study: str) -> list[listing.Section]:
        """Return the sections of a study's listing."""
        done = made(RESULTS / study)
        return listing.of_study(self.studies[study], self.plans[study], self.there[study], done)

    def whole(self) -> list[listing.Section]:
        """Return the sections of all studies, and of the runtimes."""
        return [
            listing.of_studies(self.plans, self.there, self.profile),
            listing.of_runtimes(self.plans, self.there, self.runtimes),
        ]


def collect(designs: Mapping[str, Design], settings: list[str]) -> Machine:
    """Return what is known of the studies that the configuration selects."""
    config = configuration.read(settings)
    loaded = {name: studies.load(name, designs) for name in studies.select(config["studies"])}
    wishes = studies.wishes_of_all(loaded.values(), config["runtimes"])
    runtimes = look(wishes)
    silent = {name: runtime.reason for name, runtime in runtimes.items() if runtime.wish == "optional" and runtime.reason}
    unavailable = {} if config.get("host_file") else silent | tries.known_failures(RESULTS, loaded, wishes)
    plans = study_plans.plans(loaded, config, study_plans.host(config), unavailable, RESULTS)
    there = {name: measured_runs.of_runs(RESULTS / name, plan, plan["order"]) for name, plan in plans.items()}
    return Machine(config["profile"], loaded, plans, there, runtimes)


def text(machine: Machine, settings: list[str], width: int) -> str:
    """Return the listing of a machine and its studies. Lines have at most `width` characters.

    Runtimes that are off are named in one sentence, because the same command turns each of them on.
    """
    of_studies, of_runtimes = machine.whole()
    off = [row for row in of_runtimes.rows if row[1] == listing.OFF]
    shown = of_runtimes._replace(rows=[row for row in of_runtimes.rows if row not in off])
    parts = [listing.text([of_studies, shown], width), *_off([name for name, *_ in off], width)]
    for name, study in machine.studies.items():
        title = listing.wrapped(f"{name}: {study['title']}", width)
        parts.append(f"{title}\n\n{listing.text(machine.sections(name), width)}")
    return "\n\n".join([*parts, *_hints(settings, width), *_others(RESULTS, machine.studies, width)])


def _off(names: list[str], width: int) -> list[str]:
    """Return the sentence on runtimes that are off; empty if none is."""
    said = f"Off: {', '.join(names)}. {spelling.command('add', 'NAME')} turns one on."
    return [listing.wrapped(said, width)] if names else []


def _others(results: Path, listed: Iterable[str], width: int) -> list[str]:
    """Return the sentence on the other studies, with those that were measured here; empty if all are listed."""
    others = [name for name in studies.names(studies.STUDIES) if name not in listed]
    named = [f"{name} (measured)" if record.any_below(results / name) else name for name in others]
    said = f"Other studies: {', '.join(named)}. {spelling.command('list', 'all')} lists everything."
    return [listing.wrapped(said, width)] if others else []


def made(folder: Path) -> set[str]:
    """Return the figures and tables that exist, as paths below a study's results."""
    files = [*folder.glob("figures/*.pdf"), *folder.glob("tables/*.csv")]
    return {str(path.relative_to(folder)) for path in files}


def look(wishes: dict[str, str]) -> dict[str, listing.Runtime]:
    """Return each runtime with its version, or with the reason why it does not answer. All are examined in parallel."""
    answered = {}

    def ask(name: str) -> None:
        try:
            answered[name] = listing.Runtime(wishes[name], version=runtimes.find(name).check())
        except (PlimsollError, OSError) as problem:
            answered[name] = listing.Runtime(wishes[name], reason=str(problem))

    # Each is looked up here first, so that several threads do not do it at the same time.
    for name in wishes:
        runtimes.find(name)
    asked = [threads.start(partial(ask, name), daemon=True) for name, wish in wishes.items() if wish != "off"]
    for thread in asked:
        thread.join(PATIENCE_SECONDS)
    silent = f"it did not answer within {PATIENCE_SECONDS:g} s"
    return {
        name: listing.Runtime(wish) if wish == "off" else answered.get(name, listing.Runtime(wish, reason=silent))
        for name, wish in wishes.items()
    }


def _hints(settings: list[str], width: int) -> list[str]:
    usual = configuration.read([])
    own = [word for word in settings if not word.startswith("studies=") and configuration.read([word]) != usual]
    hints = [
        f"The commands of figures and tables are `{listing.COMMAND.removesuffix(' ...')}` and the path beside them;",
        f"snakemake is there after `. .venv/bin/activate`, which {spelling.command('setup')} makes.",
    ]
    if own:
        hints.append(f"Add --config {' '.join(own)} to its commands, as this list was made with these settings.")
    if Path.cwd() != paths.PROJECT:
        hints += [
            f"It is of the folder {Path.cwd()}:",
            "add --directory with it to each of its commands.",
        ]
    return ["\n".join(listing.wrapped(hint, width) for hint in hints)]
