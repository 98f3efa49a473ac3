"""One page that holds everything, and needs nothing else."""


rule report:
    input:
        host="results/host.json",
        image=image_of,
        runs="results/{study}/runs.csv",
        observations="results/{study}/observations.csv",
        tests="results/{study}/tables/tests.csv",
        claims="results/{study}/claims.json",
        tables=lambda wildcards: tables(wildcards.study),
        figures=lambda wildcards: figures(wildcards.study),
        templates=[str(path) for path in sorted(Path("scripts/plimsoll/templates").glob("*.j2"))],
        style="scripts/plimsoll/templates/style.css",
    output:
        "results/{study}/report.html",
    log:
        "results/{study}/logs/report.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
    shell:
        "python -m plimsoll report --study {wildcards.study} --output {output} 2> >(tee {log} >&2)"
