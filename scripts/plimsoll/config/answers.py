"""Answers to a study's question, as its file has them (`answer`, docs/reference/meanings.yaml): one, or a list of several."""

from collections.abc import Mapping

from plimsoll.design import Design, Refer
from plimsoll.errors import PlimsollError, quote

# What a recommendation rests on: the ratios to the answer's baseline, or those of its steps.
BASELINE, STEPS = "baseline", "steps"


def of_study(study: Mapping) -> list[dict]:
    """Return the answers of a study, each with its `name`.

    The name is empty where a study has one answer without a name.
    """
    given = study["answer"]
    return given if isinstance(given, list) else [{"name": "", **given}]


def rows_of(answer: Mapping) -> list[dict[str, list[str]]]:
    """Return the mappings of factors to levels whose combinations are an answer's rows."""
    given = answer["rows"]
    return given if isinstance(given, list) else [given]


def levels_of(answer: Mapping) -> dict[str, list[str]]:
    """Return every level of each factor that an answer names in its rows, or in common for all rows (`scope`, `each`)."""
    return _together(answer.get("scope", {}), answer.get("each", {}), *rows_of(answer))


def _together(*mappings: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return every level of each factor in these mappings."""
    known: dict[str, dict[str, None]] = {}
    for mapping in mappings:
        for factor, levels in mapping.items():
            known.setdefault(factor, {}).update(dict.fromkeys(levels))
    return {factor: list(levels) for factor, levels in known.items()}


def check(study: dict, source: str, design: Design, refer: Refer) -> None:
    """Raise PlimsollError, naming `source` and the key, if an answer of the study names something wrongly.

    That is a metric, factor or level that is not there, a name that two answers have, or rows that do not have the same
    factors.
    """
    seen = set()
    for number, answer in enumerate(of_study(study)):
        key = f"answer.{number}" if isinstance(study["answer"], list) else "answer"
        if answer["name"] in seen:
            raise PlimsollError(
                f"{source}: {key}.name: two answers have the name {quote(answer['name'])}. Give each a name of its own."
            )
        seen.add(answer["name"])
        for part, levels in _named(answer):
            refer(f"{key}.{part}", list(levels), list(design.check.NAMED))
        factors = [sorted(rows) for rows in rows_of(answer)]
        if any(other != factors[0] for other in factors):
            told = "; ".join(dict.fromkeys(", ".join(map(quote, names)) for names in factors))
            raise PlimsollError(
                f"{source}: {key}.rows: the rows name different factors: {told}. Name the same factors in all of them."
            )
        _check_names(study, answer, key, design, refer)


def _named(answer: Mapping) -> list[tuple[str, Mapping]]:
    """Return every mapping of factors to levels in an answer, with its key."""
    sides = [(part, answer.get(part, {})) for part in ("baseline", "scope", "each")]
    return [*(("rows", rows) for rows in rows_of(answer)), *sides]


def _check_names(study: dict, answer: dict, key: str, design: Design, refer: Refer) -> None:
    """Check metrics, factors and levels of one answer, which names levels as a claim does."""
    refer(f"{key}.metrics", answer["metrics"], list(study["metrics"]))
    for part, levels in _named(answer):
        design.check.claim(
            study,
            {"scope": levels},
            lambda named, *known, part=part: refer(f"{key}.{part}{named.removeprefix('scope')}", *known),
        )
    if "steps" in answer:
        refer(f"{key}.steps", [answer["steps"]], [factor for factor, levels in answer["rows"].items() if len(levels) > 1])
    known = levels_of(answer)
    for part in ("notes", "needs"):
        for factor, named in answer.get(part, {}).items():
            refer(f"{key}.{part}", [factor], list(known))
            refer(f"{key}.{part}.{factor}", list(named), known[factor])
    _check_recommendation(answer, f"{key}.recommend", refer)


def _check_recommendation(answer: dict, key: str, refer: Refer) -> None:
    """Check the levels that a recommendation names, which are those of rows, and that its steps are there."""
    rules = answer.get("recommend", {})
    if rules.get("compare") == STEPS:
        refer(f"{key}.compare", [STEPS], [STEPS if "steps" in answer else BASELINE])
    known = _together(*rows_of(answer))
    named = {"rows": rules.get("rows", {}), **{f"groups.{name}": levels for name, levels in rules.get("groups", {}).items()}}
    for part, levels_of_part in named.items():
        refer(f"{key}.{part}", list(levels_of_part), list(known))
        for factor, levels in levels_of_part.items():
            refer(f"{key}.{part}.{factor}", levels, known[factor])
