"""Files that a program of this host needs: those that its loader names, and those that it opened in a trial run."""

import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import ranks, trial
from plimsoll.features.try_program.study_options import OF_HOST_ALONE, StudyOptions
from plimsoll.measuring import process

# Programs that runtimes start in a container, and that a look into it needs.
TOOLS = ("sh", "env", "sleep", "cat", "true")
# Folders of which nothing is packed: the kernel's, and what changes from run to run.
LEFT_OUT = tuple(map(Path, ("/proc", "/sys", "/dev", *OF_HOST_ALONE)))
EMPTY = ("dev", "etc", "proc", "root", "run", "sys", "tmp", "var/tmp", "opt")
# A system call of a trace that succeeded: the folder that a path is relative to, and the path.
CALL = re.compile(r'^(?:\d+ +)?\w+\((?:(?:AT_FDCWD|\d+)(?:<(?P<at>[^>]*)>)?, )?"(?P<path>(?:[^"\\]|\\.)*)".*\) += (?!-1)')
LOADED = re.compile(r"(?:=> )?(/\S+) \(0x")
# How long a neighbour is watched for the files that it opens (s).
NEIGHBOUR_SECONDS = 3.0
LARGEST = 4 * 2**30
# A traced run may take so many times as long as one that hangs: each file that is opened takes half a millisecond longer.
SLOWED = 3
WATCHED = "A run is watched for the files that it opens, which makes it slower."
UNWATCHED = (
    "No run is watched for the files that it opens, because this host has no strace. The image gets only the program and its "
    "libraries. For the others: apt-get install strace."
)


def needed(options: StudyOptions, tell: Callable[[str], None]) -> list[Path]:
    """Return the paths of the files that the program needs, sorted. Say how they are found, and whether some may be missing.

    Raise PlimsollError if the program is not there, or needs too many bytes.
    """
    tell(WATCHED if shutil.which("strace") else UNWATCHED)
    program, opened = _program(options), _opened(options, tell)
    tools = [Path(found) for name in TOOLS if (found := shutil.which(name))]
    beside = ranks.files_beside(opened) if options.ranks else ()
    found = {*_with_libraries([program, *tools, *beside]), *opened, *_of_neighbour(options)}
    kept = {path for path in found if path.is_file() and not _is_left_out(path, options.folder)}
    if (size := sum(path.stat().st_size for path in kept)) > LARGEST:
        raise PlimsollError(
            f"The program's files take {size >> 30} GiB, too much for an image. Nothing was measured. Give one with --image."
        )
    return sorted(kept)


def _of_neighbour(options: StudyOptions) -> list[Path]:
    """Return the files of the program that runs beside it; empty without one. It may have no end."""
    if not options.beside:
        return []
    program = _program(options._replace(command=options.beside))
    # The program's PATH may not lead to it.
    timeout = shutil.which("timeout") or "timeout"
    ended = (timeout, "-s", "KILL", f"{NEIGHBOUR_SECONDS:g}", *options.beside)
    return [*_with_libraries([program]), *_opened(options._replace(command=ended))]


def _with_libraries(programs: Sequence[Path]) -> list[Path]:
    """Return programs, the interpreters of scripts among them, and the libraries of all."""
    own = dict.fromkeys([*programs, *_interpreters(programs)])
    return [*own, *(path for one in own for path in _loaded(one))]


def _program(options: StudyOptions) -> Path:
    name = options.command[0]
    found = (options.folder / name if options.folder and "/" in name else None) or (
        Path(where) if (where := shutil.which(name, path=trial.path_of(options))) else None
    )
    if found is None or not found.is_file():
        raise PlimsollError(f"There is no program {name} here. Nothing was measured. Give its path, or install it.")
    return found if found.is_absolute() else found.absolute()


def _is_left_out(path: Path, folder: Path | None) -> bool:
    return any(path.is_relative_to(place) for place in (*LEFT_OUT, *([folder] if folder else [])))


def _loaded(program: Path) -> list[Path]:
    """Return the libraries and the loader that a program is linked with; empty for a script, or without ldd."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True) if shutil.which("ldd") else None
    return [Path(path) for path in LOADED.findall(done.stdout)] if done and not done.returncode else []


def _opened(options: StudyOptions, tell: Callable[[str], None] | None = None) -> list[Path]:
    """Return the files that the program uses in a trial run; empty where nothing can trace it.

    If the run takes too long, they are those that it has used until then. `tell` says so. Raise PlimsollError if it is about to
    fill the disk.
    """
    if not (strace := shutil.which("strace")):
        return []
    with tempfile.TemporaryDirectory(prefix="plimsoll-try-", ignore_cleanup_errors=True) as made:
        temporary = Path(made).resolve()
        work, trace = temporary / "work", temporary / "trace"
        trial.prepare(options, work)
        # Other calls than those of files do not stop the program. Each process has a file of its own (-ff), because lines
        # of several processes would be split.
        words = [strace, "-ff", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", "trace=%file", "-o", str(trace)]
        words += [*ranks.launch_prefix(options.ranks), *options.command]
        environment = {**options.variables, "PATH": trial.path_of(options), "HOME": str(work), "LANG": "C.UTF-8"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        tracing = subprocess.Popen(words, cwd=work, env=environment, start_new_session=True, **streams)
        ended = False
        try:
            ended = process.ended_within(tracing.pid, options.limit * SLOWED, watch=trial.disk_watch(temporary))
        except Unavailable as problem:
            raise trial.refusal(problem, "while its files were watched") from problem
        finally:
            # The program would go on without strace.
            process.kill(tracing, group=True)
        if tell and not ended:
            tell(
                f"The watched run did not end within {options.limit * SLOWED:g} s, so the list of files may be incomplete. "
                "--limit gives it more."
            )
        texts = [path.read_text("utf-8", "surrogateescape") for path in sorted(temporary.glob("trace.*"))]
        traced = list(dict.fromkeys(path for text in texts for path in _of_trace(text, work)))
        if tell and not traced:
            tell("strace could not watch it, so the image gets only the program and its libraries.")
        used = (*traced, *_interpreters(traced))
        return list(dict.fromkeys(outside for path in used for outside in _outside(path, temporary)))


def _outside(path: Path, folder: Path) -> Iterator[Path]:
    """Yield a path that is not in a folder, or what a link in the folder leads to outside of it. What is gone leads nowhere."""
    if not path.is_relative_to(folder):
        yield path
    elif os.path.exists(path) and (target := _target_of_first_link(path, folder)):
        yield from _outside(target, folder)


def _target_of_first_link(path: Path, start: Path) -> Path | None:
    """Return where a path leads after the first link that it leads through below `start`; None if it has none."""
    parts = path.relative_to(start).parts
    for number in range(1, len(parts) + 1):
        place = start.joinpath(*parts[:number])
        if place.is_symlink():
            # Links may lead to links.
            return Path(os.path.normpath(Path(place.parent, os.readlink(place), *parts[number:])))
    return None


def _interpreters(files: Iterable[Path]) -> list[Path]:
    """Return the interpreters that scripts among files name in their first lines. The kernel opens them, so no trace shows
    the names."""
    found = []
    for path in files:
        if path.is_file() and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                first = file.readline(256)
            found += [Path(os.fsdecode(word)) for word in first[2:].split()[:1] if first.startswith(b"#!")]
    return found


def _of_trace(text: str, work: Path) -> Iterable[Path]:
    for line in text.splitlines():
        if found := CALL.match(line):
            yield Path(os.path.normpath(Path(_unescaped(found["at"] or "") or work, _unescaped(found["path"]))))


def _unescaped(text: str) -> str:
    """Return a path of a trace, in which strace writes a byte outside of ASCII as \\ and an octal number."""
    return os.fsdecode(text.encode(errors="surrogateescape").decode("unicode_escape").encode("latin-1"))


def pack(files: Iterable[Path], target: Path) -> None:
    """Write files into an archive by their paths on this host, with the links that lead to them. The same files give the
    same bits."""
    members: dict[str, Path | None] = dict.fromkeys(EMPTY)
    for path in files:
        _add(path, members)
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, path in sorted(members.items()):
            archive.addfile(*_member(archive, name, path))


def _add(path: Path, members: dict[str, Path | None]) -> None:
    """Add a file, and what its path leads through: folders, and links with what they lead to."""
    place = Path("/")
    for number, part in enumerate(path.parts[1:], 2):
        place = place / part
        members[str(place)[1:]] = place
        if place.is_symlink():
            # Links may lead to links, and each of them is needed.
            target = Path(place.parent, os.readlink(place), *path.parts[number:])
            _add(Path(os.path.normpath(target)), members)
            return


def _member(archive: tarfile.TarFile, name: str, path: Path | None) -> tuple:
    if path is None:
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
        return (folder,)
    member = archive.gettarinfo(path, name)
    # All becomes root's. A program that runs as another user must not run as root.
    member.mode &= ~((stat.S_ISUID | stat.S_ISGID) if member.uid else stat.S_ISGID if member.gid else 0)
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    if member.islnk():
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
    return (member, open(path, "rb")) if member.isreg() else (member,)
