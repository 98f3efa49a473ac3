"""`plimsoll try`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.errors import PlimsollError

Program = Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The program, with its arguments.")]


def try_(
    program: Program,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The study is my-NAME, in my-NAME.yaml and the folder my-NAME.")
    ] = "study",
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The folder it works in: copied. Without it: this one, if the command names a file here."
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="An image of the engine's, an archive, a Dockerfile, an unpacked folder, a SIF, or a definition.",
        ),
    ] = None,
    packages: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Debian packages on our base, with commas between them.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATTERN", help="A number in its output, or FILE.json:KEY. Repeatable; the first one is judged."
        ),
    ] = None,
    better: Annotated[
        list[str] | None, typer.Option(metavar="WAY", help="higher or lower: of each --metric, in order.")
    ] = None,
    filter: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="A part of its output that may differ from run to run. Repeatable."),
    ] = None,
    check: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Says by its status whether the answer (its input) is right.")
    ] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable of the program. Repeatable.")] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Threads of OpenMP and BLAS, bound to processors.")
    ] = None,
    ranks: Annotated[int | None, typer.Option(metavar="NUMBER", help="Ranks of MPI, which mpirun starts.")] = None,
    containers: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Containers for the ranks: 1, or 1,2 to split them over two as well."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Also say what this program costs it beside it, in its container and in another."),
    ] = None,
    runtimes: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this runtime's default. Repeatable. Without it: all that work here."),
    ] = None,
    minutes: Annotated[float, typer.Option(metavar="NUMBER", help="Minutes of measuring, at most.")] = 5.0,
    width: Annotated[
        str, typer.Option(metavar="SHARE", help="Stop when every interval is as narrow: 2% to either side.")
    ] = "1%",
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds after which a run counts as hung.")] = 60.0,
    fail_above: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Status 1 if a default surely loses more than this, or has no answer.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export-hyperfine", metavar="FILE", help="Wall times, as hyperfine writes them.")
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JUnit XML for CI: a case per runtime, which fails as --fail-above says."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for a program.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only write the study.")] = False,
) -> int | None:
    """Say what a container costs a program of yours here, and which part of the container does.

    It writes a study (my-study.yaml), and measures it in the folder my-study: on this host, with the image's files in no
    container, and in the default container of each runtime. Where one of these costs something, the steps between are measured.
    The program runs as root in Docker's and Podman's containers. It is unconfined in the levels from `files` to `...-ipc`.
    `plimsoll reproduce my-study.yaml` measures it again.

    Examples:
      plimsoll try -- sort words.txt
      plimsoll try --image solver:2 --metric 'rate=rate: ([0-9.]+)' --better higher -- solver
      plimsoll try --fail-above 5% -- ./solver case.txt
    """
    from plimsoll.features.try_program import ranks as mpi
    from plimsoll.features.try_program import start, study, study_options, timer
    from plimsoll.terminal import interruption

    say = lambda text: print(f"try: {text}", file=sys.stderr, flush=True)  # noqa: E731 - a name for one expression
    study_options.refuse_empty({"--image": image, "--packages": packages, "--check": check, "--beside": beside})
    study_options.refuse_input(program)
    if image and packages:
        raise PlimsollError("--image and --packages both name the source of the files. Nothing was measured. Give one of them.")
    words, neighbour, of_mpi = tuple(program), study_options.words(beside), mpi.asked(ranks, containers, threads)
    checking = study_options.words(check)
    if neighbour and of_mpi:
        raise PlimsollError("--beside and --ranks cannot be measured together. Nothing was measured. Give one of them.")
    wanted = study_options.StudyOptions(
        command=words,
        name=study_options.name(name),
        folder=study_options.folder_of((*words, *neighbour), folder, checking),
        image=image,
        packages=tuple((packages or "").replace(",", " ").split()),
        metrics=study_options.metrics(metric or (), better or ()),
        filters=study_options.filters(filter or ()),
        check=checking,
        variables={**study_options.of_threads(threads), **mpi.variables(of_mpi), **study_options.variables(env or ())},
        minutes=study_options.positive(minutes, "--minutes"),
        width=study_options.share(width, "--width"),
        limit=study_options.positive(limit, "--limit"),
        ranks=of_mpi,
        beside=neighbour,
        runtimes=study.refuse_unknown(runtimes or ()),
    )
    of_answer = start.answer_options(fail_above, json, export, junit)
    with interruption.explain():
        place = study.make(wanted, timer.program_path(), say)
        with study.removed_if_refused(place):
            say(
                "It runs as root in Docker's and Podman's containers. It is unconfined in the levels from `files` to `...-ipc`."
            )
            say(f"{place.file} is the study; its results go to {place.folder}.")
            start.of_file(place.file)
            if dry_run:
                return None
            start.image(place)
            study.finish(place, say)
        return start.measure(place, of_answer)
