"""Read what a command requests from Snakemake.

Refuse it at once if it cannot be made, and otherwise say how long it takes.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from plimsoll import spelling
from plimsoll.analysis.tables import of_runs
from plimsoll.errors import PlimsollError, many
from plimsoll.interchange import Plan
from plimsoll.planning import availability, figure_request, forecasts, planner
from plimsoll.terminal import measured_runs

# Endings of the files of a figure.
DRAWN = (".observations.csv", ".pdf", ".png", ".csv", ".txt")
# results/<study>/<folder>/<rest>
OUTPUT = re.compile(r"results/(?P<study>[^/]+)/(?P<folder>figures|notebooks|tables|runs)/(?P<rest>.+)")
OF_ALL_STUDIES = ("from", "images", "logs", "reference", "sessions", "systems")


class Request(NamedTuple):
    """What Snakemake's command line requests: rules and files (`targets`), and whether it is a dry run."""

    targets: tuple[str, ...]
    dry: bool


def parse(words: list[str]) -> Request:
    """Return the request of Snakemake's command line (its words, without its name), read as Snakemake reads it."""
    from snakemake import cli

    options, _ = cli.get_argument_parser().parse_known_args(words)
    # Written as the rules write their paths.
    asked = (str(Path(target)) for target in sorted(options.targets or ()))
    return Request(tuple(asked), bool(options.dryrun))


def check(targets: Iterable[str], studies: dict[str, dict], plans: dict[str, Plan]) -> None:
    """Raise PlimsollError for a study, a figure, a table or a record that the studies or their plans do not have."""
    for target in targets:
        study = _study(target)
        if study and study not in studies:
            near = spelling.hint(study, studies)
            raise PlimsollError(
                f"{target}: there is no study {study!r}{near}; config/studies/ has {', '.join(sorted(studies))}."
            )
        if output := OUTPUT.fullmatch(target):
            refuse = _refuse_record if output["folder"] == "runs" else _refuse_name
            refuse(target, output["folder"], output["rest"], studies[study], plans[study])


def studies_of(targets: Iterable[str]) -> set[str]:
    """Return the studies whose outputs are among the targets."""
    return {study for target in targets if (study := _study(target))}


def _study(target: str) -> str | None:
    """Return the study whose output a target is; None for the name of a rule, and for what all studies share."""
    parts = Path(target).parts
    return parts[1] if len(parts) > 2 and parts[0] == "results" and parts[1] not in OF_ALL_STUDIES else None


def _refuse_name(target: str, folder: str, rest: str, study: dict, plan: Plan) -> None:
    kind, known = ("table", [*tables(study), "tests"]) if folder == "tables" else ("figure", list(study["figures"]))
    endings = {"figures": DRAWN, "notebooks": (".ipynb",), "tables": (".csv",)}[folder]
    ending = next((ending for ending in endings if rest.endswith(ending)), None)
    if ending is None:
        raise PlimsollError(f"{target}: there is no such file. Names of a {kind} end in {', '.join(endings)}.")
    if (name := rest.removesuffix(ending)) not in known:
        near = spelling.hint(name, known)
        raise PlimsollError(f"{target}: {study['id']} has no {kind} {name}{near}; it has {ranges(known)}.")


def _refuse_record(target: str, folder: str, rest: str, study: dict, plan: Plan) -> None:
    path, _, number = rest.removesuffix(".json").rpartition("/")
    if not rest.endswith(".json") or not number.isdecimal():
        raise PlimsollError(f"{target}: this is not the name of a record. Write runs/<cell>/<repetition>.json.")
    if path not in plan["cells"]:
        hint = spelling.hint(path, plan["cells"])
        raise PlimsollError(
            f"{target}: the plan of {study['id']} has no cell {path}{hint}; results/{study['id']}/plan.json lists its cells."
        )
    cell = plan["cells"][path]
    if cell["reason"]:
        raise PlimsollError(f"{target}: the cell cannot be measured here: {cell['reason']}.")
    if not 1 <= int(number) <= cell["repetitions"]:
        raise PlimsollError(
            f"{target}: the plan has the repetitions 1 to {cell['repetitions']} of this cell; --config repetitions={number} "
            "plans for more of every cell."
        )


def tables(study: dict) -> list[str]:
    """Return the names of a study's tables, without the table of its tests."""
    return list(study.get("tables", {}))


def ranges(names: Iterable[str]) -> str:
    """Return names as text, with a row of numbers as its ends: fig01, fig04 to fig08, seccomp."""
    rows: list[list[str]] = []
    for name in sorted(names):
        if rows and _next(rows[-1][-1]) == name:
            rows[-1].append(name)
        else:
            rows.append([name])
    return ", ".join(f"{row[0]} to {row[-1]}" if len(row) > 2 else ", ".join(row) for row in rows)


def _next(name: str) -> str | None:
    numbered = re.fullmatch(r"(.*?)(\d+)", name)
    return f"{numbered[1]}{int(numbered[2]) + 1:0{len(numbered[2])}}" if numbered else None


def summary(targets: Iterable[str], selected: list[str], studies: dict[str, dict], plans: dict[str, Plan]) -> str:
    """Return what a dry run prints before Snakemake does.

    For single figures, tables and records it says how many runs they need, and how long these take. For anything else
    it gives the plan of the whole study.
    """
    from plimsoll.pages.formats import prose

    parts = _parts(targets, studies, plans)
    some = {target for target, *_ in parts}
    whole = _studies(selected, (target for target in targets or ("all",) if target not in some))
    lines = [f"{target}: {_cost(target, runs, studies[study], plans[study])}" for target, study, runs in parts]
    foretold = [forecasts.sentence(name, made) for name in whole if (made := forecasts.read(Path("results", name)))]
    return "\n".join([*(prose(planner.summary(plans[name])) for name in whole), *foretold, *lines])


def all_runs(targets: Iterable[str], selected: list[str], studies: dict[str, dict], plans: dict[str, Plan]) -> list[str]:
    """Return the studies of which the targets need all runs.

    The name of a rule needs all runs of the selected studies, and so does a command without a target. A plan, an image
    or the description of the host needs none.
    """
    without = {target for target, *_ in _parts(targets, studies, plans)} | set(filter(_needs_no_run, targets))
    return _studies(selected, (target for target in targets or ("all",) if target not in without))


def _needs_no_run(target: str) -> bool:
    parts = Path(target).parts
    return parts[-1] in ("plan", "plan.json", "host.json") or parts[:2] == ("results", "images")


def _studies(selected: list[str], targets: Iterable[str]) -> list[str]:
    """Return the studies of targets; those that are selected for a target of no single study."""
    found = [_study(target) for target in targets]
    return list(dict.fromkeys(name for study in found for name in ([study] if study else selected)))


def _parts(targets: Iterable[str], studies: dict[str, dict], plans: dict[str, Plan]) -> list[tuple[str, str, list]]:
    """Return (target, its study, its runs) for the targets that need only some of a study's runs."""
    of_studies = [(target, study) for target in targets if (study := _study(target))]
    needed = [(target, study, runs_of(target, studies[study], plans[study])) for target, study in of_studies]
    return [(target, study, runs) for target, study, runs in needed if runs is not None]


def runs_of(target: str, study: dict, plan: Plan) -> list[tuple[str, int]] | None:
    """Return the runs that a target is made from; None if it is made from all runs of the study."""
    output = OUTPUT.fullmatch(target)
    if not output:
        return None
    if output["folder"] == "runs":
        cell, _, number = output["rest"].removesuffix(".json").rpartition("/")
        return [(cell, int(number))]
    name = output["rest"].partition(".")[0]
    if name in study["figures"]:
        return availability.figure_runs(plan, study, name)
    if name in of_runs(study):
        return availability.runs(plan, study, name)
    return None if name == "tests" else []


def _cost(target: str, runs: list[tuple[str, int]], study: dict, plan: Plan) -> str:
    if not runs:
        name = Path(target).name.partition(".")[0]
        reason = availability.figure(plan, study, name) if name in study["figures"] else None
        return f"nothing of it can be measured here: {reason}" if reason else "made without a run"
    there = measured_runs.of_runs(Path("results", plan["study"]), plan, runs)
    left = [run for run in runs if there.get(run) in measured_runs.LEFT]
    number = f"{many(len(runs), 'run')} of {many(len({cell for cell, _ in runs}), 'cell')}"
    if not left:
        return f"{number}, all of them measured{_without_time(target, study, plan)}"
    measured = f", of which {len(left)} are left to measure" if len(left) < len(runs) else ""
    return f"{number}{measured}: {duration(seconds(plan, left))}"


def _without_time(target: str, study: dict, plan: Plan) -> str:
    """Return in words how many cells of a figure had no part in the given time, and what measures them; empty for none."""
    name = Path(target).name.partition(".")[0]
    cells = figure_request.left_out(plan, study, name) if name in study["figures"] else []
    typed = spelling.command("reproduce", plan["study"], figure=name)
    return (
        f"; {many(len(cells), 'more cell')} had no time within the given minutes or hours ({typed} measures them)"
        if cells
        else ""
    )


def seconds(plan: Plan, runs: Iterable[tuple[str, int]]) -> float:
    """Return the seconds that runs are expected to take."""
    return sum(plan["cells"][cell]["expected_seconds"] for cell, _ in runs)


def duration(length: float) -> str:
    """Return a length of time, given in seconds, as text."""
    if length < 90:
        return f"about {many(max(1, round(length)), 'second')}"
    return f"about {length / 60:.0f} minutes" if length < 5400 else f"about {length / 3600:.1f} hours"
