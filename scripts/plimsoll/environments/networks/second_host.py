"""A second host that is another machine, reached by ssh: its shell, and a copy of the image's files, without an engine."""

import shlex
import socket
import subprocess
from pathlib import Path

from plimsoll.environments import rootfs
from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.networks import firewall
from plimsoll.environments.networks.base import Network
from plimsoll.errors import Unavailable
from plimsoll.host import cpulist
from plimsoll.interchange import Image, SecondHost

# It never asks anybody, and gives up what does not answer any more.
SSH = ("ssh", "-T", *(word for one in ("BatchMode=yes", "ConnectTimeout=5", "ServerAliveInterval=5") for word in ("-o", one)))
# What tells it about itself, one `name value` a line: with the kernel's numbers, to know this machine when it is named.
TELLS = r"""
echo "architecture $(uname -m)"
echo "kernel $(uname -sr)"
echo "cpu_model $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
echo "usable $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
echo "machine $(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/net)"
"""
# Keeps a program in a session of its own for as long as standard input is open, and ends all of the session then: what the
# measuring process has started there ends with it, whatever ends that.
KEPT = 'setsid "$@" </dev/null & trap "kill -KILL -$!" EXIT HUP TERM; cat >/dev/null'
# The folder of an image there, for all users if root makes it, and the sum of one of its files if there is a copy.
LOOKED_FOR = """
top=${XDG_CACHE_HOME:-$HOME/.cache}
if [ "$(id -u)" = 0 ]; then top=/var/cache; fi
echo "$top/plimsoll/second-host/$1"
if [ -d "$top/plimsoll/second-host/$1" ]; then sha256sum "$top/plimsoll/second-host/$1/$2"; fi
"""
# Unpacks standard input, in place in one step.
UNPACKED = 'mkdir -p "$1.part" && tar --extract --no-same-owner --directory "$1.part" && mv -T "$1.part" "$1"'
# How long a copy of the image may take (s).
COPY_SECONDS = 600.0
# Until a process that has a word is bound to one processor, or a hundred looks were in vain: what each of them is bound to.
WATCHED = r"""
look=0
while [ $look -lt 100 ]; do
    seen=$(for process in $(grep -lzx -e "$1" /proc/[0-9]*/cmdline 2>/dev/null); do
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "${process%/cmdline}/status" 2>/dev/null
    done)
    case "$seen" in *[0-9]*) echo "$seen" | grep -qxE '[0-9]+' && break ;; esac
    look=$((look + 1))
    sleep 0.1
done
echo "$seen"
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

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """By ssh. No variable of the caller's reaches it but those that ssh is configured to send."""
        there = ["env", f"--chdir={folder}", *program] if folder else program
        return [*SSH, self.name, shlex.join(there)]

    def of_image(self, program, preload=None) -> list[str]:
        """Through the image's loader, in the copy."""
        words = rootfs.loaded(self.image, *program, preload=preload)
        return [word.replace(str(self.image), self.root) for word in words]

    def kept(self, program: list[str]) -> list[str]:
        """The command on this host that keeps a program up there until its standard input is closed."""
        return self.enter(["sh", "-c", KEPT, "sh", *program])

    def hold(self, image: Image, program: str) -> None:
        """Have a copy of an image there; Unavailable if it cannot be made, or if its `program` is not the image's."""
        self.image = Path(image["rootfs"])
        asked = ["sh", "-c", LOOKED_FOR, "sh", self.image.parent.name, program]
        self.root, *summed = output(self.enter(asked)).splitlines()
        if not summed:
            self._copy()
            _, *summed = output(self.enter(asked)).splitlines()
        if summed[0].split()[0] != image["files"][program]["sha256"]:
            raise Unavailable(f"{self.name} has other files in {self.root} than the image: delete that folder there")

    def _copy(self) -> None:
        packed = [
            "tar",
            "--create",
            "--directory",
            str(self.image),
            *(f"--exclude=./{top}/*" for top in ("dev", "proc", "sys")),
            ".",
        ]
        unpacked = self.enter(["sh", "-c", UNPACKED, "sh", self.root])
        with subprocess.Popen(packed, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pack:
            try:
                done = subprocess.run(unpacked, stdin=pack.stdout, capture_output=True, text=True, timeout=COPY_SECONDS)
            except subprocess.TimeoutExpired as problem:
                raise Unavailable(f"copying the image to {self.name} took longer than {COPY_SECONDS:g} s") from problem
            finally:
                pack.kill()
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise Unavailable(f"the image could not be copied to {self.name}: {said[-1]}")

    def busy_share(self, seconds: float) -> float:
        """The share of its processors' time that was not idle for these seconds."""
        first, second = (
            [int(number) for number in line.split()[1:9]]
            for line in output(
                self.enter(["sh", "-c", f"head -n 1 /proc/stat; sleep {seconds}; head -n 1 /proc/stat"])
            ).splitlines()
        )
        passed = [after - before for before, after in zip(first, second, strict=True)]
        return 1.0 - sum(passed[column] for column in IDLE) / max(1, sum(passed))

    def watch(self, word: str) -> subprocess.Popen:
        """A process on this host that ends when a process there, one of whose words this is, is bound to one processor, and
        prints what each of them is bound to; it gives up after some ten seconds."""
        command = self.enter(["sh", "-c", WATCHED, "sh", word])
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


class ByName(Network):
    """The network between this host and a second one. What leaves this host for it has this host's address."""

    def __init__(self, name: str = ""):
        super().__init__("second host")
        self.second = name

    def set_up(self, on=HOST) -> None:
        """Have packets translated; Unavailable if that fails, or if the second host cannot be found."""
        self.far = Reached(self.second)
        self.sweep()
        firewall.translate(self.far.address)

    def sweep(self) -> None:
        firewall.translate_no_longer()


def look(name: str) -> SecondHost:
    """What a second host is; Unavailable if ssh does not reach it, or if nothing could be measured with it."""
    address_of(name)
    said = dict(line.partition(" ")[::2] for line in output(Reached(name).enter(["sh", "-c", TELLS]), 20).splitlines())
    here = dict(line.partition(" ")[::2] for line in output(["sh", "-c", TELLS]).splitlines())
    if said["machine"] == here["machine"]:
        raise Unavailable(f"{name} is this machine")
    if said["architecture"] != here["architecture"] or not said["kernel"].startswith("Linux "):
        raise Unavailable(f"{name} has {said['kernel']} on {said['architecture']}, and not Linux on {here['architecture']}")
    processor = cpulist.parse(said["usable"])[0]
    return {"name": name, "kernel": said["kernel"], "cpu_model": said["cpu_model"], "processor": processor}


def address_of(name: str) -> str:
    """The IPv4 address that ssh goes to for a name; Unavailable if there is none."""
    asked = output([*SSH, "-G", name]).splitlines()
    host = next(line.split()[1] for line in asked if line.startswith("hostname "))
    try:
        return socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0]
    except OSError as problem:
        raise Unavailable(f"{host} has no IPv4 address: {problem.strerror}") from problem
