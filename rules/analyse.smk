"""Statistics: every container cell against bare metal, and against one container."""


rule tests:
    input:
        "results/{study}/observations.csv",
    output:
        "results/{study}/tables/tests.csv",
    shell:
        "{PLIMSOLL} tests --study {wildcards.study} --observations {input} --output {output}"


rule features:
    input:
        lambda wildcards: f"results/images/{STUDIES[wildcards.study]['image']}.runtimes.json",
    output:
        "results/{study}/tables/table05.csv",
    shell:
        "{PLIMSOLL} features --study {wildcards.study} --runtimes {input} --output {output}"
