"""A second host that is another machine, reached by ssh. It needs a shell and a copy of the image's files, and no
engine."""

import ipaddress
import json
import os
import shlex
import socket
import subprocess
from pathlib import Path

from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cpulist
from plimsoll.host.topology import read
from plimsoll.interchange import Image, SecondHost
from plimsoll.measuring.process import kill
from plimsoll.runtimes import rootfs
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import last_words, output
from plimsoll.runtimes.networks import firewall
from plimsoll.runtimes.networks.base import Network

# This ssh never prompts, gives up if the machine stops answering, and does not use the user's other connections.
SSH = (
    "ssh",
    "-T",
    *("-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=5"),
    *("-o", "ControlPath=none", "-o", "ClearAllForwardings=yes"),
)
# Beginning of each line that is ours: a shell there may print a greeting.
MARK = "plimsoll:"
# Script by which a machine describes itself, one `name value` per line. The kernel's boot identifier shows whether
# the named machine is this one.
TELLS = r"""
tell() { echo "plimsoll: $*"; }
tell architecture "$(uname -m)"
tell kernel "$(uname -sr)"
tell cpu_model "$(LC_ALL=C lscpu | sed -n 's/^ *Model name:[[:space:]]*//p' | head -n 1)"
tell usable "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
tell machine "$(cat /proc/sys/kernel/random/boot_id)"
"""
# Script that keeps a program in a session of its own while standard input is open, and then kills that session. So
# everything that the measuring process has started there ends with it, also after a kill.
KEPT = 'setsid "$@" </dev/null & trap "kill -KILL -$!" EXIT HUP TERM; cat >/dev/null'
# Script that prints the folder of an image there; if root makes it, it is for all users. If there is a copy, the
# script also prints which of its files do not match the sums on standard input.
LOOKED_FOR = """
top=${XDG_CACHE_HOME:-$HOME/.cache}
if [ "$(id -u)" = 0 ]; then top=/var/cache; fi
folder=$top/plimsoll/second-host/$1
echo "plimsoll: folder $folder"
if [ -d "$folder" ]; then
    cd "$folder" && sha256sum --check --quiet --strict - 2>/dev/null | sed 's/^/plimsoll: wrong /'
    echo "plimsoll: there"
fi
"""
# Script that unpacks standard input into a folder for all users. The folder appears in one step.
UNPACKED = """
umask 022
rm -rf "$1.part"
mkdir -p "$1.part" && tar --extract --no-same-owner --directory "$1.part" && mv -T "$1.part" "$1"
"""
# Time limit for a copy of the image (s).
COPY_SECONDS = 600.0
# A machine that takes longer to answer hangs (s).
ANSWER_SECONDS = 30.0
# Script that says that it is ready, and then looks until a process with a word is bound to one processor, or forty
# looks have found none. It then prints what each such process is bound to.
WATCHED = r"""
echo plimsoll: ready
look=0
while [ $look -lt 40 ]; do
    seen=$(for process in $(grep -lzx -e "$1" /proc/[0-9]*/cmdline 2>/dev/null); do
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "${process%/cmdline}/status" 2>/dev/null
    done)
    echo "$seen" | grep -qxE '[0-9]+' && break
    look=$((look + 1))
    sleep 0.25
done
for each in $seen; do echo "plimsoll: bound $each"; done
"""
# Script that prints the processors' times twice: a line for all of them, and a line for the processor of a number.
TIMES = r"""
for turn in 1 2; do
    sed -n -e "s/^cpu /plimsoll: &/p" -e "s/^cpu$1 /plimsoll: &/p" /proc/stat
    [ $turn = 2 ] || sleep "$2"
done
"""
# Columns of /proc/stat that are idle time.
IDLE = (3, 4)


class SshMachine(Node):
    """A machine that ssh reaches by a name. It has a copy of an image's files, and runs programs of the image from
    there."""

    kind = "second host"
    own_kernel = True

    def __init__(self, name: str):
        super().__init__(name)
        self.address = address_of(name)
        self.image: Path | None = None
        self.processor = 0

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """Return an ssh command. No variable of the caller reaches the program, except those that ssh is configured
        to send."""
        there = ["env", f"--chdir={folder}", *program] if folder else program
        return [*SSH, self.name, shlex.join(there)]

    def of_image(self, program, preload=None) -> list[str]:
        """Return the words that start a program through the image's loader, in the copy, without any variable of the
        user there."""
        words = rootfs.loader_command(self.image, *program, preload=preload)
        return ["env", "-i", *(word.replace(str(self.image), self.root) for word in words)]

    def kept(self, program: list[str]) -> list[str]:
        """Return the command on this host that keeps a program running there until the command's standard input is
        closed."""
        return self.enter(["sh", "-c", KEPT, "sh", *program])

    def hold(self, image: Image) -> None:
        """Make a copy of an image there if it is missing. Raise Unavailable if that fails, or if files of the copy
        differ from the image's."""
        self.image = Path(image["rootfs"])
        sums = "".join(f"{known['sha256']}  {path}\n" for path, known in image["files"].items())
        asked = ("sh", "-c", LOOKED_FOR, "sh", self.image.parent.name)
        told = self.ask(*asked, given=sums)
        self.root = next(line.removeprefix("folder ") for line in told if line.startswith("folder "))
        if "there" not in told:
            self._copy()
            told = self.ask(*asked, given=sums)
        if wrong := [line.split()[1].rstrip(":") for line in told if line.startswith("wrong ")]:
            raise Unavailable(f"{self.name} has another {wrong[0]} in {self.root} than the image: delete that folder there")

    def _copy(self) -> None:
        left_out = (f"--exclude=./{top}/*" for top in ("dev", "proc", "sys"))
        packed = ["tar", "--create", "--directory", str(self.image), *left_out, "."]
        unpacked = self.enter(["sh", "-c", UNPACKED, "sh", self.root])
        with subprocess.Popen(packed, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pack:
            try:
                done = subprocess.run(unpacked, stdin=pack.stdout, capture_output=True, text=True, timeout=COPY_SECONDS)
            except subprocess.TimeoutExpired as problem:
                raise Unavailable(f"copying the image to {self.name} took longer than {COPY_SECONDS:g} s") from problem
            finally:
                kill(pack)
        if done.returncode:
            raise Unavailable(f"the image could not be copied to {self.name}: {last_words(done.stderr, done.returncode)}")

    def ask(self, *program: str, given: str = "") -> list[str]:
        """Return our lines of what a program there prints. Raise Unavailable if it fails."""
        command = self.enter(list(program))
        try:
            done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=ANSWER_SECONDS)
        except FileNotFoundError as problem:
            raise Unavailable(f"{command[0]} is not installed") from problem
        except subprocess.TimeoutExpired as problem:
            raise Unavailable(f"{self.name} did not answer within {ANSWER_SECONDS:g} s") from problem
        if done.returncode:
            raise Unavailable(f"ssh {self.name} failed: {last_words(done.stderr, done.returncode)}")
        return ours(done.stdout)

    def busy_share(self, seconds: float) -> float:
        """Return the share of time that was not idle during `seconds`: of all its processors, or of `processor` if
        that is more."""
        told = self.ask("sh", "-c", TIMES, "sh", str(self.processor), str(seconds))
        times = [(line.split()[0], [int(number) for number in line.split()[1:9]]) for line in told]
        before, after = dict(times[: len(times) // 2]), dict(times[len(times) // 2 :])
        shares = []
        for name in after:
            passed = [late - early for early, late in zip(before[name], after[name], strict=True)]
            shares.append(1.0 - sum(passed[column] for column in IDLE) / max(1, sum(passed)))
        return max(shares)

    def watch(self, word: str) -> subprocess.Popen:
        """Return a process on this host that watches where programs there are bound. It has begun to look.

        It ends when a program with `word` in its command line is bound to one processor, or after some ten seconds.
        It prints what each such program is bound to. Raise Unavailable if it does not begin.
        """
        command = self.enter(["sh", "-c", WATCHED, "sh", word])
        watch = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        while line := watch.stdout.readline():
            if line.startswith(f"{MARK} ready"):
                return watch
        raise Unavailable(f"{self.name} does not answer any more")


class ByName(Network):
    """Network between this host and a second machine. What others send through this host to that machine gets this
    host's address."""

    def __init__(self, name: str = ""):
        super().__init__("second host")
        self.second = name

    def set_up(self, on=HOST) -> None:
        """Make the host translate addresses of packets to the second machine. Raise Unavailable if that fails, or if
        the machine cannot be found."""
        self.far = SshMachine(self.second)
        self.sweep()
        # Only root has networks of its own that could need this.
        if not os.geteuid():
            firewall.translate(self.far.address)

    def sweep(self) -> None:
        firewall.translate_no_longer()


class Away:
    """A second machine, by its name, as a resource of a run. Like a runtime it is examined after an attempt that did
    not end well."""

    def __init__(self, name: str):
        self.name = name

    def examine(self, image: Image) -> None:
        """Raise Outage if ssh does not reach the machine."""
        try:
            SshMachine(self.name).ask("true")
        except Unavailable as problem:
            remedy = f"look whether it is up, and whether ssh {self.name} reaches it"
            raise Outage(f"the second host {self.name} does not answer ({problem})", remedy) from problem

    def revive(self) -> None:
        """Do nothing: the machine cannot be started from here."""


def away(second: SecondHost | None) -> list[Away]:
    """Return the second host of a run as a list of resources. The list is empty if it is not another machine."""
    return [Away(second["name"])] if second else []


def ours(text: str) -> list[str]:
    """Return our lines of a text, without their mark."""
    return [line.removeprefix(MARK).strip() for line in text.splitlines() if line.startswith(MARK)]


def look(name: str) -> SecondHost:
    """Return the description of a second host. Raise Unavailable if ssh does not reach it, or if nothing can be
    measured with it."""
    there = SshMachine(name)
    said, here = (dict(line.partition(" ")[::2] for line in told) for told in (there.ask("sh", "-c", TELLS), _here()))
    if said["machine"] == here["machine"]:
        raise Unavailable(f"{name} is this machine")
    if said["architecture"] != here["architecture"] or not said["kernel"].startswith("Linux "):
        raise Unavailable(f"{name} has {said['kernel']} on {said['architecture']}, and not Linux on {here['architecture']}")
    processor = cpulist.parse(said["usable"])[0]
    return {
        "name": name,
        "kernel": said["kernel"],
        "cpu_model": said["cpu_model"],
        "processor": processor,
        **_link(there.address),
    }


def _here() -> list[str]:
    """Return the lines in which this machine describes itself."""
    return ours(output(["sh", "-c", TELLS]))


def address_here(address: str) -> str:
    """Return the address of this host from which another one is reached."""
    return _route(address)["prefsrc"]


def _route(address: str) -> dict:
    (route,) = json.loads(output(["ip", "-json", "route", "get", address]))
    return route


def _link(address: str) -> dict:
    """Return the speed of this host's network card on the route to an address, as `megabits` per second. The result
    is empty if the card has none."""
    route = _route(address)
    speed = read(Path(f"/sys/class/net/{route['dev']}/speed"))
    return {"megabits": int(speed)} if speed.isdigit() else {}


def address_of(name: str) -> str:
    """Return the IPv4 address that ssh uses for a name. Raise Unavailable if there is none, or if it is this host's
    loopback."""
    asked = output([*SSH, "-G", name]).splitlines()
    host = next(line.split()[1] for line in asked if line.startswith("hostname "))
    try:
        address = socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0]
    except OSError as problem:
        raise Unavailable(f"{host} has no IPv4 address: {problem.strerror}") from problem
    if ipaddress.ip_address(address).is_loopback:
        raise Unavailable(f"ssh goes to {address} for it, and Netperf cannot")
    return address
