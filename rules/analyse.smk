"""Statistics, and the tables."""


rule tests:
    input:
        observations="results/{study}/observations.csv",
        runs="results/{study}/runs.csv",
    output:
        "results/{study}/tables/tests.csv",
    log:
        "results/{study}/logs/tests.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        code=code_of("_tests"),
    shell:
        "python -m plimsoll tests --study {wildcards.study} --observations {input.observations} --runs {input.runs} --output {output} 2> >(tee {log} >&2)"


# Other sessions of the study are beside it (plimsoll.planning.sessions).
rule variance:
    input:
        observations="results/{study}/observations.csv",
        earlier=lambda wildcards: WORKFLOW.earlier_sessions(wildcards.study),
    output:
        "results/{study}/variance.csv",
    log:
        "results/{study}/logs/variance.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_variance"),
    shell:
        "python -m plimsoll variance --study {wildcards.study} --plan results/{wildcards.study}/plan.json --results results --output {output} 2> >(tee {log} >&2)"


# A table is of the design, of the host, or made from runs. The design says which, for each kind of table.
rule table:
    input:
        unpack(table_inputs),
        study=paths.source(studies.STUDIES / "{study}.yaml"),
    output:
        report(
            "results/{study}/tables/{table}.csv",
            caption="../workflow/report/table.rst",
            category="{study}",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
    log:
        "results/{study}/logs/{table}.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_table"),
        made_from=lambda wildcards, input: [
            f"--{name} {input[name]}" for name in ("image", "host", "environments", "runs") if input.get(name)
        ],
    shell:
        "python -m plimsoll table --study {wildcards.study} --name {wildcards.table} --results results/{wildcards.study} {params.made_from} --output {output} 2> >(tee {log} >&2)"
