"""Measuring: one job a run, one at a time, in the order of the design."""


# For who asks for the plan alone; the workflow itself writes it when it starts (rules/common.smk).
rule write_plan:
    output:
        "results/{study}/plan.json",
    log:
        "results/{study}/logs/plan.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        digest=plan_digest,
        config=lambda wildcards: planning.settings(config),
        unavailable=lambda wildcards: planning.settings(UNAVAILABLE),
    shell:
        "python -m plimsoll plan --study {wildcards.study} --config {params.config:q} --unavailable {params.unavailable:q} --output {output} 2> >(tee {log} >&2)"


rule measure:
    input:
        unpack(prerequisites),
    output:
        # update(): a record that is there is not removed beforehand. If it is still what was asked for it is kept.
        update("results/{study}/runs/{cell}/{repetition}.json"),
    log:
        "results/{study}/logs/{cell}/{repetition}.log",
    priority: place_in_order
    conda:
        "../envs/plimsoll.yaml"
    threads: workflow.cores
    params:
        fingerprint=lambda wildcards: cell_of(wildcards).get("fingerprint", ""),
        image=image_of,
    shell:
        "python -m plimsoll.measure results/{wildcards.study}/plan.json {params.image} {wildcards.cell} {wildcards.repetition} {output} 2> >(tee {log} >&2)"
