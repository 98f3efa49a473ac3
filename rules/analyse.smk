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


# Numbers of tables are the papers': what is a table of features in one study is made from runs in another.
ruleorder: features > table > measured_table


rule features:
    input:
        lambda wildcards: f"results/images/{STUDIES[wildcards.study]['image']}.runtimes.json",
    output:
        "results/{study}/tables/table05.csv",
    log:
        "results/{study}/logs/features.log",
    wildcard_constraints:
        study="|".join(name for name, study in STUDIES.items() if "paper_features" in study),
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll features --study {wildcards.study} --runtimes {input} --output {output} 2> >(tee {log} >&2)"


# Tables that are made from runs, with the paper's values beside ours.
rule measured_table:
    input:
        records=table_records,
        image=image_of,
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
        study="|".join(name for name, study in STUDIES.items() if "paper_tables" in study),
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll table --study {wildcards.study} --name table0{wildcards.number} --host {input.host} --image {input.image} --output {output} 2> >(tee {log} >&2)"
