"""A machine that is made quiet is as it was before afterwards: after a command, when a user says so, and after kills."""

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest
from plimsoll import cli
from plimsoll.errors import PlimsollError
from plimsoll.features.doctor import quieting
from plimsoll.host import machine_lock, quiet_settings, system
from plimsoll.measuring import lock

from tests.conftest import PROJECT
from tests.unit.test_doctor import CPU, NOBODY, put

NAME = pwd.getpwuid(NOBODY).pw_name

# A process with the folders of a made-up machine. Its words are the tree, and what is evaluated.
DRIVER = """
import os, signal, sys
from pathlib import Path
from plimsoll.features.doctor import quieting
from plimsoll.host import machine_lock, quiet_settings
from plimsoll.measuring import lock
root = Path(sys.argv[1])
machine_lock.FOLDERS = (root / "lock",)
quiet_settings.SWAPS = root / "proc/swaps"
{}
"""
SETTINGS = {
    **{
        f"{CPU}/cpu{number}/cpufreq/scaling_governor": text
        for number, text in enumerate(("schedutil", "performance", "ondemand"))
    },
    **{f"{CPU}/cpu{number}/cpufreq/scaling_available_governors": "performance schedutil ondemand" for number in range(3)},
    f"{CPU}/cpufreq/boost": "1",
    "proc/sys/kernel/numa_balancing": "1",
}
SWAPS = "Filename Type Size Used Priority\n/dev/sdb2 partition 1000 0 -2\n/swap.img file 1000 0 7\n"
# Makes the driver kill itself when it is to write one of the settings.
DIES = """
write = quiet_settings._set
quiet_settings._set = lambda path, text: os.kill(os.getpid(), 9) if "boost" in path else write(path, text)
"""
# They write what they do, and take areas out of the made-up list or put them in.
SWAPOFF = '#!/bin/sh\necho "swapoff $*" >> {0}/said\ngrep -v "^$1 " {0}/proc/swaps > {0}/new; cp {0}/new {0}/proc/swaps\n'
SWAPON = '#!/bin/sh\necho "swapon $*" >> {0}/said\nfor area; do :; done\necho "$area file 1000 0 7" >> {0}/proc/swaps\n'
Memory = namedtuple("Memory", "available total")
Swap = namedtuple("Swap", "used")


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """Return the root folder of a made-up machine, which all of this process's changes are made below."""
    put(tmp_path, {**SETTINGS, "proc/swaps": SWAPS.strip(), "said": ""})
    (tmp_path / "lock").mkdir()
    (tmp_path / "lock").chmod(0o1777)
    (tmp_path / "bin").mkdir()
    for name, text in (("swapoff", SWAPOFF), ("swapon", SWAPON)):
        (tmp_path / "bin" / name).write_text(text.format(tmp_path))
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(machine_lock, "FOLDERS", (tmp_path / "lock",))
    # This user has swept since the machine started. What other tests run must not be swept by these.
    machine_lock.note_sweep(whole=True)
    monkeypatch.setattr(lock, "sweep", lambda runtimes, aloud: pytest.fail("swept"))
    monkeypatch.setattr(quiet_settings, "SWAPS", tmp_path / "proc/swaps")
    monkeypatch.setattr(quieting.psutil, "virtual_memory", lambda: Memory(8, 10))
    monkeypatch.setattr(quieting.psutil, "swap_memory", lambda: Swap(1))
    return tmp_path


def settings(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text().strip() for name in SETTINGS if "available" not in name}


BEFORE = {name: text for name, text in SETTINGS.items() if "available" not in name}
QUIET = {name: "performance" if "governor" in name else "0" for name in BEFORE}


def is_as_before(root: Path) -> bool:
    return settings(root) == BEFORE and quiet_settings.swaps().keys() == {"/dev/sdb2", "/swap.img"} and not notes(root)


def notes(root: Path) -> list[Path]:
    return [path for path in (root / "lock").iterdir() if "quiet" in path.name]


def started(root: Path, work: str, out: int = subprocess.DEVNULL) -> subprocess.Popen:
    """Start a process that does some work on the made-up machine."""
    words = [sys.executable, "-c", DRIVER.format(work), str(root)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    return subprocess.Popen(words, env=environment, stdout=out, text=True)


def until(what) -> None:
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def a_doctor_at_work(root: Path) -> tuple[subprocess.Popen, int]:
    """Start a doctor with a command. Return its process, and the PID of the command once it runs."""
    command = ["sh", "-c", f"echo $$ > {root}/new.pid; mv {root}/new.pid {root}/pid; exec sleep 100"]
    process = started(root, f"sys.exit(quieting.during({command!r}, root))")
    until((root / "pid").exists)
    return process, int((root / "pid").read_text())


def ended(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_command_runs_on_the_quiet_machine_and_it_is_then_as_before(root, capfd):
    copies = "; ".join(f"echo {name}=$(cat {root}/{name})" for name in BEFORE)
    assert quieting.during(["sh", "-c", f"{copies}; cat {root}/proc/swaps; exit 7"], root) == 7
    said = capfd.readouterr()
    assert dict(line.split("=") for line in said.out.splitlines() if "=" in line) == QUIET
    assert "swap.img" not in said.out and "changed: frequency governor, turbo, NUMA balancing, swap." in said.err
    assert is_as_before(root)
    assert (root / "said").read_text().split("\n")[1:5] == [
        *("swapoff /dev/sdb2", "swapoff /swap.img"),
        *("swapon /dev/sdb2", "swapon -p 7 /swap.img"),
    ]


def test_the_system_that_runs_note_stays_the_same_while_the_command_runs(root, capfd):
    """It is another one than before, so that its runs are never pooled with runs of then."""
    now = lambda: system.settings(root / "sys", root / "proc")  # noqa: E731
    look = (
        f"from plimsoll.host import system; print(system.settings(Path({str(root / 'sys')!r}), Path({str(root / 'proc')!r})))"
    )
    before, words = now(), [sys.executable, "-c", f"from pathlib import Path; {look}; {look}"]
    assert quieting.during(words, root) == 0
    first, second = capfd.readouterr().out.splitlines()
    assert first == second != str(before)
    assert now() == before and before["turbo"] == "on" and "'turbo': 'off'" in first


def test_the_note_is_written_before_the_first_change(root, monkeypatch):
    seen = []
    write = quiet_settings._set
    monkeypatch.setattr(
        quiet_settings, "_set", lambda path, text: (seen.append(quiet_settings.read_note()), write(path, text))[1]
    )
    quieting.keep_quiet(root)
    assert seen and seen[0]["changes"][0] == {
        "path": f"{root}/{CPU}/cpu0/cpufreq/scaling_governor",
        "before": "schedutil",
        "after": "performance",
    }
    assert seen[0]["swaps"] == {"/dev/sdb2": -2, "/swap.img": 7}


def test_it_stays_quiet_until_a_user_says_so(root, capsys):
    assert quieting.keep_quiet(root) == 0
    assert settings(root) == QUIET and "until you type ./plimsoll doctor --undo" in capsys.readouterr().err
    lock.undo_left()
    with lock.machine():
        assert settings(root) == QUIET
    assert quieting.during(["true"], root) == 0
    assert settings(root) == QUIET and capsys.readouterr().err == f"plimsoll: {quieting.KEPT}\n"
    with pytest.raises(PlimsollError, match="before"):
        quieting.keep_quiet(root)
    assert quieting.undo() == 0
    assert is_as_before(root)
    assert quieting.undo() == 0 and "nothing to undo" in capsys.readouterr().err


def test_a_machine_on_which_nothing_can_be_changed_says_so(root, capsys):
    for name in BEFORE:
        (root / name).unlink()
    (root / "proc/swaps").write_text("Filename\n")
    assert quieting.keep_quiet(root) == 1
    said = capsys.readouterr().err
    assert "not changed: frequency governor, because" in said and "Nothing was changed" in said and not notes(root)
    assert quieting.during(["sh", "-c", "exit 3"], root) == 3
    assert "as it is" in capsys.readouterr().err


def test_a_quiet_machine_needs_no_change(root, capsys):
    put(root, {**QUIET, "proc/swaps": "Filename"})
    assert quieting.keep_quiet(root) == 0
    assert "quiet already: frequency governor, turbo, NUMA balancing, swap" in capsys.readouterr().err and not notes(root)


def test_what_cannot_be_written_is_told_and_the_rest_is_changed(root, monkeypatch, capsys):
    write = quiet_settings._set
    monkeypatch.setattr(quiet_settings, "_set", lambda path, text: f"{path}: no" if "boost" in path else write(path, text))
    assert quieting.keep_quiet(root) == 1
    assert settings(root) == {**QUIET, f"{CPU}/cpufreq/boost": "1"} and "boost: no." in capsys.readouterr().err
    assert quieting.undo() == 0 and is_as_before(root)
    monkeypatch.setattr(quiet_settings, "_set", lambda path, text: f"{path}: no")
    (root / "proc/swaps").write_text("Filename\n")
    assert quieting.keep_quiet(root) == 1 and not notes(root)


def test_swap_stays_if_memory_has_no_room_for_what_is_in_it(root, monkeypatch, capsys):
    monkeypatch.setattr(quieting.psutil, "swap_memory", lambda: Swap(8))
    assert quieting.keep_quiet(root) == 1
    assert len(quiet_settings.swaps()) == 2 and "not changed: swap" in capsys.readouterr().err


def test_a_user_without_the_right_is_told_what_to_type_and_nothing_runs(root, monkeypatch):
    monkeypatch.setattr(quieting, "_is_refused", lambda path: True)
    with pytest.raises(PlimsollError, match="sudo ./plimsoll doctor --quiet-machine; then"):
        quieting.during(["touch", str(root / "ran")], root)
    assert is_as_before(root) and not (root / "ran").exists()


def test_a_program_that_is_not_there_changes_nothing(root):
    with pytest.raises(PlimsollError, match="no program"):
        quieting.during(["not-there"], root)
    (root / "bin/odd").write_bytes(b"\x00")
    (root / "bin/odd").chmod(0o755)
    with pytest.raises(OSError):
        quieting.during(["odd"], root)
    assert is_as_before(root)


def test_the_settings_outlive_a_killed_doctor_as_long_as_its_command_runs(root, capsys):
    """So a measurement sees one system from its beginning to its end."""
    process, command = a_doctor_at_work(root)
    process.kill()
    process.wait()
    lock.undo_left()
    assert settings(root) == QUIET and not capsys.readouterr().err
    os.kill(command, signal.SIGKILL)
    until(lambda: ended(command))
    lock.undo_left()
    assert is_as_before(root) and "had left this machine changed" in capsys.readouterr().err
    lock.undo_left()
    assert not capsys.readouterr().err


def test_the_next_measurement_takes_back_what_a_kill_left(root):
    process, command = a_doctor_at_work(root)
    process.kill()
    os.kill(command, signal.SIGKILL)
    process.wait()
    until(lambda: ended(command))
    with lock.machine():
        assert is_as_before(root)


def test_a_kill_in_the_middle_of_changing(root):
    process = started(root, DIES + "quieting.keep_quiet(root)")
    assert process.wait() == -signal.SIGKILL
    assert settings(root) not in (BEFORE, QUIET)
    lock.undo_left()
    assert is_as_before(root)


def test_a_kill_in_the_middle_of_taking_back(root):
    process = started(root, "quieting.keep_quiet(root)")
    assert process.wait() == 0
    assert started(root, DIES + "quieting.undo()").wait() == -signal.SIGKILL
    assert settings(root) not in (BEFORE, QUIET)
    assert quieting.undo() == 0 and is_as_before(root)


def test_a_doctor_that_is_told_to_end_ends_its_command_and_takes_back(root):
    process, command = a_doctor_at_work(root)
    process.terminate()
    process.wait(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM and ended(command) and is_as_before(root)


def test_nothing_is_taken_back_while_somebody_measures(root, capsys):
    process, command = a_doctor_at_work(root)
    for number in (process.pid, command):
        os.kill(number, signal.SIGKILL)
    process.wait()
    until(lambda: ended(command))
    measuring = started(root, "with machine_lock.hold(print): print('held', flush=True); signal.pause()", subprocess.PIPE)
    assert measuring.stdout.readline() == "held\n"
    lock.undo_left()
    assert settings(root) == QUIET and "when the measurement that is running now has ended" in capsys.readouterr().err
    measuring.kill()
    measuring.communicate()
    lock.undo_left()
    assert is_as_before(root)


def test_what_somebody_has_set_meanwhile_stays(root):
    quieting.keep_quiet(root)
    governor = f"{CPU}/cpu0/cpufreq/scaling_governor"
    put(root, {governor: "powersave"})
    assert quieting.undo() == 0
    assert settings(root) == {**BEFORE, governor: "powersave"} and not notes(root)


def test_a_note_of_an_earlier_start_of_the_machine_is_worthless(root, monkeypatch):
    quieting.keep_quiet(root)
    monkeypatch.setattr(system, "boot", lambda: "another")
    assert quieting.undo() == 0
    assert settings(root) == QUIET and not notes(root)


def test_what_cannot_be_taken_back_is_told_and_stays_noted(root, monkeypatch, capsys):
    quieting.keep_quiet(root)
    with monkeypatch.context() as broken:
        broken.setattr(quiet_settings, "_set", lambda path, text: f"{path}: no")
        assert quieting.undo() == 1
    assert "not taken back" in capsys.readouterr().err and notes(root)
    assert quieting.undo() == 0 and is_as_before(root)


def test_a_note_that_cannot_be_read_says_what_it_means(root):
    quieting.keep_quiet(root)
    (note,) = notes(root)
    note.write_text(json.dumps({"boot": system.boot()}))
    with pytest.raises(PlimsollError, match="Restart the machine"):
        quieting.undo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_another_user_s_quiet_machine_is_left_alone(root, capsys):
    quieting.keep_quiet(root)
    (note,) = notes(root)
    os.chown(note, NOBODY, NOBODY)
    note.rename(note.with_name(f"{quiet_settings.NOTE}.{NOBODY}"))
    put(root, BEFORE)
    with pytest.raises(PlimsollError, match=f"{NAME} has made this machine quiet"):
        quieting.during(["true"], root)
    assert quieting.undo() == 1 and f"{NAME} has changed settings" in capsys.readouterr().err
    # A file in another user's name is not a note.
    (root / "lock" / f"{quiet_settings.NOTE}.{NOBODY}").rename(root / "lock" / f"{quiet_settings.NOTE}.0")
    assert quiet_settings.read_note() is None


def test_the_next_command_takes_back_what_a_kill_left(root, capsys):
    process, command = a_doctor_at_work(root)
    process.kill()
    os.kill(command, signal.SIGKILL)
    process.wait()
    until(lambda: ended(command))
    assert cli.main(["version"]) == 0
    assert is_as_before(root) and "had left this machine changed" in capsys.readouterr().err
