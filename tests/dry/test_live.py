"""What a user sees of a running workflow: in a terminal, in a file, after a failure and after Ctrl-C. Nothing is measured."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from plimsoll.terminal import interruption

from tests.conftest import PROJECT

SCRIPTS = PROJECT / "scripts"
# Two runs, of which each takes a second, and a page.
SNAKEFILE = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPTS)!r})
from plimsoll.measuring import failing_groups, progress
from plimsoll.terminal import interruption
from plimsoll.terminal.live import call, display, events
from plimsoll.terminal.live.runs import Queue

failing_groups.begin()
interruption.watch()
events.claim()
WORDS = {{"a": "two Docker containers, b_eff", "b": "bare metal, b_eff"}}

onstart:
    if display.current:
        display.current.begin()
    progress.begin(Path("results/s/progress"), ["a/1", "b/1"])
    if display.current:
        display.current.expect([Queue(Path("results/s"), ["a/1", "b/1"], {{"a": 1.5, "b": 1.5}}, WORDS.get)], call.Later())

rule all:
    input:
        "results/s/report.html",

rule measure:
    output:
        "results/{{study}}/runs/{{run}}.json",
    log:
        "results/{{study}}/logs/{{run}}.log",
    shell:
        "{sys.executable} job.py {{wildcards.run}} {{output}} 2> >(tee {{log}} >&2)"

rule report:
    input:
        "results/{{study}}/runs/a/1.json",
        "results/{{study}}/runs/b/1.json",
    output:
        "results/{{study}}/report.html",
    log:
        "results/{{study}}/logs/report.log",
    shell:
        "{{config[page]}} 2> >(tee {{log}} >&2)"
"""
JOB = """
import sys, time
from pathlib import Path
from plimsoll.measuring import progress
run, output = sys.argv[1:]
print("docker: pulling layers", file=sys.stderr, flush=True)
if run == "a/1":
    print("plimsoll: the Docker engine did not answer; it was started again, and no run is lost.", file=sys.stderr, flush=True)
time.sleep(1.2)
Path(output).write_text("{}")
found = {"status": "valid", "reason": None, "attempts": 1, "invalid_attempts": []}
progress.finish(Path("results/s/progress"), run, 1.2, found)
"""
FAILS = f"{sys.executable} fails.py"
DRAWS = "sleep 1; touch results/s/report.html"
PROBLEM = "plimsoll: the Docker engine did not answer; it was started again, and no run is lost."
COUNTED, LOG = "s: 2 valid", "The log of all steps: results/logs/workflow.log"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "fails.py").write_text("raise KeyError(7)")
    return tmp_path


def command(page: str = DRAWS, *more: str) -> list[str]:
    words = ["--cores", "1", "--nolock", "--scheduler", "greedy", "--quiet", "rules", "host", "--logger", "plimsoll", *more]
    return [sys.executable, "-m", "snakemake", *words, "--config", f"page={page}"]


def environment(**more: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**known, "PYTHONPATH": str(SCRIPTS), "TERM": "xterm-256color", **more}


class Terminal:
    """A program in a terminal of so many columns, and everything that it prints."""

    def __init__(self, folder: Path, columns: int, words: list[str], **more: str):
        self.printed = b""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment(**more), start_new_session=True, preexec_fn=self._controlled, **streams
        )
        os.close(theirs)

    @staticmethod
    def _controlled() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def read(self, until: bytes = b"", seconds: float = 60) -> None:
        """Read until a text was printed, or to the end."""
        end = time.monotonic() + seconds
        if until and until in self.printed:
            return
        # Linux raises an error when the other end is closed.
        with contextlib.suppress(OSError):
            while (read := os.read(self._ours, 65536)) and time.monotonic() < end:
                self.printed += read
                if until and until in self.printed:
                    return
        assert not until, self.printed

    def type(self, what: bytes) -> None:
        os.write(self._ours, what)

    def end(self) -> int:
        self.read()
        os.close(self._ours)
        return self.process.wait(timeout=30)

    def frames(self) -> list[str]:
        """Return every text that stood in the live line."""
        return [plain(part) for part in re.findall(rb"\x1b\[2K([^\r\n]*)", self.printed) if plain(part)]

    def screen(self) -> list[str]:
        """Return the lines that stay on the screen."""
        lines, row = [""], 0
        for token in re.findall(rb"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", self.printed):
            if token == b"\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif token == b"\x1b[2K":
                lines[row] = ""
            elif up := re.fullmatch(rb"\x1b\[(\d+)A", token):
                row -= int(up[1])
            elif not token.startswith((b"\x1b", b"\r")):
                lines[row] += token.decode()
        return [line for line in lines if line]


def plain(part: bytes) -> str:
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", part).decode()


@pytest.mark.parametrize(("columns", "variables"), [(80, {}), (120, {"NO_COLOR": "1"})])
def test_in_a_terminal_one_line_is_rewritten_and_problems_stay_above_it(folder, columns, variables):
    seen = Terminal(folder, columns, command(), **variables)
    assert seen.end() == 0, seen.printed
    measuring = [frame for frame in seen.frames() if frame.startswith("measuring ")]
    assert any("two Docker containers, b_eff" in frame for frame in measuring)
    assert any("bare metal, b_eff" in frame for frame in measuring)
    assert {frame.split()[1] for frame in measuring} >= {"0/3", "1/3"}
    assert all(re.search(r"  \d:\d\d left \(total \d:\d\d\)$", frame) for frame in measuring)
    assert any(frame.startswith("writing 2/3  the report of s  ") for frame in seen.frames())
    assert max(map(len, measuring)) < columns - 2
    # Nothing of the line stays, and nothing of Snakemake or of the jobs is shown.
    assert "".join(seen.screen()) == PROBLEM + COUNTED + LOG
    assert bool(re.search(rb"\x1b\[[0-9;]*3[0-7]m", seen.printed)) == (not variables)
    # The cursor is shown even if the workflow is killed.
    assert seen.printed.count(b"\x1b[?25h") > seen.printed.count(b"\x1b[?25l")
    log = (folder / "results/logs/workflow.log").read_text()
    assert "docker: pulling layers" in log and "Building DAG of jobs" in log and "[1/2]" in log


def test_ctrl_c_is_answered_by_one_line_with_the_command_that_goes_on(folder):
    seen = Terminal(folder, 200, command(), PLIMSOLL_COMMAND="make reproduce HOURS=1")
    seen.read(b" 0/3")
    seen.read(PROBLEM.encode())
    seen.type(b"\x03")
    assert seen.end() != 0
    assert seen.screen() == [PROBLEM, f"{interruption.STAYS} make reproduce HOURS=1"]


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(words, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=120)


def test_a_failure_is_one_sentence_and_names_the_log(folder):
    done = run(folder, *command(FAILS))
    assert done.returncode == 1 and "\x1b" not in done.stderr and done.stdout == ""
    said = [line for line in done.stderr.splitlines() if not line.startswith(("measuring ", "preparing ", "writing "))]
    assert said[0] == PROBLEM and said[2:] == [COUNTED, LOG]
    assert said[1].startswith("plimsoll: the report of s failed (KeyError: 7). What was measured is kept, ")
    assert said[1].endswith(" results/s/logs/report.log says more.")
    assert "Traceback" in (folder / "results/logs/workflow.log").read_text()


def test_a_verbose_start_shows_everything(folder):
    done = run(folder, *command(), PLIMSOLL_VERBOSE="1")
    assert done.returncode == 0
    for text in ("Building DAG of jobs...", "docker: pulling layers", "[1/2]", "s: 2 valid", PROBLEM):
        assert text in done.stderr
    assert not (folder / "results/logs/workflow.log").exists()


def test_the_profile_uses_the_plugin_only_where_snakemake_finds_it(folder):
    """A Snakemake of another environment reads the Snakefile as well."""
    named = ["--workflow-profile", str(PROJECT / "profiles/default"), "--cores", "1", "--config", f"page={DRAWS}"]
    there = run(folder, sys.executable, "-m", "snakemake", *named)
    lines = [line for line in there.stderr.splitlines() if not line.startswith("Using workflow specific profile ")]
    assert there.returncode == 0 and lines[-2:] == [COUNTED, LOG] and len(lines) <= 4, there.stderr
    # -S leaves out the folder of the installed packages, which names the project's.
    without = "import sys; sys.path = [p for p in sys.path if 'scripts' not in p]; from snakemake.cli import main; main()"
    again = subprocess.run(
        [sys.executable, "-c", without, *named, "--forceall"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert again.returncode == 0 and "Job stats:" in again.stderr and LOG not in again.stderr, again.stderr
