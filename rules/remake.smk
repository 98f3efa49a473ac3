"""All that is made from measurements, from an archive that is unpacked in the working directory.

No rule measures, and nothing of this machine is examined.

`plimsoll remake` unpacks the archive and calls this (scripts/plimsoll/features/archive/rebuild.py). The folder is given as --directory.
"""

import os
import sys
from pathlib import Path

from snakemake.utils import min_version

# Studies, claims, profiles and the papers' tables come from the archive. This is set before anything of the package is
# imported.
os.environ["PLIMSOLL_CONFIG"] = str(Path("config").resolve())

from plimsoll.host import temporary

# This comes first: all that follows takes long enough to be killed in.
temporary.note(workflow.snakemake_tmp_dir)
temporary.remove_of_killed()

from plimsoll import paths
from plimsoll.errors import PlimsollError
from plimsoll.features.archive.workflow_of_archive import prepare
from plimsoll.measuring import lock
from plimsoll.terminal import interruption, request
from plimsoll.terminal.live import events
from plimsoll.terminal.start_check import refuse

min_version("9.0")
interruption.watch()
paths.use_this_python()

try:
    REQUEST = request.parse(sys.argv[1:])
    WORKFLOW = prepare()
    SELECTED, STUDIES = WORKFLOW.selected, WORKFLOW.studies
    request.check(REQUEST.targets, STUDIES, WORKFLOW.plans)
except PlimsollError as problem:
    refuse(problem)

events.claim()


report: "../workflow/report/workflow.rst"


wildcard_constraints:
    number="[0-9]+",


include: "shared.smk"
include: "collect.smk"
include: "analyse.smk"
include: "claims.smk"
include: "figures.smk"
include: "report.smk"


# Earlier sessions, which are shown beside the newest session of a study (plimsoll.planning.sessions).
rule collect_earlier:
    input:
        study="config/studies/{study}.yaml",
        records="results/sessions/{study}/{number}/records.jsonl",
    output:
        csv="results/sessions/{study}/{number}/observations.csv",
        parquet="results/sessions/{study}/{number}/observations.parquet",
        runs="results/sessions/{study}/{number}/runs.csv",
    log:
        "results/sessions/{study}/{number}/logs/collect.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        code=code_of("_collect"),
    shell:
        "python -m plimsoll collect --study {wildcards.study} --plan results/sessions/{wildcards.study}/{wildcards.number}/plan.json --records results/sessions/{wildcards.study}/{wildcards.number}/runs --csv {output.csv} --parquet {output.parquet} --runs {output.runs} 2> >(tee {log} >&2)"


rule claims_earlier:
    input:
        observations="results/sessions/{study}/{number}/observations.csv",
        runs="results/sessions/{study}/{number}/runs.csv",
        claims="config/claims/{study}.yaml",
        study="config/studies/{study}.yaml",
    output:
        verdicts="results/sessions/{study}/{number}/claims.json",
        comparisons="results/sessions/{study}/{number}/comparisons.csv",
        answer="results/sessions/{study}/{number}/answer.csv",
    log:
        "results/sessions/{study}/{number}/logs/claims.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        code=code_of("_claims"),
    shell:
        "python -m plimsoll claims --study {wildcards.study} --plan results/sessions/{wildcards.study}/{wildcards.number}/plan.json --observations {input.observations} --runs {input.runs} --verdicts {output.verdicts} --comparisons {output.comparisons} --answer {output.answer} 2> >(tee {log} >&2)"


localrules:
    all,


onstart:
    alone()
    note_figures()


def alone():
    """End the workflow if another one works in this folder."""
    global FOLDER_LOCK
    try:
        FOLDER_LOCK = lock.hold_folder()
    except PlimsollError as problem:
        refuse(problem)


rule all:
    default_target: True
    input:
        "results/index.html",
        "results/claims.html",
        [f"results/{name}/report.html" for name in SELECTED],
        [path for name in SELECTED for path in WORKFLOW.figures(name)],
