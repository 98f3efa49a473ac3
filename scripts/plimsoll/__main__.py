"""Command line of the stages; the workflow calls them, and a person may. Measuring has its own: plimsoll.measure."""

import argparse
import os
import sys
from pathlib import Path

from plimsoll.errors import PlimsollError, guarded
from plimsoll.measuring import stop
from plimsoll.terminal import interruption


def main(arguments: list[str] | None = None) -> int:
    """Run one stage; its exit status."""
    options = _parser().parse_args(arguments)
    return guarded(lambda: _named(options), options.refused)


def _named(options: argparse.Namespace) -> int | None:
    """A stage, with its exit status if it has one; PlimsollError for what the operating system refuses."""
    try:
        stop.with_workflow()
        return _run(options)
    except OSError as problem:
        if not (sentence := _refused(problem)):
            raise
        raise PlimsollError(sentence) from problem


def _refused(problem: OSError) -> str | None:
    """An error of the operating system as a sentence for people; None for one that is none of theirs."""
    from plimsoll.measuring import means  # here, because a stage that ends well has no use for it

    if outage := means.outage_of(problem):
        return str(outage)
    if problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}."
    # Python's own words, when no folder for temporary files can be written.
    if isinstance(problem, FileNotFoundError):
        return f"{problem.strerror}: make room there, or make /tmp, with the mode 1777."
    return None


def _run(options: argparse.Namespace) -> int | None:
    if options.directory:
        options.directory.mkdir(parents=True, exist_ok=True)
        os.chdir(options.directory)
    if not options.says:
        return options.stage(options)
    from plimsoll.terminal import patience

    place = patience.place(options.results.parent, options.study.stem, options.figure) if "figure" in options else ""
    with patience.told(options.says.format(**vars(options)) + (f", {place}" if place else "")):
        return options.stage(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plimsoll", description=__doc__)
    parser.add_argument("--directory", type=Path, metavar="FOLDER", help="work in this folder, as Snakemake does; it is made")
    stages = parser.add_subparsers(required=True, metavar="STAGE")

    def stage(
        function, *options: str, paths: tuple[str, ...] = (), says: str = "", refused: int = 1
    ) -> argparse.ArgumentParser:
        """A stage with its options; it `says` what it does when it begins, and ends with `refused` if it cannot be done."""
        added = stages.add_parser(function.__name__.strip("_").replace("_", "-"), help=function.__doc__)
        for option in options:
            added.add_argument(f"--{option}", required=True)
        for option in paths:
            added.add_argument(f"--{option}", required=True, type=Path)
        added.set_defaults(stage=function, says=says, refused=refused)
        return added

    host = stage(_host, paths=("json", "table"), says="host: looking at this machine")
    host.add_argument("--runtimes", nargs="*", type=Path, required=True)
    stage(_image, "name", "base", paths=("output",), says="image {name}: building it, unless it is there")
    stage(_sbom, paths=("image", "output"), says="{image.stem}: listing what its image holds")
    stage(_vulnerabilities)
    stage(_image_file, paths=("output",)).add_argument("settings", nargs="*", help="the configuration, as after --config")
    taken = stage(_take_images, paths=("file",))
    taken.add_argument("settings", nargs="*", help="the configuration, as after --config")
    tried = stage(_runtimes, paths=("image", "output"), says="runtimes: trying each of them")
    tried.add_argument("--plans", nargs="+", type=Path, required=True, help="of the studies that run the image")
    tried.add_argument("--wishes", nargs="+", required=True, help="runtime=required, optional or off")
    stage(_plan, "study", "config", "unavailable", paths=("output",))
    stage(_collect, "study", paths=("plan", "records", "csv", "parquet", "runs"), says="{study}: collecting the records")
    stage(_complete, "study", paths=("runs", "output"), says="{study}: looking whether every cell has a valid run")
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
    precise = stage(_precise, "width", "maximum")
    precise.add_argument("--study", help="if it is not given: the studies that the configuration selects")
    precise.add_argument("settings", nargs="*", help="the configuration, as after --config")
    spent = stage(_hours, "hours")
    spent.add_argument("settings", nargs="*", help="the configuration, as after --config")
    stage(_new_system)
    stage(_clean_up).add_argument("--all", action="store_true", help="images and all else that is kept for the next run, too")
    stage(_new_session).add_argument("settings", nargs="*", help="the configuration, as after --config")
    listed = stage(_list)
    listed.add_argument("--study", help="if it is not given: the studies that the configuration selects")
    listed.add_argument("settings", nargs="*", help="the configuration, as after --config")
    told = stage(_findings)
    told.add_argument("--results", type=Path, default=Path("results"), help="if they are not those of this machine")
    told.add_argument("settings", nargs="*", help="the configuration, as after --config")
    packed = stage(_archive)
    packed.add_argument("--output", type=Path, help="if it is not given: plimsoll-STUDY.zip")
    packed.add_argument("--raw", action="store_true", help="with the raw outputs of the runs, which are many times as large")
    packed.add_argument("--small", action="store_true", help="without pictures and pages, which are made again from it")
    packed.add_argument("settings", nargs="*", help="the configuration, as after --config")
    stage(_keep_reference).add_argument("settings", nargs="*", help="the configuration, as after --config")
    again = stage(_remake, paths=("file",))
    again.add_argument("--claims", nargs="*", type=Path, default=[], help="files of claims, in place of those of the archive")
    compared = stage(_compare, refused=2)
    for name in ("a", "b"):
        compared.add_argument(name, help="a study's results, a folder with those of several or with sessions, or an archive")
    compared.add_argument("--margin", default="0.05", help="within which relative difference two sets are alike (0.05)")
    compared.add_argument("--session-blocks", default="6", help="blocks that a session is worth at most (6), or all")
    compared.add_argument("--out", type=Path, help="where files go (results/compare/A-B)")
    compared.add_argument("--all", action="store_true", help="tell what is alike and what is undecided too")
    compared.add_argument(
        "--strict",
        action="store_true",
        help="end with 1 if anything is undecided or lacks in B, with 2 if bits differ or are not known",
    )
    compared.add_argument(
        "--force", action="store_true", help="compare although benchmarks or sizes differ, and cells although machines do"
    )
    stage(_without).add_argument("runtimes", nargs="+", help="runtimes that are not measured on this machine")
    stage(_with).add_argument("runtimes", nargs="+", help="runtimes that are measured on this machine where they work")
    compared = stage(_compare_hosts, paths=("page", "table"))
    told = "folders of hosts or of results, and archives; without any those beside the page"
    compared.add_argument("folders", nargs="*", type=Path, help=told)
    reached = stage(_measure_by_ssh, "name", "ssh", "there", paths=("here", "images"))
    reached.add_argument("--hours", help="of measuring each study")
    reached.add_argument("--target", action="append", default=[], help="what is made there")
    reached.add_argument("settings", nargs="*", help="the configuration, as after --config")
    stage(_mark_done, "host", paths=("folder",))
    table = stage(_table, "study", "name", paths=("results", "output"), says="{study}: {name}")
    for option in ("image", "host", "environments", "runs"):
        table.add_argument(f"--{option}", type=Path)
    drawn = ("study", "plan", "results", "notebook", "output", "executed")
    figure = stage(_figure, "figure", paths=drawn, says="{study.stem}: drawing {figure}")
    figure.add_argument("--runs", type=Path, help="the list of all runs of the study, if there is one")
    folders = ("figures", "tables", "records")
    made = ("plan", "host", "image", "observations", "runs", "tests", "verdicts", "comparisons", "answer", "sessions")
    made_of_study = (*made, "variance", *folders, "output")
    stage(_report, "study", paths=made_of_study, says="{study}: writing the report")
    return parser


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

    from plimsoll.images import builder

    options.output.write_text(json.dumps(builder.build(options.name, options.base), indent=1) + "\n")


def _sbom(options: argparse.Namespace) -> None:
    """list what an image holds, as a software bill of materials"""
    from plimsoll.images import saved, sbom, store
    from plimsoll.measuring import planned

    image = planned.image(options.image)
    store.keep(image)
    with saved.opened(store.folder_of(image) / store.ARCHIVE, store.parts(image)) as (whole, *stages):
        bill = sbom.bill(whole, stages)
    options.output.write_text(bill)


def _vulnerabilities(options: argparse.Namespace) -> None:
    """say which vulnerabilities of the images that are listed here Debian has fixed since they were made"""
    import tempfile

    from plimsoll.images import debian, fixes

    bills = {path.name.partition(".")[0]: fixes.listed(path) for path in sorted(Path("results/images").glob("*.sbom.json"))}
    if not bills:
        raise PlimsollError(
            "No image is listed here yet: snakemake --cores 1 results/images/hpcc.sbom.json lists that of liu2020."
        )
    with tempfile.TemporaryDirectory() as folder:
        archives = {
            release: debian.SecurityArchive(release, Path(folder, release))
            for release in {bill.release for bill in bills.values()}
        }
        for name, bill in bills.items():
            archive = archives[bill.release]
            print(*fixes.sentences(name, bill, list(fixes.lacking(bill, archive)), archive.date), sep="\n")


def _image_file(options: argparse.Namespace) -> None:
    """write the images of the selected studies into one file, for a machine that cannot build them"""
    from plimsoll.config import configuration, studies
    from plimsoll.images import builder, portable

    config = configuration.read(options.settings)
    names = dict.fromkeys(_study(name)["image"] for name in studies.selected(config["studies"]))
    images = [(name, builder.build(name, config["base_image"])) for name in names]
    portable.write(images, options.output, lambda text: print(f"images: {text}", file=sys.stderr, flush=True))


def _take_images(options: argparse.Namespace) -> None:
    """take images from a file, instead of building them"""
    from plimsoll import environments
    from plimsoll.config import configuration
    from plimsoll.images import portable
    from plimsoll.measuring import lock

    base = configuration.read(options.settings)["base_image"]
    # Nobody measures what is put in another's place.
    with lock.machine(environments.known):
        for tag, compared in portable.take(options.file, base).items():
            for said in (f"{tag} is taken from {options.file}", *compared):
                print(f"images: {said}", file=sys.stderr, flush=True)


def _runtimes(options: argparse.Namespace) -> None:
    """try every runtime by what runs do"""
    from functools import partial

    from plimsoll import designs, probing
    from plimsoll.environments import isolation
    from plimsoll.images import restore
    from plimsoll.measuring import planned
    from plimsoll.planning import tries

    wishes, image = dict(wish.split("=") for wish in options.wishes), planned.image(options.image)
    plans = {path.parent: planned.read(path) for path in options.plans}
    observed = any(designs.find(plan["design"]).factors.OBSERVES_ENVIRONMENTS for plan in plans.values())
    look = partial(tries.look, results=options.plans[0].parent.parent)
    trying = isolation.Trying(image, restore.restore, partial(probing.trials, plans, image), look, observed)
    found = isolation.try_all(wishes, trying)
    isolation.write(found, options.output)
    reasons = tries.of_image(options.image.stem, found, wishes)
    if reasons != tries.assumed(options.image.stem, found):
        for name, reason in reasons.items():
            print(f"plimsoll: {name.partition('/')[2]} does not work here, and is not measured: {reason}.", file=sys.stderr)
        stop.restart(options.plans[0].parent)


def _plan(options: argparse.Namespace) -> None:
    """write a study's plan for this machine"""
    import json

    from plimsoll.planning import configured, planner, sizes

    wanted = {options.study: _study(options.study)}
    config, unavailable = json.loads(options.config), json.loads(options.unavailable)
    host = configured.host(config)
    made = configured.plans(wanted, config, host, unavailable, options.output.parent.parent)[options.study]
    for sentence in sizes.note(options.output.parent, made, host):
        print(f"plimsoll: {sentence}", file=sys.stderr, flush=True)
    planner.write(made, options.output)


def _collect(options: argparse.Namespace) -> None:
    """turn records into a table of observations"""
    from plimsoll.analysis import collect
    from plimsoll.measuring import planned

    loaded = _study(options.study)
    plan = planned.read(options.plan, loaded.design.factors)
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
    made = neighbours.marked(loaded.design.readings.tests(loaded, observations), runs)
    made.to_csv(options.output, index=False)


def _variance(options: argparse.Namespace) -> None:
    """say how much values vary between sessions, blocks and launches, and within them"""
    from plimsoll.analysis import levels
    from plimsoll.measuring import planned

    loaded = _study(options.study)
    plan = planned.read(options.plan, loaded.design.factors)
    levels.of_sessions(loaded, plan, options.results).to_csv(options.output, index=False)


def _claims(options: argparse.Namespace) -> None:
    """test a study's claims against its observations"""
    import json

    from plimsoll.analysis import collect
    from plimsoll.claims import answer, book, encodings, evaluate
    from plimsoll.claims.measured import Measured
    from plimsoll.measuring import planned
    from plimsoll.planning import sessions

    loaded = _study(options.study)
    claims = book.load(options.study)
    book.check_against(loaded, claims)
    plan = planned.read(options.plan, loaded.design.factors)
    observations, runs = (collect.table(path, plan["factors"]) for path in (options.observations, options.runs))
    measured = Measured(loaded, plan, observations, runs)
    results, comparisons = evaluate.evaluate(claims, measured, loaded["alpha"])
    results = encodings.noted(results, claims, sessions.read(options.verdicts.parent))
    options.verdicts.write_text(json.dumps(results, indent=1, allow_nan=True) + "\n")
    comparisons.to_csv(options.comparisons, index=False)
    answer.table(measured, loaded["alpha"]).to_csv(options.answer, index=False)


def _sessions(options: argparse.Namespace) -> None:
    """say what a study's sessions of measuring show together"""
    import json

    from plimsoll.claims import sessions
    from plimsoll.measuring import planned

    loaded = _study(options.study)
    found = sessions.summary(loaded, planned.read(options.plan, loaded.design.factors), options.results)
    found.means.to_csv(options.means, index=False)
    found.comparisons.to_csv(options.comparisons, index=False)
    for path, content in ((options.output, found.told), (options.verdicts, found.results)):
        path.write_text(json.dumps(content, indent=1, allow_nan=True) + "\n")


def _verdicts(options: argparse.Namespace) -> None:
    """put the verdicts on all studies' claims together"""
    from plimsoll.pages import start_page, verdict_page

    files = zip(options.verdicts, options.comparisons, options.answers, options.sessions, strict=True)
    every = verdict_page.gathered(files, _study, options.beside)
    table, page = verdict_page.written(every, _study)
    table.to_csv(options.table, index=False)
    options.page.write_text(page)
    options.start.write_text(start_page.render(every, _study, options.start.parent))


@interruption.explained()
def _precise(options: argparse.Namespace) -> None:
    """add repetitions until every interval is narrow enough"""
    from plimsoll import rounds
    from plimsoll.config import configuration, studies
    from plimsoll.planning import precision

    width, maximum = precision.width_of(options.width), precision.maximum_of(options.maximum)
    config = configuration.read(options.settings)
    for study in studies.selected(options.study or config["studies"]):
        rounds.reach(study, width, maximum, options.settings)


@interruption.explained()
def _hours(options: argparse.Namespace) -> None:
    """measure the studies that have stages for so many hours each, where they decide most"""
    from plimsoll import designs, hours
    from plimsoll.config import configuration, studies

    given = hours.hours_of(options.hours)
    config = configuration.read(options.settings)
    for study in studies.selected(config["studies"]):
        factors = studies.load(study, designs.known()).design.factors
        wanted = given or factors.USUAL_HOURS
        if factors.STAGES and wanted:
            hours.spend(study, wanted, options.settings)


def _new_system(options: argparse.Namespace) -> None:
    """put aside what was measured on another system: before an upgrade, say"""
    from plimsoll import environments
    from plimsoll.config import studies
    from plimsoll.measuring import lock
    from plimsoll.planning import new_system

    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder():
        done = new_system.change(Path("results"), studies.names(studies.STUDIES), environments.known())
    print("\n".join(done) or "Nothing to put aside: what was measured here was measured on the system as it is.")


def _new_session(options: argparse.Namespace) -> None:
    """begin another session of the selected studies: put aside what they have measured, and make engine and images fresh"""
    from plimsoll import designs, environments
    from plimsoll.config import configuration, studies
    from plimsoll.images import anew
    from plimsoll.measuring import lock
    from plimsoll.planning import sessions
    from plimsoll.workflow import image_of

    config = configuration.read(options.settings)
    names = studies.selected(config["studies"])
    Path(".snakemake").mkdir(exist_ok=True)
    # Nobody measures while the engine starts again.
    with lock.hold_folder(), lock.machine(environments.known):
        begun = {name: sessions.begin(Path("results"), name) for name in names}
        new = {name: session for name, session in begun.items() if not any((session.folder / "runs").rglob("*.json"))}
        images = sorted({image_of(studies.load(name, designs.known())) for name in new})
        fresh = anew.everything([Path(path) for path in images]) if new else {}
        for name, session in begun.items():
            if name in new:
                sessions.note(session, fresh)
            made = "; ".join(f"{what}: {done}" for what, done in fresh.items()) if name in new else "it was begun, and goes on"
            print(f"plimsoll: {name}: session {session.number} ({made})", flush=True)


def _archive(options: argparse.Namespace) -> None:
    """put what was measured of the selected studies, and what was made of it, into one file"""
    from plimsoll.archives import gathering, packing
    from plimsoll.config import configuration, studies
    from plimsoll.measuring import lock, record

    def say(text: str) -> None:
        print(f"archive: {text}", file=sys.stderr, flush=True)

    wanted = {name: _study(name) for name in sorted(studies.selected(configuration.read(options.settings)["studies"]))}
    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder():
        every = gathering.measured(wanted, Path("results"))
        there = list(dict.fromkeys(one.study["id"] for one in every))
        for name in (name for name in wanted if name not in there):
            say(f"{name}: nothing was measured of it, and it is left out.")
        for name in studies.names(studies.STUDIES):
            if name not in wanted and record.any_below(Path("results", name)):
                say(f"{name}: it was measured too, and is left out. STUDIES=all archives everything.")
        target = options.output or Path(f"plimsoll-{there[0] if len(there) == 1 else 'studies'}.zip")
        new = packing.pack(every, Path("results"), target, options.raw, not options.small, say)
    has, size = "has" if new else "already has", f"{target.stat().st_size / 1e6:.1f} MB"
    # Where it is for whoever has typed the command, in another folder perhaps.
    named = (options.directory or Path()) / target
    print(f"{named} ({size}) {has} {', '.join(there)}. make reproduce FROM={named} makes all of it again.")


def _keep_reference(options: argparse.Namespace) -> None:
    """make what was measured of the selected studies the reference measurements of the project"""
    from plimsoll import paths, references
    from plimsoll.config import configuration, studies

    for name in sorted(studies.selected(configuration.read(options.settings)["studies"])):
        folder = references.keep(_study(name), Path("results"), paths.REFERENCES)
        print(f"{folder} has what was measured here.")


@interruption.explained()
def _remake(options: argparse.Namespace) -> int:
    """make everything from an archive again, without measuring, in a folder of its own: 1 if a table is not the archive's"""
    from plimsoll import remake

    made = remake.remake(options.file, options.claims, Path("results"))
    print(made.words)
    return made.status


def _clean_up(options: argparse.Namespace) -> None:
    """remove what killed runs have left on this machine and in this folder"""
    from plimsoll import clean_up, environments
    from plimsoll.host import temporary
    from plimsoll.measuring import lock

    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder(), lock.machine():
        there = environments.known().values()
        removed = [
            *clean_up.machine(there),
            *clean_up.store(),
            *temporary.remove_of_killed(),
            *clean_up.results(Path("results")),
        ]
    if options.all:
        removed += clean_up.everything(there)
    print("\n".join(f"removed: {what}" for what in removed) or "Nothing was left.")


def _list(options: argparse.Namespace) -> None:
    """list studies, experiments, runtimes, instruments, figures and tables with their state and the command that makes each"""
    from plimsoll import designs
    from plimsoll.terminal import machine, screen

    screen.tell(lambda width: machine.text(designs.known(), options.settings, options.study, width))


def _without(options: argparse.Namespace) -> None:
    """leave runtimes out on this machine"""
    _wish(options.runtimes, "off")
    print(f"config/local.yaml leaves out {', '.join(options.runtimes)} on this machine. Delete it to take that back.")


def _with(options: argparse.Namespace) -> None:
    """measure runtimes on this machine that are off elsewhere"""
    _wish(options.runtimes, "optional")
    print(f"config/local.yaml switches on {', '.join(options.runtimes)} on this machine. Delete it to take that back.")


def _wish(names: list[str], wanted: str) -> None:
    from plimsoll import environments
    from plimsoll.config import configuration

    for name in names:
        environments.find(name)
    configuration.wish(names, wanted)


def _findings(options: argparse.Namespace) -> None:
    """tell the answers, the most telling findings, and where to read on"""
    from plimsoll.config import configuration, studies
    from plimsoll.terminal import closing, screen

    chosen = {name: _study(name) for name in studies.selected(configuration.read(options.settings)["studies"])}
    screen.tell(lambda width: closing.of_studies(options.results, chosen, width))


def _compare(options: argparse.Namespace) -> int:
    """compare two sets of results: 0 if nothing is worse in the second, 1 if something is, 2 if they cannot be compared"""
    from plimsoll.archives import opening
    from plimsoll.comparing import asked, sets, studies
    from plimsoll.pages import compared_files
    from plimsoll.pages.formats import capital
    from plimsoll.terminal import compared, screen

    terms, paths = asked.terms(options.margin, options.session_blocks), asked.paths(options.a, options.b)
    # Both are there before the archives in one of them are unpacked.
    folders = [sets.opened(opening.folder_of(path)) for path in paths]
    a, b = (sets.read(folder, opening.reference_of) for folder in folders)
    names = asked.shared(a, b)
    what = asked.Asked(terms, options.force, options.strict, len(names))
    each = {name: studies.compare(_study(name), a[name], b[name], what) for name in names}
    ended = studies.ended(each, options.strict, [name for name in a if name not in b])
    written = compared_files.write(each, paths, terms, ended, options.out or asked.folder(*paths))
    screen.tell(lambda width: compared.text(each, paths, terms, options.all, written, ended, width))
    if ended.status == studies.NOT_COMPARABLE:
        raise PlimsollError(f"{capital(ended.reason)}.")
    return ended.status


def _compare_hosts(options: argparse.Namespace) -> None:
    """set the verdicts of several hosts beside each other"""
    from plimsoll import designs
    from plimsoll.archives import opening
    from plimsoll.pages import hosts_page

    folders = options.folders or _beside(options.page)
    opened = [opening.folder_of(path) for path in folders]
    hosts_page.write(folders, opened, options.page, options.table, designs.known())


def _beside(page: Path) -> list[Path]:
    """What was measured elsewhere and lies beside a page: folders of hosts that are complete, and archives."""
    from plimsoll.cluster import marker

    marked = (mark.parent for mark in page.parent.glob(f"*/{marker.FILE}"))
    return sorted([*marked, *page.parent.glob("*.zip")], key=str)


def _measure_by_ssh(options: argparse.Namespace) -> None:
    """measure on a host that ssh reaches, and bring back what was measured"""
    from plimsoll.cluster import by_ssh

    reached = by_ssh.Reached(options.name, options.ssh, f"{options.there}/{options.name}")
    asked = ["--images", "images.tar.gz", *(["--hours", options.hours] if options.hours else [])]
    asked += [word for target in options.target for word in ("--target", target)]
    by_ssh.measure(reached, options.here, options.images, [*asked, *options.settings])


def _mark_done(options: argparse.Namespace) -> None:
    """note that a host is done"""
    from plimsoll.cluster import marker

    marker.write(options.folder, options.host)


def _table(options: argparse.Namespace) -> None:
    """make a table, beside the paper's"""
    from plimsoll.analysis import tables

    described = {name: getattr(options, name) for name in ("image", "host", "environments", "runs")}
    asked = tables.Asked(_study(options.study), options.name, options.results, **described)
    tables.make(asked).to_csv(options.output, index=False)


def _figure(options: argparse.Namespace) -> None:
    """collect what a figure shows, and run its notebook"""
    from plimsoll import designs
    from plimsoll.config import studies
    from plimsoll.figures import render
    from plimsoll.measuring import planned

    loaded = studies.read(options.study, designs.known())
    plan = planned.read(options.plan, loaded.design.factors)
    data = render.gather(loaded, plan, options.figure, options.results, options.runs)
    render.run(data, options.notebook, options.results, options.output, options.executed)


def _report(options: argparse.Namespace) -> None:
    """write a study's report"""
    from dataclasses import fields

    from plimsoll.pages import report

    sources = report.Sources(**{field.name: getattr(options, field.name) for field in fields(report.Sources)})
    options.output.write_text(report.render(_study(options.study), sources))


if __name__ == "__main__":
    sys.exit(main())
