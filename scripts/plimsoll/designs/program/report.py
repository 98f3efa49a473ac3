"""This design's part of a study's page: the program, its ladder, and what differed between the two sides of each step."""

import shlex
from pathlib import Path

import pandas as pd

from plimsoll import design
from plimsoll.designs.program import effects, program_answer, side_differences, words
from plimsoll.interchange import Plan
from plimsoll.pages import study_tables
from plimsoll.pages.report import Sources


class Report(design.Report):
    """Page of a study of a program."""

    TEMPLATE = "program/report.html.j2"
    GLOSSARY = words.GLOSSARY
    cell_label = staticmethod(words.cell)
    level = staticmethod(words.level)

    def content(
        self, sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
    ) -> dict:
        """Return this design's variables of the page's template."""
        main = study["answer"]["metrics"][0]
        ladder = effects.table(observations[observations["metric"] == main])
        why = side_differences.of_steps(Path(sources.records), ladder)
        of_parts = program_answer.of_parts(why)
        return {
            "program": study["program"],
            "program_command": shlex.join(study["program"]["command"]),
            "paragraphs": program_answer.paragraphs(study, observations, ladder, why, program_answer.uncounted(plan, runs)),
            "ladder": _readable(ladder),
            "unit": study["metrics"][main]["unit"],
            "why": [{**one, "cost": program_answer.cost(one)} for one in of_parts],
            "why_of_wholes": [{**one, "sides": _sides(one)} for one in why if one not in of_parts],
            "most_differences": program_answer.MOST_LINES,
        }


def _sides(difference: dict) -> str:
    return " and ".join(words.level("runtime", difference[side]) for side in ("against", "runtime"))


def _readable(ladder: pd.DataFrame) -> list[dict]:
    names = {
        column: [words.level("runtime", name) if name else "" for name in ladder[column]]
        for column in ("runtime", "against", "default")
    }
    return study_tables.without_gaps(ladder.assign(**names)).to_dict("records")
