"""Program that runs another program in a guest, as `docker exec` does in a container. It uses the port that the guest
listens on (node.sh).

It imports nothing of the package, because a node is entered by a command, and this is that command.
"""

import contextlib
import io
import os
import select
import shlex
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

# Folder in which the guest unpacks what a program needs besides the node's folder, and leaves the program's output.
WORK = "run/plimsoll/work"
# Exit code of a command whose guest is gone.
GONE = 255
# Longest first line of an answer, and largest answer (bytes). An answer holds what a program writes into its folder.
HEAD, MOST = 64, 2**30


def main(arguments: list[str]) -> int:
    """Run a program in a guest, given PORT FOLDER WHERE PROGRAM..., and return its exit code.

    PORT is the guest's port. FOLDER is the node's folder. It is in the guest with its files, and what is written into
    it comes back when the program has ended. The program runs in the folder WHERE, if that is not empty. Return GONE
    if the guest does not answer.
    """
    port, folder, where, *program = arguments
    asked = archive(Path(folder), where, program)
    try:
        with _asking(port, f"run {len(asked)}\n".encode() + asked) as stream:
            code, answer = read_answer(stream)
        unpack(answer, Path(folder), sys.stdout.buffer, sys.stderr.buffer)
    except (OSError, ValueError, tarfile.TarError) as problem:
        print(f"the guest does not answer: {problem}", file=sys.stderr)
        return GONE
    return code


def archive(folder: Path, where: str, program: list[str]) -> bytes:
    """Return an archive of what a guest needs for a program: the node's folder, and a script that runs the program."""
    script = (f"cd {shlex.quote(where)} && " if where else "") + f"exec {shlex.join(program)}\n"
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as packed:
        if folder.is_dir():
            packed.add(folder, filter=_of_1970)
        for name, text, moment in (("script", script, 0), ("begun", "", 1)):
            described = tarfile.TarInfo(f"{WORK}/{name}")
            described.size, described.mtime = len(text.encode()), moment
            packed.addfile(described, io.BytesIO(text.encode()))
    return held.getvalue()


def _of_1970(one: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return a file or a folder with the time 1970, and None for anything else. By that time the guest tells it from
    what its programs write."""
    one.mtime = 0
    return one if one.isfile() or one.isdir() else None


def unpack(answer: bytes, folder: Path, out, err) -> None:
    """Write the files of a guest's answer into the node's folder, and the program's output to `out` and `err`."""
    streams = {f"{WORK}/out": out, f"{WORK}/err": err}
    within = f"{str(folder).lstrip('/')}/"
    with tarfile.open(fileobj=io.BytesIO(answer), mode="r:") as packed:
        for member in packed:
            # A sparse file may claim any size.
            if not member.isfile() or member.issparse():
                continue
            content, name = packed.extractfile(member).read(), member.name.lstrip("/")
            if name in streams:
                streams[name].write(content)
                streams[name].flush()
            elif name.startswith(within) and not {"", ".", ".."} & set(name.split("/")):
                _put(content, folder, name.removeprefix(within))


def _put(content: bytes, folder: Path, name: str) -> None:
    """Write a file into a folder, or into folders in it, which are made if they are missing.

    Another node of the run may write there too. Raise OSError if there is a link on the way, or anything that is not
    a file.
    """
    *between, last = name.split("/")
    within = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        for place in between:
            with contextlib.suppress(FileExistsError):
                os.mkdir(place, dir_fd=within)
            deeper = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
            os.close(within)
            within = deeper
        with contextlib.suppress(FileNotFoundError):
            os.unlink(last, dir_fd=within)
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(last, how, 0o644, dir_fd=within), "wb") as file:
            file.write(content)
    finally:
        os.close(within)


def read_answer(stream) -> tuple[int, bytes]:
    """Return the exit code and the archive of an answer. Raise OSError if the answer is not complete."""
    head = stream.readline(HEAD).split()
    if len(head) != 2 or not all(number.isdigit() for number in head) or int(head[1]) > MOST:
        raise OSError("it ended in the middle, or says nonsense")
    code, size = map(int, head)
    content = stream.read(size)
    if len(content) != size:
        raise OSError("it ended in the middle of its answer")
    return code, content


@contextlib.contextmanager
def _asking(port: str, asked: bytes, seconds: float | None = None) -> Iterator[io.BufferedReader]:
    """Send a request to a guest, and yield its answer as a stream.

    The guest's port is two pipes that QEMU keeps open, so the guest need not check whether this end is open. Raise
    OSError if the guest is gone, or does not answer within `seconds`.
    """
    # With O_NONBLOCK this fails if there is no reader at the other end. Otherwise it would wait for one.
    into, out = os.open(f"{port}.in", os.O_WRONLY | os.O_NONBLOCK), os.open(f"{port}.out", os.O_RDONLY | os.O_NONBLOCK)
    with open(into, "wb", buffering=0) as sink, open(out, "rb") as stream:
        os.set_blocking(into, True)
        os.set_blocking(out, True)
        left = memoryview(asked)
        while left:
            left = left[sink.write(left) :]
        if not select.select([out], [], [], seconds)[0]:
            raise TimeoutError(f"it says nothing for {seconds:g} s")
        yield stream


def uptime(port: str, seconds: float) -> float:
    """Return what a guest's clock says (s since its boot). Raise OSError if it does not answer within `seconds`."""
    with _asking(port, b"clock\n", seconds) as stream:
        told = stream.readline(HEAD)
    try:
        return float(told)
    except ValueError as problem:
        raise OSError(f"it answers {told!r} to the question for its clock") from problem


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
