"""Figures: papermill runs the notebook of each figure's chart, and the executed notebook is kept beside the figure."""


# A figure is made only from its own records, so a single figure needs only its own runs. If all runs of the study are
# there, the list of runs says which of them are impossible. There are many records, so the stage gets their folder, and
# the plan says which of them the figure shows.
rule figure:
    input:
        records=lambda wildcards: WORKFLOW.bundles(wildcards.study, wildcards.figure),
        # `ancient`, because figures are drawn again only when their own records change.
        runs=lambda wildcards: ancient(WORKFLOW.judged(wildcards.study)),
        notebook=lambda wildcards: paths.source(sources.notebook(chart_of(wildcards))),
        study=paths.source(studies.STUDIES / "{study}.yaml"),
    output:
        pdf="results/{study}/figures/{figure}.pdf",
        png=report(
            "results/{study}/figures/{figure}.png",
            caption="../workflow/report/figure.rst",
            category="{study}",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        values="results/{study}/figures/{figure}.values.json",
        csv="results/{study}/figures/{figure}.csv",
        data="results/{study}/figures/{figure}.json",
        observations="results/{study}/figures/{figure}.observations.csv",
        caption="results/{study}/figures/{figure}.txt",
        alternative="results/{study}/figures/{figure}.alt.txt",
        notebook="results/{study}/notebooks/{figure}.ipynb",
    log:
        "results/{study}/logs/{figure}.log",
    conda:
        "../envs/plimsoll.yaml"
    # The first job of a figure draws all of them, on all processors (plimsoll.figures.batch).
    threads: workflow.cores
    params:
        plan=lambda wildcards: WORKFLOW.figure_digest(wildcards.study, wildcards.figure),
        code=drawing_code,
        judged=lambda wildcards, input: [f"--runs {path}" for path in input.get("runs", [])],
    shell:
        "python -m plimsoll figure --study {input.study:q} --figure {wildcards.figure} --plan results/{wildcards.study}/plan.json --results results/{wildcards.study} {params.judged} --notebook {input.notebook:q} --output results/{wildcards.study}/figures/{wildcards.figure} --executed {output.notebook} 2> >(tee {log} >&2)"
