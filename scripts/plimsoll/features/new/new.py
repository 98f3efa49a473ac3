"""`plimsoll new`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import options

# The questions of each kind of thing: option, question, and the usual answer.
QUESTIONS = {
    "study": {"of": ("What does it measure: table, program, or the name of one of our benchmarks?", "table")},
    "runtime": {"like": ("Which runtime is it like?", "docker"), "label": ("What is it called on pages?", "")},
    "workload": {
        "program": ("Where is the program in its image?", "/opt/microservices/program"),
        "metric": ("In which unit is the rate that it prints?", "1/s"),
        "label": ("What is it called on pages?", ""),
    },
    "chart": {
        "of": ("Which design is it for?", "overhead"),
        "question": ("What does it show, in a sentence?", "Means of all cells, with standard deviations."),
    },
}
# Further questions of a study, by what it is of.
OF_STUDY = {
    "table": {
        "data": ("Which file has the rows (empty: an example)?", ""),
        "factor": ("Which column is compared (empty: the first factor)?", ""),
        "metric": ("What was measured (its column, or its name)?", "time"),
        "question": ("Which question does it answer?", "Which variant is better?"),
    },
    "program": {
        "program": ("Which command is measured?", ""),
        "question": ("Which question does it answer (empty: what a container costs it)?", ""),
    },
    "benchmark": {"question": ("Which question does it answer?", "What does a container cost it?")},
}


def new(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="study, runtime, workload or chart.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: small letters, digits and dashes.")],
    of: Annotated[
        str | None, typer.Option(metavar="KIND", help="table, program or a benchmark (study); a design (chart).")
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="FILE", help="The rows of a study of a table.")] = None,
    factor: Annotated[str | None, typer.Option(metavar="COLUMN", help="What a study of a table compares.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="What was measured, or a workload's unit.")] = None,
    better: Annotated[
        str | None, typer.Option(metavar="WAY", help="lower or higher. Without it: what the data or the metric's name say.")
    ] = None,
    question: Annotated[str | None, typer.Option(metavar="TEXT", help="A question; what a chart shows.")] = None,
    runtimes: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="What a benchmark runs in, beside bare metal. Without it: docker.")
    ] = None,
    like: Annotated[str | None, typer.Option(metavar="RUNTIME", help="The runtime that a new one is like.")] = None,
    program: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="What a study of a program runs; a workload's program, in its image.")
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="How it is called on pages.")] = None,
) -> None:
    """Write the first version of a study, a runtime, a workload or a chart, with comments and a test.

    It works as it is. In a terminal, the command asks for what no option says.

    Examples:
      plimsoll new study sorting --data results.csv
      plimsoll new study solver --of program --program './solver case.txt'
      plimsoll new study stream2026 --of stream --runtimes docker,podman
      plimsoll new runtime docker-small --like docker
    """
    from plimsoll.errors import PlimsollError
    from plimsoll.spelling import hint

    if what not in QUESTIONS:
        raise PlimsollError(
            f"{what} is no part of Plimsoll that can be added{hint(what, QUESTIONS)}: take "
            f"{', '.join(QUESTIONS)}. Nothing was written."
        )
    given = {"of": of, "data": data, "factor": factor, "metric": metric, "question": question}
    given |= {"like": like, "program": program, "label": label}
    answers = {key: _answer(given[key], *asked) for key, asked in QUESTIONS[what].items()}
    if what == "study":
        more = OF_STUDY.get(answers["of"], OF_STUDY["benchmark"])
        answers |= {key: _answer(given[key], *asked) for key, asked in more.items()}
        answers |= {"runtimes": ",".join(options.split(runtimes)) or "docker", "better": better or ""}
    for path in _written(what, name, answers):
        print(f"{path} is written.")


def _answer(given: str | None, question: str, usual: str) -> str:
    """Return what an option says, or what the user answers, or the usual answer without a terminal."""
    if given is not None:
        return given
    return typer.prompt(question, default=usual, show_default=bool(usual)) if sys.stdin.isatty() else usual


def _written(what: str, name: str, answers: dict[str, str]) -> list[Path]:
    from plimsoll import features, paths
    from plimsoll.features.new import files, study

    label, root = answers.get("label") or name.replace("-", " ").capitalize(), paths.PROJECT
    if what == "runtime":
        return files.runtime(name, root, answers["like"], label)
    if what == "workload":
        return files.workload(name, root, answers["program"], answers["metric"], label)
    if what == "chart":
        return files.chart(name, root, answers["of"], answers["question"])
    if answers["of"] == "program":
        begin = features.require("begin_study")
        return begin(name, answers["program"], answers["question"], study.test_of_program)
    if answers["of"] != "table":
        return study.of_benchmark(name, root, answers["of"], answers["runtimes"].split(","), answers["question"])
    data = Path(answers["data"]) if answers["data"] else None
    return study.of_table(name, Path(), data, answers["factor"], answers["metric"], answers["better"], answers["question"])
