"""Images: built once from containers/<image>/, the same files for every runtime."""


# Made before everything that takes no run, such as figures of what cannot be measured here: measuring waits for images.
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


# Package by package, with versions and sources: docs/security.md.
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
