"""Command line of the stages; the workflow calls them, and a person may. Measuring has its own: plimsoll.measure."""

import argparse
import sys
from pathlib import Path

from plimsoll.errors import guarded


def main(arguments: list[str] | None = None) -> int:
    """Run one stage; its exit status."""
    options = _parser().parse_args(arguments)
    return guarded(lambda: options.stage(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plimsoll", description=__doc__)
    stages = parser.add_subparsers(required=True, metavar="STAGE")

    def stage(function, *options: str, paths: tuple[str, ...] = ()) -> argparse.ArgumentParser:
        added = stages.add_parser(function.__name__.strip("_").replace("_", "-"), help=function.__doc__)
        for option in options:
            added.add_argument(f"--{option}", required=True)
        for option in paths:
            added.add_argument(f"--{option}", required=True, type=Path)
        added.set_defaults(stage=function)
        return added

    stage(_host, paths=("json", "table")).add_argument("--runtimes", nargs="*", type=Path, required=True)
    stage(_image, "name", "base", paths=("output",))
    stage(_runtimes, paths=("image", "output")).add_argument("wishes", nargs="+", help="runtime=required, optional or off")
    stage(_plan, "study", "config", "unavailable", paths=("output",))
    stage(_collect, "study", paths=("csv", "parquet", "runs"))
    stage(_tests, "study", paths=("observations", "output"))
    stage(_claims, "study", paths=("results",))
    stage(_verdicts, paths=("results",)).add_argument("studies", nargs="+", help="studies that were measured")
    precise = stage(_precise, "study", "width", "maximum")
    precise.add_argument("settings", nargs="*", help="the configuration, as after --config")
    stage(_features, "study", paths=("runtimes", "output"))
    stage(_table, "study", "name", paths=("host", "image", "output"))
    stage(_measured_table, "study", "name", paths=("output",))
    stage(_figure, "study", "figure")
    stage(_report, "study", paths=("output",))
    return parser


# Each stage imports what it needs: trying a runtime must not wait for what drawing imports.


def _host(options: argparse.Namespace) -> None:
    """find out what this machine is"""
    import json

    from plimsoll import host

    tried = {}
    for path in options.runtimes:
        tried.update(json.loads(path.read_text()))
    found = host.discover(tried)
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    options.table.write_text(host.table(found))


def _image(options: argparse.Namespace) -> None:
    """build an image for every runtime, unless that is done"""
    import json

    from plimsoll import images

    options.output.write_text(json.dumps(images.build(options.name, options.base), indent=1) + "\n")


def _runtimes(options: argparse.Namespace) -> None:
    """try every runtime and look at it from inside"""
    import json

    from plimsoll import features

    wishes = dict(wish.split("=") for wish in options.wishes)
    features.write(features.try_all(wishes, json.loads(options.image.read_text())), options.output)


def _plan(options: argparse.Namespace) -> None:
    """write a study's plan for this machine"""
    import json

    from plimsoll import host, plan, precision, study

    config = json.loads(options.config)
    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    profile, unavailable = study.profile(config["profile"]), json.loads(options.unavailable)
    more = precision.asked(options.output.parent, config["profile"])
    made = plan.make(loaded, profile, host.here(), config, unavailable, more)
    plan.write(made, options.output)


def _collect(options: argparse.Namespace) -> None:
    """turn records into a table of observations"""
    from plimsoll import collect, study

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    folder = Path("results") / options.study
    plan = collect.load_plan(folder)
    observations, runs = collect.collect(folder, plan, loaded, plan["order"])
    observations.to_csv(options.csv, index=False)
    observations.to_parquet(options.parquet, index=False)
    runs.to_csv(options.runs, index=False)


def _tests(options: argparse.Namespace) -> None:
    """make a study's own tests"""
    from plimsoll import collect, designs, study

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    design = designs.find(loaded["design"])
    made = design.tests(loaded, collect.table(options.observations, design.factors))
    made.to_csv(options.output, index=False)


def _claims(options: argparse.Namespace) -> None:
    """test a study's claims against its observations"""
    from plimsoll import collect, study
    from plimsoll.claims import book, evaluate, page
    from plimsoll.claims.measured import Measured

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    claims = book.load(options.study)
    book.check_against(loaded, claims)
    plan = collect.load_plan(options.results)
    observations, runs = (collect.table(options.results / f"{name}.csv", plan["factors"]) for name in ("observations", "runs"))
    measured = Measured(loaded, plan, observations, runs)
    page.write(options.results, *evaluate.evaluate(claims, measured, loaded["alpha"]))


def _verdicts(options: argparse.Namespace) -> None:
    """put the verdicts on all studies' claims together"""
    from plimsoll import study
    from plimsoll.claims import book, findings, page

    results, comparisons, built = [], {}, {}
    for name, claims in book.load_all().items():
        if name not in options.studies:
            results += findings.unavailable(claims, name in study.names(study.STUDIES))
            continue
        built[name] = study.load(study.STUDIES / f"{name}.yaml")
        found, comparisons[name] = page.read(options.results / name)
        results += found
    findings.table_of(results).to_csv(options.results / "claims.csv", index=False)
    (options.results / "claims.html").write_text(page.render(results, comparisons, built))


def _precise(options: argparse.Namespace) -> None:
    """add repetitions until every interval is narrow enough"""
    from plimsoll import precision

    precision.reach(options.study, float(options.width), int(options.maximum), options.settings)


def _features(options: argparse.Namespace) -> None:
    """print the features of the runtimes as a table"""
    import json

    import pandas as pd

    from plimsoll import features, study

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    rows = features.rows(json.loads(options.runtimes.read_text()), loaded.get("paper_features", {}))
    pd.DataFrame(rows).to_csv(options.output, index=False)


def _table(options: argparse.Namespace) -> None:
    """print a table of the design or the host beside the paper's"""
    import json

    import pandas as pd

    from plimsoll import designs, study

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    host, image = (json.loads(path.read_text()) for path in (options.host, options.image))
    rows = designs.find(loaded["design"]).host_table(loaded, options.name, host, image)
    pd.DataFrame(rows).to_csv(options.output, index=False)


def _measured_table(options: argparse.Namespace) -> None:
    """make a table from runs, beside the paper's"""
    from plimsoll import designs, study

    loaded = study.load(study.STUDIES / f"{options.study}.yaml")
    made = designs.find(loaded["design"]).table(loaded, options.name, Path("results") / options.study)
    made.to_csv(options.output, index=False)


def _figure(options: argparse.Namespace) -> None:
    """collect what a figure shows, and run its notebook"""
    from plimsoll import figures

    figures.render(options.study, options.figure, Path("results") / options.study)


def _report(options: argparse.Namespace) -> None:
    """write a study's report"""
    from plimsoll import report

    options.output.write_text(report.render(options.study, Path("results") / options.study))


if __name__ == "__main__":
    sys.exit(main())
