"""Start page of the results: every study that was measured here, with its answer, and how to measure the others."""

from collections.abc import Callable
from pathlib import Path

from plimsoll.claims import result_counts, verdicts
from plimsoll.config.studies import Study
from plimsoll.pages import answer, command_pages, formats, glossary, sessions, verdict_page
from plimsoll.pages.verdict_page import PageData, StudyVerdicts

# Verdicts that a bar shows, in its order.
SHOWN = (*verdicts.DECIDED, verdicts.INCONCLUSIVE)


def render(every: PageData, load: Callable[[str], Study], results: Path | None = None) -> str:
    """Return the page as HTML.

    `every` is what the stages left of all studies, and `load` returns a study by its name. `results` is the folder in
    which the page lies. Earlier sessions that have a report there are linked, and so are pages of archives,
    comparisons and judged tables. Without the folder, none is.
    """
    studies = [_study(judged, load(name), results) for name, judged in sorted(every.measured.items())]
    return (
        formats.environment()
        .get_template("start.html.j2")
        .render(
            studies=studies,
            others=_others(every),
            also=command_pages.section(results),
            marks=verdict_page.MARKS,
            terms=glossary.SHARED,
        )
    )


def _study(judged: StudyVerdicts, study: Study, results: Path | None) -> dict:
    """Return what the page shows of a study that was measured."""
    used = sessions.for_template(judged.told)["used"]
    return {
        "name": study["id"],
        "question": study["question"],
        "citation": study["citation"],
        "answers": answer.for_template(judged.answer, study, judged.given),
        "began": used[-1]["began"] if used else "not known",
        "sessions": len(used),
        "earlier": _earlier(results / "sessions" / study["id"]) if results else [],
        "bar": _bar(judged.results),
    }


def _earlier(folder: Path) -> list[str]:
    """Return the numbers of the earlier sessions in a folder that have a report."""
    return sorted((path.parent.name for path in folder.glob("*/report.html")), key=int)


def _bar(results: list[dict]) -> list[dict]:
    """Return the parts of a bar of the claims that were tested: `verdict`, `number`, and where it begins and its width in
    percent. A verdict that no claim has is left out.
    """
    of_verdict = [one["verdict"] for one in result_counts.without_repeats(results) if one["verdict"] in SHOWN]
    parts, begins = [], 0.0
    for verdict in SHOWN:
        if number := of_verdict.count(verdict):
            width = round(100 * number / len(of_verdict), 2)
            parts.append({"verdict": verdict, "number": number, "begins": round(begins, 2), "width": width})
            begins += width
    return parts


def _others(every: PageData) -> list[dict]:
    """Return the studies without verdicts: `name`, the `reason`, and the `command` that measures it, if there is one."""
    reasons = {one["study"]: one["reason"] for one in every.results if one["study"] not in every.measured}
    return [
        {"name": name, "reason": reason, "command": "" if reason == verdict_page.NOT_BUILT else verdict_page.command(name)}
        for name, reason in sorted(reasons.items())
    ]
