"""Measure on a host that ssh reaches: bring the project there, measure, and bring the results back.

After a broken connection this continues once ssh reaches the host again. All that is kept there lies in one folder: the
sources in project/, what is measured in work/, and images.tar.gz.
"""

import contextlib
import gzip
import hashlib
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from plimsoll import paths
from plimsoll.errors import PlimsollError, say
from plimsoll.features.hosts import marker
from plimsoll.host import threads
from plimsoll.images import forms
from plimsoll.runtimes.commands import last_words
from plimsoll.runtimes.networks.second_host import SSH, ours

# ssh's own exit status: it did not reach the host, or the connection broke.
CUT_OFF = 255
# Time between the lines that are sent to a host (s). A host that gets no line for a minute stops (scripts/cluster/host.sh).
BEAT_SECONDS = 15
# A broken connection is tried again every AGAIN_SECONDS, for PATIENCE_SECONDS at most.
AGAIN_SECONDS, PATIENCE_SECONDS = 10, 3600
# How long a host may take to stop (s).
ENDING_SECONDS = 60
# Prints what is there from an earlier call.
LOOKED = """
mkdir -p "$1" && cd "$1" || exit 1
[ ! -f project/.brought ] || echo "plimsoll: project $(cat project/.brought)"
[ ! -f images.tar.gz ] || echo "plimsoll: images $(sha256sum <images.tar.gz | cut -d ' ' -f 1)"
[ ! -d work/results ] || echo "plimsoll: results"
"""
# Replaces the sources that are there. What set-up and the user have made on the host stays.
BROUGHT = """
cd "$1" && exec 9>lock || exit 1
flock --wait 90 9 || { echo "it is measuring, by another call" >&2; exit 1; }
rm -rf new && mkdir new && tar --extract --gzip --directory new || exit 1
echo "$2" >new/.brought
for before in old project; do
    if [ -f $before/config/local.yaml ]; then cp -p $before/config/local.yaml new/config/; fi
done
for kept in .venv .cache; do if [ -e project/$kept ]; then mv project/$kept new/; fi; done
rm -rf old
if [ -e project ]; then mv project old; fi
mv new project && rm -rf old
"""
IMAGES = 'cd "$1" && cat >images.new && mv images.new images.tar.gz'
RESULTS = 'mkdir -p "$1/work" && tar --extract --gzip --directory "$1/work"'
MEASURED = 'cd "$1" && shift && exec bash --login project/scripts/cluster/host.sh "$@"'
FETCHED = 'cd "$1/work" && tar --create --gzip --exclude=host.lock *'


class CutOff(PlimsollError):
    """ssh does not reach a host, or no longer does."""


@dataclass(frozen=True)
class SshHost:
    """A host by its `name`, its address for `ssh`, and its `folder` there."""

    name: str
    ssh: str
    folder: str

    def command(self, words: list[str]) -> list[str]:
        """Return the command here that runs another command (`words`) on the host."""
        return [*SSH, self.ssh, shlex.join(words)]

    def failed(self, what: str, status: int, said: str = "") -> PlimsollError:
        """Return the error for a command that ended with a status. `what` names the command, and `said` is what it printed.

        It is CutOff if ssh did not reach the host.
        """
        words = last_words(said, status).rstrip(".")
        if status == CUT_OFF:
            return CutOff(
                f"ssh {self.ssh} does not reach {self.name} ({words}). What was measured there is kept there. ssh "
                "must log in without a question: try it by hand."
            )
        return PlimsollError(
            f"{self.name}: {what} failed: {words}. What was measured there is kept there. Repair that, and type the command "
            "again."
        )

    def look(self) -> dict[str, str]:
        """Return what is there from an earlier call: `project` and `images` by their digests, and `results` if there
        are any."""
        command = self.command(["sh", "-c", LOOKED, "sh", self.folder])
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise self.failed("looking into its folder", done.returncode, done.stderr)
        return {key: value for key, _, value in (line.partition(" ") for line in ours(done.stdout))}

    def give(self, what: str, words: list[str], write: Callable[[BinaryIO], None]) -> None:
        """Run a command on the host, and let `write` write to its standard input. Raise PlimsollError, with `what`, if
        it fails."""
        with subprocess.Popen(self.command(words), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                write(process.stdin)
            said = process.stderr.read().decode(errors="replace")
        if process.returncode:
            raise self.failed(what, process.returncode, said)


def measure(host: SshHost, here: Path, images: Path, words: list[str]) -> None:
    """Measure on a host, and put its results and its marker into the folder `here`.

    `words` are options and settings of scripts/cluster/host.sh. Raise PlimsollError if ssh does not reach the host, if
    measuring there fails, or if the host stays away after the connection broke. What was measured stays there, and is
    here as far as it could be fetched.
    """
    if not shutil.which(SSH[0]):
        raise PlimsollError("ssh is not installed here. Nothing was measured. Install it: Debian has it in openssh-client.")
    host.look()
    lost = None
    while True:
        try:
            bring(host, here, images)
            lost = None
            status = run(host, words)
            fetch(host, here)
            break
        except CutOff as problem:
            lost = lost or time.monotonic()
            if time.monotonic() - lost > PATIENCE_SECONDS:
                raise
            say(f"{problem} Trying again.")
            time.sleep(AGAIN_SECONDS)
    if status:
        raise PlimsollError(
            f"{host.name}: measuring failed there. Its messages are above. What was measured is kept there, "
            f"and in {here}/ here. Repair the cause, and type the command again."
        )
    (here / f".{marker.FILE}").replace(here / marker.FILE)


def bring(host: SshHost, here: Path, images: Path) -> None:
    """Bring to the host what it lacks: the sources, the images, and, if it has no results, the results that are here."""
    there, files = host.look(), _sources()
    wanted = _digest(files)
    if there.get("project") != wanted:
        say(f"{host.name}: copying the project to it")
        named = [(path, str(path.relative_to(paths.PROJECT))) for path in files]
        host.give("copying the project to it", ["sh", "-c", BROUGHT, "sh", host.folder, wanted], lambda to: _pack(to, named))
    if there.get("images") != forms.sha256(images):
        say(f"{host.name}: copying {images} to it")
        with open(images, "rb") as file:
            host.give(
                "copying the images to it", ["sh", "-c", IMAGES, "sh", host.folder], lambda to: shutil.copyfileobj(file, to)
            )
    kept = [here / name for name in ("results", marker.STARTS) if (here / name).exists()]
    if "results" not in there and kept:
        say(f"{host.name}: copying what it measured before back to it")
        named = [(path, path.name) for path in kept]
        host.give("copying the results to it", ["sh", "-c", RESULTS, "sh", host.folder], lambda to: _pack(to, named))


def run(host: SshHost, words: list[str]) -> int:
    """Run scripts/cluster/host.sh there with some words, show its messages here, and return its exit status.

    It ends when this process does. Raise CutOff if the connection breaks.
    """
    say(f"{host.name}: measuring there, in {host.folder}")
    process = subprocess.Popen(
        host.command(["sh", "-c", MEASURED, "sh", host.folder, host.name, "work", "--set-up", "--while-open", *words]),
        stdin=subprocess.PIPE,
    )
    ended = threading.Event()
    beating = threads.start(lambda: _beat(process.stdin, ended), daemon=True)
    try:
        status = process.wait()
    finally:
        ended.set()
        beating.join()
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
        process.kill()
    if status == CUT_OFF:
        raise CutOff(f"The connection to {host.name} broke. The measuring there stops, and what was measured is kept there.")
    return status


def _beat(stream: BinaryIO, ended: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not ended.wait(BEAT_SECONDS):
            stream.write(b"\n")
            stream.flush()


def fetch(host: SshHost, here: Path) -> None:
    """Bring back what was measured on the host. Each file is put in place whole.

    The marker of a finished host is put beside its place, under a hidden name.
    """
    say(f"{host.name}: fetching the results")
    here.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=here, prefix=".fetched-") as folder:
        command = host.command(["sh", "-c", FETCHED, "sh", host.folder])
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|gz") as archive:
                    archive.extractall(folder, filter=_plain)
            except tarfile.FilterError as problem:
                raise PlimsollError(
                    f"{host.name}: fetching the results failed ({problem}). They are kept there. Type the command again."
                ) from problem
            except (tarfile.TarError, EOFError, OSError) as problem:
                broken = problem
            else:
                broken = None
            said = process.stderr.read().decode(errors="replace")
        if process.returncode or broken:
            # An archive that ends too early comes from a connection that broke.
            raise host.failed("fetching the results", process.returncode or CUT_OFF, said or str(broken))
        for path in _files_below(Path(folder)):
            place = path.relative_to(folder)
            target = here / (f".{marker.FILE}" if place == Path(marker.FILE) else place)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def _plain(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Return a member of the archive if it is fetched: files, folders, and links that stay in the folder.

    Return None for others, such as pipes that a program has left.
    """
    return tarfile.data_filter(member, folder) if member.isreg() or member.isdir() or member.issym() else None


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())


def _sources() -> list[Path]:
    """Return the files of the project as they are: all that git knows or would add.

    Raise PlimsollError if the project is no checkout of git, or if git is missing.
    """
    listed = ["git", "-C", str(paths.PROJECT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listed, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise PlimsollError(
            f"{paths.PROJECT} is not a checkout of git, or git is not installed. git says which files are "
            "copied to the hosts, so nothing was copied. Clone the project with git."
        ) from problem
    named = (paths.PROJECT / name for name in sorted(set(done.stdout.split("\0")) - {""}))
    return [path for path in named if path.is_file()]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(paths.PROJECT)}\0{forms.sha256(path)}\0".encode())
    return digest.hexdigest()


def _pack(stream: BinaryIO, named: Iterable[tuple[Path, str]]) -> None:
    """Write files and folders, each under a name, as a compressed archive."""
    with gzip.open(stream, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        for path, name in named:
            archive.add(path, name)
