"""The lock that one workflow of a machine holds while it measures, whoever its user is, and the mark of each user who does.

Nobody writes into the lock's file, so that everybody can hold that of whoever made it. A mark that is there while nobody holds
the lock is that of a measurement that was killed.
"""

import contextlib
import errno
import fcntl
import os
import pwd
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.host import processes

LOCK, MARK = "plimsoll.lock", "plimsoll.measuring"
# A mark of a user after whom root has swept.
SWEPT = "plimsoll.swept"
# Of a user who has swept since this machine started, and of one of whose measurements something could not be removed.
STARTED, STAYED = "plimsoll.started", "plimsoll.stayed"
# What could not be removed is tried again after this (s).
AGAIN_SECONDS = 600.0
# What holds a container of Podman.
HOLDS = ("conmon",)
# All users of a machine must come to the same one, so what this user may write does not matter.
FOLDERS = (Path("/run/lock"), Path("/tmp"))
FOR_ALL = stat.S_ISVTX | stat.S_IWOTH | stat.S_IXOTH


def folder() -> Path:
    """The first folder in which every user may make files, and none may remove another's. PlimsollError if there is none."""
    for path in FOLDERS:
        with contextlib.suppress(OSError):
            if path.stat().st_mode & FOR_ALL == FOR_ALL:
                return path
    named = " nor ".join(map(str, FOLDERS))
    raise PlimsollError(f"Neither {named} is a folder in which every user may make files: give one of them the mode 1777.")


@contextlib.contextmanager
def held(waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine's lock, as of `exclusive`."""
    with exclusive(folder() / LOCK, waiting):
        yield


@contextlib.contextmanager
def exclusive(path: Path, waiting: Callable[[str], None], access: int = os.O_RDONLY) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there. If another process has it, `waiting` is told which in words,
    and it is waited for. `access` is how the file is opened: on file systems of other machines only who may write may lock.
    PlimsollError if the file cannot be opened."""
    while True:
        descriptor = _opened(path, access)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting(holder(descriptor))
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # One that was removed meanwhile keeps nobody out.
            if _is_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)


def _opened(path: Path, access: int = os.O_RDONLY) -> int:
    """A descriptor of a lock's file, for which reading suffices here; it is made if it is not there."""
    while True:
        try:
            descriptor = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise OSError(errno.EINVAL, "it is no file")
            return descriptor
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                return _made(path, access)
        except OSError as problem:
            reason = f"{path} cannot be read ({problem.strerror}), which every workflow on this machine has to"
            raise PlimsollError(f"{reason}: have it removed by {user_of(path)} or by root.") from problem


def _made(path: Path, access: int) -> int:
    """A descriptor of the lock's new file; FileExistsError if it is there by now, PlimsollError if none can be made."""
    try:
        descriptor = os.open(path, access | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise
    except OSError as problem:
        raise PlimsollError(
            f"{path} cannot be made ({problem.strerror}): make room there, or let users write there."
        ) from problem
    # Whatever this user's umask is.
    os.fchmod(descriptor, 0o644)
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def holder(descriptor: int) -> str:
    """Who holds the lock of an open file, in words, as far as the kernel tells."""
    of_file = os.fstat(descriptor)
    wanted = f"{os.major(of_file.st_dev):02x}:{os.minor(of_file.st_dev):02x}:{of_file.st_ino}"
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5] == wanted:
            return f"{user_of(Path('/proc') / words[4])}, process {words[4]}"
    return "a user whom the kernel does not name"


def free() -> bool:
    """Whether nobody holds the lock."""
    try:
        descriptor = _opened(folder() / LOCK)
    except PlimsollError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def mark() -> None:
    """Say that this user measures. PlimsollError if somebody else has put something in the mark's place."""
    _put(_own(MARK))


def unmark() -> None:
    """Say that this user's measurement has ended."""
    _own(MARK).unlink(missing_ok=True)


def _own(name: str) -> Path:
    """This user's file of that name."""
    return folder() / f"{name}.{os.geteuid()}"


def _put(path: Path) -> None:
    """Make a file of this user's, or have it now as its time. PlimsollError if somebody else has put something in its place."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as problem:
        raise PlimsollError(
            f"{path} cannot be made ({problem.strerror}): have it removed by its owner, or by root."
        ) from problem
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PlimsollError(f"{path} is {user_of(path)}'s: have it removed by its owner, or by root.")
        os.utime(descriptor)
    finally:
        os.close(descriptor)


def marks(name: str = MARK) -> dict[int, Path]:
    """Every user's mark that is there, by the user's number. What somebody else has called like a user's mark is none."""
    found = {}
    for path in sorted(folder().glob(f"{name}.*")):
        number = path.name.rpartition(".")[2]
        with contextlib.suppress(OSError):
            seen = path.lstat()
            if stat.S_ISREG(seen.st_mode) and number == str(seen.st_uid):
                found[seen.st_uid] = path
    return found


def due() -> bool:
    """Whether this user has to sweep before measuring. Something is marked. Or nothing was swept since this machine started: it
    may have been switched off under a measurement, whose mark went with it. Or something could not be removed a while ago."""
    me = os.geteuid()
    stayed = marks(STAYED).get(me)
    again = stayed is not None and abs(time.time() - stayed.stat().st_mtime) > AGAIN_SECONDS
    return again or me not in marks(STARTED) or bool(to_sweep())


def note_sweep(whole: bool) -> None:
    """Say that this user has swept, and whether all could be removed. PlimsollError as of `mark`."""
    _put(_own(STARTED))
    if whole:
        _own(STAYED).unlink(missing_ok=True)
    else:
        _put(_own(STAYED))


def to_sweep() -> list[Path]:
    """Marks of killed measurements whose leavings this user may remove: root everybody's, and all users their own, also where
    root has removed what root can."""
    me = os.geteuid()
    again = marks(SWEPT).get(me)
    return [path for number, path in marks().items() if me in (0, number)] + ([again] if again else [])


def swept(left: list[Path]) -> None:
    """Take back marks whose leavings were removed. Those of other users are kept by another name: some of what they left only
    they can remove."""
    for path in left:
        number = path.name.rpartition(".")[2]
        with contextlib.suppress(OSError):
            if number == str(os.geteuid()):
                path.unlink()
            else:
                path.rename(folder() / f"{SWEPT}.{number}")


def forget() -> list[str]:
    """Remove the files of the lock, which must be held: this user's, and for root everybody's; what they were. Who waits for
    the lock sees that it is gone, and makes it anew."""
    removed, me = [], os.geteuid()
    for path in (*(path for name in (STARTED, STAYED, SWEPT) for path in marks(name).values()), folder() / LOCK):
        if me in (0, path.lstat().st_uid):
            path.unlink()
            removed.append(str(path))
    return removed


def of_others() -> list[str]:
    """Names of the other users whose killed measurement nobody has swept after, or whose containers without root are still
    there: only they can remove these."""
    left = {number: path for number, path in marks(SWEPT).items() if processes.named(HOLDS, number)} | marks()
    return [user_of(path) for number, path in left.items() if number != os.geteuid()]


def user_of(path: Path) -> str:
    """The name of the user whose a file, or the folder of a process, is."""
    try:
        number = path.lstat().st_uid
    except OSError:
        return "its user"
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
