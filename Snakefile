"""Reproduces studies of container performance on this machine: see README.md."""

import sys
from pathlib import Path

from snakemake.utils import min_version

# The package is beside this file, whatever the working directory is, and also if another workflow has this one as a module.
sys.path.insert(0, str(Path(workflow.current_basedir) / "scripts"))

from plimsoll.host import temporary

# This comes first: all that follows takes long enough to be killed in.
temporary.note(workflow.snakemake_tmp_dir)

from plimsoll import features, paths
from plimsoll.config import configuration
from plimsoll.terminal import interruption, start_check

min_version("9.0")
interruption.watch()
start_check.or_refuse(sys.argv[1:])


report: "workflow/report/workflow.rst"


configfile: paths.source(configuration.FILE)


# Settings that are different on this machine.
if configuration.LOCAL.is_file():

    configfile: paths.source(configuration.LOCAL)


include: "rules/common.smk"
include: "rules/host.smk"
include: "rules/images.smk"
include: "rules/measure.smk"
include: "rules/collect.smk"
include: "rules/analyse.smk"
include: "rules/claims.smk"
include: "rules/figures.smk"
include: "rules/report.smk"


# Files that rules of features add to `all`.
OF_FEATURES = []
for file in features.rules():

    include: str(file)


# A workflow that has this one as a module calls these three as well (docs/how-to/module.md).
onstart:
    show_progress()
    alone_and_at_home()
    keep_quiet()
    WORKFLOW.write_plans()
    note_runs()
    note_figures()
    stop.announce(Path("results"))


onsuccess:
    at_end()
    workflow_end.at_exit(tell_findings)


onerror:
    say_last()


# Everything about the studies that the configuration names. Deleted figures and records are named too: they are made
# again even if the report that was made from them exists.
rule all:
    input:
        "results/index.html",
        "results/claims.html",
        [f"results/{name}/report.html" for name in SELECTED],
        [path for name in SELECTED for path in WORKFLOW.deleted_records(name)],
        [path for name in SELECTED for path in WORKFLOW.figures(name)],
        [f"results/{name}/complete.txt" for name in SELECTED],
        OF_FEATURES,


# Only the measurements, for example to run overnight.
rule measurements:
    input:
        [path for name in SELECTED for path in WORKFLOW.records(name)],


# What would be measured, and what is unavailable. Measures nothing.
rule plan:
    input:
        [f"results/{name}/plan.json" for name in SELECTED],
