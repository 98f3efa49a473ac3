"""A second host that is another machine, reached by ssh: its shell, and a copy of the image's files, without an engine."""

import ipaddress
import json
import os
import shlex
import socket
import subprocess
from pathlib import Path

from plimsoll.environments import rootfs
from plimsoll.environments.base import HOST, Node, last_words, output
from plimsoll.environments.networks import firewall
from plimsoll.environments.networks.base import Network
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cpulist
from plimsoll.host.topology import read
from plimsoll.interchange import Image, SecondHost
from plimsoll.measuring.process import kill

# It never asks anybody, gives up what does not answer any more, and leaves alone what the user's other connections have.
SSH = (
    "ssh",
    "-T",
    *("-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=5"),
    *("-o", "ControlPath=none", "-o", "ClearAllForwardings=yes"),
)
# What begins each line that is ours: a shell there may greet.
MARK = "plimsoll:"
# What tells it about itself, one `name value` a line; the kernel's number of its start, to know this machine when it is named.
TELLS = r"""
tell() { echo "plimsoll: $*"; }
tell architecture "$(uname -m)"
tell kernel "$(uname -sr)"
tell cpu_model "$(LC_ALL=C lscpu | sed -n 's/^ *Model name:[[:space:]]*//p' | head -n 1)"
tell usable "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
tell machine "$(cat /proc/sys/kernel/random/boot_id)"
"""
# Keeps a program in a session of its own for as long as standard input is open, and ends all of the session then: what the
# measuring process has started there ends with it, whatever ends that.
KEPT = 'setsid "$@" </dev/null & trap "kill -KILL -$!" EXIT HUP TERM; cat >/dev/null'
# The folder of an image there, for all users if root makes it; and, if there is a copy, which of its files are not those of the
# sums on standard input.
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
# Unpacks standard input, in place in one step, for all users.
UNPACKED = """
umask 022
rm -rf "$1.part"
mkdir -p "$1.part" && tar --extract --no-same-owner --directory "$1.part" && mv -T "$1.part" "$1"
"""
# How long a copy of the image may take (s).
COPY_SECONDS = 600.0
# It hangs if it takes longer to answer (s).
ANSWER_SECONDS = 30.0
# Says so, and looks then until a process that has a word is bound to one processor, or forty looks were in vain: what each of
# them is bound to.
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
# The processors' time twice, one line for all of them and one for that of a number.
TIMES = r"""
for turn in 1 2; do
    sed -n -e "s/^cpu /plimsoll: &/p" -e "s/^cpu$1 /plimsoll: &/p" /proc/stat
    [ $turn = 2 ] || sleep "$2"
done
"""
# The columns of /proc/stat that are idle time.
IDLE = (3, 4)


class Reached(Node):
    """A machine that ssh reaches by a name. It has a copy of an image's files, and programs of the image run from there."""

    kind = "second host"
    own_kernel = True

    def __init__(self, name: str):
        super().__init__(name)
        self.address = address_of(name)
        self.image: Path | None = None
        self.processor = 0

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """By ssh. No variable of the caller's reaches it but those that ssh is configured to send."""
        there = ["env", f"--chdir={folder}", *program] if folder else program
        return [*SSH, self.name, shlex.join(there)]

    def of_image(self, program, preload=None) -> list[str]:
        """Through the image's loader, in the copy, with no variable of the user's there."""
        words = rootfs.loaded(self.image, *program, preload=preload)
        return ["env", "-i", *(word.replace(str(self.image), self.root) for word in words)]

    def kept(self, program: list[str]) -> list[str]:
        """The command on this host that keeps a program up there until its standard input is closed."""
        return self.enter(["sh", "-c", KEPT, "sh", *program])

    def hold(self, image: Image) -> None:
        """Have a copy of an image there; Unavailable if it cannot be made, or if files of it are not the image's."""
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
        """The lines that are ours of what a program there prints; Unavailable if it fails."""
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
        """The share of time that was not idle for these seconds: of all its processors, or of `processor` if that is more."""
        told = self.ask("sh", "-c", TIMES, "sh", str(self.processor), str(seconds))
        times = [(line.split()[0], [int(number) for number in line.split()[1:9]]) for line in told]
        before, after = dict(times[: len(times) // 2]), dict(times[len(times) // 2 :])
        shares = []
        for name in after:
            passed = [late - early for early, late in zip(before[name], after[name], strict=True)]
            shares.append(1.0 - sum(passed[column] for column in IDLE) / max(1, sum(passed)))
        return max(shares)

    def watch(self, word: str) -> subprocess.Popen:
        """A process on this host that ends when a process there, one of whose words this is, is bound to one processor, and
        prints what each of them is bound to; it gives up after some ten seconds. It looks from now on; Unavailable if it does
        not."""
        command = self.enter(["sh", "-c", WATCHED, "sh", word])
        watch = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        while line := watch.stdout.readline():
            if line.startswith(f"{MARK} ready"):
                return watch
        raise Unavailable(f"{self.name} does not answer any more")


class ByName(Network):
    """The network between this host and a second one. What leaves this host for it has this host's address."""

    def __init__(self, name: str = ""):
        super().__init__("second host")
        self.second = name

    def set_up(self, on=HOST) -> None:
        """Have packets translated; Unavailable if that fails, or if the second host cannot be found."""
        self.far = Reached(self.second)
        self.sweep()
        # Others than root have no networks of their own that could need it.
        if not os.geteuid():
            firewall.translate(self.far.address)

    def sweep(self) -> None:
        firewall.translate_no_longer()


class Away:
    """A second host by its name, as a run's means: it is asked for after an attempt that did not end well, as environments
    are."""

    def __init__(self, name: str):
        self.name = name

    def examine(self, image: Image) -> None:
        """Outage if ssh does not reach it."""
        try:
            Reached(self.name).ask("true")
        except Unavailable as problem:
            remedy = f"look whether it is up, and whether ssh {self.name} reaches it"
            raise Outage(f"the second host {self.name} does not answer ({problem})", remedy) from problem

    def revive(self) -> None:
        """Nothing: from here it cannot be started."""


def away(second: SecondHost | None) -> list[Away]:
    """The second host of a run as its means; none if it is no other machine."""
    return [Away(second["name"])] if second else []


def ours(text: str) -> list[str]:
    """The lines of a text that are ours, without their mark."""
    return [line.removeprefix(MARK).strip() for line in text.splitlines() if line.startswith(MARK)]


def look(name: str) -> SecondHost:
    """What a second host is; Unavailable if ssh does not reach it, or if nothing could be measured with it."""
    there = Reached(name)
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
    """What this machine tells of itself."""
    return ours(output(["sh", "-c", TELLS]))


def address_here(address: str) -> str:
    """The address of this host from which another one is reached."""
    return _route(address)["prefsrc"]


def _route(address: str) -> dict:
    (route,) = json.loads(output(["ip", "-json", "route", "get", address]))
    return route


def _link(address: str) -> dict:
    """The speed of the card of this host by which an address is reached, as `megabits` per second; nothing if it has none."""
    route = _route(address)
    speed = read(Path(f"/sys/class/net/{route['dev']}/speed"))
    return {"megabits": int(speed)} if speed.isdigit() else {}


def address_of(name: str) -> str:
    """The IPv4 address that ssh goes to for a name; Unavailable if there is none."""
    asked = output([*SSH, "-G", name]).splitlines()
    host = next(line.split()[1] for line in asked if line.startswith("hostname "))
    try:
        address = socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0]
    except OSError as problem:
        raise Unavailable(f"{host} has no IPv4 address: {problem.strerror}") from problem
    if ipaddress.ip_address(address).is_loopback:
        raise Unavailable(f"ssh goes to {address} for it, and Netperf cannot")
    return address
