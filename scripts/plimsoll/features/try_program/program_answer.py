"""The answer about a program: one sentence per default, what to do, and files for other programs."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from plimsoll.analysis import sample_sizes
from plimsoll.config.studies import Study
from plimsoll.designs.program import effects, ladder, words
from plimsoll.designs.program.effects import CONTAINER
from plimsoll.designs.program.factors import FILES, FIRST, HOST, OTHER, REMEDY, SAME, STEPS
from plimsoll.designs.program.side_differences import COSTLY, is_costly
from plimsoll.features.try_program import folder_copy
from plimsoll.pages.formats import capital

# An interval that has 0 in it, and reaches no further than this, shows that both sides are alike.
ALIKE = 0.02
# Lines for each cost in a terminal; the page has all.
MOST_LINES = 4
PLACES = {SAME: "in one {} container", OTHER: "in two {} containers"}
POSITIVE = {"slower": "slow", "higher": "high"}


def answer(study: Study, found: pd.DataFrame) -> list[str]:
    """Return the answer in sentences: for each default what it costs, in which steps, and what an option gives back."""
    metric = study["metrics"][study["answer"]["metrics"][0]]
    [baseline] = study["answer"]["baseline"]["runtime"]
    told = [
        [*_of_default(row, metric, words.level("runtime", baseline), found), *_splitting(row.runtime, study, metric, found)]
        for row in _defaults(found, baseline).itertuples()
    ]
    return [sentence for sentences in told for sentence in sentences]


def _defaults(found: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return the comparisons of the defaults with the baseline."""
    return found[(found["stage"] == FIRST) & (found["default"] != "") & (found["against"] == baseline)]


def silent(study: Study, observations: pd.DataFrame) -> list[str]:
    """Return a sentence for each runtime of the first pass of which no run counts."""
    [baseline] = study["answer"]["baseline"]["runtime"]
    so = {baseline: "no run counts, so nothing is compared with it"}
    return [
        f"{words.level('runtime', name)}: {so.get(name, 'no run counts')}; runs.csv has the reasons."
        for name in study["experiments"][FIRST]["runtime"]
        if name not in _counted(study, observations)
    ]


def _counted(study: Study, observations: pd.DataFrame) -> set[str]:
    """Return the runtimes of the first pass that have an observation of the main metric."""
    main = study["answer"]["metrics"][0]
    return set(observations.loc[(observations["metric"] == main) & (observations["stage"] == FIRST), "runtime"])


def unanswered(study: Study, found: pd.DataFrame) -> list[str]:
    """Return the defaults whose loss is unknown: no run counts, or too few do for an interval."""
    own = _defaults(found, study["answer"]["baseline"]["runtime"][0])
    known = set(own.loc[own["low"].notna(), "runtime"])
    return [name for name in defaults(study) if name not in known]


def defaults(study: Study) -> list[str]:
    """Return the runtimes of a study that are the default of their kind."""
    return [name for name in study["experiments"][FIRST]["runtime"] if name in ladder.DEFAULTS]


def _of_default(row, metric: dict, baseline: str, found: pd.DataFrame) -> list[str]:
    name = words.level("runtime", row.runtime)
    if math.isnan(row.change) and row.n:
        return [f"{name}: {metric['label']} is not above 0 in every block, so it has no relative change."]
    if math.isnan(row.low):
        return [f"{name}: too few runs count for an answer."]
    if is_costly(row):
        first = f"{name} makes it {compared(row, metric)} {_lower(baseline)} {interval(row)}."
        return [first, *_steps(row.runtime, found), *_remedies(row.runtime, metric, found)]
    # Files that gain what the container costs leave the whole alike.
    parts = found[(found["stage"] == FIRST) & ((found["runtime"] == FILES) | (found["adds"] == CONTAINER))]
    own = [one for one in parts.itertuples() if one.runtime in (FILES, row.runtime) and is_costly(one)]
    rest = [*_steps(row.runtime, found), *_remedies(row.runtime, metric, found)] if own else []
    return [f"In {name} it is {_alike(row)}.", *rest]


def _steps(default: str, found: pd.DataFrame) -> list[str]:
    """Return the sentence that splits a default's cost over its steps; empty if the steps were not measured."""
    files = found[(found["stage"] == FIRST) & (found["runtime"] == FILES)]
    steps = found[(found["stage"] == STEPS) & (found["default"] == default)]
    if steps.empty:
        steps = found[(found["stage"] == FIRST) & (found["default"] == default) & (found["adds"] == CONTAINER)]
    own = pd.concat([files, steps])
    costly = [row for row in own.itertuples() if is_costly(row)]
    parts = [f"{amount(row)} {interval(row)} {'are' if row.runtime == FILES else 'come with'} {row.adds}" for row in costly]
    if not parts and len(own) > 1:
        parts = ["No single step was found that costs it"]
    rest = [row for row in own.itertuples() if not is_costly(row) and not math.isnan(row.low)]
    if rest and costly:
        parts.append(f"{_subject(rest)} it by {bound(max(max(abs(row.low), abs(row.high)) for row in rest))} at most")
    if parts and (unknown := [row.adds for row in own.itertuples() if math.isnan(row.low)]):
        parts.append(f"too few runs count of {', '.join(unknown)}")
    return [f"{capital('; '.join(parts))}."] if parts else []


def _subject(rest: Sequence) -> str:
    """Return the beginning of the sentence about steps without a cost: their name, and what they do."""
    if len(rest) == 1 and rest[0].adds == CONTAINER:
        return "its container changes"
    if len(rest) == 1 and rest[0].runtime == FILES:
        return "other files change"
    return "each of the other steps changes"


def _remedies(default: str, metric: dict, found: pd.DataFrame) -> list[str]:
    own = found[(found["stage"] == REMEDY) & (found["default"] == default)]
    told = []
    for row in own.itertuples():
        if math.isnan(row.low):
            told.append(f"With {row.adds}: too few runs count to say.")
        elif is_costly(row):
            told.append(f"With {row.adds} it is {compared(row, metric)} without {interval(row)}.")
        else:
            told.append(f"With {row.adds} it is {_alike(row)}.")
    return told


def _splitting(default: str, study: Study, metric: dict, found: pd.DataFrame) -> list[str]:
    """Return the sentence about what splitting ranks over containers costs; empty for a default that does not split them."""
    own = found[(found["stage"] == FIRST) & (found["runtime"] == default) & (found["adds"] == ladder.SPLITTING)]
    told = []
    for row in own.itertuples():
        number = study["program"]["containers"]
        if math.isnan(row.low):
            told.append(f"Whether {number} containers differ from one is unknown: too few runs count.")
        elif is_costly(row):
            told.append(f"Over {number} containers it is {compared(row, metric)} in one {interval(row)}.")
        else:
            told.append(f"Over {number} containers and in one it is {_alike(row)}.")
    return told


def neighbour(study: Study, found: pd.DataFrame) -> list[str]:
    """Return a sentence about what a neighbour costs the program, in each runtime; empty if the user has not asked."""
    command = study["program"].get("beside")
    if not command:
        return []
    metric = study["metrics"][study["answer"]["metrics"][0]]
    own = [row for row in found.itertuples() if row.stage in PLACES and not math.isnan(row.low)]
    if not own:
        return [f"Beside `{shlex.join(command)}`: too few runs count for an answer."]
    return [f"Beside `{shlex.join(command)}`: {'; '.join(_of_neighbour(row, metric) for row in own)}."]


def _of_neighbour(row, metric: dict) -> str:
    place = "on this host" if row.runtime == HOST else PLACES[row.stage].format(words.level("runtime", row.runtime))
    return f"{place} it is {f'{compared(row, metric)} alone {interval(row)}' if is_costly(row) else _alike(row)}"


def _alike(row) -> str:
    """Return what follows "it is" about a comparison that is no cost."""
    if math.isnan(row.low):
        return "undecided: too few runs count to say"
    reach, shows_change = max(abs(row.low), abs(row.high)), row.low > 0 or row.high < 0
    if reach <= ALIKE and (not shows_change or abs(row.change) < COSTLY):
        return f"alike within {bound(reach)}"
    if shows_change:
        # The interval is of one comparison, and the test allows for all of the stage.
        return (
            f"undecided {interval(row)}: alone this shows a change, but one of so many comparisons may show it by chance "
            f"(p {row.p_holm:.2f} for all of them; more `--minutes` may decide it)"
        )
    found = sample_sizes.detectable(row.deviation, row.n, 0.05)
    would = sample_sizes.sample_size(row.deviation, math.log1p(COSTLY), 0.05)
    number = f"more than {sample_sizes.MOST}" if would > sample_sizes.MOST else str(would)
    return f"undecided {interval(row)}: {row.n} blocks can find {size(math.expm1(found))}; {number} would find {size(COSTLY)}"


def size(share: float) -> str:
    """Return a share without its sign as per cent, with two figures below 10 %."""
    per_cent = 100 * abs(share)
    return f"{per_cent:.0f} %" if per_cent >= 10 else f"{per_cent:.1f} %"


def bound(share: float) -> str:
    """Return a share as per cent that follows "at most" or "within": as `size` does, but rounded up, and never 0.0 %."""
    tenths = max(1, math.ceil(round(1000 * abs(share), 6)))
    return f"{tenths / 10:.1f} %" if tenths < 100 else f"{math.ceil(round(100 * abs(share), 6))} %"


def amount(row) -> str:
    """Return how large a change is: a share, with a minus if it is less, or a factor for a change that doubles at least."""
    sign = "-" if row.change < 0 else ""
    return f"{sign}{size(row.change)}" if row.change < 1 else f"a factor of {1 + row.change:.1f}"


def compared(row, metric: dict) -> str:
    """Return a change in words that end before what it is compared with: `32 % slower than`, or `3.1 times as slow as`."""
    word = worse(row.change, metric)
    if row.change < 1:
        return f"{size(row.change)} {word} than"
    return f"{1 + row.change:.1f} times as {POSITIVE.get(word.partition(' ')[0], word)} as"


def interval(row) -> str:
    """Return the 95 % interval of a change: in per cent, or of factors for a change that doubles at least."""
    if row.change >= 1:
        return f"[{1 + row.low:.1f}, {1 + row.high:.1f}]"
    return f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]"


def worse(change: float, metric: dict) -> str:
    """Return the word for a change of a metric: slower or faster for a time, higher or lower for anything else."""
    if metric["source"] == "program" and metric["unit"] == "s":
        return "slower" if change > 0 else "faster"
    return f"{'higher' if change > 0 else 'lower'} ({metric['label']})"


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def loss(study: Study, found: pd.DataFrame) -> float:
    """Return the largest loss that the intervals of the defaults show for sure; 0.0 if none shows one."""
    return max(losses(study, found).values(), default=0.0)


def losses(study: Study, found: pd.DataFrame) -> dict[str, float]:
    """Return, by default, the loss that its interval shows for sure; 0.0 if it shows no loss. A default without an interval is
    left out."""
    sign = 1 if study["metrics"][study["answer"]["metrics"][0]]["better"] == "lower" else -1
    own = _defaults(found, study["answer"]["baseline"]["runtime"][0])
    return {row.runtime: max(0.0, min(sign * row.low, sign * row.high)) for row in own.itertuples() if not math.isnan(row.low)}


def reasons(differences: Sequence[dict]) -> list[str]:
    """Return lines for a terminal: the first differences that were observed between the two sides of each cost."""
    lines = []
    for one in (one for one in differences if one["differs"] and one["adds"] not in (effects.DEFAULT, CONTAINER)):
        lines.append(f"What differed ({one['adds']}):")
        lines += [f"  {sentence}" for sentence in one["differs"][:MOST_LINES]]
    return lines


def document(study: Study, observations: pd.DataFrame, found: pd.DataFrame, differences: Sequence[dict] = ()) -> dict:
    """Return the answer as a document of JSON: sentences, every comparison of every metric, and what differed at costs."""
    every = effects.table(observations)
    return {
        "study": study["id"],
        "command": study["program"]["command"],
        "files": study["program"]["files"],
        "answer": [*silent(study, observations), *answer(study, found), *neighbour(study, found)],
        "why": list(differences),
        "comparisons": [{key: _plain(value) for key, value in row.items()} for row in every.to_dict("records")],
    }


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def hyperfine(study: Study, observations: pd.DataFrame) -> dict:
    """Return the wall times of the first pass as hyperfine exports them: one result per runtime."""
    own = observations[(observations["metric"] == "wall") & (observations["stage"] == FIRST)]
    command = shlex.join(study["program"]["command"])
    results = []
    for runtime, rows in own.groupby("runtime"):
        values = rows["value"]
        results.append(
            {
                "command": f"{words.level('runtime', runtime)}: {command}",
                "mean": float(values.mean()),
                "stddev": float(values.std(ddof=1)) if len(values) > 1 else None,
                "median": float(values.median()),
                "min": float(values.min()),
                "max": float(values.max()),
                "times": [float(value) for value in values],
            }
        )
    return {"results": results}


def files(place: Path, study: str) -> list[Path]:
    """Return the files that a study has made, for people: its page, and its tables."""
    own = place / "results" / study
    return [own / "report.html", own / "tables/ladder.csv", own / "try.json", *folder_copy.archives(place, study)[-1:]]
