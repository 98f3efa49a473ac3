"""From records to observations: one tidy table, and the list of what did not become one."""


rule collect:
    input:
        study="config/studies/{study}.yaml",
        records=lambda wildcards: records(wildcards.study),
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
    shell:
        "python -m plimsoll collect --study {wildcards.study} --csv {output.csv} --parquet {output.parquet} --runs {output.runs} 2> >(tee {log} >&2)"
