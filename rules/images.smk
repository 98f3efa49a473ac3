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
    params:
        base=SETTINGS["base_image"],
    shell:
        "python -m plimsoll image --name {wildcards.image} --base {params.base:q} --output {output} 2> >(tee {log} >&2)"


# The packages of an image, with versions and sources (docs/explanation/security.md).
rule sbom:
    input:
        "results/images/{image}.json",
    output:
        "results/images/{image}.sbom.json",
    log:
        "results/logs/sbom.{image}.log",
    conda:
        "../envs/plimsoll.yaml"
    shell:
        "python -m plimsoll sbom --image {input} --output {output} 2> >(tee {log} >&2)"
