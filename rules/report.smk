"""Report: one page per study that holds everything and needs nothing else."""


rule report:
    input:
        host="results/host.json",
        image=image,
        runs="results/{study}/runs.csv",
        observations="results/{study}/observations.csv",
        tests="results/{study}/tables/tests.csv",
        variance="results/{study}/variance.csv",
        verdicts="results/{study}/together.json",
        comparisons="results/{study}/together.csv",
        answer="results/{study}/answer.csv",
        sessions="results/{study}/sessions.json",
        tables=lambda wildcards: WORKFLOW.tables(wildcards.study),
        figures=lambda wildcards: WORKFLOW.figures(wildcards.study),
        study=paths.source(studies.STUDIES / "{study}.yaml"),
        claims=paths.source(book.CLAIMS / "{study}.yaml"),
    output:
        report(
            "results/{study}/report.html",
            caption="../workflow/report/page.rst",
            category="{study}",
            subcategory="Page",
            labels={"page": "{study}"},
        ),
    log:
        "results/{study}/logs/report.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_report"),
    # There are many records, figures and tables, so the stage gets their folders. Everything that is made from them is
    # an input.
    shell:
        "python -m plimsoll report --study {wildcards.study} --plan results/{wildcards.study}/plan.json"
        " --host {input.host} --image {input.image} --observations {input.observations} --runs {input.runs}"
        " --tests {input.tests} --verdicts {input.verdicts} --comparisons {input.comparisons} --answer {input.answer}"
        " --sessions {input.sessions} --variance {input.variance}"
        " --figures results/{wildcards.study}/figures --tables results/{wildcards.study}/tables"
        " --records results/{wildcards.study}/runs --output {output} 2> >(tee {log} >&2)"
