"""Watched runs of a program: the timer that watches for real, what is read of it, and differences between two sides."""

import os
import subprocess
from pathlib import Path

import pytest
from plimsoll import designs
from plimsoll.designs.program import process_view, quotas, side_differences, watched_run, words
from plimsoll.designs.program.factors import FILES, FIRST, LOOK, STEPS
from plimsoll.features.try_program import stages, timer
from plimsoll.measuring import record
from plimsoll.measuring.noise import Snapshot

from tests.conftest import recorded as complete
from tests.unit import test_program as programs

REFUSED = """
import ctypes, mmap, os, threading
libc = ctypes.CDLL(None)
open("here.txt", "w").write("x")
open("/dev/shm/plimsoll-test-{pid}", "w").close()
os.remove("/dev/shm/plimsoll-test-{pid}")
libc.syscall(1000)
wait = threading.Barrier(3)
def work():
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc(1000)
    wait.wait()
threads = [threading.Thread(target=work) for _ in range(2)]
[each.start() for each in threads]
wait.wait()
[each.join() for each in threads]
os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit 3")
"""


@pytest.fixture(scope="module")
def built() -> Path:
    """Return the timer of this machine."""
    return timer.program_path()


def watch(built: Path, folder: Path, *command: str, limit: float = 60, **variables: str) -> watched_run.WatchedRun:
    """Watch a program on this host, and return what was seen."""
    (folder / "0/work").mkdir(parents=True)
    own = {"PATH": os.environ["PATH"], **watched_run.VARIABLES, **variables}
    (folder / "variables").write_text("".join(f"{name}={value}\0" for name, value in own.items()))
    enter = lambda words: [str(built), *words]  # noqa: E731 - a name for one expression
    subprocess.run(enter([str(folder), f"{limit:g}", watched_run.COUNT, *command]), check=True, timeout=120)
    mapped = dict.fromkeys(line.split()[-1] for line in (folder / "mapped").read_text().splitlines() if "/" in line)
    return watched_run.read(folder, [folder], mapped, enter)


def test_a_watched_program_shows_threads_arenas_refused_calls_and_what_it_writes(built, tmp_path):
    seen = watch(built, tmp_path / "run", "/usr/bin/python3", "-c", REFUSED.format(pid=os.getpid()), SOLVER_MODE="fast")
    # A thread may end a moment after it was joined.
    assert seen["traced"] and 3 <= seen["counts"]["tasks at once"] <= 4
    assert seen["counts"]["malloc arenas"] >= 2 or "C library" not in seen["settings"]
    assert seen["settings"]["variable SOLVER_MODE"] == "fast" and "variable PATH" not in seen["settings"]
    assert "file system of files written in its folder" in seen["settings"]
    assert seen["settings"]["file system of files written in /dev/shm"] == "tmpfs"
    assert seen["refused"]["unknown (ENOSYS)"] == 1
    assert seen["settings"].get("C library", "2.").startswith("2.")


def test_a_call_that_is_refused_is_counted_by_its_name(built, tmp_path):
    code = "import os\nfor _ in range(3):\n try: os.sched_setscheduler(1 << 22, 0, os.sched_param(0))\n except OSError: pass\n"
    code += "try: os.kill(1, 0)\nexcept OSError: pass\nimport ctypes\nctypes.CDLL(None).syscall(600)\n"
    refused = watch(built, tmp_path / "run", "/usr/bin/python3", "-c", code)["refused"]
    assert refused["unknown (ENOSYS)"] == 1
    assert ("kill (EPERM)" in refused) == (os.geteuid() != 0)


def test_a_watched_program_that_hangs_or_leaves_processes_is_ended(built, tmp_path):
    for number, command in enumerate(("exec sleep 71", "setsid sleep 72 & sleep 0.2")):
        assert watch(built, tmp_path / str(number), "sh", "-c", command, limit=1)["traced"]
    assert not subprocess.run(["pgrep", "-f", "^sleep 7[12]$"], capture_output=True).stdout


def test_what_libraries_print_of_their_choices_is_read(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "looked").write_text(
        "traced 1 -\nhuge 2048 -\nwritten 2035054128 /data/a b\nwritten 40864 /proc/self\nwritten 7 /x\n"
    )
    (tmp_path / "variables").write_text("A=1=2\0HOME=/root\0OPENBLAS_VERBOSE=2\0")
    (tmp_path / "0/stderr.txt").write_text("Core: SkylakeX\nCore: SkylakeX\n  [host] OMP_NUM_THREADS = '4'\n")
    seen = watched_run.read(
        tmp_path, [tmp_path], {"/lib/libc.musl.so.1": "none"}, lambda words: pytest.fail("it has no such loader")
    )
    assert seen["settings"] == {
        "variable A": "1=2",
        "kernels of OpenBLAS": "SkylakeX",
        "threads of OpenMP": "4",
        "file system of files written in /data/a b": "overlay",
        "file system of files written in /x": "kind 0x7",
    }
    assert seen["counts"] == {"memory in huge pages (MiB)": 2.0} and seen["refused"] == {}


def side(settings: dict, refused: dict | None = None, traced: bool = True, **counts: float) -> watched_run.WatchedRun:
    return {"traced": traced, "refused": refused or {}, "counts": counts, "settings": settings}


def test_differences_between_watched_runs_are_named_and_nothing_else():
    before = side({"C library": "2.36", "kernels of OpenBLAS": "Haswell"}, {"kill (EPERM)": 1}, arenas=1, tasks=8)
    after = side({"C library": "2.36"}, {"kill (EPERM)": 9, "mbind (EPERM)": 3}, arenas=2, tasks=9)
    assert watched_run.differences(before, after) == [
        "system calls refused only after: mbind (EPERM) 3 times",
        "kernels of OpenBLAS: Haswell before, not there after",
        "arenas: 1 before, 2 after, at most",
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"), [(True, False, "after"), (False, True, "before"), (False, False, "before and after")]
)
def test_calls_and_what_is_read_of_them_are_not_compared_with_a_side_that_could_not_be_watched(before, after, told):
    traced = {watched_run.COPIES: "made", f"{watched_run.WRITTEN_IN}/data": "overlay"}
    sides = [
        side({"C library": version, **(traced if is_traced else {})}, {"mbind (EPERM)": 3} if is_traced else {}, is_traced)
        for version, is_traced in (("2.36", before), ("2.41", after))
    ]
    assert watched_run.differences(*sides) == [
        "C library: 2.36 before, 2.41 after",
        f"system calls could not be watched {told}",
    ]


def test_both_sides_of_each_cost_are_watched_and_no_other():
    assert stages.sides_of(programs.effects.table(programs.world({}))) == []
    found = programs.effects.table(programs.world({"docker-filtered": 0.3}))
    own = found[found["stage"] == STEPS]
    assert stages.sides_of(own) == ["docker-unfiltered", "docker-filtered"]
    assert set(stages.sides_of(found[found["stage"] == FIRST])) == {"files", "docker"}


def test_a_watched_run_is_requested_once_and_only_if_there_is_time(monkeypatch, tmp_path, capsys):
    rounds = []
    monkeypatch.setattr(
        stages.rounds, "make", lambda *_: rounds.append(stages.repetitions.read_request(tmp_path, stages.PROFILE).cells)
    )
    monkeypatch.setattr(stages.configuration, "wish", lambda *_: None)
    monkeypatch.setenv(stages.noise.WAIT_UNTIL, "0")
    made = {"program": {"expected_seconds": 1.0}, "experiments": {LOOK: {"runtime": ["files", "docker"]}}}
    long, short = (stages.Budget(stages.time.monotonic(), seconds) for seconds in (100, 1))
    stages._look(made, tmp_path, long, ["files", "docker", "podman"], {"first/docker": 5, "look/files": 1})
    assert rounds == [{"first/docker": 5, "look/files": 1, "look/docker": 1}]
    stages._look(made, tmp_path, short, ["docker"], {})
    stages._look({**made, "experiments": {}}, tmp_path, long, ["docker"], {})
    assert len(rounds) == 1 and capsys.readouterr().out.count("no time is left for a look") == 1


def test_a_wait_for_the_containers_own_quota_is_its_cost_and_disturbs_nothing(monkeypatch):
    monkeypatch.setattr(quotas.slowdowns, "throttled_seconds", lambda groups, mounted: {"/sys/fs/cgroup": 0.0, "heat": 0.0})
    before, after = (
        Snapshot(0.0, 0.0, 0.0, 0.0, {}, 0.0, throttled={"/sys/fs/cgroup": host, "/sys/fs/cgroup/docker/1": own, "heat": 0.0})
        for host, own in ((1.0, 2.0), (1.5, 5.0))
    )
    span, waited = quotas.apart(before, after, {})
    assert waited == 3.0 and span[1].throttled == {"/sys/fs/cgroup": 1.5, "heat": 0.0} and span[1].when == after.when
    slow = programs.recorded({}, {})
    slow[0]["throttled_seconds"] = waited
    assert side_differences.differences(programs.recorded({}, {}), slow) == [
        "throttled seconds: 0.00 before, 3.00 after, in all runs"
    ]


# Makes folders and names in five ways, and prints whether the kernel has openat2.
NAMES = """
import ctypes, os, struct
os.chdir({folder!r})
os.mkdir("made/new")
os.mkdir({folder!r} + "/absolute/new/")
os.rename("read/a", "moved/b")
os.mkdir("new", dir_fd=os.open("relative", os.O_RDONLY))
open("moved/b").close()
try:
    os.mkdir("refused/there")
except FileExistsError:
    pass
how = struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o600, 0)
print(ctypes.CDLL(None).syscall(437, -100, b"opened/c", how, len(how)) >= 0)
"""


def test_folders_in_which_a_program_makes_names_are_among_those_that_it_writes(built, tmp_path):
    ways = ("made", "absolute", "moved", "relative", "opened")
    for name in (*ways, "read", "refused/there"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "read/a").write_text("x")
    seen = watch(built, tmp_path / "run", "/usr/bin/python3", "-c", NAMES.format(folder=str(tmp_path)))
    places = (name.removeprefix(watched_run.WRITTEN_IN) for name in seen["settings"])
    printed = (tmp_path / "run/0/stdout.txt").read_text().strip()
    expected = {str(tmp_path / name) for name in (ways if printed == "True" else ways[:-1])}
    assert printed in ("True", "False")
    assert {place for place in places if Path(place).parent == tmp_path} == expected


OF_OPENBLAS = b"\0OpenBLAS : warning\0OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH\0"
OF_GLIBC = b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u10) stable release version 2.36.\nCopyright\0"


@pytest.mark.parametrize(
    ("name", "content", "version"),
    [
        ("libblas.so.3", OF_OPENBLAS, "OpenBLAS 0.3.21"),
        ("libscipy_openblas64_-ff.so", OF_OPENBLAS, "OpenBLAS 0.3.21"),
        ("libblas.so.3.11.0", b"reference", None),
        ("libz.so.1", OF_OPENBLAS, None),
        ("libc.so.6", OF_GLIBC, "glibc 2.36"),
        ("libc-2.31.so", OF_GLIBC, "glibc 2.36"),
        ("libcrypto.so.3", OF_GLIBC, None),
    ],
)
def test_the_version_of_a_library_is_read_from_its_bytes_up_to_a_limit(tmp_path, monkeypatch, name, content, version):
    (tmp_path / name).write_bytes(content)
    assert process_view.version_of(tmp_path / name) == version
    monkeypatch.setattr(process_view, "MOST_LIBRARY_BYTES", 20)
    assert process_view.version_of(tmp_path / name) is None


def test_the_version_of_this_c_library_is_what_it_says_itself():
    found = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so.6" in line}
    if not found:
        pytest.skip("Python runs with another C library than glibc")
    assert process_view.version_of(Path(*found)) == os.confstr("CS_GNU_LIBC_VERSION")


def test_builds_and_versions_of_mapped_files_have_the_paths_that_the_program_sees(tmp_path):
    root, run = tmp_path / "image", tmp_path / "run"
    (root / "usr/lib").mkdir(parents=True)
    (run / "work").mkdir(parents=True)
    for path, content in ((root / "usr/lib/libblas.so.3", OF_OPENBLAS), (run / "work/libblas.so", OF_OPENBLAS)):
        path.write_bytes(content)
    places = ("/usr/lib/libblas.so.3", "/usr/lib/gone.so", f"{run}/work/libblas.so", "[vdso]")
    lines = [f"7f0{number}-7f1{number} r-xp 00000000 08:01 1 {place}" for number, place in enumerate(places)]
    (run / "mapped").write_text("\n".join([*lines, "8f0-8f1 r--p 00000000 08:01 1 /usr/lib/data.so"]))
    seen = {"mapped": {"/usr/lib/libblas.so.3": "none"}, "versions": {"/usr/lib/libblas.so.3": "OpenBLAS 0.3.21"}}
    assert process_view.mapped(run, root) == seen
    # Without a container, files have their paths on this host.
    (run / "mapped").write_text(f"7f0-7f1 r-xp 00000000 08:01 1 {root}/usr/lib/libblas.so.3")
    assert process_view.mapped(run, root) == seen


@pytest.mark.parametrize(
    ("of_ranks", "fingerprint"),
    [({}, "faadceef8534dd63"), ({"ranks": 2, "containers": 2}, "d1c4af8efb2cc096")],
)
def test_a_watched_run_is_no_measurement_and_changes_no_cell_that_is_one(of_ranks, fingerprint):
    design = designs.find("program")
    program = {"command": ["x"], "runs": 3, "expected_seconds": 1.0, "limit_seconds": 5, **of_ranks}
    config = {"runtimes": {"docker": "optional"}}

    def cells(*stages: str) -> dict[str, dict]:
        wanted = {"program": program, "experiments": {stage: {"runtime": ["docker"]} for stage in stages}}
        return {cell["path"]: cell for _, cell in design.cells.wanted(wanted, {}, {"sizes": {"host": []}}, config, {})}

    alone, with_look = cells(FIRST), cells(FIRST, LOOK)
    assert with_look == {**alone, "look/docker": with_look["look/docker"]}
    assert alone["first/docker"]["fingerprint"] == fingerprint
    assert design.readings.observations(programs.STUDY, {}, complete(timed=[], looked=side({}))) == []


# As Open MPI 4.1 prints it, with the lines that its components print beside it.
OF_OPEN_MPI = """\
[c0:00012] mca: base: components_register: found loaded component ob1
[c0:00012] select: init returned priority 20
[c0:00012] selected ob1 best priority 20
[c0:00012] select: component ob1 selected
[c0:00012] select: component cm not selected / finalized
[c0:00012] mca: bml: Using self btl for send to [[60141,1],0] on node c0
[c0:00012] mca: bml: Using vader btl for send to [[60141,1],1] on node c0
[c0:00012] mca: bml: Not using tcp btl for send to [[60141,1],1] on node c0 because vader btl has higher exclusivity (9 > 1)
"""
TO_ANOTHER_NODE = "[c0:00012] mca: bml: Using tcp btl for send to [[60141,1],2] on node c1\n"
REFUSED_COPY = "[c0:00012] Read -1, expected 1048576, errno = 1\n"


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", {"transport of Open MPI (BTL)": "vader"}),
        # Ranks print in any order.
        (TO_ANOTHER_NODE, {"transport of Open MPI (BTL)": "tcp, vader"}),
        (2 * REFUSED_COPY, {"transport of Open MPI (BTL)": "vader", "failed single copies of Open MPI (errno)": "1"}),
    ],
)
def test_the_transport_that_open_mpi_prints_is_read(tmp_path, more, wanted):
    (tmp_path / "0").mkdir()
    (tmp_path / "looked").write_text("traced 1 -\n")
    (tmp_path / "variables").write_text("OMPI_MCA_btl_base_verbose=1\0OMPI_MCA_pml_base_verbose=10\0")
    (tmp_path / "0/stderr.txt").write_text(more + OF_OPEN_MPI)
    seen = watched_run.read(tmp_path, [tmp_path], {}, lambda words: pytest.fail("it maps no loader"))
    assert seen["settings"] == {"message layer of Open MPI (PML)": "ob1", **wanted}


@pytest.mark.parametrize(("calls", "told"), [(300, "made"), (0, "none made")])
def test_copies_from_process_to_process_are_a_setting_and_no_folder(tmp_path, calls, told):
    (tmp_path / "looked").write_text(f"traced 1 -\ncopies {calls} -\nwritten 2035054128 /data\n")
    seen = watched_run._of_timer([tmp_path], tmp_path)
    assert seen["settings"][watched_run.COPIES] == told and seen["refused"] == seen["counts"] == {}
    assert watched_run.layer_folders(tmp_path) == ["/data"]


OF_FIRST = "traced 1 -\nhuge 2048 -\ntasks 3 -\ncopies 0 -\nEPERM 2 mbind\nwritten 61267 /data\n"
OF_SECOND = "traced 1 -\nhuge 4096 -\ntasks 1 -\ncopies 7 -\nEPERM 1 mbind\nEPERM 5 process_vm_readv\nwritten 61267 /data\n"


@pytest.mark.parametrize(("of_third", "traced"), [("traced 1 -\ncopies 0 -\n", True), ("traced 0 -\n", False), ("", False)])
def test_a_call_that_was_refused_in_any_rank_is_seen_and_each_rank_must_have_been_watched(tmp_path, of_third, traced):
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder, text in zip(folders, (OF_FIRST, OF_SECOND, of_third), strict=True):
        folder.mkdir()
        (folder / "looked").write_text(text)
    seen = watched_run._of_timer(folders, tmp_path)
    assert seen == {
        "traced": traced,
        "refused": {"mbind (EPERM)": 3, "process_vm_readv (EPERM)": 5},
        "counts": {"memory in huge pages (MiB)": 4.0, "tasks at once": 3.0} if traced else {},
        "settings": {watched_run.COPIES: "made", f"{watched_run.WRITTEN_IN}/data": "ext4"},
    }


# Copies a byte of its own memory, or of a process that is not there.
COPY = """
import ctypes, os
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
of, to = ctypes.create_string_buffer(b"x"), ctypes.create_string_buffer(1)
vectors = [Vector(ctypes.addressof(one), 1) for one in (to, of)]
print(ctypes.CDLL(None).process_vm_readv({process}, *(word for one in vectors for word in (ctypes.byref(one), 1)), 0))
"""


@pytest.mark.parametrize(("process", "printed", "told"), [("os.getpid()", "1", "made"), ("1 << 22", "-1", "none made")])
def test_only_copies_that_succeed_are_made(built, tmp_path, process, printed, told):
    seen = watch(built, tmp_path / "run", "/usr/bin/python3", "-c", COPY.format(process=process))
    assert (tmp_path / "run/0/stdout.txt").read_text().strip() == printed
    assert seen["settings"][watched_run.COPIES] == told


def kept(folder: Path, stage: str, runtime: str, **made) -> None:
    """Keep a record of a runtime in a stage, with these keys."""
    record.keep(record.path_of(folder, f"{stage}/{runtime}", 1), complete(**made))


SEEN = {"timed": [{"values": dict.fromkeys(side_differences.COUNTS, 0.0), "output": ""}], "inside": {}, "mapped": {}}
MESSAGES = "messages: shared memory (single copy allowed) before, TCP after"
NOT_WATCHED = f"{side_differences.NOT_COMPARED}, because these were not watched: "


@pytest.mark.parametrize(
    ("host", "docker", "told"),
    [
        ("vader", "tcp", ["transport of Open MPI (BTL): vader before, tcp after"]),
        ("tcp", "tcp", []),
        ("tcp", None, [f"{NOT_WATCHED}Docker"]),
        (None, "tcp", [f"{NOT_WATCHED}{words.level('runtime', FILES)}"]),
        ("tcp", "failed", [f"{NOT_WATCHED}Docker (mpirun ended with 1: no\N{REPLACEMENT CHARACTER})"]),
    ],
)
def test_what_differed_begins_with_messages_and_says_if_a_side_was_not_watched(tmp_path, host, docker, told):
    for name, carried, btl in ((FILES, "shared memory", host), ("docker", "TCP", docker)):
        kept(tmp_path, FIRST, name, **SEEN, transport={"carried_by": carried, "single_copy": "allowed"})
        if btl == "failed":
            kept(tmp_path, LOOK, name, status="invalid", reason="mpirun ended with 1: no\x1b.")
        elif btl:
            kept(tmp_path, LOOK, name, timed=[], looked=side({"transport of Open MPI (BTL)": btl}))
    observed = programs.world({"docker": 0.3})
    found = programs.effects.table(observed[observed["stage"] == FIRST])
    [step] = [one for one in side_differences.of_steps(tmp_path, found) if one["against"] == FILES]
    assert step["runtime"] == "docker" and step["differs"] == [MESSAGES, *told]


def test_what_gives_a_step_back_has_no_sentence_about_watched_runs(tmp_path):
    observed = programs.world({"docker-ipc": 0.3})
    for stage, name in set(zip(observed["stage"], observed["runtime"], strict=True)):
        kept(tmp_path, stage, name, **SEEN)
    told = side_differences.of_steps(tmp_path, programs.effects.table(observed))
    said = {(one["runtime"], one["against"]): one["differs"] for one in told}
    assert said["docker-with-ipc", "docker"] == said["docker", "host"] == []
    assert said["docker-ipc", "docker-pid"] == [
        f"{NOT_WATCHED}{words.level('runtime', 'docker-pid')}, {words.level('runtime', 'docker-ipc')}"
    ]
