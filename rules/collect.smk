"""From records to observations: one tidy table, and the list of the runs that gave none."""


rule collect:
    input:
        study=paths.source(studies.STUDIES / "{study}.yaml"),
        records=lambda wildcards: WORKFLOW.bundles(wildcards.study),
    output:
        csv="results/{study}/observations.csv",
        parquet="results/{study}/observations.parquet",
        runs="results/{study}/runs.csv",
    log:
        "results/{study}/logs/collect.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_collect"),
    shell:
        "python -m plimsoll collect --study {wildcards.study} --plan results/{wildcards.study}/plan.json --records results/{wildcards.study}/runs --csv {output.csv} --parquet {output.parquet} --runs {output.runs} 2> >(tee {log} >&2)"
