"""What the rules share: the workflow, prepared, and input functions. Their content is in scripts/plimsoll/workflow.py."""

import gc
import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

from snakemake.common import overwrite_function_params
from snakemake.logging import logger

from plimsoll import designs, paths
from plimsoll.config import configuration
from plimsoll.errors import PlimsollError
from plimsoll.host import temporary
from plimsoll.images import settings
from plimsoll.images.store import forget_replaced
from plimsoll.measuring import given_up, lock, stop
from plimsoll.planning import planner, tries
from plimsoll.terminal import again, counting, interruption, lines, requested
from plimsoll.terminal.ready import refuse
from plimsoll.workflow import bring_back, prepare, refuse_other_host

paths.use_this_python()
# Of a large study Snakemake keeps millions of objects to its end. Looking for garbage among them as often as Python does by
# itself takes a twelfth of the start.
gc.set_threshold(200_000, 50, 100)

given_up.begin()
try:
    REQUEST = requested.of(sys.argv[1:])
    # Whoever has this workflow as a module gives what is different, and the files of the project have the rest.
    SETTINGS = configuration.complete(config)
    WORKFLOW = prepare(SETTINGS, requested.studies_of(REQUEST.targets))
    SELECTED, STUDIES, PLANS = WORKFLOW.selected, WORKFLOW.studies, WORKFLOW.plans
    requested.check(REQUEST.targets, STUDIES, PLANS)
    # What a workflow wants of this one, its module, is not known yet.
    if REQUEST.targets or not workflow.modifier.is_module:
        WORKFLOW = replace(WORKFLOW, all_runs=frozenset(requested.all_runs(REQUEST.targets, SELECTED, STUDIES, PLANS)))
    tries.assume(WORKFLOW.unavailable)
except PlimsollError as problem:
    refuse(problem)

ENDS_WITH_FINDINGS = lines.asked_for_all(REQUEST.targets, REQUEST.dry)
logger.addFilter(lines.Filter(ENDS_WITH_FINDINGS, SELECTED, lambda: REQUEST.dry or at_end()))

# What was put in an image's place meanwhile is described anew.
if not REQUEST.dry:
    forget_replaced(Path("results/images"))
    bring_back(Path("results"))
    temporary.remove_of_killed()

# A dry run says what would be measured, what cannot be, and how long it may take.
if REQUEST.dry:
    print(requested.summary(REQUEST.targets, SELECTED, STUDIES, PLANS), file=sys.stderr, flush=True)


include: "shared.smk"


wildcard_constraints:
    # Cell and repetition: one wildcard, as Snakemake handles each of them several times for tens of thousands of runs.
    run=f"(?:{'|'.join(sorted(design.factors.PATTERN for design in designs.known().values()))})/[0-9]+",


def run_of(wildcards):
    """(study, cell, repetition) of a run."""
    cell, _, repetition = wildcards.run.rpartition("/")
    return wildcards.study, cell, int(repetition)


def prerequisites(wildcards):
    """What a run needs to be measured; nothing once its record is there and needs no other attempt.

    Not `ancient`: Snakemake does not look at a job at all when something above it is about to be made again, ancient or not.
    A record of another profile would then pass for the one that was asked for, and what is made from it would stay old.
    """
    return WORKFLOW.prerequisites(*run_of(wildcards))


def asked_for(wildcards):
    """What is asked of a run, as the arguments of its command: if they are not those of when the job ran last, it runs again."""
    return WORKFLOW.asked_for(*run_of(wildcards))


def priority(wildcards):
    """Of a run: the earlier in the design's order, the higher."""
    return WORKFLOW.priority(*run_of(wildcards))


# Snakemake looks up the parameters of each of these functions several times for each run: it is told them once, in the form in
# which it would find them.
for asked_often in (prerequisites, asked_for, priority):
    overwrite_function_params(asked_often, inspect.signature(asked_often).parameters)


def alone_and_at_home():
    """End the workflow where it must not measure, for another host; wait for another workflow in this folder."""
    global FOLDER_LOCK
    try:
        refuse_other_host(SETTINGS)
        try:
            FOLDER_LOCK = lock.hold_folder()
        except lock.Busy as busy:
            again.when_free(busy, workflow.rundir, workflow.persistence.unlock)
        if left := lock.left_by_others():
            print(f"plimsoll: {left}", file=sys.stderr, flush=True)
    except PlimsollError as problem:
        refuse(problem)


def keep_quiet():
    """Keep Snakemake from working beside a measurement.

    Its limit on job starts makes it look at all waiting jobs again a second after each start, and again a second after each
    such look: after some hundred runs it keeps a core busy. Without a limit there is no such look.
    """
    workflow.scheduler.job_rate_limiter = None


def note_runs():
    """Note which runs this start of the workflow is about to measure, for the progress lines, and on which system; say which
    records they take the place of. End the workflow if it is not the system that their studies were measured on."""
    runs = [run_of(wildcards) for wildcards in needed("measure")]
    try:
        if WORKFLOW.forget_other_tries(runs):
            again.with_another_plan(workflow.rundir, workflow.persistence.unlock)
        WORKFLOW.note_systems(runs)
    except PlimsollError as problem:
        refuse(problem)
    WORKFLOW.say_what_changes(runs)
    WORKFLOW.note_queue(runs)


def at_end():
    """End with another exit status than 0 if what was asked for by name has no runs that count."""
    try:
        counting.refuse_missing(REQUEST.targets, SELECTED, STUDIES, PLANS)
    except PlimsollError as problem:
        refuse(problem)


def say_last():
    """Say why a run ended the whole workflow, below all that Snakemake says about it; or restart, if the plan has changed."""
    if stop.restarts(Path("results")) and not interruption.happened.is_set():
        stop.forget(Path("results"))
        try:
            again.with_another_plan(workflow.rundir, workflow.persistence.unlock)
        except PlimsollError as problem:
            refuse(problem)
    for reason in stop.words(Path("results")):
        print(f"plimsoll: {reason}", file=sys.stderr, flush=True)
