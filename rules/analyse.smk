"""Statistics: every container cell against bare metal, and against one container."""


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
