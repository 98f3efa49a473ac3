"""Reading the sessions of a study, and what they show together, as the pages report it."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll.analysis import blocks, collect
from plimsoll.claims import book, encodings, evaluate, result_counts, session_verdicts, verdicts
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan
from plimsoll.measuring import system
from plimsoll.planning import sessions
from plimsoll.planning.sessions import Session

# Level of the test whether sessions differ by more than their blocks: by chance one comparison in twenty is below it.
DIFFER = 0.05


class SessionSummary(NamedTuple):
    """What the sessions of a study show together.

    `told` is what the pages report of the sessions, and `means` has each comparison's mean over sessions. `results` are
    the results of claims from all sessions together, and `comparisons` are what these rest on.
    """

    told: dict
    means: pd.DataFrame
    results: list[dict]
    comparisons: pd.DataFrame


def summary(study: Study, plan: Plan, results: Path) -> SessionSummary:
    """Return what the sessions of a study show, from its results folder and its earlier sessions, both below `results`.

    `told` has `sessions`: each with its number, when it began, how many claims it decided, and why it is `apart` from
    the newest. Sessions that are apart do not count. `findings` has the verdicts on each claim by session, and `counts`
    how many claims had each outcome. `over` is what several sessions decide together (None for one session), and
    `metrics` is how much sessions differ. Each result lists its verdicts in the single `sessions`, the oldest first.
    """
    every = sessions.of_study(results, study["id"])
    described = [_described(one, every[-1], plan) for one in every]
    used = [one for one, about in zip(every, described, strict=True) if not about["apart"]]
    each = [_verdicts(one) for one in used]
    rows = session_verdicts.verdicts_of(each)
    judged, comparisons = _judged(study, plan, used)
    for result in judged:
        own = [one.get(result["id"], {}) for one in each]
        result["sessions"] = [one.get("verdict", "") for one in own]
        result |= encodings.combined_notes(own)
    told = {"sessions": described, "findings": rows, "counts": {}, "over": None, "metrics": []}
    if len(used) == 1:
        return SessionSummary(told, _means([]), judged, comparisons)
    means = _means([pd.read_csv(one.folder / "comparisons.csv") for one in used])
    counts = pd.Series([row["became"] for row in rows], dtype=object).value_counts().to_dict()
    told |= {"counts": counts, "metrics": _metrics(means), "over": _over(judged, len(used))}
    return SessionSummary(told, means, judged, comparisons)


def read(path: Path) -> dict:
    """Return the part `told` of a `summary`, from the file that the stage `sessions` wrote."""
    return json.loads(path.read_text())


def _described(session: Session, newest: Session, plan: Plan) -> dict:
    """Return what the pages report of one session. It has no counts if the session is apart from the newest."""
    noted = sessions.read(session.folder)
    about = {"number": session.number, "fresh": noted.get("fresh", {}), "boot": _boot(session, noted)}
    if apart := sessions.apart(session, newest):
        return {**about, "apart": apart, "began": noted.get("begun"), "settled": None, "testable": None, "runs": None}
    runs = collect.table(session.folder / "runs.csv", plan["factors"])
    began = float(runs["started"].min()) if len(runs) and runs["started"].notna().any() else noted.get("begun")
    return {**about, "apart": "", "began": began, **_counts(list(_verdicts(session).values())), "runs": len(runs)}


def _counts(results: list[dict]) -> dict[str, int]:
    """Return how many claims were decided (`settled`), and how many could be tested."""
    judged = result_counts.without_repeats(results)
    decided = sum(result["verdict"] in verdicts.DECIDED for result in judged)
    return {"settled": decided, "testable": decided + sum(result["verdict"] == verdicts.INCONCLUSIVE for result in judged)}


def _boot(session: Session, noted: dict) -> str:
    """Return the boot after which a session was measured. It is empty if that is unknown or if the host was booted in between.

    Nothing is noted when the first session begins: only the boot of its last runs is known.
    """
    last = system.read(session.folder)
    boots = {noted.get("boot", ""), last["seen"]["boot"] if last else ""} - {""}
    return boots.pop() if len(boots) == 1 else ""


def _verdicts(session: Session) -> dict[str, dict]:
    return {result["id"]: result for result in json.loads((session.folder / "claims.json").read_text())}


def _means(comparisons: list[pd.DataFrame]) -> pd.DataFrame:
    return session_verdicts.means(comparisons) if comparisons else pd.DataFrame(columns=list(session_verdicts.COLUMNS))


def _judged(study: Study, plan: Plan, used: list[Session]) -> tuple[list[dict], pd.DataFrame]:
    """Return the results of claims from all sessions together, and their comparisons. If there is one session, its own
    are returned."""
    if len(used) == 1:
        folder = used[0].folder
        return list(_verdicts(used[0]).values()), pd.read_csv(folder / "comparisons.csv")
    tables = [[collect.table(one.folder / name, plan["factors"]) for one in used] for name in ("observations.csv", "runs.csv")]
    measured = session_verdicts.pooled_observations(study, plan, *tables)
    level = session_verdicts.level(study["alpha"], len(used))
    return evaluate.evaluate(book.load(study["id"]), measured, study["alpha"], level)


def _over(results: list[dict], number: int) -> dict:
    """Return how many claims `number` sessions decide together, the verdict on each, and whether the session is the unit."""
    return {
        **_counts(results),
        "by_session": number >= blocks.SMALLEST,
        "verdicts": {result["id"]: result["verdict"] for result in results},
    }


def _metrics(compared: pd.DataFrame) -> list[dict]:
    """Return one row per metric, over its comparisons: how much sessions differ, beside what is expected from their blocks."""
    rows = []
    once = compared.drop_duplicates(["metric", "metric_b", *session_verdicts.CELL_COLUMNS])
    for label, group in once.groupby("label", sort=True):
        rows.append(
            {
                "label": label,
                "comparisons": len(group),
                "within": float((group["within"] ** 2).mean() ** 0.5),
                "between": float((group["between"] ** 2).mean() ** 0.5),
                "differ": int((group["p_sessions"] < DIFFER).sum()),
                "keep": int(group["keeps_sign"].sum()),
            }
        )
    return rows
