"""Counts of results of claims: how many have each verdict, are as large as printed, or are not robust."""

from collections.abc import Mapping

import pandas as pd

from plimsoll.claims import verdicts


def fragile(results: list[dict]) -> int:
    """Return how many results are decided and not robust to the number of claims."""
    return sum(map(is_fragile, results))


def is_fragile(result: Mapping) -> bool:
    """Return whether a claim is decided and not robust to the number of claims."""
    return result.get("robust") is False


def without_repeats(results: list[dict]) -> list[dict]:
    """Return the results without those that repeat another one of them.

    A result repeats another one if it has the same sentence (`same_as`), or if it rests only on comparisons of that one
    (`counted_in`). The latter can be the case if it was transferred to another setting or decided in part. A claim of a
    measured study counts even if the claim that it repeats is of a study that was not measured.
    """
    there = {result["id"] for result in results}
    measured = {result["id"] for result in results if result["verdict"] != verdicts.UNAVAILABLE}
    return [
        result
        for result in results
        if not (measured if result["id"] in measured else there) & {result["same_as"], result.get("counted_in")}
    ]


def differing(results: list[dict]) -> list[tuple[dict, dict]]:
    """Return (repetition, first result) of each sentence that repeats another one, if both were tested and have other
    verdicts."""
    by_id = {result["id"]: result for result in results}
    pairs = [(result, by_id[result["same_as"]]) for result in results if result["same_as"] in by_id]
    return [
        (one, first)
        for one, first in pairs
        if one["verdict"] != first["verdict"] and one["comparisons"] and first["comparisons"]
    ]


def summarise(results: list[dict]) -> list[dict]:
    """Return one row per study and research question: the number of `counted` claims with each verdict, their sizes,
    and the number of fragile ones."""
    rows = []
    table = pd.DataFrame(without_repeats(results))
    for (study, question), group in table.groupby(["study", "question"], sort=True):
        counts = group["verdict"].value_counts()
        rows.append(
            {
                "study": study,
                "question": question,
                "findings": len(group),
                **{v: int(counts.get(v, 0)) for v in verdicts.VERDICTS},
                **sizes(group.to_dict("records")),
                "fragile": fragile(group.to_dict("records")),
            }
        )
    return rows


def sizes(results: list[dict]) -> dict[str, int]:
    """Return the counts of the second answer, about the size, over the reproduced claims.

    `sized` is how many of these print a size, `as_large` how many of those are as large as printed, and `in_part` how
    many are reproduced in part.
    """
    reproduced = [result for result in results if result["verdict"] == verdicts.REPRODUCED]
    sized = [result["size"] for result in reproduced if result.get("size")]
    in_part = sum(result["in_part"] for result in reproduced)
    return {"sized": len(sized), "as_large": sized.count(verdicts.AS_LARGE), "in_part": in_part}
