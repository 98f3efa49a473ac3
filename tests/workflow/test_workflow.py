"""One figure, then everything, then everything again; interrupted, damaged and resumed. The tests build on each other."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pandas as pd
import pytest
import yaml
from plimsoll.terminal import interruption

from tests import pages
from tests.conftest import PROJECT
from tests.project import BARE_AND_DOCKER, Project

RUNS = "results/liu2020/runs"
STUDY = yaml.safe_load((PROJECT / "config/studies/liu2020.yaml").read_text())
# A figure of each chart, and what the tests look at: drawing all takes two minutes, and tests/unit/test_figures.py makes the
# numbers of all.
DRAWN = (1, 4, 6, 7, 9, 12, 14, 15, 16, 27, 29, 31)
FIGURES, METRICS = {f"fig{number:02}": STUDY["figures"][f"fig{number:02}"] for number in DRAWN}, STUDY["metrics"]
FIGURES["fig29"] = {**FIGURES["fig29"], "metrics": ["dgemm_seconds"]}
# Some of the levels of each experiment: to measure them all takes four minutes.
FEWER = {
    "granularity": {"affinity": ["any"]},
    "affinity": {"sections": ["beff"]},
    "events-affinity": {"mode": ["exact"]},
    "mpi-patterns": {"mode": ["exact"]},
    "mpi-patterns-ptrace": {"mode": ["exact"]},
    "bound-memory": {"sections": ["stream"]},
    "yielding": {"sections": ["dgemm"]},
    "seccomp": {"mode": ["exact"], "schemes": "single", "affinity": ["any"]},
}
COMPARING_SETTINGS = [name for name, figure in FIGURES.items() if "compares" in figure]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with these figures of liu2020, whose experiments are all measured in part."""
    made = Project(tmp_path_factory.mktemp("everything"))
    with made.edited("config/studies/liu2020.yaml") as study:
        study["figures"] = FIGURES
        for name, levels in FEWER.items():
            study["experiments"][name] |= levels
    return made


@pytest.fixture(scope="module")
def one_figure(project):
    done = project.snakemake("results/liu2020/figures/fig09.pdf")
    assert done.returncode == 0, done.stderr
    return done


def test_one_figure_measures_what_it_shows_and_nothing_else(project, one_figure):
    runs = project.files(f"{RUNS}/**/*.json")
    assert {path.split("/")[-2] for path in runs} == {"randomaccess"}
    assert "docker-ptrace" not in {path.split("/")[6] for path in runs}
    figure = project.folder / "results/liu2020/figures/fig09.pdf"
    assert figure.read_bytes().startswith(b"%PDF")
    data = pd.read_csv(figure.with_suffix(".csv"))
    assert len(data) == len(runs) and set(data["n"]) == {1}


def test_the_order_taken_is_the_design_s(project, one_figure):
    records = [json.loads((project.folder / path).read_text()) for path in project.files(f"{RUNS}/**/*.json")]
    taken = [r["cell"]["path"] for r in sorted(records, key=lambda r: r["started"])]
    planned = [r["cell"]["path"] for r in sorted(records, key=lambda r: r["place_in_order"])]
    assert taken == planned
    assert taken != sorted(taken)


def test_progress_tells_which_run_of_how_many_and_the_time_left(project, one_figure):
    total = len(project.files(f"{RUNS}/**/*.json"))
    lines = [line for line in project.log().splitlines() if re.match(r"\[ *\d+/\d+\]", line)]
    assert len(lines) == total
    assert lines[-1].startswith(f"[{total}/{total}]    0:00 left ") and max(map(len, lines)) <= 80
    assert f"\nliu2020: {total} valid" in one_figure.stderr
    log = (project.folder / "results/liu2020/progress/measure.log").read_text()
    assert all(path.removeprefix(f"{RUNS}/").removesuffix(".json") in log for path in project.files(f"{RUNS}/**/*.json"))


@pytest.mark.long
def test_results_in_another_folder_are_drawn_there_and_nothing_is_measured(project, one_figure, tmp_path):
    drawn = "results/liu2020/figures/fig09"
    shutil.copytree(project.folder / "results", tmp_path / "results", ignore=shutil.ignore_patterns("reference"))
    for path in (tmp_path / "results/liu2020/figures").iterdir():
        path.unlink()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / RUNS).rglob("*.json")}
    done = project.snakemake("--directory", str(tmp_path), f"{drawn}.pdf")
    assert done.returncode == 0 and "[1/" not in project.log(tmp_path), done.stderr
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / RUNS).rglob("*.json")} == before
    assert (tmp_path / f"{drawn}.csv").read_text() == (project.folder / f"{drawn}.csv").read_text()
    assert (tmp_path / f"{drawn}.pdf").read_bytes().startswith(b"%PDF")


@pytest.fixture(scope="module")
def everything(project, one_figure):
    before = {path: (project.folder / path).stat().st_mtime_ns for path in project.files(f"{RUNS}/**/*.json")}
    # Figures are drawn on all cores; a measurement takes them all for itself.
    done = project.snakemake("all", "--cores", "all")
    assert done.returncode == 0, done.stderr
    assert "Exception" not in done.stderr + project.log()
    return before


def test_what_was_measured_is_not_measured_again(project, everything):
    for path, written in everything.items():
        assert (project.folder / path).stat().st_mtime_ns == written


def test_every_output_is_there(project, everything):
    results = project.folder / "results/liu2020"
    for figure in FIGURES:
        for kind in ("pdf", "png", "csv"):
            # A figure that cannot be made here has a table without rows.
            least = 50 if figure in COMPARING_SETTINGS else 200
            assert (results / f"figures/{figure}.{kind}").stat().st_size > least
        notebook = json.loads((results / f"notebooks/{figure}.ipynb").read_text())
        assert all(cell.get("execution_count") for cell in notebook["cells"] if cell["cell_type"] == "code")
    observations = pd.read_csv(results / "observations.csv")
    plain = {
        *("dgemm_gflops", "stream_bandwidth", "fft_gflops", "ptrans_bandwidth", "randomaccess_rate"),
        *("pingpong_bandwidth", "pingpong_latency", "randomring_bandwidth", "randomring_latency"),
        "dgemm_seconds",
    }
    profiled = {name for name, metric in METRICS.items() if metric.get("instrument") == "mpi"}
    counted = {f"{section}_{event}" for section in ("dgemm", "fft") for event in ("context_switches", "migrations")}
    assert set(observations["metric"]) >= plain | profiled | counted
    # On a machine without hardware counters there is nothing else; with them there is more.
    assert set(observations["metric"]) <= set(METRICS)
    pd.testing.assert_frame_equal(observations, pd.read_parquet(results / "observations.parquet"), check_dtype=False)
    tests = pd.read_csv(results / "tables/tests.csv")
    assert set(tests["comparison"]) == {
        *("against bare metal", "against one container", "against as many containers as cores", "against ANY"),
        *("against yielding enabled", "against docker"),
    }
    features = pd.read_csv(results / "tables/table05.csv")
    assert len(features) == 3
    schemes = pd.read_csv(results / "tables/table04.csv", keep_default_na=False)
    assert set(schemes["containers (paper)"]) - {""} == {"1", "2", "4", "8", "16"}


def test_every_claim_has_a_verdict(project, everything):
    claims = pd.read_csv(project.folder / "results/claims.csv", keep_default_na=False)
    assert claims["study"].value_counts().to_dict() == {
        **{"liu2020": 126, "jha2021": 102, "li2018": 35, "li2018-hadoop": 10, "amaral2015": 38},
        **{"jha2018": 33, "plimsoll2026": 17},
    }
    counts = claims.groupby("study")["verdict"].agg(set)
    # One repetition decides nothing.
    assert counts.pop("liu2020") == {"inconclusive", "not testable here"}
    assert set().union(*counts) == {"study not available"}
    page = (project.folder / "results/claims.html").read_text()
    assert all(f'id="{claim}"' in page for claim in claims["id"])
    pages.check(page, project.folder / "results")


def test_runs_under_an_instrument_are_not_measurements(project, everything):
    results = project.folder / "results/liu2020"
    observations = pd.read_csv(results / "observations.csv")
    assert set(observations["instrument"]) == {"plain", "mpi", "events"}
    own = observations[observations["metric"].map(lambda name: METRICS[name].get("instrument", "plain")) != "plain"]
    assert set(own["instrument"]) == {"mpi", "events"}
    assert set(pd.read_csv(results / "tables/tests.csv")["instrument"]) == {"plain"}
    for figure in ("fig06", "fig12"):
        assert set(pd.read_csv(results / f"figures/{figure}.observations.csv")["instrument"]) == {"plain"}
    figure = pd.read_csv(results / "figures/fig14.observations.csv")
    assert set(figure["instrument"]) == {"events"}


def test_table_1_is_what_the_ranks_profiles_say(project, everything):
    """The table is computed from the ranks' own files, independently of the workflow."""
    results = project.folder / "results/liu2020"
    table = pd.read_csv(results / "tables/table01.csv").set_index(["section", "mode", "pattern"])
    assert len(table) == 6 * 2 * 9
    found = json.loads((results / "runs/uma/exact/E1/bare/pin/default/standard/mpi/fft/1.json").read_text())
    inside = wall = calls = 0
    for path in (results / found["raw"] / "ranks").glob("*.profile.json"):
        (part,) = [part for part in json.loads(path.read_text())["sections"] if part["name"] == "MPIFFT"]
        wall += part["wall_seconds"]
        calls += part["functions"]["MPI_Alltoall"][0]
        inside += part["functions"]["MPI_Alltoall"][1]
    row = table.loc[("fft", "exact", "alltoall")]
    assert row["share_percent"] == pytest.approx(100 * inside / wall) and int(row["calls"]) == calls == 12
    assert row["paper_share_percent"] == 14.22
    locality = pd.read_csv(results / "tables/table06.csv")
    assert locality["not_here"].str.contains("needs 2 sockets").all() and locality["value"].max() == 99


@pytest.mark.parametrize("figure", COMPARING_SETTINGS)
def test_a_figure_that_needs_two_settings_says_why_there_is_none(project, everything, figure):
    results = project.folder / "results/liu2020"
    assert "the numa setting needs 2 sockets" in (results / f"figures/{figure}.txt").read_text()


def test_the_numbers_are_those_that_hpcc_printed(project, everything):
    """The figure's data are computed from the raw output, independently of the workflow."""
    results = project.folder / "results/liu2020"
    data = pd.read_csv(results / "figures/fig06.csv").set_index(["scheme", "runtime", "affinity"])
    checked = 0
    for path in project.files(f"{RUNS}/**/beff/1.json"):
        found = json.loads((project.folder / path).read_text())
        printed = (results / found["raw"] / "hpccoutf.txt").read_text()
        value = float(printed.split("AvgPingPongBandwidth_GBytes=")[1].split()[0])
        cell = found["cell"]
        if "granularity" in cell["experiments"]:
            assert data.loc[(cell["scheme"], cell["runtime"], cell["affinity"]), "mean"] == pytest.approx(value)
            checked += 1
    assert checked == len(data)


def test_the_report_holds_everything_and_needs_nothing(project, everything):
    page = (project.folder / "results/liu2020/report.html").read_text()
    text = pages.check(page, project.folder / "results/liu2020").get_text()
    assert page.count("data:image/png;base64,") == len(FIGURES) - len(COMPARING_SETTINGS)
    for part in (
        "the numa setting needs 2 sockets",
        "Significance tests",
        "Deviations from the paper",
        "sha256",
        "uma",
        "seccomp",
        "Table 1",
        "MPI_Isend, MPI_Irecv",
        "Two ways to count",
        "this host does not count" if "l3_misses" not in project.counted() else "L3 misses",
    ):
        assert part in text
    assert "<built-in" not in page and "refused" in text and 'href="../claims.html#liu2020-c15"' in page


def test_a_second_start_has_nothing_to_do(project, everything):
    done = project.snakemake("all")
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr or "[1/" not in project.log()
    assert project.jobs("all") == {}


# Number of figures that are drawn with each file.
EDITED = {
    "scripts/plimsoll/designs/splitting/charts/contention.py": 1,  # 27
    "scripts/plimsoll/designs/splitting/charts/affinity.py": 1 + 1,  # 31, and events (14), which are drawn with it
    "notebooks/hardware.ipynb": 1 + 1,  # 4; 16
}


def test_what_is_edited_redraws_its_figures_and_no_others(project, everything):
    for path, figures in EDITED.items():
        before = (project.folder / path).read_text()
        # An empty line or a comment in a chart would draw nothing again.
        (project.folder / path).write_text(before + ("\n" if path.endswith(".ipynb") else "ADDED = 1\n"))
        jobs = project.jobs("all")
        (project.folder / path).write_text(before)
        assert jobs.pop("figure") == figures, path
        assert set(jobs) <= {"all", "report"}
    assert project.jobs("all") == {}


def test_a_deleted_figure_or_record_is_made_again_and_nothing_else(project, everything, tmp_path):
    figure = project.folder / "results/liu2020/figures/fig12.pdf"
    kept = shutil.move(figure, tmp_path)
    jobs = project.jobs("all")
    assert jobs.pop("figure") == 1
    assert set(jobs) <= {"all", "report"}
    shutil.move(kept, figure)
    # A record that only figure 15 shows.
    path = project.folder / f"{RUNS}/uma/over/O3/docker/any/enabled/standard/plain/dgemm/1.json"
    path.unlink()
    for target in ("results/liu2020/figures/fig15.pdf", "all"):
        jobs = project.jobs(target)
        assert jobs["measure"] == jobs["figure"] == 1, target
    figure.unlink()
    before = set(project.files("results/liu2020/raw/**/hpccoutf.txt"))
    assert project.snakemake("all", "--cores", "all").returncode == 0
    assert figure.read_bytes().startswith(b"%PDF")
    new = set(project.files("results/liu2020/raw/**/hpccoutf.txt")) - before
    assert len(new) == 1 and "O3/docker/any/enabled/standard/plain/dgemm" in new.pop()


@pytest.mark.long
def test_other_sizes_are_measured_and_the_old_records_kept_and_found_again(project, everything):
    target = f"{RUNS}/uma/exact/E1/bare/any/default/standard/plain/beff/1.json"
    old = (project.folder / target).read_text()
    assert project.snakemake(target, config=("profile=quick",)).returncode == 0
    assert json.loads((project.folder / target).read_text())["fingerprint"] != json.loads(old)["fingerprint"]
    assert [(project.folder / p).read_text() for p in project.files("results/liu2020/archive/*/1-*.json")] == [old]
    assert project.snakemake(target).returncode == 0
    assert (project.folder / target).read_text() == old


def test_a_truncated_record_stops_nothing_and_is_named(project, everything):
    path = project.folder / f"{RUNS}/uma/exact/E1/bare/any/default/standard/plain/fft/1.json"
    whole = path.read_text()
    path.write_text(whole[:200])
    try:
        done = project.snakemake("results/liu2020/runs.csv")
        assert done.returncode == 0, done.stderr
        runs = pd.read_csv(project.folder / "results/liu2020/runs.csv")
        damaged = runs[runs["status"] == "damaged"]
        assert len(damaged) == 1 and "1.json is not a complete record: it is no complete JSON" in damaged["reason"].iloc[0]
        assert path.read_text() == whole[:200]
    finally:
        path.write_text(whole)


def test_records_of_other_bits_stop_the_analysis_in_one_sentence(project, everything):
    path = project.folder / f"{RUNS}/uma/exact/E1/docker/any/default/standard/plain/fft/1.json"
    whole = path.read_text()
    changed = json.loads(whole)
    changed["bits"]["libopenblas.so.0"] = "0" * 40
    path.write_text(json.dumps(changed))
    try:
        done = project.snakemake("results/liu2020/observations.csv")
        said = [line for line in done.stderr.splitlines() if line.startswith("plimsoll: ")]
        assert done.returncode != 0 and len(said) == 1
        assert "did not run the same bits" in said[0] and "libopenblas.so.0" in said[0]
    finally:
        path.write_text(whole)


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_workflow_goes_on_where_it_was(fresh, how):
    """That holds in a later block than the first, too: each repetition is there once."""
    fresh.keep_experiment("granularity", "dgemm")
    fresh.settings = ("profile=ci", "repetitions=2", BARE_AND_DOCKER)
    target = "measurements"
    process = fresh.start(target, records=1)
    order = json.loads((fresh.folder / "results/liu2020/plan.json").read_text())["order"]
    end = time.monotonic() + 240
    while len(fresh.files(f"{RUNS}/**/*.json")) <= len(order) // 2:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, how)
    process.wait(timeout=60)
    if how == signal.SIGINT:
        # This line comes last, without a line of Snakemake after it.
        *_, last = fresh.said.read_text().splitlines()
        assert last.startswith(f"{interruption.STAYS} snakemake --cores 1 measurements --config")
        assert process.returncode != 0
    kept = {path: (fresh.folder / path).read_text() for path in fresh.files(f"{RUNS}/**/*.json")}
    done = fresh.snakemake(target)
    assert done.returncode == 0, done.stderr
    for path, text in kept.items():
        assert (fresh.folder / path).read_text() == text
    records = [json.loads((fresh.folder / path).read_text()) for path in fresh.files(f"{RUNS}/**/*.json")]
    assert {(record["status"], record["reason"]) for record in records} == {("valid", None)}
    assert sorted([record["cell"]["path"], record["repetition"]] for record in records) == sorted(order)


WAITS = r"plimsoll: Another workflow is running in this folder \(\w+, process {}\); waiting for it\."


def test_a_second_workflow_in_the_same_folder_waits_and_makes_what_is_not_there_then(fresh, tmp_path_factory):
    """A waiting workflow can be ended like any other command."""
    fresh.keep_experiment("granularity", "dgemm")
    # The first one still measures while the others start.
    fresh.settings = ("profile=ci", "repetitions=2", BARE_AND_DOCKER)
    first = fresh.start("measurements", records=1)
    # The command is typed in another folder than the workflow's own.
    name, seconds, tmp_path = fresh.folder.name, [], tmp_path_factory.mktemp("said")
    begin = fresh.command("--snakefile", f"{name}/Snakefile", "--directory", name, "measurements")
    for number, tired in enumerate([signal.SIGINT, signal.SIGTERM, None]):
        with open(tmp_path / f"{number}.txt", "w") as said:
            second = subprocess.Popen(
                begin, cwd=fresh.folder.parent, env=fresh.environment, stdout=said, stderr=said, start_new_session=True
            )
        seconds.append(second)
        end = time.monotonic() + 60
        while not re.search(WAITS.format(first.pid), text := (tmp_path / f"{number}.txt").read_text()):
            assert time.monotonic() < end and second.poll() is None and first.poll() is None, text
            time.sleep(0.05)
        if tired:
            second.send_signal(tired)
            assert second.wait(20) == -tired
    assert first.poll() is None
    os.killpg(first.pid, signal.SIGINT)
    first.wait(timeout=60)
    # A run that was disturbed is made again by the next start.
    counting = [
        path for path in fresh.files(f"{RUNS}/**/*.json") if json.loads((fresh.folder / path).read_text())["status"] == "valid"
    ]
    kept = {path: (fresh.folder / path).stat().st_mtime_ns for path in counting}
    assert kept
    assert seconds[-1].wait(timeout=600) == 0, (tmp_path / "2.txt").read_text()
    assert all((fresh.folder / path).stat().st_mtime_ns == when for path, when in kept.items())
    plan = json.loads((fresh.folder / "results/liu2020/plan.json").read_text())
    assert len(fresh.files(f"{RUNS}/**/*.json")) == len(plan["order"]) > len(kept)


@pytest.mark.long
def test_two_workflows_in_two_folders_measure_in_turn(fresh, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("said")
    projects, started = [fresh, Project(tmp_path_factory.mktemp("other"))], []
    for number, project in enumerate(projects):
        project.keep_three_cells()
        with open(tmp_path / f"{number}.txt", "w") as said:
            started.append(
                subprocess.Popen(
                    project.command("measurements"), cwd=project.folder, env=project.environment, stdout=said, stderr=said
                )
            )
    assert [process.wait(timeout=600) for process in started] == [0, 0]
    told = "".join((tmp_path / f"{number}.txt").read_text() for number in (0, 1))
    assert re.search(r"plimsoll: another workflow is measuring on this machine \(\w+, process \d+\); waiting for it\.", told)
    spans = []
    for project in projects:
        plan = json.loads((project.folder / "results/liu2020/plan.json").read_text())
        records = [json.loads((project.folder / path).read_text()) for path in project.files(f"{RUNS}/**/*.json")]
        assert len(records) == len(plan["order"]) and {record["status"] for record in records} == {"valid"}
        spans += [(record["started"], record["started"] + sum(record["seconds"].values())) for record in records]
    spans.sort()
    assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(spans))


def test_a_record_stays_whose_process_is_killed_after_it(fresh):
    """Snakemake removes the output of a failed job."""
    fresh.keep_three_cells()
    path = fresh.folder / "scripts/plimsoll/measuring/progress.py"
    says = '    _cross_off(folder, [run, seconds, time.time(), result["status"], result["attempts"]])\n'
    text = path.read_text()
    assert says in text
    path.write_text(text.replace(says, "    import os\n\n    os.kill(os.getpid(), 9)\n"))
    done = fresh.snakemake("measurements")
    assert done.returncode == 0 and "Removing output" not in fresh.log(), fresh.log()
    plan = json.loads((fresh.folder / "results/liu2020/plan.json").read_text())
    records = [json.loads((fresh.folder / path).read_text()) for path in fresh.files(f"{RUNS}/**/*.json")]
    assert len(records) == len(plan["order"]) and {record["status"] for record in records} == {"valid"}
    # No run was measured twice.
    assert len(fresh.files("results/liu2020/raw/**/hpccoutf.txt")) == len(records)
