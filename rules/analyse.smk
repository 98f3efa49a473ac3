"""Statistics, and the tables."""


rule tests:
    input:
        "results/{study}/observations.csv",
    output:
        "results/{study}/tables/tests.csv",
    log:
        "results/{study}/logs/tests.log",
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll tests --study {wildcards.study} --observations {input} --output {output} 2> >(tee {log} >&2)"


rule features:
    input:
        lambda wildcards: f"results/images/{STUDIES[wildcards.study]['image']}.runtimes.json",
    output:
        "results/{study}/tables/table05.csv",
    log:
        "results/{study}/logs/features.log",
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll features --study {wildcards.study} --runtimes {input} --output {output} 2> >(tee {log} >&2)"


# Tables 1 and 6: from runs of their own.
rule measured_table:
    input:
        records=table_records,
        study="config/studies/{study}.yaml",
    output:
        "results/{study}/tables/{table}.csv",
    log:
        "results/{study}/logs/{table}.log",
    wildcard_constraints:
        table="|".join({name for study in STUDIES.values() for name in study.get("measured_tables", {})}),
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
    shell:
        "python -m plimsoll measured-table --study {wildcards.study} --name {wildcards.table} --output {output} 2> >(tee {log} >&2)"


# Tables 2 to 4: of the design and the host, beside the paper's.
rule table:
    input:
        host="results/host.json",
        image=image_of,
        study="config/studies/{study}.yaml",
    output:
        "results/{study}/tables/table0{number}.csv",
    log:
        "results/{study}/logs/table0{number}.log",
    wildcard_constraints:
        number="[234]",
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll table --study {wildcards.study} --name table0{wildcards.number} --host {input.host} --image {input.image} --output {output} 2> >(tee {log} >&2)"
