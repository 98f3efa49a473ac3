"""Test whether a guest boots with KVM on this machine. A guest is really booted, because a /dev/kvm that answers may
not run one."""

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
from plimsoll.host import system
from plimsoll.runtimes.base import LABEL
from plimsoll.runtimes.guests import machine

DEVICE = Path("/dev/kvm")
# Folder of the kernel's modules, and the modules of KVM that use the processor's own virtualisation. Other parts of
# KVM emulate what a guest does.
MODULES, OF_PROCESSORS = Path("/sys/module"), ("kvm_intel", "kvm_amd")
# Time limit (s). With KVM the smallest guest boots within a second. Where KVM cannot run it, QEMU may wait for ever.
SECONDS = 15.0
HELLO, NAME = "plimsoll boot", f"{LABEL}-kvm"
LATE = "a guest was not up after"
# Exit codes of `timeout` after it has killed its command: by the signal itself, or as a shell reports it.
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


# Held during the test, because several runtimes may need its result at once.
ASKING = threading.Lock()


def problem() -> str | None:
    """Return, in words, why no guest boots with KVM here. Return None if one does.

    A success or a time-out is noted in a file. The note counts until this machine boots again, or has another QEMU or
    another guest to boot. Raise Unavailable if the guest's kernel or first file system is missing.
    """
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
        return found  # not noted, because it may be repaired at any moment
    noted.parent.mkdir(parents=True, exist_ok=True)
    temporary = noted.with_name(f".{noted.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"of": now, "problem": found}))
    temporary.rename(noted)
    return found


def _layer() -> str:
    """Return words to put before an error if KVM here is not a processor's own virtualisation, otherwise an empty
    text.

    Such a KVM runs no usual guest, whatever the error says.
    """
    if platform.machine() != "x86_64" or any((MODULES / name).is_dir() for name in OF_PROCESSORS):
        return ""
    return "KVM is a software layer here, without kvm_intel or kvm_amd, and the smallest guest did not get far: "


def tried(words: list[str], seconds: float = SECONDS) -> str | None:
    """Return, in words, why the smallest guest does not boot with QEMU's `words`. Return None if it does."""
    command = [*words, "-name", NAME, "-m", "128", "-append", f"{machine.KERNEL_WORDS} plimsoll.hello", "-serial", "stdio"]
    # A limit outside this process is needed: this process may be killed, and a guest that hangs would stay.
    bounded = ["timeout", "--signal=KILL", f"{seconds:g}", *command]
    begun = time.monotonic()
    done = subprocess.run(bounded, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if HELLO in done.stdout:
        return None
    if done.returncode in KILLED:
        # Something else may have killed it before its time.
        return f"{LATE} {seconds:g} s" if time.monotonic() - begun >= seconds else "the guest that was to show it was killed"
    return (done.stderr.strip().splitlines() or ["it ended and printed nothing"])[0]


def _signature(program: str) -> list[int]:
    """Return what distinguishes this QEMU from another one: the size and the time of its file."""
    status = os.stat(shutil.which(program) or os.devnull)
    return [status.st_size, status.st_mtime_ns]
