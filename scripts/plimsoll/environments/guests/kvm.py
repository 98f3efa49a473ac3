"""Whether a guest boots with KVM on this machine: tried, as a /dev/kvm that answers may not be able to run one."""

import json
import os
import platform
import shutil
import signal
import subprocess
import threading
import time
from functools import cache
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import LABEL
from plimsoll.environments.guests import machine
from plimsoll.host import system

DEVICE = Path("/dev/kvm")
# The part of KVM that is the processor's own virtualisation; other parts emulate what a guest does.
MODULES, OF_PROCESSORS = Path("/sys/module"), ("kvm_intel", "kvm_amd")
# With KVM the smallest guest boots within a second. Where KVM cannot run it QEMU may wait for ever.
SECONDS = 15.0
HELLO, NAME = "plimsoll boot", f"{LABEL}-kvm"
LATE = "a guest was not up after"
# How `timeout` ends when it has killed what it was given: by the signal itself, or as a shell tells it.
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


# Several environments may ask at once.
ASKING = threading.Lock()


def problem() -> str | None:
    """Why no guest boots with KVM here; None if one does. What took long to find is noted, and counts until this machine boots
    again or has another QEMU. Unavailable if there is nothing to try it with."""
    with ASKING:
        return _problem()


@cache
def _problem() -> str | None:
    if not DEVICE.exists():
        return f"there is no {DEVICE}"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"this user may not use {DEVICE}"
    words = machine.booting(machine.KVM)
    noted, now = paths.image_store() / "kvm.json", [system.boot(), words, _signature(words[0])]
    try:
        known = json.loads(noted.read_text())
        if known["of"] == now:
            return known["problem"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    found = tried(words)
    late = bool(found) and found.startswith(LATE)
    found = found and f"{_layer()}{found}"
    if found and not late:
        return found  # it may be mended at any moment
    noted.parent.mkdir(parents=True, exist_ok=True)
    temporary = noted.with_name(f".{noted.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"of": now, "problem": found}))
    temporary.rename(noted)
    return found


def _layer() -> str:
    """In words that an error follows, that KVM is no processor's here: then it runs no usual guest, whatever the error says."""
    if platform.machine() != "x86_64" or any((MODULES / name).is_dir() for name in OF_PROCESSORS):
        return ""
    return "KVM is a software layer here, without kvm_intel or kvm_amd, and the smallest guest did not get far: "


def tried(words: list[str], seconds: float = SECONDS) -> str | None:
    """Why the smallest guest does not boot with QEMU's `words`; None if it does."""
    command = [*words, "-name", NAME, "-m", "128", "-append", f"{machine.KERNEL_WORDS} plimsoll.hello", "-serial", "stdio"]
    # Whoever waits for it may be killed, and a guest that hangs would stay.
    bounded = ["timeout", "--signal=KILL", f"{seconds:g}", *command]
    begun = time.monotonic()
    done = subprocess.run(bounded, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if HELLO in done.stdout:
        return None
    if done.returncode in KILLED:
        # Somebody else may have killed it before.
        return f"{LATE} {seconds:g} s" if time.monotonic() - begun >= seconds else "the guest that was to show it was killed"
    return (done.stderr.strip().splitlines() or ["it ended without a word"])[0]


def _signature(program: str) -> list[int]:
    """What tells QEMU from another one."""
    status = os.stat(shutil.which(program) or os.devnull)
    return [status.st_size, status.st_mtime_ns]
