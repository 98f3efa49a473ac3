"""Command line of the workflow's stages. Users have another one (plimsoll.cli), and measuring has its own: plimsoll.measure."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from plimsoll import features, tasks
from plimsoll.errors import run_guarded, say
from plimsoll.measuring import stop


def main(arguments: list[str] | None = None) -> int:
    """Run one stage; its exit status."""
    options = _parser().parse_args(arguments)
    return run_guarded(lambda: _named(options))


def _named(options: argparse.Namespace) -> int | None:
    """A stage, with its exit status if it has one; PlimsollError for what the operating system refuses."""
    try:
        stop.with_workflow()
        return _run(options)
    except OSError as problem:
        if not (refused := tasks.refused(problem)):
            raise
        raise refused from problem


def _run(options: argparse.Namespace) -> int | None:
    if options.directory:
        options.directory.mkdir(parents=True, exist_ok=True)
        os.chdir(options.directory)
    if not options.says:
        return options.stage(options)
    from plimsoll.terminal import stage_messages

    with stage_messages.announce(options.says.format(**vars(options))):
        return options.stage(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plimsoll", description=__doc__)
    parser.add_argument("--directory", type=Path, metavar="FOLDER", help="work in this folder, as Snakemake does; it is made")
    stages = parser.add_subparsers(required=True, metavar="STAGE")

    def stage(function, *options: str, paths: tuple[str, ...] = (), says: str = "") -> argparse.ArgumentParser:
        """A stage with its options; it `says` what it does when it begins."""
        added = stages.add_parser(function.__name__.strip("_").replace("_", "-"), help=function.__doc__)
        for option in options:
            added.add_argument(f"--{option}", required=True)
        for option in paths:
            added.add_argument(f"--{option}", required=True, type=Path)
        added.set_defaults(stage=function, says=says)
        return added

    _stages_until_observations(stage)
    _stages_of_verdicts(stage)
    _stages_of_pages(stage)
    for add in features.every("stages"):
        add(stage)
    return parser


def _stages_until_observations(stage: Callable[..., argparse.ArgumentParser]) -> None:
    host = stage(_host, paths=("json", "table"), says="host: looking at this machine")
    host.add_argument("--runtimes", nargs="*", type=Path, required=True)
    stage(_image, "name", "base", paths=("output",), says="image {name}: building it if it is not there")
    tried = stage(_runtimes, paths=("image", "output"), says="runtimes: trying each of them")
    tried.add_argument("--plans", nargs="+", type=Path, required=True, help="of the studies that run the image")
    tried.add_argument("--wishes", nargs="+", required=True, help="runtime=required, optional or off")
    stage(_plan, "study", "config", "unavailable", paths=("output",))
    stage(_collect, "study", paths=("plan", "records", "csv", "parquet", "runs"), says="{study}: collecting the records")
    stage(_complete, "study", paths=("runs", "output"), says="{study}: looking whether every cell has a valid run")
    stage(_clean_up).add_argument("--all", action="store_true", help="images and all else that is kept for the next run, too")


def _stages_of_verdicts(stage: Callable[..., argparse.ArgumentParser]) -> None:
    stage(_tests, "study", paths=("observations", "runs", "output"), says="{study}: testing")
    stage(_variance, "study", paths=("plan", "results", "output"), says="{study}: looking where its variance is")
    judged = ("plan", "observations", "runs", "verdicts", "comparisons", "answer")
    stage(_claims, "study", paths=judged, says="{study}: judging what the paper says")
    together = ("plan", "results", "output", "means", "verdicts", "comparisons")
    stage(_sessions, "study", paths=together, says="{study}: putting its sessions together")
    verdicts = stage(_verdicts, paths=("page", "table", "start"), says="verdicts: writing the pages")
    verdicts.add_argument("--verdicts", nargs="+", type=Path, required=True, help="claims.json of each study that was measured")
    verdicts.add_argument(
        "--comparisons", nargs="+", type=Path, required=True, help="comparisons.csv of each, in the same order"
    )
    verdicts.add_argument("--answers", nargs="+", type=Path, required=True, help="answer.csv of each, in the same order")
    verdicts.add_argument("--sessions", nargs="+", type=Path, required=True, help="sessions.json of each, in the same order")
    verdicts.add_argument("--beside", nargs="*", type=Path, default=[], help="folders of studies that an earlier start judged")
    told = stage(_findings)
    told.add_argument("--results", type=Path, default=Path("results"), help="if they are not those of this machine")
    told.add_argument("settings", nargs="*", help="the configuration, as after --config")


def _stages_of_pages(stage: Callable[..., argparse.ArgumentParser]) -> None:
    table = stage(_table, "study", "name", paths=("results", "output"), says="{study}: {name}")
    for option in ("image", "host", "environments", "runs"):
        table.add_argument(f"--{option}", type=Path)
    drawn = ("study", "plan", "results", "notebook", "output", "executed")
    figure = stage(_figure, "figure", paths=drawn)
    figure.add_argument("--runs", type=Path, help="the list of all runs of the study, if there is one")
    folders = ("figures", "tables", "records")
    made = ("plan", "host", "image", "observations", "runs", "tests", "verdicts", "comparisons", "answer", "sessions")
    made_of_study = (*made, "variance", *folders, "output")
    stage(_report, "study", paths=made_of_study, says="{study}: writing the report")


# Each stage imports what it needs: trying a runtime must not wait for what drawing imports.


def _study(name: str):
    """A study with its design, which is handed to all that a stage does."""
    from plimsoll import designs
    from plimsoll.config import studies

    return studies.load(name, designs.known())


def _host(options: argparse.Namespace) -> None:
    """find out what this machine is"""
    import json

    from plimsoll import designs, documents
    from plimsoll.host import inventory

    tried = {}
    for path in options.runtimes:
        tried.update(documents.read(path, dict[str, dict], "delete it, and the runtimes are tried again"))
    host = inventory.discover(tried, designs.known().values())
    options.json.write_text(json.dumps(host, indent=1) + "\n")
    options.table.write_text(inventory.table(host))


def _image(options: argparse.Namespace) -> None:
    """build an image for every runtime, unless that is done"""
    import json
    import time

    from plimsoll.images import builder
    from plimsoll.planning import timetable

    begun = time.monotonic()
    image = builder.build(options.name, options.base)
    timetable.note_image(options.name, time.monotonic() - begun)
    options.output.write_text(json.dumps(image, indent=1) + "\n")


def _runtimes(options: argparse.Namespace) -> None:
    """try every runtime by what runs do"""
    from functools import partial

    from plimsoll import designs, probing
    from plimsoll.images import restore
    from plimsoll.measuring import plan_file
    from plimsoll.planning import tries
    from plimsoll.runtimes import isolation

    wishes, image = dict(wish.split("=") for wish in options.wishes), plan_file.image(options.image)
    plans = {path.parent: plan_file.read(path) for path in options.plans}
    observed = any(designs.find(plan["design"]).factors.OBSERVES_RUNTIMES for plan in plans.values())
    look = partial(tries.look, results=options.plans[0].parent.parent)
    trying = isolation.Trying(image, restore.restore, partial(probing.trials, plans, image), look, observed)
    found = isolation.try_all(wishes, trying)
    isolation.write(found, options.output)
    reasons = tries.of_image(options.image.stem, found, wishes)
    if reasons != tries.assumed(options.image.stem, found):
        for name, reason in reasons.items():
            say(f"{name.partition('/')[2]} does not work here, and is not measured: {reason}.")
        stop.restart(options.plans[0].parent)


def _plan(options: argparse.Namespace) -> None:
    """write a study's plan for this machine"""
    import json

    from plimsoll.planning import planner, sizes, study_plans

    wanted = {options.study: _study(options.study)}
    config, unavailable = json.loads(options.config), json.loads(options.unavailable)
    host = study_plans.host(config)
    made = study_plans.plans(wanted, config, host, unavailable, options.output.parent.parent)[options.study]
    for sentence in sizes.note(options.output.parent, made, host):
        say(sentence)
    planner.write(made, options.output)


def _collect(options: argparse.Namespace) -> None:
    """turn records into a table of observations"""
    from plimsoll.analysis import collect
    from plimsoll.measuring import plan_file

    loaded = _study(options.study)
    plan = plan_file.read(options.plan, loaded.design.factors)
    observations, runs = collect.collect(options.records, plan, loaded)
    observations.to_csv(options.csv, index=False)
    observations.to_parquet(options.parquet, index=False)
    runs.to_csv(options.runs, index=False)


def _complete(options: argparse.Namespace) -> None:
    """say whether every cell that can be measured here has a run that counts"""
    from plimsoll.analysis import complete

    plan = complete.plan_of(options.runs.parent)
    options.output.write_text(complete.check(plan, complete.rows_of(options.runs)) + "\n")


def _tests(options: argparse.Namespace) -> None:
    """make a study's own tests"""
    from plimsoll.analysis import collect, neighbours

    loaded = _study(options.study)
    paths = options.observations, options.runs
    observations, runs = (collect.table(path, loaded.design.factors.FACTORS) for path in paths)
    made = neighbours.mark(loaded.design.readings.tests(loaded, observations), runs)
    made.to_csv(options.output, index=False)


def _variance(options: argparse.Namespace) -> None:
    """say how much values vary between sessions, blocks and launches, and within them"""
    from plimsoll.analysis import levels
    from plimsoll.measuring import plan_file

    loaded = _study(options.study)
    plan = plan_file.read(options.plan, loaded.design.factors)
    levels.of_sessions(loaded, plan, options.results).to_csv(options.output, index=False)


def _claims(options: argparse.Namespace) -> None:
    """test a study's claims against its observations"""
    import json

    from plimsoll.analysis import collect
    from plimsoll.claims import answer, book, encodings, evaluate
    from plimsoll.claims.study_observations import StudyObservations
    from plimsoll.measuring import plan_file
    from plimsoll.planning import sessions

    loaded = _study(options.study)
    claims = book.load(options.study)
    book.check_against(loaded, claims)
    plan = plan_file.read(options.plan, loaded.design.factors)
    observations, runs = (collect.table(path, plan["factors"]) for path in (options.observations, options.runs))
    measured = StudyObservations(loaded, plan, observations, runs)
    results, comparisons = evaluate.evaluate(claims, measured, loaded["alpha"])
    session = sessions.read(options.verdicts.parent)
    results = encodings.with_notes(results, claims, session)
    results = encodings.with_metrics(results, claims, loaded["metrics"], session)
    options.verdicts.write_text(json.dumps(results, indent=1, allow_nan=True) + "\n")
    comparisons.to_csv(options.comparisons, index=False)
    answer.table(measured, loaded["alpha"]).to_csv(options.answer, index=False)


def _sessions(options: argparse.Namespace) -> None:
    """say what a study's sessions of measuring show together"""
    import json

    from plimsoll.claims import sessions
    from plimsoll.measuring import plan_file

    loaded = _study(options.study)
    found = sessions.summary(loaded, plan_file.read(options.plan, loaded.design.factors), options.results)
    found.means.to_csv(options.means, index=False)
    found.comparisons.to_csv(options.comparisons, index=False)
    for path, content in ((options.output, found.told), (options.verdicts, found.results)):
        path.write_text(json.dumps(content, indent=1, allow_nan=True) + "\n")


def _verdicts(options: argparse.Namespace) -> None:
    """put the verdicts on all studies' claims together"""
    from plimsoll.pages import start_page, verdict_page

    files = zip(options.verdicts, options.comparisons, options.answers, options.sessions, strict=True)
    every = verdict_page.gather(files, _study, options.beside)
    table, page = verdict_page.table_and_page(every, _study)
    table.to_csv(options.table, index=False)
    options.page.write_text(page)
    options.start.write_text(start_page.render(every, _study, options.start.parent))


def _clean_up(options: argparse.Namespace) -> None:
    """remove what killed runs have left on this machine and in this folder"""
    tasks.clean_up(options.all)


def _findings(options: argparse.Namespace) -> None:
    """tell the answers, the most telling claims, and where to read on"""
    from plimsoll.config import configuration, studies
    from plimsoll.terminal import results_summary, screen

    chosen = {name: _study(name) for name in studies.select(configuration.read(options.settings)["studies"])}
    screen.tell(lambda width: results_summary.of_studies(options.results, chosen, width))


def _table(options: argparse.Namespace) -> None:
    """make a table, beside the paper's"""
    from plimsoll.analysis import tables

    described = {name: getattr(options, name) for name in ("image", "host", "environments", "runs")}
    asked = tables.TableRequest(_study(options.study), options.name, options.results, **described)
    tables.make(asked).to_csv(options.output, index=False)


def _figure(options: argparse.Namespace) -> None:
    """draw a figure by its notebook, and with it all others that this start of the workflow draws"""
    from plimsoll.figures import batch

    queue = batch.Queue(options.results)
    if queue.take(options.figure):
        return
    # Figures are drawn beside each other, and threads of one would be in the way of the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from plimsoll import designs
    from plimsoll.config import studies
    from plimsoll.figures import render
    from plimsoll.measuring import plan_file
    from plimsoll.terminal import stage_messages

    render.prepare()
    loaded = studies.read(options.study, designs.known())
    drawing = render.Drawing(loaded, plan_file.read(options.plan, loaded.design.factors), options.results, options.runs)

    def line(name: str) -> str:
        place = stage_messages.place(options.results.parent, options.study.stem, name)
        return f"{options.study.stem}: drawing {name}" + (f", {place}" if place else "")

    if len(queue.notebooks) > 1:
        queue.draw(drawing.into, drawing.is_measured, lambda name: print(line(name), file=sys.stderr, flush=True))
        if queue.take(options.figure):
            return
    with stage_messages.announce(line(options.figure)):
        data = drawing.gathered(options.figure)
        render.run(data, options.notebook, options.results, options.output, options.executed)


def _report(options: argparse.Namespace) -> None:
    """write a study's report"""
    from dataclasses import fields

    from plimsoll.pages import report

    sources = report.Sources(**{field.name: getattr(options, field.name) for field in fields(report.Sources)})
    options.output.write_text(report.render(_study(options.study), sources))


if __name__ == "__main__":
    sys.exit(main())
