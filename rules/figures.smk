"""Figures: a notebook a kind of chart, run by papermill; the executed notebook is kept beside its figure."""


rule figure:
    input:
        observations="results/{study}/figures/{figure}.observations.csv",
        notebook=lambda wildcards: f"notebooks/{STUDIES[wildcards.study]['figures'][wildcards.figure]['notebook']}.ipynb",
        study="config/studies/{study}.yaml",
    output:
        pdf="results/{study}/figures/{figure}.pdf",
        png="results/{study}/figures/{figure}.png",
        csv="results/{study}/figures/{figure}.csv",
        caption="results/{study}/figures/{figure}.txt",
        notebook="results/{study}/notebooks/{figure}.ipynb",
    log:
        "results/{study}/logs/{figure}.log",
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll figure --study {wildcards.study} --figure {wildcards.figure} --observations {input.observations}"
        " --output {output.notebook} 2> >(tee {log} >&2)"
