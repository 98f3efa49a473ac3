"""A Slurm for tests, whose two nodes are both this machine: munge, slurmctld and two slurmd of Debian's packages.

Debian's Slurm allows several slurmd on a machine. None of these is a service of the machine, and all end with the test.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from plimsoll.host import cgroup

from tests.faults.processes import below

NODES = ("n1", "n2")
CPUS, MEMORY = os.cpu_count(), 2000
# Script that a node runs at the end of each job, until a test replaces it (`at_each_end`).
NOTHING = "#!/bin/sh\n"
# Time after which the processes of a cancelled job are killed if they have not ended (s).
KILL_WAIT = 25
PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "squeue", "scancel", "scontrol")
PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/d-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d-%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
MinJobAge=300
KillWait={kill_wait}
Epilog={folder}/epilog
ReturnToService=2
JobRequeue=0
MailProg=/bin/true
MpiDefault=none
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports}] CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE State=UP
"""
# Configuration for the two versions of the kernel's cgroups.
OF_CGROUPS = {1: "CgroupPlugin=cgroup/v1\n", 2: "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"}


def missing() -> str | None:
    """Return why there can be no Slurm here; None if there can be one."""
    if os.geteuid():
        return "Slurm's daemons need root"
    lacking = [program for program in PROGRAMS if not shutil.which(program, path=PLACES)]
    return f"{lacking[0]} is not installed (scripts/setup/tests.sh)" if lacking else None


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """Run a Slurm, and yield the environment variables of its commands.

    `folder` has a short path and belongs to root. All users may enter it and the folders above it.
    """
    host = socket.gethostname().partition(".")[0]
    version = cgroup.version(cgroup.mounts())
    folder.chmod(0o755)
    for name in ("ctld", *(f"d-{node}" for node in NODES)):
        (folder / name).mkdir(mode=0o755)
    port, *ports = _free_ports(1 + len(NODES))
    given = {"host": host, "folder": folder, "cpus": CPUS, "memory": MEMORY, "kill_wait": KILL_WAIT}
    made = CONFIGURATION.format(**given, port=port, ports=",".join(map(str, ports)))
    (folder / "slurm.conf").write_text(made)
    at_each_end(folder, NOTHING)
    (folder / "cgroup.conf").write_text(OF_CGROUPS[2 if str(version).startswith("2") else 1])
    known = {**os.environ, "PATH": f"{folder}/bin:{PLACES}", "SLURM_CONF": str(folder / "slurm.conf")}
    # Snakemake's plugin deletes SLURM_CONF in a job, because Slurm usually has its configuration at the usual place.
    (folder / "bin").mkdir()
    (folder / "bin/srun").write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    (folder / "bin/srun").chmod(0o755)
    subprocess.run(["mungekey", "--create", "--keyfile", str(folder / "munge.key")], env=known, check=True)
    files = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munge.pid", "seed-file": "munge.seed"}
    munged = ["munged", "--foreground", *(f"--{option}={folder / name}" for option, name in files.items())]
    with contextlib.ExitStack() as started:
        started.enter_context(_daemon(munged, known, folder))
        _wait(lambda: (folder / "munge.sock").exists(), folder)
        started.enter_context(_daemon(["slurmctld", "-D", "-c"], known, folder))
        for node in NODES:
            started.enter_context(_daemon(["slurmd", "-D", "-N", node], known, folder))
        _wait(lambda: _states(known) == ["idle"] * len(NODES), folder)
        try:
            yield known
        finally:
            _end_jobs(known)


def at_each_end(folder: Path, script: str) -> None:
    """Let the nodes run this shell script, as root, at the end of each job."""
    new = folder / "epilog.new"
    new.write_text(script)
    new.chmod(0o755)
    new.rename(folder / "epilog")


def _free_ports(number: int) -> list[int]:
    """Return ports on which no program listens."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def _daemon(words: list[str], known: dict[str, str], folder: Path) -> Iterator[None]:
    with open(folder / f"{words[0]}{words[-1]}.out".replace("/", "-"), "w") as said:
        process = subprocess.Popen(words, env=known, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()


def _wait(there, folder: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not there():
        words = "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in [*folder.glob("*.log"), *folder.glob("*.out")])
        assert time.monotonic() < end, words
        time.sleep(0.2)


def _states(known: dict[str, str]) -> list[str]:
    done = subprocess.run(["sinfo", "--Node", "--noheader", "--format", "%t"], env=known, capture_output=True, text=True)
    return done.stdout.split()


def jobs(known: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the state and the node of each job that is not over, by its number."""
    done = subprocess.run(
        ["squeue", "--noheader", "--format", "%i %t %N"], env=known, capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return {number: (state, rest[0] if rest else "") for number, state, *rest in rows}


def processes(job: str) -> list[int]:
    """Return the processes of a job, without Slurm's own."""
    found = subprocess.run(["pgrep", "--full", rf"^slurmstepd: \[{job}\."], capture_output=True, text=True)
    of_slurm = {int(number) for number in found.stdout.split()}
    return [one.number for one in below(of_slurm) if one.number not in of_slurm]


def wait_until_over(known: dict[str, str], seconds: float = 60) -> None:
    """Wait until no job is left, completing ones included."""
    end = time.monotonic() + seconds
    while jobs(known):
        assert time.monotonic() < end, jobs(known)
        time.sleep(0.2)


def _end_jobs(known: dict[str, str]) -> None:
    """Cancel all jobs, and kill what is left of them.

    Clusters have a cgroup for each job. Without one, Slurm loses sight of a process whose parent was killed before it.
    """
    with contextlib.suppress(AssertionError, subprocess.CalledProcessError):
        for job in jobs(known):
            subprocess.run(["scancel", "--full", "--signal=KILL", job], env=known, capture_output=True)
        wait_until_over(known, 20)
    programs, of_job = known["PATH"].partition(":")[0].encode(), (b"SLURM_JOB_ID=", b"PLIMSOLL_JOB=")
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            entries = (folder / "environ").read_bytes().split(b"\0")
            if any(one.startswith(of_job) for one in entries) and any(programs in one for one in entries):
                os.kill(int(folder.name), signal.SIGKILL)
