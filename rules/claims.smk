"""Verdicts: the papers' claims against what was measured here."""


rule claims:
    input:
        observations="results/{study}/observations.csv",
        runs="results/{study}/runs.csv",
        claims=paths.source(book.CLAIMS / "{study}.yaml"),
        study=paths.source(studies.STUDIES / "{study}.yaml"),
    output:
        verdicts="results/{study}/claims.json",
        comparisons="results/{study}/comparisons.csv",
        answer="results/{study}/answer.csv",
    log:
        "results/{study}/logs/claims.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_claims"),
    shell:
        "python -m plimsoll claims --study {wildcards.study} --plan results/{wildcards.study}/plan.json --observations {input.observations} --runs {input.runs} --verdicts {output.verdicts} --comparisons {output.comparisons} --answer {output.answer} 2> >(tee {log} >&2)"


# Other sessions of the study are beside it (plimsoll.planning.sessions). Their verdicts are an input too.
rule sessions:
    input:
        verdicts="results/{study}/claims.json",
        comparisons="results/{study}/comparisons.csv",
        observations="results/{study}/observations.csv",
        runs="results/{study}/runs.csv",
        claims=paths.source(book.CLAIMS / "{study}.yaml"),
        study=paths.source(studies.STUDIES / "{study}.yaml"),
        earlier=lambda wildcards: WORKFLOW.earlier_sessions(wildcards.study),
    output:
        told="results/{study}/sessions.json",
        means="results/{study}/sessions.csv",
        verdicts="results/{study}/together.json",
        comparisons="results/{study}/together.csv",
    log:
        "results/{study}/logs/sessions.log",
    conda:
        "../envs/plimsoll.yaml"
    params:
        plan=plan_digest,
        code=code_of("_sessions"),
    shell:
        "python -m plimsoll sessions --study {wildcards.study} --plan results/{wildcards.study}/plan.json --results results --output {output.told} --means {output.means} --verdicts {output.verdicts} --comparisons {output.comparisons} 2> >(tee {log} >&2)"


# The start page and the claims of all studies with a file of claims. Studies that are not selected are shown as an earlier start left them. Studies
# without verdicts are listed as not available.
rule verdicts:
    input:
        verdicts=[f"results/{name}/together.json" for name in SELECTED],
        comparisons=[f"results/{name}/together.csv" for name in SELECTED],
        answers=[f"results/{name}/answer.csv" for name in SELECTED],
        sessions=[f"results/{name}/sessions.json" for name in SELECTED],
        claims=[paths.source(path) for path in sorted(book.CLAIMS.glob("*.yaml"))],
        studies=[paths.source(studies.STUDIES / f"{name}.yaml") for name in SELECTED],
    output:
        start="results/index.html",
        page=report(
            "results/claims.html",
            caption="../workflow/report/claims.rst",
            category="All studies",
            labels={"page": "claims"},
        ),
        table="results/claims.csv",
    log:
        "results/logs/verdicts.log",
    # The start page comes after the reports that it has links to.
    priority: -1
    conda:
        "../envs/plimsoll.yaml"
    params:
        code=code_of("_verdicts"),
        beside=WORKFLOW.beside(),
        verdicts_beside=WORKFLOW.beside_digest(),
    shell:
        "python -m plimsoll verdicts --verdicts {input.verdicts} --comparisons {input.comparisons} --answers {input.answers} --sessions {input.sessions} --beside {params.beside} --page {output.page} --table {output.table} --start {output.start} 2> >(tee {log} >&2)"
