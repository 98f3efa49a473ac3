"""Description of this machine, and of the runtimes that work on it: each is tried as runs use it, not just found."""


rule host:
    input:
        [f"results/images/{image}.runtimes.json" for image in WORKFLOW.observed_images()],
    output:
        json="results/host.json",
        table="results/host.txt",
    log:
        "results/logs/host.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        images=WORKFLOW.observed_images(),
        designs=sorted(designs.known()),
    shell:
        "python -m plimsoll host --runtimes {input} --json {output.json} --table {output.table} 2> >(tee {log} >&2)"


rule runtimes:
    input:
        image="results/images/{image}.json",
    output:
        "results/images/{image}.runtimes.json",
    log:
        "results/logs/runtimes.{image}.log",
    priority: 2_000_000
    conda:
        "../envs/plimsoll.yaml"
    # Whether a runtime works is tried with runs, which take the machine alone.
    threads: workflow.cores
    params:
        plans=lambda wildcards: WORKFLOW.plans_on(wildcards.image),
        wishes=lambda wildcards: " ".join(f"{name}={wish}" for name, wish in sorted(WORKFLOW.wishes(wildcards.image).items())),
    shell:
        "python -m plimsoll runtimes --image {input.image} --output {output} --plans {params.plans} --wishes {params.wishes} 2> >(tee {log} >&2)"
