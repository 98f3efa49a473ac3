"""Reproduces studies of container performance on this machine: see README.md."""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/host.smk"
include: "rules/images.smk"
include: "rules/measure.smk"
include: "rules/collect.smk"
include: "rules/analyse.smk"
include: "rules/claims.smk"
include: "rules/figures.smk"
include: "rules/report.smk"


localrules:
    all,
    plan,


onstart:
    stay_at_home()
    hold_folder()
    keep_quiet()
    write_plans()
    note_queue()


# Everything about the studies that the configuration names. Records and figures are named too: what is deleted of them is made
# again, although the report that was made from them is there.
rule all:
    input:
        "results/claims.html",
        [f"results/{name}/report.html" for name in SELECTED],
        [path for name in SELECTED for path in records(name)],
        [path for name in SELECTED for path in figures(name)],


# Only the measuring: what to leave running overnight.
rule measurements:
    input:
        [path for name in SELECTED for path in records(name)],


# What would be measured, and what cannot be, without measuring anything.
rule plan:
    input:
        [f"results/{name}/plan.json" for name in SELECTED],
