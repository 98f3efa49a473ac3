"""Measuring: one job per run, one at a time, in the order of the design."""


# For a user who requests only the plan. The workflow itself writes it when it starts (rules/common.smk).
rule write_plan:
    output:
        "results/{study}/plan.json",
    log:
        "results/{study}/logs/plan.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        digest=plan_digest,
        config=lambda wildcards: planner.settings(SETTINGS),
        unavailable=lambda wildcards: json.dumps(WORKFLOW.unavailable, sort_keys=True),
    shell:
        "python -m plimsoll plan --study {wildcards.study} --config {params.config:q} --unavailable {params.unavailable:q} --output {output} 2> >(tee {log} >&2)"


rule measure:
    input:
        prerequisites,
    output:
        # With update(), an existing record is not removed beforehand. It is kept if it is still the requested one.
        update("results/{study}/runs/{run}.json"),
    log:
        "results/{study}/logs/{run}.log",
    priority: priority
    conda:
        "../envs/plimsoll.yaml"
    threads: workflow.cores
    params:
        # One function makes this one parameter, because Snakemake asks for each of them several times for tens of
        # thousands of runs.
        run=asked_for,
    # A run that is crossed off was measured since the workflow started, by the launch of another cell of its
    # deployment. The list says so and not the record's time, because clocks may change. A record that is newer than the
    # queue was written by a process that was killed afterwards. Its job must not fail, because Snakemake removes the
    # output of a failed job.
    shell:
        "[ -f {output} ] && grep -qsF '[\"'{wildcards.run:q}'\"' results/{wildcards.study}/progress/done.jsonl"
        " || python -m plimsoll.measure {params.run} {output} 2> >(tee {log} >&2)"
        " || [ {output} -nt results/{wildcards.study}/progress/queue.json ]"


# A bundle stands for the runs that the same figures and tables are made from. These need a few bundles, and not each of
# many records.
rule bundle:
    input:
        lambda wildcards: WORKFLOW.bundle(wildcards.study, wildcards.bundle),
    output:
        touch("results/{study}/progress/bundles/{bundle}"),
    # Bundles come before what is made from them: the first job of a figure draws all figures.
    priority: 1
    params:
        # An existing bundle would hide runs that are added to it.
        runs=lambda wildcards: WORKFLOW.bundle_digest(wildcards.study, wildcards.bundle),


# Fails if a cell has no run that counts. It comes last, so that everything that can be drawn and written is made before.
rule complete:
    input:
        "results/{study}/runs.csv",
    output:
        "results/{study}/complete.txt",
    log:
        "results/{study}/logs/complete.log",
    priority: -2
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_complete"),
    shell:
        "python -m plimsoll complete --study {wildcards.study} --runs {input} --output {output} 2> >(tee {log} >&2)"
