"""Lock of a machine, which one workflow of any user holds while it measures, and a marker of each user who measures.

The lock's file is never written, so that each user can lock a file that another user made. A marker that is there while
the lock is free belongs to a measurement that was killed.
"""

import contextlib
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
# Renamed marker of a user: root has swept after that user's killed measurement.
SWEPT = "plimsoll.swept"
# STARTED: this user has swept since the machine started. STAYED: a leftover of this user's measurements could not be removed.
STARTED, STAYED = "plimsoll.started", "plimsoll.stayed"
# Time until a removal that failed is tried again (s).
AGAIN_SECONDS = 600.0
# Programs that hold a container of Podman.
HOLDS = ("conmon",)
# All users of a machine must get the same folder. So the choice does not depend on what this user may write.
FOLDERS = (Path("/run/lock"), Path("/tmp"))
FOR_ALL = stat.S_ISVTX | stat.S_IWOTH | stat.S_IXOTH


def folder() -> Path:
    """Return the first folder in which every user may make files, and no user may remove another's.

    Raise PlimsollError if no folder is like that.
    """
    for path in FOLDERS:
        with contextlib.suppress(OSError):
            if path.stat().st_mode & FOR_ALL == FOR_ALL:
                return path
    named = " nor ".join(map(str, FOLDERS))
    raise PlimsollError(
        f"No lock can be taken, because neither {named} lets every user make files. Nothing was measured. "
        "Give one of them the mode 1777."
    )


@contextlib.contextmanager
def hold(waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine's lock during the context. `waiting` is as in `exclusive`."""
    with exclusive(folder() / LOCK, waiting):
        yield


@contextlib.contextmanager
def exclusive(path: Path, waiting: Callable[[str], None], access: int = os.O_RDONLY) -> Iterator[None]:
    """Hold the lock of a file during the context. The file is made if it is not there.

    If another process has the lock, call `waiting` with a text that names it, and wait. `access` is how the file is
    opened: on network file systems only a user who may write may lock. Raise PlimsollError if the file cannot be
    opened.
    """
    while True:
        descriptor = _opened(path, access)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting(holder(descriptor))
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A file that was removed during the wait no longer keeps others out.
            if _is_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)


def _opened(path: Path, access: int = os.O_RDONLY) -> int:
    """Return a descriptor of a lock's file, which is made if it is not there.

    Opening it for reading is enough on this machine. Raise PlimsollError if it cannot be opened.
    """
    while True:
        try:
            return os.open(path, access | os.O_NOFOLLOW)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                return _made(path, access)
        except OSError as problem:
            raise PlimsollError(
                f"{path} cannot be read ({problem.strerror}). Every workflow on this machine needs it, so nothing was measured."
                f" Let {user_of(path)} or root remove it."
            ) from problem


def _made(path: Path, access: int) -> int:
    """Return a descriptor of the lock's new file.

    Raise FileExistsError if the file is there by now, and PlimsollError if it cannot be made.
    """
    try:
        descriptor = os.open(path, access | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise
    except OSError as problem:
        raise PlimsollError(
            f"{path} cannot be made ({problem.strerror}). Every workflow on this machine needs it, so nothing "
            "was measured. Make room there, or let users write there."
        ) from problem
    # The mode must not depend on this user's umask.
    os.fchmod(descriptor, 0o644)
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def holder(descriptor: int) -> str:
    """Return the user and process that hold the lock of an open file, in words, as far as the kernel tells."""
    of_file = os.fstat(descriptor)
    wanted = f"{os.major(of_file.st_dev):02x}:{os.minor(of_file.st_dev):02x}:{of_file.st_ino}"
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5] == wanted:
            return f"{user_of(Path('/proc') / words[4])}, process {words[4]}"
    return "a user whom the kernel does not name"


def free() -> bool:
    """Return whether no process holds the machine's lock. Return False if its file cannot be opened."""
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
    """Put the marker of this user's measurement in place.

    Raise PlimsollError if another user has put something in its place.
    """
    _put(_own(MARK))


def unmark() -> None:
    """Remove the marker of this user's measurement, which has ended."""
    _own(MARK).unlink(missing_ok=True)


def _own(name: str) -> Path:
    """Return the path of this user's file with a name such as MARK."""
    return folder() / f"{name}.{os.geteuid()}"


def _put(path: Path) -> None:
    """Make a file of this user's, or set its time to now.

    Raise PlimsollError if another user has put something in its place.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as problem:
        raise PlimsollError(
            f"{path} cannot be made ({problem.strerror}). Every workflow on this machine needs it, so nothing "
            "was measured. Let its owner or root remove it."
        ) from problem
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PlimsollError(
                f"{path} belongs to {user_of(path)}, and cannot be used. Nothing was measured. Let its owner or root remove it."
            )
        os.utime(descriptor)
    finally:
        os.close(descriptor)


def marks(name: str = MARK) -> dict[int, Path]:
    """Return the markers of all users, by user ID. Ignore a marker that its user does not own."""
    found = {}
    for path in sorted(folder().glob(f"{name}.*")):
        number = path.name.rpartition(".")[2]
        with contextlib.suppress(OSError):
            seen = path.lstat()
            if stat.S_ISREG(seen.st_mode) and number == str(seen.st_uid):
                found[seen.st_uid] = path
    return found


def due() -> bool:
    """Return whether this user must sweep before measuring.

    There are three reasons:

    - A marker of a killed measurement is there (`to_sweep`).
    - This user has not swept since the machine started. It may have been switched off during a measurement, and the
      marker is lost.
    - Something could not be removed more than AGAIN_SECONDS ago.
    """
    me = os.geteuid()
    stayed = marks(STAYED).get(me)
    again = stayed is not None and abs(time.time() - stayed.stat().st_mtime) > AGAIN_SECONDS
    return again or me not in marks(STARTED) or bool(to_sweep())


def note_sweep(whole: bool) -> None:
    """Note that this user has swept. `whole` says whether everything could be removed. Raise PlimsollError as `mark` does."""
    _put(_own(STARTED))
    if whole:
        _own(STAYED).unlink(missing_ok=True)
    else:
        _put(_own(STAYED))


def to_sweep() -> list[Path]:
    """Return the markers of killed measurements whose leftovers this user may remove.

    Root may remove the leftovers of all users. Other users may remove their own, also after root has removed what root
    can.
    """
    me = os.geteuid()
    again = marks(SWEPT).get(me)
    return [path for number, path in marks().items() if me in (0, number)] + ([again] if again else [])


def swept(left: list[Path]) -> None:
    """Remove markers of measurements whose leftovers were removed.

    Markers of other users are renamed instead, because some leftovers only their own user can remove.
    """
    for path in left:
        number = path.name.rpartition(".")[2]
        with contextlib.suppress(OSError):
            if number == str(os.geteuid()):
                path.unlink()
            else:
                path.rename(folder() / f"{SWEPT}.{number}")


def forget() -> list[str]:
    """Remove the files of the lock, and return their paths. The lock must be held.

    Root removes the files of all users, other users their own. A process that waits for the lock sees that its file is
    gone, and makes a new one.
    """
    removed, me = [], os.geteuid()
    for path in (*(path for name in (STARTED, STAYED, SWEPT) for path in marks(name).values()), folder() / LOCK):
        if me in (0, path.lstat().st_uid):
            path.unlink()
            removed.append(str(path))
    return removed


def of_others() -> list[str]:
    """Return the names of other users who left something that only they can remove.

    These are users after whose killed measurement no sweep was made, and users whose rootless containers are still
    there.
    """
    left = {number: path for number, path in marks(SWEPT).items() if processes.pids_by_name(HOLDS, number)} | marks()
    return [user_of(path) for number, path in left.items() if number != os.geteuid()]


def user_of(path: Path) -> str:
    """Return the name of the user who owns a file, or a process by its folder in /proc; a description if the name is
    not known."""
    try:
        number = path.lstat().st_uid
    except OSError:
        return "its user"
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
