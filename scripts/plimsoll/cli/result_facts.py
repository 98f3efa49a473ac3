"""What `plimsoll show` says: a study, a claim, a figure or a run, from the results in the working directory.

Each function returns (facts, lines): facts for a program, and lines of text for people.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from plimsoll import paths, spelling
from plimsoll.config.studies import Study

RESULTS = Path("results")
# Largest number of a claim's comparisons that are shown.
COMPARED = 8


class Facts(NamedTuple):
    """What is known of a thing, for a program and for people, and whether it is there: measured, drawn or recorded."""

    facts: dict
    lines: list[str]
    there: bool = True


def study(named: Study) -> Facts:
    """Return a study's answer and its most telling claims, as at the end of measuring."""
    from plimsoll.claims import result_counts
    from plimsoll.pages import verdict_page
    from plimsoll.terminal import results_summary

    name = named["id"]
    files = [RESULTS / name / file for file in verdict_page.FILES[:2]]
    if not files[0].is_file():
        more = f"Not measured here: {spelling.command('reproduce', name)} measures it."
        return Facts({"study": name, "answers": [], "claims": []}, [f"{name}: {named['question']}", more], there=False)
    results, _ = verdict_page.read(*files)
    answers = results_summary.answers_of(RESULTS / name / "answer.csv", named)
    facts = {"study": name, "question": named["question"], "answers": answers, "claims": result_counts.summarise(results)}
    told = results_summary.of_studies(RESULTS, {name: named})
    return Facts(facts, [named["question"], "", *told.splitlines()])


def claim(study: Study, name: str) -> Facts:
    """Return a claim: its verdict, the numbers that it rests on, and where its runs are."""
    from plimsoll.claims import book
    from plimsoll.pages import verdict_page

    said = next(one for one in book.load(study["id"]) if one["id"] == name)
    where = f"section {said['section']}" + (f", {', '.join(said['shown_in'])}" if said.get("shown_in") else "")
    lines, reference = [f"{name} ({where}): {said['statement']}"], _reference(study["id"], name)
    beside = [f"Reference measurements (results/reference, another machine): {reference}."] if reference else []
    files = [RESULTS / study["id"] / file for file in verdict_page.FILES[:2]]
    if not files[0].is_file():
        facts = {"claim": name, "statement": said["statement"], "verdict": None, "reference": reference}
        more = f"Not measured here: {spelling.command('reproduce', study['id'])} measures it."
        return Facts(facts, [*lines, more, *beside], there=False)
    results, comparisons = verdict_page.read(*files)
    result = next(one for one in results if one["id"] == name)
    rows = comparisons[comparisons["claim"] == name].to_dict("records")
    facts = {**result, "reference": reference, "rows": rows, "records": _records(study["id"], rows)}
    return Facts(facts, [*lines, *_verdict(result, rows), *_compared(study, result, rows), *beside, *_where(study, facts)])


def _verdict(result: dict, rows: list[dict]) -> list[str]:
    """Return sentences on the verdict, as the page words them."""
    from plimsoll.claims import findings, verdicts
    from plimsoll.pages import wording

    verdict = findings.verdict_of(result)
    if not rows:
        return [f"Verdict: {verdict}{': ' if result['reason'] else ''}{result['reason']}."]
    if verdict == verdicts.UNMEASURED:
        return [f"Verdict: {verdict}.", *wording.decision_hints(result, rows)]
    told = [wording.effects(result, rows), wording.on_the_whole(result), wording.overall_bound(result), wording.size(result)]
    told += [
        wording.by_arrangement(result),
        wording.fragile(result),
        *wording.decision_hints(result, rows),
        wording.command(result),
    ]
    return [f"Verdict: {verdict} ({wording.rests_on(result, rows)}).", *filter(None, told)]


def _compared(study: Study, result: dict, rows: list[dict]) -> list[str]:
    """Return a line for each comparison of a claim that was measured, at most COMPARED."""
    from plimsoll.pages.formats import missing
    from plimsoll.terminal import results_summary

    short = results_summary.naming(study.design.report.cell_label, study["metrics"])
    labels = results_summary.labels_of(study)
    lines, rows = [], [row for row in rows if row["n"]]
    for row in rows[:COMPARED]:
        metrics = row["metric"], row["metric"] if missing(row["metric_b"]) else row["metric_b"]
        sides = [] if missing(row["cell_a"]) else [short(row["cell_a"], metrics[0])]
        if not missing(row["cell_b"]):
            sides.append(results_summary.second(row["cell_b"], metrics, short, labels))
        effect = "no effect could be estimated" if missing(row["effect"]) else results_summary.effect(result, row)
        lines.append(f"  {row['label']}, {' against '.join(sides)}: {effect}; n = {row['n']:.0f}; {row['verdict']}")
    return [*lines, f"  and {len(rows) - COMPARED} more comparisons"] if len(rows) > COMPARED else lines


def _where(study: Study, facts: dict) -> list[str]:
    from plimsoll.claims import findings

    drawn = [f"results/{study['id']}/figures/{name}.pdf" for name in findings.figures_of(facts, study)]
    lines = [f"Records: {', '.join(facts['records'])}"] if facts["records"] else []
    first = next((path for folder in facts["records"] for path in sorted(Path(folder).glob("*.json"))), None)
    lines += [f"One of these runs: {spelling.command('show', str(first))}"] if first else []
    lines += [f"Figures: {', '.join(drawn)}"] if drawn else []
    return [*lines, f"Read on: results/claims.html#{facts['id']}"]


def _records(study: str, rows: list[dict]) -> list[str]:
    """Return the folders of the records that a claim's comparisons rest on."""
    cells = [cell for row in rows for cell in (row["cell_a"], row["cell_b"]) if isinstance(cell, str) and "/" in cell]
    folders = dict.fromkeys(RESULTS / study / "runs" / cell for cell in cells)
    return [f"{folder}/" for folder in folders if folder.is_dir()]


def _reference(study: str, name: str) -> str | None:
    """Return the verdict on a claim that the reference measurements gave; None without them."""
    file = paths.REFERENCES / study / "claims.csv"
    if not file.is_file():
        return None
    with file.open(newline="") as lines:
        return next((row["verdict"] for row in csv.DictReader(lines) if row["id"] == name), None)


def figure(study: Study, name: str) -> Facts:
    """Return a figure: what it shows, its files, and the command that makes it."""
    described, own = study["figures"][name], RESULTS / study["id"] / "figures"
    command = spelling.command("reproduce", study["id"], figure=name)
    drawn = (own / f"{name}.pdf").is_file()
    folder = own if drawn else paths.REFERENCES / study["id"] / "figures"
    files = [str(path) for path in sorted(folder.glob(f"{name}.*"))]
    notebook = RESULTS / study["id"] / "notebooks" / f"{name}.ipynb"
    words = {kind: _text(folder / f"{name}{ending}") for kind, ending in (("caption", ".txt"), ("shows", ".alt.txt"))}
    facts = {"figure": name, "study": study["id"], "drawn_here": drawn, **words, "files": files, "command": command}
    title = described.get("title") or ", ".join(study["metrics"][metric]["label"] for metric in described.get("metrics", []))
    lines = [f"{study['id']}, {name}: {title}"]
    lines += [] if drawn else [f"Not drawn here: {command} measures and draws it. These are the reference measurements:"]
    lines += [*filter(None, words.values()), f"Files: {', '.join(files)}" if files else "No file of it is here."]
    lines += [f"Notebook: {notebook}"] if notebook.is_file() else []
    return Facts(facts, [*lines, f"Again: {command}"] if drawn else lines, there=drawn)


def _text(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


def run(study: Study, cell: str, repetition: int) -> Facts:
    """Return a run's record in words. Raise DamagedFile if the file is no record, and PlimsollError if there is no file."""
    from plimsoll.errors import PlimsollError
    from plimsoll.measuring import record, staleness

    path = record.path_of(RESULTS / study["id"] / "runs", cell, repetition)
    if not path.is_file():
        raise PlimsollError(
            f"{path} is not there: this run was not measured here. {spelling.command('list', study['id'])} says how far it is."
        )
    recorded = record.read(path)
    values = _values(study, recorded)
    facts = {"file": str(path), **recorded, "observations": values}
    attempts = staleness.attempts_of(recorded)
    lines = [f"{study['id']}, {cell}, repetition {repetition}: {recorded['status']}"]
    lines += [f"Reason: {recorded['reason']}."] if recorded.get("reason") else []
    lines += [f"  {one['label']}: {one['value']:.4g} {one['unit']}" for one in values]
    lines += [_when(recorded), _noise(recorded)]
    lines += [f"Attempt {number}: {one['status']}: {one['reason']}." for number, one in enumerate(attempts[:-1], 1)]
    return Facts(facts, [*lines, f"Record: {path}", f"Raw output: {RESULTS / study['id'] / recorded['raw']}"])


def _values(study: Study, recorded: dict) -> list[dict]:
    """Return the observations of a run that counts: label, value and unit of each metric."""
    from plimsoll.measuring import status

    if recorded["status"] not in status.COUNTED:
        return []
    row = {**recorded["cell"], "repetition": recorded["repetition"], "status": recorded["status"]}
    found = study.design.readings.observations(study, row, recorded)
    return [{key: one[key] for key in ("metric", "label", "value", "unit")} for one in found]


def _when(recorded: dict) -> str:
    from datetime import datetime

    began = datetime.fromtimestamp(recorded["started"]).astimezone()
    parts = ", ".join(f"{name} {length:.2f} s" for name, length in recorded["seconds"].items())
    where = f"run {recorded['place_in_order']} of the plan's order, block {recorded['block']}, profile {recorded['profile']}"
    return f"Started {began:%Y-%m-%d %H:%M:%S %Z}, {where}, attempt {recorded['attempts']}. Times: {parts}."


def _noise(recorded: dict) -> str:
    noise = recorded["noise"]
    told = [f"The machine was {100 * noise['before']['busy_share']:.1f} % busy before it"]
    during = noise.get("during") or {}
    share = during.get("neighbour_share")
    told += [f"other programs took {100 * share:.1f} % during it"] if share is not None else []
    stolen = during.get("stolen_seconds")
    told += [f"the hypervisor took {stolen:.2f} s"] if stolen else []
    return f"{', '.join(told)}. Image {recorded['image']['tag']}."
