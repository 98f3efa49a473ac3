"""Images: built once from containers/<image>/, the same files for every runtime."""


rule image:
    input:
        lambda wildcards: [path for path in Path("containers", wildcards.image).iterdir()],
    output:
        "results/images/{image}.json",
    wildcard_constraints:
        image="[a-z0-9]+",
    params:
        base=config["base_image"],
    shell:
        "{PLIMSOLL} image --name {wildcards.image} --base {params.base} --output {output}"
