"""The packages of an image, with versions and sources (docs/explanation/security.md)."""

OF_FEATURES.extend(sorted({image_of(STUDIES[name]).replace(".json", ".sbom.json") for name in SELECTED}))


rule sbom:
    input:
        "results/images/{image}.json",
    output:
        "results/images/{image}.sbom.json",
    log:
        "results/logs/sbom.{image}.log",
    conda:
        "../../../../envs/plimsoll.yaml"
    params:
        code=code_of("features.bills.stages._sbom"),
    shell:
        "python -m plimsoll sbom --image {input} --output {output} 2> >(tee {log} >&2)"
