"""Verdicts: the papers' claims against what was measured here."""


rule claims:
    input:
        observations="results/{study}/observations.csv",
        runs="results/{study}/runs.csv",
        claims="config/claims/{study}.yaml",
        study="config/studies/{study}.yaml",
    output:
        "results/{study}/claims.json",
        "results/{study}/comparisons.csv",
    log:
        "results/{study}/logs/claims.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
    shell:
        "python -m plimsoll claims --study {wildcards.study} --results results/{wildcards.study} 2> >(tee {log} >&2)"


# All studies that there are claims of; those that are not selected or not built are listed as not available.
rule verdicts:
    input:
        measured=[f"results/{name}/claims.json" for name in SELECTED],
        claims=[str(path) for path in sorted(Path("config/claims").glob("*.yaml"))],
    output:
        "results/claims.html",
        "results/claims.csv",
    log:
        "results/logs/verdicts.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        studies=" ".join(SELECTED),
    shell:
        "python -m plimsoll verdicts --results results {params.studies} 2> >(tee {log} >&2)"
