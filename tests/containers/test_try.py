"""`plimsoll try` for real: bad inputs in one sentence each, and planted steps that it names with containers."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
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

from tests import markdown, planted
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


@pytest.fixture
def loaded(tmp_path):
    """Return a function that gives the engine an image with files, for a processor. They are removed at the end."""
    tags = []

    def load(architecture: str, **files: bytes) -> str:
        tags.append(f"plimsoll-test-try-{os.getpid()}:{len(tags)}")
        layer = archive_of(files)
        layers = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
        config = {"architecture": architecture, "os": "linux", "config": {}, "rootfs": layers}
        manifest = [{"Config": "config.json", "RepoTags": [tags[-1]], "Layers": ["layer.tar"]}]
        texts = {name: json.dumps(text).encode() for name, text in (("config.json", config), ("manifest.json", manifest))}
        (tmp_path / "image.tar").write_bytes(archive_of({"layer.tar": layer, **texts}))
        subprocess.run(["docker", "load", "--input", str(tmp_path / "image.tar")], check=True, capture_output=True)
        (tmp_path / "image.tar").unlink()
        return tags[-1]

    yield load
    subprocess.run(["docker", "image", "rm", "--force", *tags], capture_output=True)


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
        trial.in_container(of_command(f"/{TIMED}", "--pause", limit=60.0), tag, {})
    end = time.monotonic() + 20
    while containers_of(tag) and time.monotonic() < end:
        time.sleep(0.1)
    assert containers_of(tag) == []


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
    told = measured(tmp_path, "--minutes", "3", "--width", "10%", "--", "/usr/bin/python3", "run.py")
    answer = " ".join(told["answer"])
    assert f"come with {planted.LIMITS}" in answer
    assert "come with the seccomp filter" in answer and "With --security-opt seccomp=unconfined it is" in answer
    steps = {one["adds"]: one["differs"] for one in told["why"]}
    quota = steps[planted.LIMITS]
    assert any("80000" in sentence for sentence in quota) and any("throttled seconds" in sentence for sentence in quota)
    assert steps[planted.FILTER][0].startswith("system calls refused only after: memfd_create (EPERM)")
    assert not any("memfd_create" in sentence for sentence in quota)


@pytest.mark.long
def test_two_planted_steps_are_named_and_what_gives_them_back_is_measured(tmp_path):
    (tmp_path / "run.sh").write_text(planted.TWO_STEPS)
    made = plimsoll(tmp_path, "try", "--dry-run", "--minutes", "2", "--width", "10%", "--", "sh", "run.sh")
    assert made.returncode == 0, made.stderr
    calm(tmp_path / "my-study")
    done = plimsoll(tmp_path, "reproduce", "my-study.yaml", seconds=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "my-study/results/my-study/try.json").read_text())
    answer = " ".join(told["answer"])
    assert "come with namespaces of processes and shared memory" in answer and "come with the seccomp filter" in answer
    assert "With --ipc host it is" in answer and "With --security-opt seccomp=unconfined it is" in answer
    steps = {one["adds"]: one["differs"] for one in told["why"]}
    assert any("shared memory" in sentence for sentence in steps[planted.PROCESSES])
    assert "seccomp: 0 before, 2 after" in steps[planted.FILTER]


# Appends small records as SQLite does: each is on the disk, with a journal that says how to undo it, before the next one.
RECORDS = """
import os, sys

def write(path, content, mode):
    with open(path, mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

path = sys.argv[1]
for number in range(60):
    write(path + "-journal", b"%8d" % number, "wb")
    write(path, b"%120d" % number, "ab")
    os.remove(path + "-journal")
print(os.path.getsize(path))
os.remove(path)
"""


@pytest.mark.long
@pytest.mark.parametrize(("path", "in_layer"), [("/tmp/records", True), ("records", False)], ids=["layer", "volume"])
def test_records_in_a_containers_layer_are_told_with_the_volume_that_they_could_be_on(tmp_path, path, in_layer):
    """In the level `files` /tmp is in memory, so a layer costs what a disk does. The program's folder is always a volume."""
    (tmp_path / "run.py").write_text(RECORDS)
    told = measured(tmp_path, "--minutes", "6", "--width", "10%", "--", "/usr/bin/python3", "run.py", path)
    of_wall = [one for one in told["comparisons"] if one["metric"] == "wall"]
    [container] = [one for one in of_wall if (one["stage"], one["runtime"], one["against"]) == ("first", "docker", "files")]
    assert (container["change"] > 1) == in_layer, told["answer"]
    if in_layer:
        answer, layer = " ".join(told["answer"]), "the container's root file system and its cgroup's limits"
        assert f"come with {layer}" in answer and "With --volume /tmp --volume /var/tmp it is " in answer
        steps = {one["adds"]: one["differs"] for one in told["why"]}
        assert "file system of files written in /tmp: tmpfs before, overlay after" in steps[layer]


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
