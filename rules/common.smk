"""What the rules share: the configuration, checked, and the plan of each study. All of it is plimsoll's own code."""

import fcntl
import os
import re
import sys
from pathlib import Path

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from plimsoll import (
    designs,
    documents,
    host as hosts,
    paths,
    plan as planning,
    precision,
    programs,
    progress,
    record,
    runtimes,
    study as studies,
    topology,
)
from plimsoll.claims import book
from plimsoll.errors import PlimsollError, Unavailable

# Lines that Snakemake prints for every job, around the one that says which run it was (scripts/plimsoll/progress.py).
CHATTER = ("Select jobs to execute", "Execute ", "Finished jobid")
logger.addFilter(
    lambda message: not message.getMessage().startswith(CHATTER) and getattr(message, "event", None) != LogEvent.PROGRESS
)

paths.use_this_python()


def refuse(problem):
    """End the workflow with one sentence, without Snakemake's traceback around it."""
    print(f"plimsoll: {problem}", file=sys.stderr, flush=True)
    os._exit(1)


def prepare():
    """Studies that `all` stands for, and every study's file, plan and profile."""
    documents.check(dict(config), "config", "config/config.yaml or --config")
    known = runtimes.known()
    for name in config["runtimes"]:
        runtimes.find(name)
    selected = studies.selected(config["studies"])
    profile = studies.profile(config["profile"])
    programs.prepare(config["programs"])
    described = config.get("host_file")
    host = topology.described(documents.load(Path(described), "host")) if described else hosts.here()
    # Only optional runtimes are tried here; a required one that does not work stops the workflow in the rule `runtimes`.
    unavailable = {}
    for name, wish in config["runtimes"].items():
        if wish == "optional" and not config.get("host_file"):
            try:
                known[name].check()
            except Unavailable as reason:
                unavailable[name] = str(reason)
    loaded = {name: studies.load(studies.STUDIES / f"{name}.yaml") for name in studies.names(studies.STUDIES)}
    claims = book.load_all()
    for name, study in loaded.items():
        book.check_against(study, claims.get(name, []))
    plans = {
        name: planning.make(
            study, profile, host, config, unavailable, precision.asked(Path("results", name), config["profile"])
        )
        for name, study in loaded.items()
    }
    for name in selected:
        if not plans[name]["cells"]:
            raise PlimsollError(
                f"No cell is left of {name}: every runtime that it needs is off. Switch one on under runtimes in "
                "config/config.yaml, or choose other studies."
            )
    return selected, loaded, plans, unavailable


try:
    SELECTED, STUDIES, PLANS, UNAVAILABLE = prepare()
except PlimsollError as problem:
    refuse(problem)


# In a dry run the plan is printed: what would be measured, what cannot be, and how long it may take.
if any(re.fullmatch("-[a-zA-Z]*n[a-zA-Z]*|--dry-?run", word) for word in sys.argv):
    for name in SELECTED:
        print(planning.summary(PLANS[name]), file=sys.stderr, flush=True)


wildcard_constraints:
    study="|".join(STUDIES),
    figure="|".join(sorted({name for study in STUDIES.values() for name in study["figures"]})),
    repetition="[0-9]+",
    cell="|".join(sorted(design.pattern for design in designs.known().values())),


def paths_of(study, runs):
    """Paths of the records of runs."""
    return [f"results/{study}/runs/{cell}/{repetition}.json" for cell, repetition in runs]


def records(study):
    """Paths of a study's records."""
    return paths_of(study, PLANS[study]["order"])


def figures(study):
    """Paths of everything that is a study's figures."""
    return [f"results/{study}/figures/{name}.{kind}" for name in STUDIES[study]["figures"] for kind in ("pdf", "png", "csv")]


def tables(study):
    """Paths of everything that is a study's tables, but that of its tests."""
    loaded = STUDIES[study]
    names = [*loaded.get("paper_tables", {}), *loaded.get("measured_tables", {})]
    names += ["table05"] if "paper_features" in loaded else []
    return [f"results/{study}/tables/{name}.csv" for name in names]


def figure_records(wildcards):
    """The records that a figure is made from, and no others."""
    runs = planning.figure_runs(PLANS[wildcards.study], STUDIES[wildcards.study], wildcards.figure)
    return paths_of(wildcards.study, runs)


def table_records(wildcards):
    """The records that a table is made from, and no others."""
    # Of another study's number too: Snakemake asks before it knows which rule makes the table.
    if wildcards.table not in STUDIES[wildcards.study].get("measured_tables", {}):
        return []
    runs = planning.table_runs(PLANS[wildcards.study], STUDIES[wildcards.study], wildcards.table)
    return paths_of(wildcards.study, runs)


PLACES = {name: {run: place for place, run in enumerate(map(tuple, plan["order"]))} for name, plan in PLANS.items()}


def plan_digest(wildcards):
    """Changes when the study's plan does: a parameter of everything that reads the plan."""
    return record.fingerprint(PLANS[wildcards.study])


def figure_digest(wildcards):
    """Changes when the part of the plan does that a figure shows."""
    made = PLANS[wildcards.study]
    shown = planning.shown(made, STUDIES[wildcards.study], wildcards.figure)
    return record.fingerprint({"cells": shown, "repetitions": made["repetitions"]})


def place_in_order(wildcards):
    """Priority of a run: the earlier in the design's order, the higher."""
    place = PLACES[wildcards.study].get((wildcards.cell, int(wildcards.repetition)), 0)
    return 1_000_000 - place


def cell_of(wildcards):
    """The plan's cell of a record, or an empty one for a path that is not in the plan."""
    return PLANS[wildcards.study]["cells"].get(wildcards.cell, {})


def prerequisites(wildcards):
    """What a run needs to be measured; nothing once its record is there.

    Not `ancient`: Snakemake does not look at a job at all when something above it is about to be made again, ancient or not.
    A record of another profile would then pass for the one that was asked for, and what is made from it would stay old.
    """
    path = record.path_of(Path("results", wildcards.study, "runs"), wildcards.cell, int(wildcards.repetition))
    if path.exists() and not outdated(path, cell_of(wildcards)):
        return {}
    image = image_of(wildcards)
    tried = {"runtimes": image.replace(".json", ".runtimes.json")} if design_of(wildcards.study).tries_runtimes else {}
    return {"image": image, **tried}


def outdated(path, cell):
    """Whether a record is another cell's or profile's. A damaged one is not: it is kept and named until it is deleted."""
    try:
        return record.read(path)["fingerprint"] != cell.get("fingerprint")
    except record.Damaged:
        return False


def design_of(study):
    """The design that a study follows."""
    return designs.find(STUDIES[study]["design"])


def tried_images():
    """Images of the selected studies whose runtimes are tried before anything is measured."""
    return sorted({STUDIES[name]["image"] for name in SELECTED if design_of(name).tries_runtimes})


def image_of(wildcards):
    """Path of the description of the image that a study runs."""
    return f"results/images/{STUDIES[wildcards.study]['image']}.json"


def stay_at_home():
    """Measure only what was planned for this machine."""
    if config.get("host_file"):
        refuse(f"{config['host_file']} describes another host, which can be planned for but not measured: add --dry-run.")


def hold_folder():
    """Keep a second workflow out of this folder. A lock of the kernel's, which a killed holder cannot leave behind."""
    global FOLDER_LOCK
    FOLDER_LOCK = open(".snakemake/plimsoll.lock", "w")
    try:
        fcntl.flock(FOLDER_LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse("Another workflow is running in this folder: wait for it to end, or stop it.")


def keep_quiet():
    """Keep Snakemake from working beside a measurement.

    Its limit on job starts makes it look at all waiting jobs again a second after each start, and again a second after each
    such look: after some hundred runs it keeps a core busy. Without a limit there is no such look.
    """
    workflow.scheduler.job_rate_limiter = None


def write_plans():
    """Put every study's plan where the jobs read it.

    Not by a job that the measuring depends on. Snakemake does not look at the parameters of a job whose input is about to be
    made anew, and whether a run is still what was asked for is a matter of its parameters alone.
    """
    for name, made in PLANS.items():
        planning.write(made, Path("results", name, "plan.json"))


def note_queue():
    """Tell the progress lines which runs this start of the workflow is about to measure."""
    for name in STUDIES:
        wanted = {
            (job.wildcards.cell, int(job.wildcards.repetition))
            for job in workflow.dag.needrun_jobs()
            if job.rule.name == "measure" and job.wildcards.study == name
        }
        ordered = sorted(wanted, key=lambda run: PLACES[name].get(run, 0))
        if ordered:
            progress.begin(Path("results", name, "progress"), [f"{cell}/{number}" for cell, number in ordered])
