"""Users other than root, each with an empty home and a copy of the project in it, and the workflow as they run it."""

import grp
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plimsoll import paths
from plimsoll.host import machine_lock

from tests.conftest import PROJECT
from tests.project import Project

# Root's Python environment is mounted in the user's copy of the project. Python itself may be in a folder that only
# root may enter. Then an empty folder covers that one, and holds only Python.
DIFFERENT = """
[ -z "$1" ] || mount --bind "$1" "$2" || exit 1
if [ -n "$4" ]; then
    mount --bind "$3" /mnt && mount -t tmpfs -o mode=755 none "$4" && mkdir -p "$3" && mount --move /mnt "$3" || exit 1
fi
hidden=$5 more=$6
shift 6
for program in $hidden; do mount --bind /dev/null "$(command -v "$program")" || exit 1; done
eval "$more"
exec "$@"
"""

# Mounts the Apptainer that set-up has unpacked at the places for which it was built, with a set-user-ID starter:
# elsewhere it refuses such a starter. All of it is in memory, and disappears with the user's process.
SET_USER_ID = f"""
mount -t tmpfs none /mnt || exit 1
for place in usr/bin usr/lib/x86_64-linux-gnu etc var/lib; do mkdir -p "/mnt/$place" "/mnt/work/$place"; done
(
    cd {paths.tool_prefix()}/apptainer && cp -a bin/apptainer /mnt/usr/bin && cp -a etc/apptainer /mnt/etc &&
    cp -a lib/x86_64-linux-gnu/apptainer /mnt/usr/lib/x86_64-linux-gnu && cp -a var/lib/apptainer /mnt/var/lib
) || exit 1
starter=/mnt/usr/lib/x86_64-linux-gnu/apptainer/bin/starter
cp "$starter" "$starter-suid" && chmod 4755 "$starter-suid" || exit 1
for place in usr/bin usr/lib/x86_64-linux-gnu etc var/lib; do
    mount -t overlay -o "lowerdir=/$place,upperdir=/mnt/$place,workdir=/mnt/work/$place" none "/$place" || exit 1
done
export PLIMSOLL_PREFIX=/nonexistent
"""


def closed(path: Path) -> str:
    """Return the first folder on the way to a path that only its owner may enter; "" if all users may enter all of them."""
    return next((str(folder) for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH), "")


class User:
    """A user of this machine with a copy of the project.

    `groups` are additional to the user's own, and `hidden` are programs that are not installed for this user. `more`
    are lines for root's shell with other differences. A user who is not `prepared` has no Python environment yet.
    """

    def __init__(
        self, name: str, groups: tuple[str, ...] = (), hidden: tuple[str, ...] = (), more: str = "", prepared: bool = True
    ):
        self.name, self.groups, self.more, self.prepared = name, groups, more, prepared
        self.hidden = tuple(filter(shutil.which, hidden))
        # A killed test may have left this user.
        subprocess.run(["userdel", "--remove", "--force", name], capture_output=True)
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", name], check=True)
        for group in groups:
            subprocess.run(["usermod", "--append", "--groups", group, name], check=True)
        known = pwd.getpwnam(name)
        self.number, self.home = known.pw_uid, Path(known.pw_dir)
        self.project = Project(self.home / "plimsoll")
        if prepared:
            (self.project.folder / ".venv").mkdir()
        self.own(self.project.folder)

    def own(self, folder: Path) -> None:
        """Give the user a folder with all that is in it."""
        subprocess.run(["chown", "--recursive", f"{self.name}:", str(folder)], check=True)

    def command(self, *words: str) -> list[str]:
        """Return the command of root that runs a command as this user."""
        base = Path(sys.base_prefix)
        of_root = [str(PROJECT / ".venv"), str(self.project.folder / ".venv"), str(base), closed(base)]
        mounts = of_root if self.prepared else ["", "", "", ""]
        different = ["sh", "-c", DIFFERENT, "sh", *mounts, " ".join(self.hidden), self.more]
        return ["unshare", "--mount", *different, *self.become, *words]

    @property
    def become(self) -> list[str]:
        """Words that, before a command of root, run it as this user."""
        groups = ",".join(str(grp.getgrnam(group).gr_gid) for group in self.groups)
        rights = [f"--groups={groups}"] if groups else ["--clear-groups"]
        return ["setpriv", f"--reuid={self.number}", f"--regid={pwd.getpwnam(self.name).pw_gid}", *rights, "--inh-caps=-all"]

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of a fresh login, with the paths of the project."""
        own = {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, "LANG": "C.UTF-8"}
        path = f"{self.project.folder}/.venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {**own, "PATH": path, "PYTHONPATH": str(self.project.folder / "scripts")}

    def run(self, *words: str, seconds: float = 600, **more: str) -> subprocess.CompletedProcess:
        """Run a command in the project's folder, and wait for its end."""
        return subprocess.run(
            self.command(*words),
            cwd=self.project.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def start(self, *words: str, folder: Path | None = None) -> subprocess.Popen:
        """Start a command in the project's folder or another one, with all its streams as pipes."""
        return subprocess.Popen(
            self.command(*words),
            cwd=folder or self.project.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def interpreter(self) -> str:
        """Path of the project's Python."""
        return f"{self.project.folder}/.venv/bin/{Path(sys.executable).name}"

    def python(self, *words: str, **more) -> subprocess.CompletedProcess:
        """Run the project's Python, and wait for its end."""
        return self.run(self.interpreter, *words, **more)

    def workflow(self, *words: str, config: tuple[str, ...] = Project.settings) -> list[str]:
        """Return the command that runs the workflow."""
        return [self.interpreter, "-m", "snakemake", "--cores", "1", *words, "--config", *config]

    def snakemake(self, *words: str, config: tuple[str, ...] = Project.settings, **more) -> subprocess.CompletedProcess:
        """Run the workflow, and wait for its end."""
        return self.run(*self.workflow(*words, config=config), **more)

    def changed(self, file: str, **new: str) -> None:
        """Set keys of a YAML file of the project to numbers, wherever they are in it."""
        path = self.project.folder / file
        text = path.read_text()
        for key, value in new.items():
            text, number = re.subn(rf"\b{key}: [0-9.]+", f"{key}: {value}", text)
            assert number, key
        path.write_text(text)

    def kill(self) -> None:
        """Kill all processes of the user. Zombies count as dead."""
        end = time.monotonic() + 20
        states = ["ps", "--no-headers", "-o", "state", "-U", str(self.number)]
        while set(subprocess.run(states, capture_output=True, text=True).stdout.split()) - {"Z"}:
            assert time.monotonic() < end
            subprocess.run(["pkill", "--signal", "KILL", "--uid", str(self.number)])
            time.sleep(0.1)

    def remove(self) -> None:
        """Remove the user with all processes and files."""
        self.kill()
        subprocess.run(["userdel", "--remove", "--force", self.name], capture_output=True)
        for left in (".plimsoll-", ".plimsoll-podman-", "podman-run-", "containers-user-"):
            shutil.rmtree(f"/tmp/{left}{self.number}", ignore_errors=True)
        for left in (f"/dev/shm/libpod_rootless_lock_{self.number}", *machine_lock.folder().glob(f"*.{self.number}")):
            Path(left).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def new_user(request):
    """Return a function that makes a user. The users are removed at the end."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    if not shutil.which("useradd"):
        pytest.skip("useradd is not installed")
    request.getfixturevalue("swept")
    made = []

    def new_user(name: str, *groups: str, **different) -> User:
        made.append(User(f"plimsoll-{name}", groups, **different))
        return made[-1]

    yield new_user
    for user in made:
        user.remove()
