"""Code that the rules share: the prepared workflow, and input functions. Their content is in scripts/plimsoll/workflow.py."""

import gc
import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

from plimsoll import designs, paths
from plimsoll.config import configuration
from plimsoll.errors import PlimsollError
from plimsoll.host import temporary
from plimsoll.host.file_times import bring_back
from plimsoll.images import settings
from plimsoll.images.store import forget_replaced
from plimsoll.measuring import failing_groups, lock, stop
from plimsoll.planning import planner, timetable, tries
from plimsoll.terminal import interruption, request, restart, target_check, workflow_end
from plimsoll.terminal.live import call, display, events
from plimsoll.terminal.live.runs import Queue
from plimsoll.terminal.start_check import refuse
from plimsoll.workflow import prepare, refuse_other_host

paths.use_this_python()
# For a large study Snakemake keeps millions of objects until it ends. If Python searches them for garbage as often as
# usual, that takes a twelfth of the start.
gc.set_threshold(200_000, 50, 100)

failing_groups.begin()
try:
    REQUEST = request.parse(sys.argv[1:])
    # A workflow that has this one as a module gives the settings that are different. The files of the project have the rest.
    SETTINGS = configuration.complete(config)
    WORKFLOW = prepare(SETTINGS, request.studies_of(REQUEST.targets))
    SELECTED, STUDIES, PLANS = WORKFLOW.selected, WORKFLOW.studies, WORKFLOW.plans
    request.check(REQUEST.targets, STUDIES, PLANS)
    # The targets that an outer workflow wants of this module are not known yet.
    if REQUEST.targets or not workflow.modifier.is_module:
        WORKFLOW = replace(WORKFLOW, all_runs=frozenset(request.all_runs(REQUEST.targets, SELECTED, STUDIES, PLANS)))
    tries.assume(WORKFLOW.unavailable)
except PlimsollError as problem:
    refuse(problem)

# Snakemake's lines go to the log, if its logger plugin is this project's (profiles/default).
events.claim()

# An image that was put in another one's place is described again.
if not REQUEST.dry:
    forget_replaced(Path("results/images"))
    bring_back(Path("results"))
    temporary.remove_of_killed()

# A dry run says what would be measured, what is unavailable, and how long it may take.
if REQUEST.dry:
    print(request.summary(REQUEST.targets, SELECTED, STUDIES, PLANS), file=sys.stderr, flush=True)


include: "shared.smk"


wildcard_constraints:
    # Cell and repetition are one wildcard, because Snakemake handles each wildcard several times for tens of thousands of runs.
    run=f"(?:{'|'.join(sorted(design.factors.PATTERN for design in designs.known().values()))})/[0-9]+",


def run_of(wildcards):
    """Return (study, cell, repetition) of a run."""
    cell, _, repetition = wildcards.run.rpartition("/")
    return wildcards.study, cell, int(repetition)


def prerequisites(wildcards):
    """Return the files that a run needs to be measured; none once its record is there and needs no other attempt.

    They are not `ancient`. Snakemake does not look at a job at all if something above it is about to be made again, ancient
    or not. A record of another profile would then pass for the requested one, and what is made from it would stay old.
    """
    return WORKFLOW.prerequisites(*run_of(wildcards))


def asked_for(wildcards):
    """Return the arguments of a run's command. If they differ from those of its last job, the job runs again."""
    return WORKFLOW.asked_for(*run_of(wildcards))


def priority(wildcards):
    """Return the priority of a run: the earlier in the design's order, the higher."""
    return WORKFLOW.priority(*run_of(wildcards))


# Snakemake looks up the parameters of each of these functions several times for each run. Python finds a signature that
# is noted four times as fast.
for asked_often in (prerequisites, asked_for, priority):
    asked_often.__signature__ = inspect.signature(asked_often)


def show_progress():
    """Begin the display, if there is one. Snakemake's event may come later than the first line of this workflow."""
    if display.current:
        events.Events(display.current).begin()


def alone_and_at_home():
    """End the workflow if its settings are for another host. Wait for another workflow in this folder."""
    global FOLDER_LOCK
    try:
        refuse_other_host(SETTINGS)
        try:
            FOLDER_LOCK = lock.hold_folder()
        except lock.Busy as busy:
            restart.when_free(busy, workflow.rundir, workflow.persistence.unlock)
        if left := lock.left_by_others():
            print(f"plimsoll: {left}", file=sys.stderr, flush=True)
    except PlimsollError as problem:
        refuse(problem)


def keep_quiet():
    """Keep Snakemake from working beside a measurement.

    With a limit on job starts it looks at all waiting jobs a second after each start, and again a second after each such
    look. After some hundred runs that keeps a core busy. Without a limit there is no such look.
    """
    workflow.scheduler.job_rate_limiter = None


def note_runs():
    """Note for the progress lines which runs this start is about to measure, and on which system. Say which records they
    replace. End the workflow if their studies were measured on another system."""
    runs = [run_of(wildcards) for wildcards in needed("measure")]
    try:
        if WORKFLOW.forget_other_tries(runs):
            restart.with_another_plan(workflow.rundir, workflow.persistence.unlock)
        WORKFLOW.note_systems(runs)
    except PlimsollError as problem:
        refuse(problem)
    WORKFLOW.say_what_changes(runs)
    queues = WORKFLOW.note_queue(runs)
    if display.current:
        display.current.expect([Queue.of(STUDIES[name], PLANS[name], queue) for name, queue in queues.items()], later())


def later():
    """Return what later workflows of this command should do. A stage of measuring names its study as a target."""
    of_targets = request.studies_of(REQUEST.targets)
    if len(of_targets) != 1:
        return call.Later()
    return call.later(Path("results"), *of_targets, {name: STUDIES[name] for name in SELECTED}, PLANS)


def at_end():
    """End with another exit status than 0 if a requested target has no runs that count."""
    try:
        target_check.refuse_missing(REQUEST.targets, SELECTED, STUDIES, PLANS)
    except PlimsollError as problem:
        refuse(problem)


def tell_findings():
    """Print the claims, and what this command took beside what it foretold, if the request ends with them."""
    if workflow_end.is_telling(REQUEST.targets, REQUEST.dry):
        workflow_end.tell(SELECTED)
        if told := timetable.summary(sum(len(STUDIES[name]["figures"]) for name in SELECTED)):
            print(f"plimsoll: {told}", file=sys.stderr, flush=True)


def end_of_nothing():
    """If nothing was to be done, end as any other start. Snakemake calls no hook of a workflow for that."""
    if workflow.scheduler is not None and not len(workflow.dag):
        at_end()
        tell_findings()


if not REQUEST.dry:
    workflow_end.at_exit(end_of_nothing)


def say_last():
    """Say why a run ended the whole workflow, below all lines of Snakemake. Restart instead if the plan has changed."""
    if stop.restarts(Path("results")) and not interruption.happened.is_set():
        stop.forget(Path("results"))
        try:
            restart.with_another_plan(workflow.rundir, workflow.persistence.unlock)
        except PlimsollError as problem:
            refuse(problem)
    if display.current:
        display.current.fail()
    for reason in stop.words(Path("results")):
        print(f"plimsoll: {reason}", file=sys.stderr, flush=True)
