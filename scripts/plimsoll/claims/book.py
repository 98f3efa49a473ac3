"""The claims of the papers: read and checked, with their references to each other and to the studies resolved."""

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path

from plimsoll import paths, spelling
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, quote

CLAIMS = paths.CONFIG / "claims"
# Key by which the sides of a claim can differ in the metric, as they differ in a factor.
METRIC = "metric"
# What a printed size is relative to, mostly.
OF_B = "(a - b) / b"
# What is expected if a difference downwards is limited by the margin.
LOSS_BOUNDED = ("not_lower", "no_difference")
# Keys of a claim that are only for readers. All other keys decide its verdict and form its encoding.
FOR_READERS = frozenset(
    {
        *("section", "shown_in", "question", "kind", "statement", "says", "note", "threshold", "hangs_on", "vague"),
        *("p_value", "paper_check", "paper_consistent", "same_as", "answered_by"),
    }
)


def names() -> list[str]:
    """Names of the studies that have a file of claims."""
    return sorted(path.stem for path in CLAIMS.glob("*.yaml"))


def load(study: str) -> list[dict]:
    """Return the claims of a study in the paper's order, as a copy.

    Raises PlimsollError if the file does not fit its schema or names another study. Other causes are an id that is
    given twice or belongs to another study, and a question that the file does not spell out.
    """
    source, document = f"config/claims/{study}.yaml", _document(study)
    if document["study"] != study:
        raise PlimsollError(
            f"{source}: study: {quote(document['study'])} is not the file's name, {study!r}. Give both the same name."
        )
    seen = set()
    for claim in document["claims"]:
        if not claim["id"].startswith(f"{study}-") or claim["id"] in seen:
            raise PlimsollError(
                f"{source}: the id {claim['id']} belongs to two claims, or does not begin with {study}-. Give the "
                "claim an id of its own that does."
            )
        if claim["question"] not in document["questions"]:
            known = ", ".join(document["questions"])
            raise PlimsollError(
                f"{source}: {claim['id']}: question: {claim['question']} is not one of the file's questions ({known})."
            )
        seen.add(claim["id"])
    # The document is cached for all callers, so each of them gets a copy.
    return deepcopy(document["claims"])


def questions(study: str) -> dict[str, str]:
    """Return the study's research questions by the name that its claims use (RQ1), in the paper's words where it has some."""
    return _document(study)["questions"]


def words(study: str) -> dict[str, str]:
    """Return the quantities that a study's claims name and that are not among its metrics, each with an explanation."""
    return _document(study).get("words", {})


def _document(study: str) -> dict:
    return _read(CLAIMS / f"{study}.yaml")


@cache
def _read(path: Path) -> dict:
    return yaml_files.load(path, "claims")


def load_all() -> dict[str, list[dict]]:
    """Return the claims of every study, by study.

    Raises PlimsollError if `same_as` names a claim that does not exist or that itself repeats another claim. It is also
    raised if `answered_by` names a claim that does not exist.
    """
    books = {study: load(study) for study in names()}
    first = {claim["id"]: claim for claims in books.values() for claim in claims}
    for claim in first.values():
        source, same = f"config/claims/{claim['id'].rpartition('-')[0]}.yaml", claim.get("same_as")
        answers = {one["answered_by"] for one in (claim, *parts_of(claim)) if "answered_by" in one}
        if unknown := sorted(answers - set(first)):
            raise PlimsollError(
                f"{source}: {claim['id']}: answered_by: {unknown[0]} is not a claim. Write the id of a claim of config/claims/."
            )
        if same and (same not in first or "same_as" in first[same]):
            raise PlimsollError(
                f"{source}: {claim['id']}: same_as: {same} is not a claim, or repeats another claim itself. Write "
                "the id of the claim that both repeat."
            )
    return books


def parts_of(claim: dict) -> list[dict]:
    """Return the assertions (`parts`) of a claim as claims. A part takes the keys that it does not have from the claim."""
    own = _without(claim, "parts", "given")
    return [{**own, **part} for part in claim.get("parts", [])]


def condition_of(claim: dict) -> dict | None:
    """Return what must be shown before a claim is tested (`given`) as a claim; None if nothing must."""
    return {"id": claim["id"], "needs": [], **claim["given"]} if "given" in claim else None


def assertions_of(claim: dict) -> list[dict]:
    """Return a claim, its parts and its condition, each as a claim."""
    condition = condition_of(claim)
    return [claim, *parts_of(claim), *([condition] if condition else [])]


def with_condition_as_part(claim: dict) -> dict:
    """Return a claim that has a condition as a sentence whose last part is the condition."""
    whole = {key: value for key, value in claim.items() if key in FOR_READERS | {"id", "metrics", "needs"}}
    parts = parts_of(claim) or [{"says": claim["statement"], **_without(claim, "given")}]
    return {**whole, "parts": [*parts, condition_of(claim)]}


def _without(claim: dict, *keys: str) -> dict:
    return {key: value for key, value in claim.items() if key not in keys}


def main(parts: list[dict]) -> list[dict]:
    """Return the parts that decide the verdict on a sentence: all parts except its asides."""
    return [part for part in parts if not part.get("aside")]


def metrics_of(claim: dict) -> set[str]:
    """Return the names of all metrics of a claim, its parts and its condition."""
    every = assertions_of(claim)
    of_sides = (levels.get(METRIC, []) for one in every for _, levels in levels_of(one))
    return {name for names in (*(one["metrics"] for one in every), *of_sides) for name in names}


def digest(claim: dict) -> str:
    """SHA-256 of a claim's encoding: of all keys that decide its verdict, without the words for readers."""
    return hashlib.sha256(json.dumps(_encoding(claim), sort_keys=True).encode()).hexdigest()


def _encoding(claim: dict) -> dict:
    own = _without(claim, *FOR_READERS)
    condition = {"given": _encoding(claim["given"])} if "given" in claim else {}
    return {**own, **condition, "parts": [_encoding(part) for part in claim.get("parts", [])]}


def levels_of(claim: dict) -> list[tuple[str, dict]]:
    """Return every mapping of levels in a claim, with its key: sides, scope, exceptions, and the entries of an order."""
    sides = [(key, claim[key]) for key in ("a", "b", "scope") if key in claim]
    return sides + [(key, levels) for key in ("except", "except_b", "order") for levels in as_list(claim, key)]


def as_list(claim: dict, key: str) -> list:
    """Return the value of a claim's key as a list, whether it is one mapping of levels or a list of them. Without the
    key the list is empty."""
    given = claim.get(key, [])
    return given if isinstance(given, list) else [given]


def _check_order(source: str, claim: dict) -> None:
    for entry in claim.get("order", []):
        if not isinstance(entry, dict):
            raise PlimsollError(
                f"{source}: order: {quote(entry)} is not a mapping of factors to levels. Write each entry as `factor: level`."
            )


def _check_quantity(source: str, claim: dict) -> None:
    """Raise PlimsollError if a key that a claim's quantity needs is missing or wrong.

    A claim with parts is checked part by part. An untestable claim is not checked.
    """
    from plimsoll.claims import quantities  # here: listing claims must not import NumPy

    problem = quantities.find(claim.get("quantity")).problem(claim)
    if problem and "parts" not in claim and "untestable" not in claim:
        raise PlimsollError(f"{source}: {problem}.")


def _check_margin(source: str, claim: dict) -> None:
    """Raise PlimsollError if a margin below 0, which is a difference of so much at least, does not go with a bound.

    Raise it too for a loss of 100 % or more, which no value can have: a percentage was then written in place of a share.
    A claim with parts is checked part by part.
    """
    relative = not {"parts", "untestable"} & claim.keys() and not claim.get("quantity")
    magnitude = claim.get("magnitude", {})
    sizes = [size for size in map(magnitude.get, ("low", "high")) if size is not None and magnitude["of"] == OF_B]
    if relative and (low := min(sizes, default=0)) < -1:
        raise PlimsollError(
            f"{source}: magnitude: {low:g} is a loss of {-100 * low:g} %, and nothing can lose more than 100 %. Write shares: "
            f"{low / 100:g} for {-low:g} %."
        )
    if relative and claim.get("margin", 0) >= 1 and claim.get("expected") in LOSS_BOUNDED:
        raise PlimsollError(
            f"{source}: margin: {claim['margin']:g} allows a loss of {100 * claim['margin']:g} %, and nothing can lose 100 %. "
            f"Write shares: {claim['margin'] / 100:g} for {claim['margin']:g} %."
        )
    bound = str(claim.get("expected")).startswith("not_")
    if claim.get("margin", 0) < 0 and not bound and "parts" not in claim:
        raise PlimsollError(
            f"{source}: margin: {claim['margin']} is below 0, which only `not_higher` and `not_lower` can have. Write a margin "
            "above 0."
        )


def check_against(study: dict, claims: list[dict], source: Callable[[dict], str] | None = None) -> None:
    """Raise PlimsollError if a claim names a level or a metric that its study does not know. The study must be built.

    The key `metrics` of a claim may also name one of the file's `words`. `source` says where a claim is from, for
    messages. Without it, the claims are those of config/claims.
    """
    metrics, also = list(study["metrics"]), words(study["id"]) if source is None else {}
    named = source or (lambda claim: f"config/claims/{study['id']}.yaml: {claim['id']}")
    for claim in [one for whole in claims for one in assertions_of(whole)]:
        where = named(claim)
        _check_order(where, claim)
        _check_quantity(where, claim)
        _check_margin(where, claim)
        _check_metrics(where, claim, metrics, also)
        _check_factors(where, study, claim)

        def refer(key: str, values: list[str], known: list[str], where: str = where) -> None:
            if unknown := sorted(set(values) - set(known)):
                said = ", ".join(map(quote, unknown))
                raise PlimsollError(
                    f"{where}: {key}: {said} is not a level of the study{spelling.hint(unknown[0], known)} "
                    f"({', '.join(sorted(known))})."
                )

        study.design.check.claim(study, claim, refer)


def _check_factors(source: str, study: dict, claim: dict) -> None:
    """Raise PlimsollError if a claim maps something to levels that is not a factor of the study: nothing would be
    compared by it.

    An untestable claim may name the paper's own factors.
    """
    if "untestable" in claim:
        return
    known = [METRIC, *study.design.check.NAMED]
    along = [("along.factor", [claim["along"]["factor"]])] if "along" in claim else []
    for key, named in [*levels_of(claim), *(("relative_to", levels) for levels in as_list(claim, "relative_to")), *along]:
        if unknown := [factor for factor in named if factor not in known]:
            raise PlimsollError(
                f"{source}: {key}: {quote(unknown[0])} is not a factor of the study{spelling.hint(unknown[0], known)} "
                f"({', '.join(known)})."
            )


def _check_metrics(source: str, claim: dict, metrics: list[str], also: dict[str, str]) -> None:
    """Raise PlimsollError if a claim names something that is not a metric of the study. The key `metrics` may also name
    a word of the file."""
    named = [("metrics", name, [*metrics, *also]) for name in claim["metrics"]]
    named += [("opposite", name, metrics) for name in claim.get("opposite", [])]
    named += [(f"{side}.metric", name, metrics) for side, levels in levels_of(claim) for name in levels.get(METRIC, [])]
    for key, name, known in named:
        if name not in known:
            raise PlimsollError(
                f"{source}: {key}: {quote(name)} is neither a metric of the study nor one of the file's words"
                f"{spelling.hint(name, known)}."
            )
