"""Describe comparisons in words: how large the effects are, and what would decide an undecided claim.

All functions are pure.
"""

from collections.abc import Callable

import pandas as pd

from plimsoll import spelling
from plimsoll.analysis import blocks
from plimsoll.claims import decision_cost, quantities, verdicts
from plimsoll.claims.quantities.base import RATIO
from plimsoll.pages.answer_words import not_in
from plimsoll.pages.formats import (
    COARSEST,
    FACTOR,
    MINUS,
    WIDEST,
    bounded,
    capital,
    duration,
    factor,
    interval,
    missing,
    p_value,
    percent,
    significant,
)
from plimsoll.planning import precision
from plimsoll.planning.availability import TOO_SHORT
from plimsoll.planning.forecasts import GivenTime

# The profile that make takes by default.
USUAL_PROFILE = "quick"
TOO_FEW = "none: too few"
NOT_SAID = "The paper does not say how this was arranged, so it was measured in each way."
# Words for a claim's verdict in some arrangements of what the paper leaves open.
IN_ARRANGEMENTS = {
    verdicts.REPRODUCED: "holds with",
    verdicts.CONTRADICTED: "is contradicted with",
    verdicts.INCONCLUSIVE: "is open with",
    verdicts.NOT_TESTABLE: "is not asked with",
}
FRAGILE = "not robust to the number of claims"
# Words for how our interval relates to the paper's size (claims.verdicts.size).
AGAINST_PAPER = {
    verdicts.SMALLER: "smaller",
    verdicts.LARGER: "larger",
    verdicts.OPPOSITE: "of the other sign",
    verdicts.UNCLEAR: verdicts.UNCLEAR,
}


def quantity_of(claim: dict, row: dict) -> str | None:
    """Return the quantity that a comparison of a claim is of. If the claim has parts, this is the quantity of its part."""
    parts, number = claim.get("parts"), row.get("part")
    return (parts[int(number) - 1] if parts and not missing(number) else claim).get("quantity")


def asked_in_part(result: dict) -> str:
    """Return sentences on a claim that is decided in part; empty for any other claim.

    They name the parts that could be tested, which the verdict is on, and the asides that are not reproduced. They also
    say in which arrangements the claim is decided, and in which it is open.
    """
    if not result["in_part"]:
        return ""
    if not result["parts"]:
        return by_arrangement(result)
    told = [part for part in result["parts"] if part["verdict"] != verdicts.NOT_TESTABLE]
    but = [part for part in told if part.get("aside") and part["verdict"] != verdicts.REPRODUCED]
    asked = "; ".join(f"“{part['says']}”" for part in told if part not in but)
    aside = "; ".join(f"“{part['says']}” is {part['verdict']}" for part in but)
    told = [f"Asked here: {asked}.", f"An aside: {aside}." if aside else "", by_arrangement(result)]
    return " ".join(filter(None, told))


def kind(claim: dict) -> str:
    """Return what the effects of a claim are, in words."""
    return quantities.find(claim.get("quantity")).effect_in_words


def relative(claim: dict) -> bool:
    """Return whether a claim's effects are relative differences, which have a place on a strip."""
    return quantities.find(claim.get("quantity")).scale == RATIO


def shower(claim: dict) -> Callable[[float], str]:
    """Return the function that prints an effect of a claim."""
    return SHOWN[quantities.find(claim.get("quantity")).shown_as]


def signed(value: float) -> str:
    """Return a difference with its sign and three significant digits."""
    return "" if missing(value) else f"{value:+.3g}".replace("-", MINUS)


def points(value: float) -> str:
    """Return a difference of shares in percentage points."""
    return "" if missing(value) else f"{signed(100 * value)} points"


# Functions that print effects, and differences of two effects, by what their quantity names
# (plimsoll.claims.quantities.base).
SHOWN = {"percent": percent, "points": points, "number": signed, "share": significant, "odds": percent}


def effects(claim: dict, rows: list[dict]) -> str:
    """Return the range of a claim's effects for each metric. `rows` are the claim's comparisons.

    Metrics differ in scale and direction, so one range over all of them would say nothing. Parts with different
    quantities follow one after the other.
    """
    told = [_of_quantity(one, own) for one, own in _by_quantity(claim, rows)]
    return "; ".join(filter(None, told)) or "no effect could be estimated"


def _by_quantity(claim: dict, rows: list[dict]) -> list[tuple[dict, list[dict]]]:
    """Return the comparisons grouped by quantity, each group with the claim as one of that quantity."""
    groups: dict[str | None, list[dict]] = {}
    for row in rows:
        groups.setdefault(quantity_of(claim, row), []).append(row)
    return [({**claim, "quantity": quantity}, own) for quantity, own in groups.items()]


def _of_quantity(claim: dict, rows: list[dict]) -> str:
    """Return the ranges of effects that all have the claim's quantity; empty without effects."""
    by_metric: dict[str, list[float]] = {}
    for row in rows:
        if not missing(row.get("effect")):
            by_metric.setdefault(row["label"], []).append(row["effect"])
    if not by_metric:
        return ""
    show = shower(claim)
    ranges = {label: value_range(min(values), max(values), show) for label, values in by_metric.items()}
    if len(ranges) == 1:
        return f"{kind(claim)}: {next(iter(ranges.values()))}"
    return f"{kind(claim)}: " + "; ".join(f"{label} {text}" for label, text in ranges.items())


def one_scale(show: Callable[[float], str], compared: dict) -> Callable[[float], str]:
    """Return the function that prints an effect and its interval: all three as factors if one is too large for percent."""
    large = any(not missing(compared[key]) and compared[key] > FACTOR for key in ("effect", "high"))
    return factor if show is percent and large else show


def estimate(compared: dict, show: Callable[[float], str]) -> str:
    """Return an effect with its interval as text. `show` prints the claim's effects.

    If the ends of the interval of a ratio are more than a factor of WIDEST apart, only the end that says something is given.
    """
    low, high = compared["low"], compared["high"]
    if show is percent and not missing(low) and not missing(high) and 1 + high > WIDEST * (1 + low):
        return f"at least {percent(low)}" if low > 0 else f"at most {percent(high)}" if high < 0 else "too few runs to tell"
    return interval(compared["effect"], low, high, one_scale(show, compared))


def value_range(least: float, most: float, show: Callable[[float], str]) -> str:
    """Return a range as text, with one scale for both ends. A factor beside a percentage cannot be compared at a glance."""
    if show is percent and most > FACTOR:
        show = bounded
    first, last = show(least), show(most)
    return first if first == last else f"{first.removesuffix(' points')} to {last}"


def size(claim: dict) -> str:
    """Return a sentence on how our effect compares with the size that the paper gives; empty if the paper gives none."""
    paper, ours = claim.get("paper_magnitude"), claim.get("size")
    if not paper or paper.get("low") is None or not ours:
        return ""
    low, high = percent(paper["low"]), percent(paper["high"])
    said = low if low == high else f"{low} to {high}"
    if ours == verdicts.AS_LARGE:
        return f"The paper says {said}; ours is as large (between half and twice of it)."
    # A claim of a bound can hold, and so be reproduced, by an effect of the other sign.
    only = claim["verdict"] == verdicts.REPRODUCED and ours != verdicts.OPPOSITE
    return f"{'The direction only: the' if only else 'The'} paper says {said}; ours is {AGAINST_PAPER[ours]}."


def on_the_whole(claim: dict) -> str:
    """Return a sentence on the average of a claim's comparisons; empty if the claim has no average."""
    whole = claim.get("whole")
    if not whole or whole["cells"] < 2:
        return ""
    effect = estimate(whole, shower(claim))
    # An average of unpaired comparisons has a test of its own, and no blocks.
    over = f"of at least {whole['n']} runs of each side" if whole.get("test") else f"over {whole['n']} blocks"
    return f"On the whole: {effect}, the average of {whole['cells']} comparisons {over}{_votes(whole)}."


def _votes(whole: dict) -> str:
    """Return how an average weights its comparisons, by benchmarks and by metrics of one run; empty if they count alike."""
    benchmarks, runs = (whole.get(key, whole["cells"]) for key in ("benchmarks", "runs"))
    shares = [f"each of {benchmarks} benchmarks has one vote"] if 1 < benchmarks < whole["cells"] else []
    shares += ["metrics of one run share theirs"] if runs < whole["cells"] else []
    return f" ({', and '.join(shares)})" if shares else ""


def overall_bound(claim: dict) -> str:
    """Return a sentence on what holds for all comparisons together of an open claim, or of its part; empty if not known."""
    known = claim.get("bound")
    if claim["verdict"] != verdicts.INCONCLUSIVE or not known:
        return ""
    show = shower(claim)
    ends = (("lower", "lower", -1), ("upper", "higher", 1))
    told = [
        f"none is {word} by more than {_unsigned(show(known[end]))}"
        if sign * known[end] > 0
        else f"all are {'higher' if sign < 0 else 'lower'} by at least {_unsigned(show(known[end]))}"
        for end, word, sign in ends
        if not missing(known[end])
    ]
    return f"For all {known['comparisons']} comparisons together (95 %): {', and '.join(told)}."


def small_difference(claim: dict) -> str:
    """Return a sentence on an open claim, or its part, whose differences are shown to be small; empty for any other."""
    margin = claim.get("alike")
    if claim["verdict"] != verdicts.INCONCLUSIVE or missing(margin):
        return ""
    within = _unsigned(shower(claim)(margin))
    return f"There is no difference of {within} or more here (two one-sided tests, 5 %). A smaller one is not excluded."


def _unsigned(told: str) -> str:
    return told.lstrip("+" + MINUS)


def fragile(claim: dict) -> str:
    """Return a sentence on a decided claim with its q; empty for a claim without one."""
    if missing(claim.get("q")) or claim["verdict"] not in verdicts.DECIDED:
        return ""
    return f"q among the study's claims: {p_value(claim['q'])}{'' if claim['robust'] else f', so it is {FRAGILE}'}."


def by_arrangement(claim: dict) -> str:
    """Return sentences on the result in each arrangement of what the paper leaves open, for the claim or each of its parts.

    They are empty if the arrangement makes no difference here.
    """
    parts = [f"“{part['says']}” {told}." for part in claim["parts"] if (told := conditions(part))]
    told = [f"It {whole}."] if (whole := conditions(claim)) else []
    return " ".join([NOT_SAID, *told, *parts]) if told or parts else ""


def conditions(claim: dict) -> str:
    """Return with which arrangements of what the paper leaves open a claim, or its part, holds, is contradicted, or is open.

    Each is given with its effect. The text is empty if no arrangement makes a difference.
    """
    arrangements = claim.get("arrangements") or {}
    by_verdict = {
        verdict: [_arrangement(claim, words, one) for words, one in arrangements.items() if one["verdict"] == verdict]
        for verdict in IN_ARRANGEMENTS
    }
    return "; ".join(f"{IN_ARRANGEMENTS[verdict]} {' and with '.join(told)}" for verdict, told in by_verdict.items() if told)


def _arrangement(claim: dict, words: str, one: dict) -> str:
    """Return an arrangement with its average, with the range of its effects, or with the reason why it is left out."""
    show = shower(claim)
    if whole := one.get("whole"):
        return f"{words} ({estimate(whole, show)})"
    if not missing(one.get("effect_least")):
        return f"{words} ({value_range(one['effect_least'], one['effect_most'], show)})"
    return f"{words} ({one['reason']})" if one.get("reason") else words


def rests_on(claim: dict, rows: list[dict]) -> str:
    """Return how many runs of each side the verdict on a claim rests on.

    They are the runs of its average, or of the comparisons that decide it. For an open claim they are those of all
    comparisons.
    """
    if claim["holds"] == verdicts.AVERAGE and claim["whole"]:
        return f"n = {int(claim['whole']['n'])}"
    is_open = claim["verdict"] == verdicts.INCONCLUSIVE
    deciding_rows = rows if is_open else [row for row in rows if row["verdict"] == claim["verdict"]]
    numbers = [row["n"] for row in deciding_rows if row["n"]] or [row["n"] for row in rows if row["n"]]
    return f"n = {_numbers(numbers)}" if numbers else verdicts.UNMEASURED


def unobserved_neighbours(claim: dict) -> str:
    """Return a sentence on the claim's cells whose neighbours could not be observed; empty if all could be."""
    if not claim.get("unwatched"):
        return ""
    cells = f"{claim['unwatched']:g} of the cells that it is about"
    return f"In {cells}, what neighbours used could not be told apart from the runs, so that none was left out for it."


def decision_hints(claim: dict, rows: list[dict], given: GivenTime | None = None) -> list[str]:
    """Return sentences on an inconclusive claim: what its blocks could have found, and if more repetitions would decide it.

    `given` is the time that was given to the study. A claim that only the cells of another study answer has none: its
    runs are there.
    """
    if claim["verdict"] != verdicts.INCONCLUSIVE or not claim["decide"]:
        return []
    still_open = decision_cost.still_open(claim, rows)
    if claim["holds"] == verdicts.AVERAGE and claim["whole"]:
        # The average is open, whatever the verdicts on its comparisons are.
        still_open = [{**claim["whole"], "test": "", "verdict": claim["verdict"]}]
    could_find = [_could_find(one, own) for one, own in _by_quantity(claim, still_open) or [(claim, [])]]
    # Parts of one claim may give the same sentence.
    told = (small_difference(claim), *could_find, *_would_take(claim, still_open, given))
    return [sentence for sentence in dict.fromkeys(told) if sentence]


def _could_find(claim: dict, rows: list[dict]) -> str:
    known = [row for row in rows if not missing(row.get("detectable"))]
    if not known:
        few = [row for row in rows if str(row["test"]).startswith(TOO_FEW)]
        if few:
            what = "1 comparison has" if len(few) == 1 else f"{len(few)} comparisons have"
            return f"Not decided by these runs: {what} fewer than {blocks.SMALLEST} runs of a side."
        return "Not decided by these runs: no significant difference, and for this test none can be excluded."
    coarse = [row for row in known if row["detectable"] > abs(row["margin"])]
    if not coarse:
        margins = _between(claim, [abs(row["margin"]) for row in known])
        return f"Not decided by these runs: the interval reaches over the margin of {margins}."
    runs = _numbers([row["n"] for row in coarse])
    sizes = _between(claim, [min(row["detectable"], COARSEST) for row in coarse])
    if min(row["detectable"] for row in coarse) > COARSEST:
        return f"Not decided by these runs: {runs} runs of each side are too few to tell even a difference of a factor of ten."
    margins = _between(claim, [abs(row["margin"]) for row in coarse])
    sizes += " and more" if max(row["detectable"] for row in coarse) > COARSEST else ""
    sizes += ", depending on the comparison" if " to " in sizes else ""
    return f"Not decided by these runs: {runs} runs of each side can find differences of {sizes}, and the margin is {margins}."


def _between(claim: dict, sizes: list[float]) -> str:
    """Return the smallest and the largest of sizes that have no sign, as text."""
    if quantities.find(claim.get("quantity")).printed:
        return f"a factor of {1 + max(sizes):.3g} in odds"
    return value_range(min(sizes), max(sizes), shower(claim)).replace("+", "")


def _would_take(claim: dict, rows: list[dict], given: GivenTime | None) -> list[str]:
    """Return sentences on whether more repetitions would decide a claim, and on what they would take.

    What several claims share is a sentence of its own, so that a page can say it once. The numbers are those of
    plimsoll.claims.decision_cost.
    """
    decide = claim["decide"]
    if decide["undecidable"] == TOO_SHORT:
        return [f"{capital(not_in(given))}: `{given.command}` measures more." if given else f"{capital(TOO_SHORT)}."]
    if decide["undecidable"]:
        return [f"Undecidable here: {decide['undecidable']}.", _arithmetic(decide), _some(rows)]
    made = "" if claim["needed"] > claim["n_most"] else ", though as many as were made should have been enough"
    return [
        f"About {decide['repetitions']} repetitions should decide it{made}: {decide['runs']} more runs of its "
        f"{decide['cells']} cells, which take about {duration(decide['seconds'])}. The command repeats whatever in the study "
        f"is as uncertain, in at most {duration(decide['all_seconds'])}:"
    ]


def _arithmetic(decide: dict) -> str:
    """Return a sentence on the runs and the time that would decide a claim; empty if they cannot be estimated."""
    if not decide.get("repetitions"):
        return ""
    what = f"{decide['runs']:,} more runs of its {decide['cells']} cells"
    return f"{decide['repetitions']:,} repetitions are {what}, which take about {duration(decide['seconds'])}."


def _some(rows: list[dict]) -> str:
    """Return a sentence on the open comparisons that could be decided if a claim cannot; empty if none could, or all."""
    within = sum(not missing(row.get("needed")) and row["needed"] <= precision.MAXIMUM for row in rows)
    if not 0 < within < len(rows):
        return ""
    return f"{spelling.command('precise')} would decide {within} of the {len(rows)} open comparisons."


def command(claim: dict) -> str:
    """Return the command that should decide a claim; empty if none does."""
    decide = claim.get("decide")
    if not decide or decide["undecidable"]:
        return ""
    profile = None if decide["profile"] == USUAL_PROFILE else decide["profile"]
    width = None if decide["width"] == precision.WIDTH else f"{decide['width']:g}"
    return spelling.command("precise", claim["study"], profile=profile, width=width, maximum=decide["repetitions"])


def _numbers(values: list[int]) -> str:
    least, most = int(min(values)), int(max(values))
    return str(least) if least == most else f"{least} to {most}"


def by_claim(comparisons: pd.DataFrame) -> dict[str, list[dict]]:
    """Return the comparisons by claim: contradicted ones first, then undecided ones, and larger effects before smaller."""
    first = [verdicts.CONTRADICTED, verdicts.INCONCLUSIVE, verdicts.REPRODUCED, verdicts.UNMEASURED]
    ranked = comparisons.assign(rank=comparisons["verdict"].map(first.index), size=-comparisons["effect"].abs())
    ranked = ranked.sort_values(["rank", "size"], kind="stable").drop(columns=["rank", "size"])
    return {claim: group.to_dict("records") for claim, group in ranked.groupby("claim")}
