"""Images: built once from containers/<image>/, the same files for every runtime."""


rule image:
    input:
        lambda wildcards: [path for path in Path("containers", wildcards.image).iterdir()],
    output:
        "results/images/{image}.json",
    log:
        "results/logs/image.{image}.log",
    wildcard_constraints:
        image="[a-z0-9]+",
    conda:
        "../envs/plimsoll.yaml"
    params:
        base=config["base_image"],
    shell:
        "python -m plimsoll image --name {wildcards.image} --base {params.base} --output {output} 2> >(tee {log} >&2)"
