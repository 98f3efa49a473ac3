"""The answer about a program, for its page and the terminal: one paragraph per default, and documents for other programs."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev

import pandas as pd

from plimsoll.analysis import sample_sizes
from plimsoll.config.studies import Study
from plimsoll.designs.program import effects, ladder, words
from plimsoll.designs.program.change_words import MAKES_IT, amount, bound, compared, interval, is_time, per_cent, size
from plimsoll.designs.program.effects import CONTAINER
from plimsoll.designs.program.factors import BESIDE, FILES, FIRST, HOST, OTHER, REMEDY, SAME, STEPS
from plimsoll.designs.program.side_differences import CHANCE, COSTLY, is_costly
from plimsoll.errors import plain
from plimsoll.interchange import Plan
from plimsoll.measuring import record
from plimsoll.pages.formats import capital, significant

# An interval that has 0 in it, and reaches no further than this, shows that both sides are alike.
ALIKE = 0.02
# Lines for each cost in a terminal; the page has all.
MOST_LINES = 4
OTHER_FILES = ladder.adds(FILES)
# Costs that may have parts. Several runtimes have each of them.
WHOLES = (effects.DEFAULT, CONTAINER)
PLACES = {SAME: "in one {} container", OTHER: "in two {} containers"}


def answer(
    study: Study, found: pd.DataFrame, starts: Mapping[str, float] | None = None, differences: Sequence[dict] = ()
) -> list[list[str]]:
    """Return the answer in sentences, a list for each default: what it costs, in which steps, and what an option gives back.

    `starts` are the seconds that the start of each default takes. `differences` are those between the sides of each cost.
    """
    metric = study["metrics"][study["answer"]["metrics"][0]]
    [baseline] = study["answer"]["baseline"]["runtime"]
    found = _with_study(study, found, starts or {}, differences)
    return [
        [*_of_default(row, metric, words.level("runtime", baseline), found), *_splitting(row.runtime, study, metric, found)]
        for row in _defaults(found, baseline).itertuples()
    ]


def _with_study(study: Study, found: pd.DataFrame, starts: Mapping[str, float], differences: Sequence[dict]) -> pd.DataFrame:
    """Return comparisons with what sentences say beside them: `width` of the study, `alpha`, and `start` (s).

    `alpha` allows for all comparisons and readings of the stage, as the first step of Holm's method does. What a comparison
    `adds` names a library that differs.
    """
    family = found["stage"].replace(dict.fromkeys(BESIDE, BESIDE[0]))
    number = found["p"].notna().groupby(family).transform("sum").clip(lower=1)
    readings = [effects.READINGS.get(stage, 1) for stage in found["stage"]]
    return found.assign(
        width=study["program"]["width"],
        alpha=CHANCE / (number * readings),
        start=[starts.get(name, math.nan) for name in found["runtime"]],
        adds=[_with_library(row, differences) for row in found.itertuples()],
    )


def _with_library(row, differences: Sequence[dict]) -> str:
    """Return what a comparison adds. After other files, the first library that differs follows in brackets."""
    sides = (row.runtime, row.against)
    own = next(
        (one["library"] for one in differences if (one["runtime"], one["against"]) == sides and one.get("library")), None
    )
    return row.adds.replace(OTHER_FILES, f"{OTHER_FILES} ({_library(**own)})", 1) if own else row.adds


def _library(before: str, after: str) -> str:
    """Return in words which library is another in the image (`after`) than on this host; one of them may be empty."""
    if not (before and after):
        return f"only the {'image' if after else 'host'} has {after or before}"
    product, _, version = after.partition(" ")
    if before.startswith(f"{product} "):
        return f"its {product} is {version}, the host's {before.removeprefix(f'{product} ')}"
    return f"it has {after}, the host {before}"


def _defaults(found: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return the comparisons of the defaults with the baseline."""
    return found[(found["stage"] == FIRST) & (found["default"] != "") & (found["against"] == baseline)]


def silent(study: Study, observations: pd.DataFrame, known: Mapping[str, str]) -> list[str]:
    """Return a sentence for each runtime of the first pass of which no run counts, with its reason if that is `known`."""
    [baseline] = study["answer"]["baseline"]["runtime"]
    so = {baseline: ", so nothing is compared with it"}
    why = {name: f": {plain(reason).rstrip('.')}." for name, reason in known.items()}
    return [
        f"{words.level('runtime', name)}: no run counts{so.get(name, '')}{why.get(name, '; runs.csv has the reasons.')}"
        for name in study["experiments"][FIRST]["runtime"]
        if name not in _counted(study, observations)
    ]


def uncounted(plan: Plan, runs: pd.DataFrame) -> dict[str, str]:
    """Return why runs of the first pass do not count, by runtime: the plan's reason, or the most frequent one of its runs.

    `runs` is the table of the study's runs. It has only runs that are planned.
    """
    own = runs[(runs["stage"] == FIRST) & runs["reason"].notna()]
    frequent = {name: texts.mode().iloc[0] for name, texts in own.groupby("runtime")["reason"]}
    cells = [cell for cell in plan["cells"].values() if cell["stage"] == FIRST and cell["reason"]]
    return {**frequent, **{cell["runtime"]: cell["reason"] for cell in cells}}


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
    start = _start(name, row, metric)
    if is_costly(row):
        first = f"{name} makes it {compared(row, metric, MAKES_IT)} {_lower(baseline)} {interval(row, metric)}."
        return [first + start, *_steps(row.runtime, metric, found), *_remedies(row.runtime, metric, found)]
    # Files that gain what the container costs leave the whole alike.
    parts = found[(found["stage"] == FIRST) & ((found["runtime"] == FILES) | (found["adds"] == CONTAINER))]
    own = [one for one in parts.itertuples() if one.runtime in (FILES, row.runtime) and is_costly(one)]
    rest = [*_steps(row.runtime, metric, found), *_remedies(row.runtime, metric, found)] if own else []
    return [f"In {name} it is {_alike(row)}.{start}", *rest]


def _start(name: str, row, metric: dict) -> str:
    """Return the sentence about the start of a default, after a space; empty if its start was not timed."""
    if math.isnan(row.start):
        return ""
    # The label of a split default has more after a comma.
    engine, left_out = name.partition(",")[0], ", and is not in this time" if is_time(metric) else ""
    return f" {engine}'s own start takes {significant(row.start, 2)} s{left_out}."


def _steps(default: str, metric: dict, found: pd.DataFrame) -> list[str]:
    """Return the sentence that splits a default's cost over its steps; empty if the steps were not measured."""
    files = found[(found["stage"] == FIRST) & (found["runtime"] == FILES)]
    steps = found[(found["stage"] == STEPS) & (found["default"] == default)]
    if steps.empty:
        steps = found[(found["stage"] == FIRST) & (found["default"] == default) & (found["adds"] == CONTAINER)]
    own = pd.concat([files, steps])
    costly = [row for row in own.itertuples() if is_costly(row)]
    parts = [_part(row, metric) for row in costly]
    if not parts and len(own) > 1:
        parts = ["No single step was found that costs it"]
    rest = [row for row in own.itertuples() if not is_costly(row) and not math.isnan(row.low)]
    if rest and costly:
        parts.append(f"{_subject(rest)} it by {bound(max(max(abs(row.low), abs(row.high)) for row in rest))} at most")
    if parts and (unknown := [row.adds for row in own.itertuples() if math.isnan(row.low)]):
        parts.append(f"too few runs count of {', '.join(unknown)}")
    return [f"{capital('; '.join(parts))}."] if parts else []


def _part(row, metric: dict) -> str:
    """Return what a step costs or gains, and what it adds."""
    told = amount(row, metric)
    verb = "comes with" if told.startswith("a ") else "are" if row.runtime == FILES else "come with"
    return f"{told} {interval(row, metric)} {verb} {row.adds}"


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
            told.append(f"With {row.adds} it {compared(row, metric)} without {interval(row, metric)}.")
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
            told.append(f"Over {number} containers it {compared(row, metric)} in one {interval(row, metric)}.")
        else:
            told.append(f"Over {number} containers and in one it is {_alike(row)}.")
    return told


def neighbour(study: Study, found: pd.DataFrame) -> list[str]:
    """Return a sentence about what a neighbour costs the program, in each runtime; empty if the user has not asked."""
    command = study["program"].get("beside")
    if not command:
        return []
    metric = study["metrics"][study["answer"]["metrics"][0]]
    rows = _with_study(study, found, {}, ()).itertuples()
    own = [row for row in rows if row.stage in PLACES and not math.isnan(row.low)]
    if not own:
        return [f"Beside `{shlex.join(command)}`: too few runs count for an answer."]
    return [f"Beside `{shlex.join(command)}`: {'; '.join(_of_neighbour(row, metric) for row in own)}."]


def _of_neighbour(row, metric: dict) -> str:
    place = "on this host" if row.runtime == HOST else PLACES[row.stage].format(words.level("runtime", row.runtime))
    told = f"{compared(row, metric)} alone {interval(row, metric)}" if is_costly(row) else f"is {_alike(row)}"
    return f"{place} it {told}"


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
            f"undecided {per_cent(row)}: alone this shows a change, but one of so many comparisons may show it by chance "
            f"(p {row.p_holm:.2f} for all of them; more `--minutes` may decide it)"
        )
    found = sample_sizes.detectable(row.deviation, row.n, row.alpha)
    would = sample_sizes.sample_size(row.deviation, math.log1p(row.width), row.alpha)
    number = f"more than {sample_sizes.MOST}" if would > sample_sizes.MOST else str(would)
    return (
        f"undecided {per_cent(row)}: {row.n} blocks can find {size(math.expm1(found))}; {number} would find {size(row.width)}"
    )


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


def of_parts(differences: Sequence[dict]) -> list[dict]:
    """Return the differences between the two sides of each cost, without those of a whole whose parts are there too."""
    files = any(one["adds"] == OTHER_FILES for one in differences)
    steps = {one["runtime"] for one in differences if one["adds"] not in (*WHOLES, OTHER_FILES)}
    containers = {one["runtime"] for one in differences if one["adds"] == CONTAINER}

    def has_parts(one: dict) -> bool:
        split = not steps.isdisjoint(ladder.levels(one["runtime"]))
        return split or (one["adds"] == effects.DEFAULT and (files or one["runtime"] in containers))

    return [one for one in differences if one["adds"] not in WHOLES or not has_parts(one)]


def cost(difference: dict) -> str:
    """Return what costs something, in words. A whole has its runtime's name."""
    if difference["adds"] not in WHOLES:
        return difference["adds"]
    return f"{words.level('runtime', difference['runtime'])}: {difference['adds']}"


def reasons(differences: Sequence[dict]) -> list[str]:
    """Return lines for a terminal: the first differences that were observed between the two sides of each cost."""
    lines = []
    for one in of_parts(differences):
        if one["differs"]:
            lines.append(f"What differed ({cost(one)}):")
            lines += [f"  {sentence}" for sentence in one["differs"][:MOST_LINES]]
    return lines


def paragraphs(
    study: Study,
    observations: pd.DataFrame,
    found: pd.DataFrame,
    differences: Sequence[dict] = (),
    known: Mapping[str, str] | None = None,
) -> list[list[str]]:
    """Return the whole answer in sentences, a list for each paragraph. The first sentence of a paragraph is what it says.

    `known` are reasons why no run of a runtime counts (`uncounted`).
    """
    times = effects.table(observations[observations["metric"] == "start"])
    times = times[times["stage"] == FIRST]
    told = answer(study, found, dict(zip(times["runtime"], times["value"], strict=True)), differences)
    before, after = silent(study, observations, known or {}), neighbour(study, found)
    return [*([sentence] for sentence in before), *told, *([sentence] for sentence in after)]


def document(
    study: Study,
    observations: pd.DataFrame,
    found: pd.DataFrame,
    differences: Sequence[dict] = (),
    known: Mapping[str, str] | None = None,
) -> dict:
    """Return the answer as a document of JSON: sentences, every comparison of every metric, and what differed at costs.

    `known` are reasons why no run of a runtime counts (`uncounted`).
    """
    told = paragraphs(study, observations, found, differences, known)
    return {
        "study": study["id"],
        "command": study["program"]["command"],
        "files": study["program"]["files"],
        "answer": [sentence for paragraph in told for sentence in paragraph],
        "why": list(differences),
        "comparisons": [
            {key: _plain(value) for key, value in row.items()} for row in effects.table(observations).to_dict("records")
        ],
    }


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def hyperfine(study: Study, observations: pd.DataFrame, records: Path) -> dict:
    """Return the wall times of the first pass as hyperfine exports them: one result per runtime, with each run of the program.

    `records` is the folder with the study's records.
    """
    own = observations[(observations["metric"] == "wall") & (observations["stage"] == FIRST)]
    command = shlex.join(study["program"]["command"])
    results = []
    for runtime, rows in own.groupby("runtime"):
        paths = (record.path_of(records, f"{FIRST}/{runtime}", repetition) for repetition in rows["repetition"])
        runs = [timed["values"] for path in paths for timed in record.read(path)["timed"]]
        results.append({"command": f"{words.level('runtime', runtime)}: {command}", **_as_hyperfine(runs)})
    return {"results": results}


def _as_hyperfine(runs: Sequence[Mapping[str, float]]) -> dict:
    """Return the numbers of one of hyperfine's results. Records of older versions have no user and system time."""
    times = [run["wall"] for run in runs]
    return {
        "mean": fmean(times),
        "stddev": stdev(times) if len(times) > 1 else None,
        "median": median(times),
        **{name: fmean(run[name] for run in runs) for name in ("user", "system") if all(name in run for run in runs)},
        "min": min(times),
        "max": max(times),
        "times": times,
    }
