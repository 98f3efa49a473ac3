"""How claims are encoded, and whether that was fixed before their data: a session notes the encodings when it begins."""

from collections.abc import Iterable, Mapping, Sequence

from plimsoll.claims import book

# What is said of a verdict whose encoding is another one than that which its session noted.
CHANGED = "its encoding changed after these runs began"
# In what a claim is answered by: the whole of it, and not one of its parts.
WHOLE = "0"


def of(claims: Iterable[dict]) -> dict[str, str]:
    """The digest of each claim's encoding, by its id."""
    return {claim["id"]: book.digest(claim) for claim in claims}


def noted(results: Sequence[dict], claims: Sequence[dict], session: Mapping) -> list[dict]:
    """The results of claims with what their readers must know of the claims.

    `encoding` is CHANGED if the claim is encoded otherwise than when the session began, or was not there then; it is empty if
    nothing changed, or if the session noted no encodings. `hangs_on` is what the verdict hangs on, in the claim's words.
    `answered_by` is the claim of another study that asks the same, by the number of the part (WHOLE for all of it).
    """
    known, now = session.get("encodings"), of(claims)
    return [
        {
            **result,
            "encoding": CHANGED if known is not None and known.get(claim["id"]) != now[claim["id"]] else "",
            "hangs_on": claim.get("hangs_on", ""),
            "answered_by": _answered_by(claim),
        }
        for result, claim in zip(results, claims, strict=True)
    ]


def together(each: Sequence[Mapping]) -> dict:
    """What readers must know of a claim whose sessions count together, from the results of each session, the newest last.

    A verdict rests on all of them, so that it has the first remark on an encoding that any of them has.
    """
    remarks = (result.get("encoding") for result in each)
    newest = each[-1]
    return {
        "encoding": next(filter(None, remarks), ""),
        "hangs_on": newest.get("hangs_on", ""),
        "answered_by": newest.get("answered_by", {}),
    }


def _answered_by(claim: dict) -> dict[str, str]:
    numbered = [(WHOLE, claim), *((str(number), part) for number, part in enumerate(claim.get("parts", []), 1))]
    return {number: one["answered_by"] for number, one in numbered if "answered_by" in one}
