"""Images: built once from containers/<image>/, the same files for every runtime."""


# Images have priority over all jobs that need no run, such as figures of cells that are unavailable: measuring waits
# for images.
rule image:
    input:
        lambda wildcards: [paths.source(path) for path in settings.sources(wildcards.image)],
    output:
        "results/images/{image}.json",
    log:
        "results/logs/image.{image}.log",
    wildcard_constraints:
        image="[a-z0-9]+",
    priority: 2_000_000
    conda:
        "../envs/plimsoll.yaml"
    threads: workflow.cores
    params:
        base=SETTINGS["base_image"],
    shell:
        "python -m plimsoll image --name {wildcards.image} --base {params.base:q} --output {output} 2> >(tee {log} >&2)"
