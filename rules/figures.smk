"""Figures: a notebook a kind of chart, run by papermill; the executed notebook is kept beside its figure."""


# From a figure's own records alone, so that a single figure needs only its own runs.
rule figure:
    input:
        records=figure_records,
        notebook=lambda wildcards: f"notebooks/{STUDIES[wildcards.study]['figures'][wildcards.figure]['notebook']}.ipynb",
        study="config/studies/{study}.yaml",
    output:
        pdf="results/{study}/figures/{figure}.pdf",
        png="results/{study}/figures/{figure}.png",
        csv="results/{study}/figures/{figure}.csv",
        observations="results/{study}/figures/{figure}.observations.csv",
        caption="results/{study}/figures/{figure}.txt",
        notebook="results/{study}/notebooks/{figure}.ipynb",
    log:
        "results/{study}/logs/{figure}.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=figure_digest,
    shell:
        "python -m plimsoll figure --study {wildcards.study} --figure {wildcards.figure} 2> >(tee {log} >&2)"
