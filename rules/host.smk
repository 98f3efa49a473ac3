"""What this machine is, and which runtimes work on it: tried, not just found."""


rule host:
    output:
        json="results/host.json",
        table="results/host.txt",
    shell:
        "{PLIMSOLL} host --json {output.json} --table {output.table}"


rule runtimes:
    input:
        image="results/images/{image}.json",
    output:
        "results/images/{image}.runtimes.json",
    params:
        wishes=" ".join(f"{name}={wish}" for name, wish in sorted(config["runtimes"].items())),
    shell:
        "{PLIMSOLL} runtimes --image {input.image} --output {output} {params.wishes}"
