"""Figures that are drawn beside each other: each once, by any of several jobs, and none of them half."""

import contextlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from plimsoll.figures import batch
from plimsoll.host import machine_lock

STUDY = "liu2020"
NAMES = [f"fig{number:02}" for number in range(6)]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """The folder of a study's results, in which a start of the workflow draws six figures in two processes."""
    monkeypatch.setattr(machine_lock, "FOLDERS", (tmp_path / "locks",))
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(0o1777)
    monkeypatch.setattr(batch.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setenv(batch.VARIABLE, "")
    monkeypatch.setenv(batch.WORKFLOW, "")
    folder = tmp_path / STUDY
    (folder / "tables").mkdir(parents=True)
    (folder / "tables/tests.csv").write_text("p\n0.5\n")
    batch.begin(tmp_path, {(STUDY, name): Path(f"{name}-of.ipynb") for name in NAMES})
    return folder


class Pen:
    """Draws a figure as a notebook does, and notes it. Those in `broken` fail half-way."""

    def __init__(self, folder: Path, broken=(), seconds=0.0):
        self.notes, self.broken, self.seconds = folder / "notes", broken, seconds
        self.notes.mkdir(exist_ok=True)

    def __call__(self, name: str, notebook: Path, folder: Path) -> None:
        (self.notes / f"{name}-{os.getpid()}").touch()
        assert notebook == Path(f"{name}-of.ipynb") and (folder / "tables/tests.csv").read_text() == "p\n0.5\n"
        (folder / f"figures/{name}.pdf").write_text(name)
        time.sleep(self.seconds)
        if name in self.broken:
            raise ValueError(name)
        (folder / f"figures/{name}.own.csv").write_text("x\n1\n")
        (folder / f"notebooks/{name}.ipynb").write_text(f'["{folder.resolve()}/figures/{name}"]')

    @property
    def drawn(self) -> list[str]:
        return sorted(path.name.partition("-")[0] for path in self.notes.iterdir())


def draw(results: Path, pen: Pen, can_be_drawn=lambda name: True) -> list[str]:
    said = []
    batch.Queue(results).draw(pen, can_be_drawn, said.append)
    return said


def there(results: Path) -> list[str]:
    return sorted(path.name for folder in batch.FOLDERS for path in (results / folder).glob("*"))


def test_a_job_draws_all_figures_and_each_job_takes_its_own(results, tmp_path):
    pen = Pen(tmp_path)
    assert draw(results, pen) == NAMES == pen.drawn
    # Snakemake removes a job's files before the job begins, so none lies among the results yet.
    assert there(results) == []
    before = time.time()
    assert batch.Queue(results).take("fig03")
    assert there(results) == ["fig03.ipynb", "fig03.own.csv", "fig03.pdf"]
    # It is as if it had been drawn there, now.
    assert (results / "notebooks/fig03.ipynb").read_text() == f'["{results}/figures/fig03"]'
    assert all(path.stat().st_mtime >= before - 0.1 for path in (results / "figures").iterdir())
    # Nothing is drawn twice.
    assert draw(results, pen) == [] and pen.drawn == NAMES


def test_figures_are_drawn_in_several_processes_at_once(results, tmp_path):
    begun = time.monotonic()
    draw(results, Pen(tmp_path, seconds=0.3))
    assert 0.9 <= time.monotonic() - begun < 1.6


def test_one_process_draws_while_another_workflow_measures(results, tmp_path):
    begun = time.monotonic()
    with machine_lock.hold(pytest.fail):
        draw(results, Pen(tmp_path, seconds=0.1))
    assert time.monotonic() - begun >= 0.6 and batch.Queue(results).take("fig05")


def test_no_workflow_measures_while_several_processes_draw(results, tmp_path):
    seen = []
    batch.Queue(results).draw(Pen(tmp_path), lambda name: True, lambda name: seen.append(machine_lock.free()))
    assert seen == [False] * 6 and machine_lock.free()


def test_a_figure_that_fails_is_left_to_its_own_job_and_the_others_are_there(results, tmp_path, capfd):
    pen = Pen(tmp_path, broken=("fig01", "fig04"))
    assert draw(results, pen) == NAMES
    assert [batch.Queue(results).take(name) for name in NAMES] == [True, False, True, True, False, True]
    assert not [name for name in there(results) if name.startswith(("fig01", "fig04"))]
    # Its own job says what is wrong, and does not begin with the others again.
    assert capfd.readouterr() == ("", "") and draw(results, pen) == []


def test_a_figure_whose_runs_are_still_to_be_measured_waits(results, tmp_path):
    assert draw(results, Pen(tmp_path), lambda name: name != "fig02") == [name for name in NAMES if name != "fig02"]
    assert not batch.Queue(results).take("fig02")
    assert draw(results, Pen(tmp_path)) == ["fig02"] and batch.Queue(results).take("fig02")


def test_jobs_at_once_share_the_figures(results, tmp_path):
    pen, context = Pen(tmp_path, seconds=0.05), multiprocessing.get_context("fork")
    jobs = [context.Process(target=draw, args=(results, pen)) for _ in range(3)]
    for job in jobs:
        job.start()
    # Its job waits for a figure that another one draws.
    draw(results, pen)
    assert all(batch.Queue(results).take(name) for name in NAMES)
    for job in jobs:
        job.join()
    assert pen.drawn == NAMES


def test_a_killed_job_leaves_nothing_half(results, tmp_path):
    pen = Pen(tmp_path, seconds=0.4)
    job = multiprocessing.get_context("fork").Process(target=draw, args=(results, pen))
    job.start()
    while len(pen.drawn) < 3:
        time.sleep(0.02)
    # Its own processes, too: the kernel drops their locks.
    for number in {int(path.name.partition("-")[2]) for path in pen.notes.iterdir()} | {job.pid}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    job.join()
    taken = [name for name in NAMES if batch.Queue(results).take(name)]
    assert len(taken) < len(NAMES)
    assert there(results) == sorted(f"{name}.{kind}" for name in taken for kind in ("ipynb", "own.csv", "pdf"))
    # The next start of the workflow begins without drafts.
    batch.begin(results.parent, {(STUDY, name): Path(f"{name}-of.ipynb") for name in NAMES})
    assert not any(batch.Queue(results).take(name) for name in NAMES) and draw(results, Pen(tmp_path)) == NAMES


def test_whoever_calls_the_stage_by_hand_draws_one_figure(results, monkeypatch):
    monkeypatch.delenv(batch.VARIABLE)
    assert batch.Queue(results).notebooks == {} and not batch.Queue(results).take("fig01")


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 2), (64, batch.MOST)])
def test_figures_are_drawn_on_all_processors(results, monkeypatch, cores, processes):
    monkeypatch.setattr(batch.os, "sched_getaffinity", lambda _: set(range(cores)))
    batch.begin(results.parent, {(STUDY, "fig01"): Path("x.ipynb")})
    assert batch.Queue(results).processes == processes
