"""The content of a study's file: what is run, what is compared, and in which experiments."""

import datetime
import shlex
from collections.abc import Sequence
from pathlib import Path

from plimsoll.designs.program import ladder
from plimsoll.designs.program.factors import FILES, FIRST, HOST, LOOK, REMEDY, STEPS
from plimsoll.features.try_program import neighbour_runs, ranks, recipe, trial
from plimsoll.features.try_program.study_options import Metric, StudyOptions
from plimsoll.features.try_program.trial import TrialResult

# Runs of the program in one start of a node: as many as fit into these seconds, within limits.
TOGETHER_SECONDS, MOST_RUNS = 0.5, 20
# Metrics of every program.
TIMES = {
    "wall": {"label": "wall time", "unit": "s", "better": "lower", "source": "program"},
    "processor": {"label": "processor time", "unit": "s", "better": "lower", "source": "program"},
    "memory": {"label": "peak memory", "unit": "MiB", "better": "lower", "source": "program"},
    "start": {"label": "start of the runtime itself", "unit": "s", "better": "lower", "source": "program"},
}


def of_study(
    options: StudyOptions, name: str, files: str, tried: TrialResult | None, defaults: Sequence[str], folder: str | None
) -> dict:
    """Return the content of a study's file."""
    metrics = {
        **{
            one.name: {"label": one.name.replace("_", " "), "unit": "", "better": one.better, **trial.metric_of(one)}
            for one in options.metrics
        },
        **TIMES,
    }
    main = next(iter(metrics))
    baseline = HOST if tried else FILES
    command = shlex.join(options.command)
    rows = [FILES, *defaults] if tried else list(defaults)
    return {
        "id": name,
        "title": f"What a container costs: {command}"[:200],
        "citation": {"authors": "a user of Plimsoll", "venue": "a program of this machine", "year": datetime.date.today().year},
        "question": f"What does a container cost {options.command[0]} here, and which part of it does?",
        "answer": {
            "metrics": [main],
            "rows": {"runtime": rows},
            "baseline": {"runtime": [baseline]},
            "scope": {"stage": [FIRST]},
        },
        "design": "program",
        "image": recipe.IMAGE,
        "alpha": 0.05,
        "paper_host": "on this machine",
        "program": of_program(options, files, tried, folder),
        "metrics": metrics,
        "experiments": _experiments(options, bool(tried), defaults),
        "figures": {
            "ladder": {
                "chart": "ladder",
                "experiment": FIRST,
                "beside": [STEPS, REMEDY],
                "section": "ours",
                "title": f"What a container costs {options.command[0]}",
                "metrics": [main],
            }
        },
        "tables": {"ladder": {"kind": "ladder", "title": "What each runtime and each step costs"}},
        "paper_findings": {"ladder": "There is no paper. The program is the user's."},
    }


def _experiments(options: StudyOptions, on_host: bool, defaults: Sequence[str]) -> dict[str, dict]:
    """Return the experiments of a study. `on_host`: the program runs on this host too.

    Steps begin at this host where the image's files in no container cannot be measured: that needs root.
    """
    below = [*([HOST] if on_host else []), FILES]
    first = [*below, *defaults]
    steps = list(dict.fromkeys([*below, *(one for name in defaults for one in ladder.levels(name))]))
    return {
        FIRST: {"section": "ours", "runtime": first},
        STEPS: {"section": "ours", "runtime": steps},
        REMEDY: {"section": "ours", "runtime": remedies(defaults)},
        LOOK: {"section": "ours", "runtime": list(dict.fromkeys([*first, *steps]))},
        **(neighbour_runs.experiments(first, defaults) if options.beside else {}),
    }


def remedies(defaults: Sequence[str]) -> list[str]:
    """Return the defaults, and the runtimes that give back a step of them."""
    steps = [one for name in defaults for one in ladder.levels(name)]
    return list(dict.fromkeys([*defaults, *(one.runtime for one in ladder.REMEDIES if one.step in steps)]))


def of_program(options: StudyOptions, files: str, tried: TrialResult | None, folder: str | None) -> dict:
    """Return the key `program` of a study: what is run, and how its output is read.

    `files` says in words where the image's files come from. `folder` is the digest of the user's folder, if it has one.
    """
    return {
        "command": list(options.command),
        **of_trial(tried),
        "files": files,
        **ranks.parameters(options.ranks),
        "minutes": options.minutes,
        "width": options.width,
        **trial.parameters_of(options),
        **({"folder": folder} if folder else {}),
        **({"variables": options.variables} if options.variables else {}),
        **({"beside": list(options.beside)} if options.beside else {}),
        **({} if tried else {"not_installed": f"{options.command[0]} does not run with this host's files"}),
    }


def of_trial(tried: TrialResult | None) -> dict:
    """Return the keys of a study's program that follow from a trial. Without one, it is taken to last TOGETHER_SECONDS."""
    seconds = tried.seconds if tried else TOGETHER_SECONDS
    same = tried and len(set(tried.outputs)) == 1
    return {
        "runs": max(1, min(MOST_RUNS, int(TOGETHER_SECONDS / max(seconds, 1e-3)))),
        "expected_seconds": round(seconds, 4),
        **({"output": tried.outputs[0]} if same else {}),
    }


def options_of(content: dict, folder: Path) -> StudyOptions:
    """Return the options that a study's file was written from, as a trial needs them. `folder` is the copy of the user's."""
    program = content["program"]
    return StudyOptions(
        command=tuple(program["command"]),
        name=content["id"],
        folder=folder if "folder" in program else None,
        image=None,
        packages=(),
        metrics=tuple(
            Metric(name, "", one.get("pattern"), one.get("file"), one.get("key"))
            for name, one in program.get("metrics", {}).items()
        ),
        filters=tuple(program.get("filter", ())),
        check=tuple(program.get("check", ())),
        variables=program.get("variables", {}),
        minutes=program["minutes"],
        width=program["width"],
        limit=program["limit_seconds"],
        ranks=ranks.Ranks(program["ranks"], True, program.get("containers")) if "ranks" in program else None,
    )
