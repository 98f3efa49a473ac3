"""How claims are encoded, and whether that was fixed before their data: a session notes the encodings when it begins."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from plimsoll.claims import book

# Remark on a verdict whose encoding differs from the one that its session noted.
CHANGED = "its encoding changed after these runs began"
# Remark on a verdict whose session noted no encodings.
NOT_NOTED = "its encoding was not noted when these runs began, so it may have changed since"
# Key of `answered_by` that stands for the whole claim; the other keys are the numbers of its parts.
WHOLE = "0"


def of_claims(claims: Iterable[dict]) -> dict[str, str]:
    """Return the digest of each claim's encoding, by the claim's id."""
    return {claim["id"]: book.digest(claim) for claim in claims}


def with_notes(results: Sequence[dict], claims: Sequence[dict], session: Mapping) -> list[dict]:
    """Return the results of claims with what their readers must know of the claims.

    `encoding` is CHANGED if the claim's encoding differs from the one when the session began, or if the claim did not
    exist then. It is NOT_NOTED if the session noted no encodings, and empty if nothing changed. `hangs_on` is what the
    verdict depends on, in the claim's words. `answered_by` is the claim of another study that says the same, by the
    number of the part (WHOLE for all of it).
    """
    known, now = session.get("encodings"), of_claims(claims)
    return [
        {
            **result,
            "encoding": NOT_NOTED if known is None else CHANGED if known.get(claim["id"]) != now[claim["id"]] else "",
            "hangs_on": claim.get("hangs_on", ""),
            "answered_by": _answered_by(claim),
        }
        for result, claim in zip(results, claims, strict=True)
    ]


def of_metrics(metrics: Mapping[str, Mapping]) -> dict[str, str]:
    """Return the digest of what each metric of a study is, by the metric's name: all its keys without the label."""
    measured = {name: {key: value for key, value in one.items() if key != "label"} for name, one in metrics.items()}
    return {name: hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest() for name, one in measured.items()}


def with_metrics(results: Sequence[dict], claims: Sequence[dict], metrics: Mapping, session: Mapping) -> list[dict]:
    """Return the results that `with_notes` returned, with CHANGED for claims of which a metric changed since the session began.

    Sessions of older versions noted no metrics. They get no remark.
    """
    now = of_metrics(metrics)
    changed = {name for name, digest in session.get("metrics", {}).items() if now.get(name) != digest}
    return [
        {**result, "encoding": CHANGED} if changed & book.metrics_of(claim) else result
        for result, claim in zip(results, claims, strict=True)
    ]


def combined_notes(each: Sequence[Mapping]) -> dict:
    """Return what readers must know of a claim whose sessions count together. `each` has its results, the newest session last.

    The verdict rests on all sessions. It therefore gets the gravest remark on an encoding that any of them has.
    """
    remarks = {result.get("encoding") for result in each}
    newest = each[-1]
    return {
        "encoding": next((one for one in (CHANGED, NOT_NOTED) if one in remarks), ""),
        "hangs_on": newest.get("hangs_on", ""),
        "answered_by": newest.get("answered_by", {}),
    }


def _answered_by(claim: dict) -> dict[str, str]:
    numbered = [(WHOLE, claim), *((str(number), part) for number, part in enumerate(claim.get("parts", []), 1))]
    return {number: one["answered_by"] for number, one in numbered if "answered_by" in one}
