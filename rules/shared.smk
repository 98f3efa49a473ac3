"""Code for rules that make something from measurements, whether these were made here or came in an archive.

The file that includes this one has the WORKFLOW, and the STUDIES by name.
"""

from pathlib import Path

from plimsoll import code, paths
from plimsoll.claims import book
from plimsoll.config import studies
from plimsoll.figures import batch, sources
from plimsoll.terminal import stage_messages
from plimsoll.target_paths import image_of


wildcard_constraints:
    study="|".join(STUDIES),
    figure="|".join(sorted({name for study in STUDIES.values() for name in study["figures"]})),
    table="|".join(sorted({name for study in STUDIES.values() for name in study.get("tables", {})})),


def image(wildcards):
    """Return the path to the description of the image that a study runs."""
    return image_of(STUDIES[wildcards.study])


def chart_of(wildcards):
    """Return the chart of a figure, as its source has it."""
    study = STUDIES[wildcards.study]
    known = sources.charts(paths.PROJECT / f"scripts/plimsoll/designs/{study['design']}/charts")
    return known[study["figures"][wildcards.figure]["chart"]]


def table_inputs(wildcards):
    """Return the inputs of a table. A newer list of runs makes no table again: only its own records do."""
    inputs = WORKFLOW.table_inputs(wildcards.study, wildcards.table)
    return {name: ancient(path) if name == "runs" else path for name, path in inputs.items()}


def plan_digest(wildcards):
    """Return the digest of a study's plan, a parameter of every rule that reads the plan."""
    return WORKFLOW.digest(wildcards.study)


def code_of(stage):
    """Return an input function for the digest of the code that a stage uses. It is a parameter of the stage's rule."""

    def digest(wildcards):
        # Without a study, the stage is about all of them.
        names = [wildcards.study] if "study" in wildcards.keys() else STUDIES
        return code.digest(stage, tuple(sorted({STUDIES[name]["design"] for name in names})))

    return digest


def drawing_code(wildcards):
    """Return the digest of the code that a figure is drawn with: its chart's and its notebook's too."""
    chart = chart_of(wildcards)
    return code.digest("_figure", (STUDIES[wildcards.study]["design"],), (chart.file, sources.notebook(chart)))


def needed(rule):
    """Return the wildcards of a rule's jobs that this start runs. The rule of a module may have another name by now."""
    name = getattr(rules, rule).rule.name
    return [job.wildcards for job in workflow.dag.needrun_jobs() if job.rule.name == name]


def note_figures():
    """Note which figures this start of the workflow draws. The first job of a figure draws all of them."""
    drawn = needed("figure")
    stage_messages.note_figures(Path("results"), [(job.study, job.figure) for job in drawn])
    notebooks = {(job.study, job.figure): sources.notebook(chart_of(job)) for job in drawn}
    batch.begin(Path("results"), notebooks)
