"""Measuring: one job a run, one at a time, in the order of the design."""


rule write_plan:
    output:
        "results/{study}/plan.json",
    params:
        digest=lambda wildcards: planning.digest(PLANS[wildcards.study]),
        config=lambda wildcards: planning.settings(config),
        unavailable=lambda wildcards: planning.settings(UNAVAILABLE),
    shell:
        "{PLIMSOLL} plan --study {wildcards.study} --config {params.config:q} --unavailable {params.unavailable:q} --output {output}"


rule measure:
    input:
        plan=ancient("results/{study}/plan.json"),
        image=lambda wildcards: ancient(f"results/images/{STUDIES[wildcards.study]['image']}.json"),
        runtimes=lambda wildcards: ancient(f"results/images/{STUDIES[wildcards.study]['image']}.runtimes.json"),
    output:
        # update(): a record that is there is not removed beforehand. If it is still what was asked for it is kept.
        update("results/{study}/runs/{cell}/{repetition}.json"),
    params:
        fingerprint=lambda wildcards: cell_of(wildcards).get("fingerprint", ""),
    priority: place_in_order
    threads: workflow.cores
    shell:
        "{PLIMSOLL} measure --plan {input.plan} --image {input.image} --cell {wildcards.cell}"
        " --repetition {wildcards.repetition} --record {output}"
