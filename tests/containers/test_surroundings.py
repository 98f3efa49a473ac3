"""No setting of the user reaches a measured program, and results may be in any folder.

Every runtime makes a real run beside files and variables that would change or stop it. Its folder has an unusual name,
and nothing may be executed there.
"""

import contextlib
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest
from plimsoll.host import variables

from tests.conftest import usual
from tests.containers.conftest import called

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
RUNTIMES = (
    *("bare", "docker", "docker-ptrace", "docker-host-network", "docker-shared", "docker-shared-ptrace"),
    *("docker-shared-daemon", "docker-shared-processes", "podman", "singularity", "singularity-unpacked", "singularity-cgroup"),
    *("singularity-user", "singularity-sharens", "singularity-sharens-two-copies", "singularity-instance"),
    *("singularity-instance-host-network", "charliecloud"),
)
USUAL = ("bare", "docker", "podman", "singularity", "singularity-sharens", "singularity-instance", "charliecloud")
# Runtimes that are measured in only one node.
OF_ONE_NODE = ("bare", "docker-ptrace")
# Programs split paths at these characters, or give them another meaning.
UNUSUAL = 'études d\'été, a:b; "c" $HOME %d'
FILES = {
    ".openmpi/mca-params.conf": "btl = planted\n",
    ".pmix/mca-params.conf": "gds = planted\n",
    ".config/containers/containers.conf": '[containers]\nenv = ["PLANTED=file"]\n',
    ".apptainer/remote.yaml": "planted\n",
    ".config/ucx/ucx.conf": "UCX_TLS=planted\n",
    "ucx.conf": "UCX_TLS=planted\n",
    ".docker/config.json": json.dumps({"proxies": {"default": {"httpProxy": "http://planted:1"}}}),
}
# Files of the host, which its Open MPI reads if it has one.
OF_HOST = {
    Path("/etc/openmpi/openmpi-mca-params.conf"): "btl = planted\noob = planted\n",
    Path("/etc/pmix/pmix-mca-params.conf"): "gds = planted\n",
}
VARIABLES = {
    "PLANTED": "variable",
    "OMPI_MCA_btl": "planted",
    "PMIX_MCA_gds": "planted",
    "UCX_TLS": "planted",
    "FI_PROVIDER": "planted",
    "OMP_NUM_THREADS": "7",
    "OPENBLAS_CORETYPE": "planted",
    "MALLOC_ARENA_MAX": "1",
    "LD_LIBRARY_PATH": "/planted",
    "JAVA_TOOL_OPTIONS": "-Dplanted",
    "TMPDIR": "/planted",
    "http_proxy": "http://planted:1",
    "DOCKER_DEFAULT_PLATFORM": "linux/planted",
    "APPTAINER_BIND": "/planted",
    "SINGULARITY_BIND": "/planted",
    "APPTAINERENV_PLANTED": "variable",
    "SINGULARITYENV_PLANTED": "variable",
    "SLURM_JOB_ID": "1",
}


@pytest.fixture
def planted(tmp_path_factory, monkeypatch):
    """Set variables, and a home with files, each of which would change or stop a run of some runtime."""
    # Open MPI splits the names of its files at colons, which a test's own folder has.
    folder = tmp_path_factory.mktemp("planted")
    for name, content in FILES.items():
        path = folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    given = {"HOME": str(folder / "home"), "CONTAINERS_CONF": str(folder / "home/.config/containers/containers.conf")}
    for name, value in {**given, **VARIABLES}.items():
        monkeypatch.setenv(name, value)
    return given


@pytest.fixture
def planted_on_the_host():
    """Make files of this host that would stop a run whose launcher reads them. They are mounted only during a test."""
    made = []
    for path, content in OF_HOST.items():
        if not path.parent.exists():
            path.parent.mkdir()
            made.append(path.parent)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(path.parent)], check=True)
        path.write_text(content)
    yield
    for path in OF_HOST:
        subprocess.run(["umount", str(path.parent)], check=True)
    for folder in made:
        folder.rmdir()


@pytest.fixture
def unusual(tmp_path):
    """A folder with an unusual name, on a file system where nothing may be executed."""
    folder = tmp_path / UNUSUAL
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=64m", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def variables_of_rank(folder: Path, seen: dict[str, str], over: threading.Event) -> None:
    """Copy the variables of a rank that runs in a folder into `seen`, as soon as there is one."""
    while not seen and not over.wait(0.1):
        for process in (Path(f"/proc/{number}") for number in called("hpcc")):
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink().is_relative_to(folder):
                    entries = (process / "environ").read_bytes().split(b"\0")
                    seen.update(os.fsdecode(entry).split("=", 1) for entry in entries if b"=" in entry)


def planted_in(seen: dict[str, str]) -> set[tuple[str, str]]:
    """Return the planted variables among those of a program."""
    return {
        (name, value) for name, value in seen.items() if "planted" in f"{name}={value}".lower()
    } | VARIABLES.items() & seen.items()


@pytest.fixture
def measured(workspace, unusual):
    """Return a function that measures in the unusual folder, and gives the record and the variables of a rank."""
    workspace.folder = unusual / "results/liu2020"
    workspace.folder.mkdir(parents=True)

    def measured(runtime: str, scheme: str):
        seen, over = {}, threading.Event()
        watch = threading.Thread(target=variables_of_rank, args=(unusual, seen, over))
        watch.start()
        try:
            return workspace.run(f"uma/exact/{scheme}/{runtime}/any/default/standard/plain/beff"), seen
        finally:
            over.set()
            watch.join()

    return measured


@needs_root
@pytest.mark.parametrize("runtime", usual(RUNTIMES, USUAL))
def test_nothing_of_a_user_s_reaches_a_run_and_its_folder_may_be_any(
    working, measured, unusual, planted, planted_on_the_host, runtime
):
    working(runtime)
    found, seen = measured(runtime, "E1" if runtime in OF_ONE_NODE else "E2")
    assert found["status"] == "valid", found["reason"]
    assert planted_in(seen) == set()
    home = Path(seen["HOME"])
    assert home.name == "home" and home.is_relative_to(unusual) and not home.exists()


@needs_root
@pytest.mark.parametrize(
    ("runtime", "through"),
    [("singularity", ["HOME"]), ("docker", ["HOME"]), ("podman", ["CONTAINERS_CONF"]), ("singularity", VARIABLES)],
    ids=["Open MPI's file", "Docker's file", "Podman's file", "variables"],
)
def test_files_and_variables_show_where_they_reach(working, workspace, measured, planted, monkeypatch, runtime, through):
    """The planted files and variables change or stop a run that they reach."""
    working(runtime)
    workspace.plan["limits"]["attempts"] = 1
    usual = variables.of_run
    monkeypatch.setattr(
        variables, "of_run", lambda given, folder: usual(given, folder) | {name: given[name] for name in through}
    )
    if "HOME" in through:
        # Containers get HOME from this function.
        monkeypatch.setattr(variables, "home_of", lambda folder: Path(planted["HOME"]))
    found, seen = measured(runtime, "E1")
    assert found["status"] == "failed" or planted_in(seen)
