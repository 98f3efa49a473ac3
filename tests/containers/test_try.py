"""`plimsoll try` for real: bad inputs in one sentence each, and planted steps that it names with containers."""

import hashlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from plimsoll.designs.program.attempts import TIMED
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import files, timer, trial
from plimsoll.images import client
from plimsoll.runtimes.base import Spec
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.runtimes.commands import output

from tests import disks, markdown, planted
from tests.conftest import PROJECT
from tests.unit.test_program import of_command

TUTORIAL = PROJECT / "docs/tutorials/own-program.md"
TRIED = [command.words[1:] for command in markdown.commands(TUTORIAL) if "try" in command.words and "--" in command.words]


def plimsoll(folder, *words: str, seconds: float = 120) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts")}
    command = [sys.executable, "-m", "plimsoll.cli", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--", "no_such_program"], "could not be started"),
        (["--", "false"], "failed with exit status 1"),
        (["--limit", "1", "--", "sleep", "60"], "did not end within 1 s"),
        (["--", "sh", "-c", "setsid sleep 61 & echo hi"], "left processes running"),
        (["--", "sh", "-c", "test -t 0 || { echo needs a terminal >&2; exit 1; }"], "needs a terminal"),
        (
            ["--", "/usr/bin/python3", "-c", "import socket; socket.create_connection(('192.0.2.1', 9), 0.2)"],
            "failed with exit status 1",
        ),
        (["--", "head", "-c", "300000000", "/dev/zero"], "more than 256 MiB"),
        (["--metric", "rate=x: ([0-9]+)", "--better", "higher", "--", "echo", "hi"], "no number for rate"),
        (["--metric", "rate=([0-9])", "--better", "higher", "--", "echo", "1 2"], "2 numbers for rate"),
        (["--metric", "rate=([0-9", "--better", "higher", "--", "echo", "1"], "no regular expression"),
        (["--metric", "rate=[0-9]", "--better", "higher", "--", "echo", "1"], "one group"),
        (["--metric", "rate=(-?[0-9])", "--better", "higher", "--", "echo", "-1"], "below 0 there is no relative change"),
        (["--check", "false", "--", "echo", "1"], "the answer is wrong"),
        (["--check", "", "--", "echo", "1"], "--check has an empty value"),
        (["--", "ls", ".."], "is outside of"),
        (["--image", "no-such-image:1", "--", "true"], "no image no-such-image:1"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_sentence_and_leaves_nothing_running(tmp_path, words, told):
    done = plimsoll(tmp_path, "try", "--dry-run", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("plimsoll: ") and told in last
    assert not subprocess.run(["pgrep", "-f", "^sleep 6[01]$"], capture_output=True, text=True).stdout
    assert not (tmp_path / "my-study.yaml").exists()


def test_a_program_that_fills_the_disk_in_its_trial_is_told_in_a_sentence(tmp_path, monkeypatch):
    """Only what it prints was watched."""
    with disks.mounted(tmp_path / "disk", place := tmp_path / "small", 3 * 2**29):
        monkeypatch.setenv("TMPDIR", str(place))
        done = plimsoll(tmp_path, "try", "--dry-run", "--", "sh", "-c", "head -c 700000000 /dev/zero >big; sleep 62")
        assert list(place.iterdir()) == []
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert last.startswith("plimsoll: It was stopped before the disk of its working folder (this attempt took 0.")
    assert last.endswith(" GiB are free) was full (on this host): nothing was measured.")
    assert not subprocess.run(["pgrep", "-f", "^sleep 62$"], capture_output=True, text=True).stdout


def test_a_program_that_reaches_a_server_of_this_host_alone_is_told_where_it_does_not(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        done = plimsoll(tmp_path, "try", "--", "/usr/bin/python3", "-c", code, seconds=300)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2 and last.startswith("plimsoll: The program failed with exit status 1: ")
    assert last.endswith(
        "Connection refused (in a container of its image, whose network is not this host's): nothing was measured."
    )
    assert not (tmp_path / "my-study.yaml").exists()


@pytest.fixture
def loaded(tmp_path):
    """Return a function that gives the engine an image with files, for a processor. They are removed at the end."""
    tags = []

    def load(architecture: str, **files: bytes) -> str:
        tags.append(f"plimsoll-test-try-{os.getpid()}:{len(tags)}")
        (tmp_path / "image.tar").write_bytes(image_archive(tags[-1], architecture, archive_of(files)))
        subprocess.run(["docker", "load", "--input", str(tmp_path / "image.tar")], check=True, capture_output=True)
        (tmp_path / "image.tar").unlink()
        return tags[-1]

    yield load
    subprocess.run(["docker", "image", "rm", "--force", *tags], capture_output=True)


def image_archive(tag: str, architecture: str, layer: bytes, **settings) -> bytes:
    """Return an image of one layer, with settings such as `Env`, as Docker saves it."""
    layers = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    config = {"architecture": architecture, "os": "linux", "config": settings, "rootfs": layers}
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    texts = {name: json.dumps(text).encode() for name, text in (("config.json", config), ("manifest.json", manifest))}
    return archive_of({"layer.tar": layer, **texts})


def archive_of(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def test_an_image_of_another_architecture_or_without_a_shell_is_refused_in_a_sentence(tmp_path, loaded):
    here = subprocess.run(["docker", "version", "--format", "{{.Server.Arch}}"], capture_output=True, text=True).stdout.strip()
    other = "arm64" if here == "amd64" else "amd64"
    done = plimsoll(tmp_path, "try", "--dry-run", "--image", loaded(other, x=b""), "--", "no-such-solver")
    assert done.returncode == 2 and f"is for {other}, and this machine is {here}" in done.stderr.strip().splitlines()[-1]
    alone = loaded(here, solver=timer.program_path().read_bytes())
    done = plimsoll(tmp_path, "try", "--image", alone, "--", "/solver", seconds=300)
    assert done.returncode == 2 and "The image has no /usr/bin/env" in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr and list(tmp_path.iterdir()) == []


def test_a_file_without_its_folder_is_refused(tmp_path):
    (tmp_path / "my-study.yaml").write_text("{}\n")
    done = plimsoll(tmp_path, "reproduce", "my-study.yaml")
    assert done.returncode == 2 and "is not beside my-study.yaml" in done.stderr


def test_a_program_with_other_answers_in_a_container_is_not_timed(tmp_path):
    done = plimsoll(tmp_path, "try", "--", "cat", "/proc/1/comm", seconds=300)
    assert done.returncode == 2 and "output differs between this host and a container" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_with_other_answers_in_a_container_is_not_timed_after_a_dry_run_either(tmp_path):
    made = plimsoll(tmp_path, "try", "--dry-run", "--", "cat", "/proc/1/comm")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "my-study.yaml").read_text()
    for _ in range(2):
        done = plimsoll(tmp_path, "reproduce", "my-study.yaml", seconds=300)
        assert done.returncode == 2 and "output differs between this host and a container" in done.stderr
    assert (tmp_path / "my-study.yaml").read_text() == text and yaml.safe_load(text)["program"]["untried"]
    assert not (tmp_path / "my-study/results/my-study").exists()


@pytest.fixture
def of_host(tmp_path):
    """The unpacked files of an image with a shell of this host, and with files where bare metal makes folders itself."""
    packed, root = tmp_path / "image.tar", tmp_path / "image"
    files.pack(files._with_libraries([Path(shutil.which(name)) for name in (*files.TOOLS, "env", "touch")]), packed)
    with tarfile.open(packed) as archive:
        archive.extractall(root, filter="tar")
    for name in ("root/.profile", "root/deep/data", "var/lib/app/data", "var/plain", "run/app/data", "var/tmp/hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "var/run").symlink_to("/run")
    return root


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the root")
@pytest.mark.parametrize("where", ["", "root/deep", "var/lib", "run", "var/lib/app"])
def test_an_images_files_in_the_folders_of_root_and_of_services_are_there(of_host, tmp_path, where):
    """They were hidden by folders that bare metal makes itself, whatever folder the run has."""
    folder = Path("/", where, f"plimsoll-test-{os.getpid()}") if where else tmp_path / "folder"
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    for each in (folder, tmp_path / "new", tmp_path / "temporary"):
        each.mkdir(parents=True)
    try:
        node = ChangedRoot(Spec("test", "bare", {"rootfs": str(of_host)}, folder), tmp_path / "new", tmp_path / "temporary")
        for name in ("root/.profile", "root/deep/data", "var/lib/app/data", "var/plain", "run/app/data"):
            assert output(node.inside(["cat", f"/{name}"])) == name
            assert subprocess.run(node.inside(["touch", f"/{name}"]), capture_output=True).returncode
        output(node.inside(["sh", "-c", 'echo here >"$0/one" && echo new >/root/new && echo new >/run/new', str(folder)]))
        assert (folder / "one").read_text() == "here\n" and output(node.inside(["cat", "/var/run/app/data"])) == "run/app/data"
        assert subprocess.run(node.inside(["cat", "/var/tmp/hidden"]), capture_output=True).returncode
    finally:
        for each in made:
            shutil.rmtree(each, ignore_errors=True)
    assert not list(of_host.rglob("new")) and str(tmp_path) not in Path("/proc/mounts").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the root")
def test_a_link_in_the_place_of_a_folder_of_an_image_does_not_lead_to_this_host(of_host, tmp_path):
    shutil.rmtree(of_host / "root")
    (of_host / "root").symlink_to(tmp_path)
    for name in ("new", "temporary", "folder"):
        (tmp_path / name).mkdir()
    node = ChangedRoot(
        Spec("test", "bare", {"rootfs": str(of_host)}, tmp_path / "folder"), tmp_path / "new", tmp_path / "temporary"
    )
    assert output(node.inside(["sh", "-c", "echo /root/*"])) == "/root/*\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the root")
def test_tmp_is_a_folder_on_the_disk_if_one_is_given_and_in_memory_without(of_host, tmp_path):
    for name in ("new", "temporary", "folder", "tmp"):
        (tmp_path / name).mkdir()
    spec = Spec("test", "files", {"rootfs": str(of_host)}, tmp_path / "folder")
    writes = ["sh", "-c", "echo here >/tmp/one && cat /tmp/one"]
    mounted = {}
    for tmp in (None, tmp_path / "tmp"):
        node = ChangedRoot(spec, tmp_path / "new", tmp_path / "temporary", tmp=tmp)
        assert output(node.inside(writes)) == "here\n"
        places = [line.split()[1] for line in output(node.inside(["cat", "/proc/self/mounts"])).splitlines()]
        mounted[tmp] = "/tmp" in places
    assert [path.name for path in tmp_path.rglob("one")] == ["one"] and (tmp_path / "tmp/one").read_text() == "here\n"
    assert list(mounted.values()) == [False, True]


def test_folders_that_a_program_writes_in_a_containers_layers_are_seen(of_host, tmp_path):
    """Its own folder and `/tmp` are not among them: a default with volumes has these on a disk anyway."""
    (of_host / TIMED).parent.mkdir(parents=True)
    shutil.copy2(timer.program_path(), of_host / TIMED)
    tag, archive = f"plimsoll-test-layers-{os.getpid()}:1", tmp_path / "layers.tar"
    with tarfile.open(archive, "w") as opened:
        opened.add(of_host, ".")
    client.output("import", str(archive), tag)
    try:
        writes = "; ".join(f"echo 1 >{folder}/new" for folder in (".", "/tmp", "/root/deep", "/var/lib/app"))
        found = trial.layer_folders(of_command("sh", "-c", writes, limit=20.0), {"tag": tag}, {})
    finally:
        client.output("image", "rm", "--force", tag)
    assert sorted(found) == ["/root/deep", "/var/lib/app"]


def containers_of(tag: str) -> list[str]:
    return client.output("ps", "--all", "--quiet", "--filter", f"ancestor={tag}").split()


@pytest.mark.parametrize(
    ("raised", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (Unavailable("it is endless"), PlimsollError)]
)
def test_a_trial_that_is_ended_leaves_no_container(loaded, monkeypatch, raised, expected):
    tag = loaded(client.output("version", "--format", "{{.Server.Arch}}").strip(), **{TIMED: timer.program_path().read_bytes()})

    def look(writes, *_):
        """Raise as soon as the container runs."""
        if writes and containers_of(tag):
            raise raised

    monkeypatch.setattr(trial.process, "refuse_endless", look)
    # The timer itself is the program: it waits for ever.
    with pytest.raises(expected):
        trial.in_container(of_command(f"/{TIMED}", "--pause", limit=60.0), {"tag": tag}, {})
    end = time.monotonic() + 20
    while containers_of(tag) and time.monotonic() < end:
        time.sleep(0.1)
    assert containers_of(tag) == []


@pytest.fixture
def no_engine(tmp_path, monkeypatch):
    """Let neither Docker nor Podman answer, as on a machine that has Apptainer alone. Images are in a store of their own."""
    # A folder of PATH has no colon.
    with tempfile.TemporaryDirectory(prefix="plimsoll-no-engine-") as folder:
        for path in (Path(folder, name) for name in ("docker", "podman")):
            path.write_text("#!/bin/sh\necho it is not here >&2\nexit 1\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setenv("PLIMSOLL_IMAGES", str(tmp_path / "images"))
        yield


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_a_program_and_a_sif_are_measured_in_apptainer(tmp_path):
    (work := tmp_path / "work").mkdir()
    (work / "words.txt").write_text("b\na\n" * 10000)
    refused = plimsoll(work, "try", "--packages", "make", "--", "make")
    assert refused.returncode == 2 and "--packages: nothing that builds images works here" in refused.stderr
    done = plimsoll(work, "try", "--dry-run", "--minutes", "1", "--width", "50%", "--", "sort", "words.txt")
    assert done.returncode == 0, done.stderr
    calm(work / "my-study")
    done = plimsoll(work, "reproduce", "my-study.yaml", seconds=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((work / "my-study/results/my-study/try.json").read_text())
    assert "docker" in told["unavailable"] and any("Singularity" in sentence for sentence in told["answer"])
    measured = {one["runtime"]: one["n"] for one in told["comparisons"] if one["metric"] == "wall" and one["against"] == "host"}
    assert set(measured) == {"files", "singularity", "charliecloud"} and min(measured.values()) >= 5
    # What was made of these files are images too, and so is an archive as an engine elsewhere saves it.
    image = json.loads((work / "my-study/results/images/program.json").read_text())
    shutil.copy(image["sif"], work / "solver.sif")
    layer = subprocess.run(["tar", "--create", "--directory", image["rootfs"], "."], capture_output=True, check=True).stdout
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    (work / "solver.tar").write_bytes(image_archive("solver:2", architecture, layer, Env=["OF_IMAGE=a b"]))
    for name, given in (("sif", "solver.sif"), ("unpacked", os.path.relpath(image["rootfs"], work)), ("archive", "solver.tar")):
        done = plimsoll(work, "try", "--dry-run", "--name", name, "--image", given, "--", "sort", "words.txt")
        assert done.returncode == 0, done.stderr
        study = yaml.safe_load((work / f"my-{name}.yaml").read_text())
        assert study["experiments"]["first"]["runtime"] == ["host", *measured]
        assert study["program"].get("image_variables", {}).get("OF_IMAGE") == ("a b" if name == "archive" else None)
        with tarfile.open(work / f"my-{name}/config/containers/program/files.tar") as packed:
            assert "./usr/bin/sort" in packed.getnames()


def calm(folder) -> None:
    """Let other programs run: what is planted here is larger than what they do."""
    path = folder / "config/profiles/quick.yaml"
    profile = yaml.safe_load(path.read_text())
    profile["idle"] = {"busy_share": 1.0, "window_seconds": 0.05, "wait_seconds": 20}
    profile["neighbours"] = {"share": 1.0, "seconds": 100000}
    path.write_text(yaml.safe_dump(profile))


@pytest.fixture
def planted_client(monkeypatch):
    """Make every container of Docker have a quota, and every confined one a filter that refuses memfd_create."""
    with planted.client() as path:
        monkeypatch.setenv("PATH", path)
        yield


def measured(folder, *words: str) -> dict:
    """Return the answer about a program, as JSON. Only Docker is measured, and other programs may run."""
    made = plimsoll(folder, "try", "--dry-run", "--runtimes", "docker", *words)
    assert made.returncode == 0, made.stderr
    calm(folder / "my-study")
    done = plimsoll(folder, "reproduce", "my-study.yaml", seconds=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "my-study/results/my-study/try.json").read_text())


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.usefixtures("planted_client")
def test_a_planted_quota_and_a_refused_call_are_named_with_their_steps(tmp_path):
    """The sides of a step are watched in a run of their own, which names the call."""
    (tmp_path / "run.py").write_text(planted.REFUSED)
    told = measured(tmp_path, "--minutes", "8", "--width", "10%", "--", "/usr/bin/python3", "run.py")
    answer = " ".join(told["answer"])
    assert f" with {planted.LIMITS}" in answer
    assert f" with {planted.FILTER}" in answer and "With --security-opt seccomp=unconfined it " in answer
    steps = {one["adds"]: one["differs"] for one in told["why"]}
    quota = steps[planted.LIMITS]
    assert "processor quota and period (us): max before, 80000 100000 after" in quota
    assert any("throttled seconds" in sentence for sentence in quota)
    assert steps[planted.FILTER][0].startswith("system calls refused only after: memfd_create (EPERM)")
    assert not any("memfd_create" in sentence for sentence in quota)


@pytest.mark.long
def test_two_planted_steps_are_named_and_what_gives_them_back_is_measured(tmp_path):
    (tmp_path / "run.sh").write_text(planted.TWO_STEPS)
    told = measured(tmp_path, "--minutes", "8", "--width", "10%", "--", "sh", "run.sh")
    answer = " ".join(told["answer"])
    assert f" with {planted.MEMORY}" in answer and f" with {planted.FILTER}" in answer
    assert "With --ipc host it " in answer and "With --security-opt seccomp=unconfined it " in answer
    steps = {one["adds"]: one["differs"] for one in told["why"]}
    assert any("shared memory" in sentence for sentence in steps[planted.MEMORY])
    assert "seccomp: 0 before, 2 after" in steps[planted.FILTER]


@pytest.mark.long
@pytest.mark.parametrize(("path", "in_layer"), [("/tmp/records", True), ("records", False)], ids=["layer", "volume"])
def test_a_containers_layer_is_told_apart_from_its_root_file_system_and_from_a_volume(tmp_path, path, in_layer):
    """The program's folder is always a volume, and the level `files` writes where this host does."""
    (tmp_path / "run.sh").write_text(planted.IN_LAYER)
    told = measured(tmp_path, "--minutes", "8", "--width", "10%", "--", "sh", "run.sh", path)
    of_first = {
        (one["runtime"], one["against"]): one["change"]
        for one in told["comparisons"]
        if one["metric"] == "wall" and one["stage"] == "first"
    }
    # In memory it took an eighth of the time.
    assert abs(of_first["files", "host"]) < 0.5, of_first
    assert (of_first["docker", "files"] > 0.5) == in_layer, told["answer"]
    if in_layer:
        answer = " ".join(told["answer"])
        assert f" with {planted.LAYER}" in answer and "With --volume for each folder that it writes it " in answer
        steps = {one["adds"]: one["differs"] for one in told["why"]}
        assert any(
            re.fullmatch(r"file system of files written in /tmp: \w+ before, overlay after", one)
            for one in steps[planted.LAYER]
        )


def saved(folder) -> None:
    """Save the tutorial's programs as a reader does: each under the name before its block."""
    text = TUTORIAL.read_text()
    for name in re.findall(r"^Save this as `(\w+\.\w+)`", text, re.MULTILINE):
        (block,) = re.findall(rf"^Save this as `{name}`.*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[:1]
        (folder / name).write_text(block)
    for block in markdown.blocks(TUTORIAL):
        if re.search(r"> \w+\.(?:sql|sh)", block.text):
            subprocess.run(["bash", "-c", block.text], cwd=folder, check=True)


@pytest.mark.long
@pytest.mark.parametrize("words", [pytest.param(words, id=words[words.index("--name") + 1]) for words in TRIED])
def test_a_program_of_the_tutorial_can_be_tried(tmp_path, monkeypatch, words):
    """It is run a few times and not measured. A host without the program is left out."""
    monkeypatch.setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    saved(tmp_path)
    # A trial run on this host has left it before.
    Path("/tmp/notes.db").unlink(missing_ok=True)
    done = plimsoll(tmp_path, words[0], "--dry-run", *words[1:])
    name = words[words.index("--name") + 1]
    assert done.returncode == 0, done.stderr
    study = yaml.safe_load((tmp_path / f"my-{name}.yaml").read_text())
    assert study["program"]["command"] == list(words[words.index("--") + 1 :])
