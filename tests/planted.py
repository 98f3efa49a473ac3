"""Programs with a cost that is known: it is planted in one step between this host and Docker's default container."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Steps as the answer names them.
FILTER, MEMORY = "the seccomp filter", "an IPC namespace (with a /dev/shm of 64 MB)"
LIMITS = "the container's cgroup and limits (ulimit)"
LAYER = "the container's layer where the program writes (in place of volumes)"

# Sleeps where /dev/shm is too small, and where a filter is active.
TWO_STEPS = """
dd if=/dev/zero of=/dev/shm/planted bs=1M count=100 2>/dev/null || sleep 0.6
rm -f /dev/shm/planted
grep -q '^Seccomp:.*2' /proc/self/status && sleep 0.3
echo done
"""
# Writes records to a file, each of which is on the disk before the next one, and sleeps if the file is in a container's layer.
IN_LAYER = """
dd if=/dev/zero of="$1" bs=4096 count=100 oflag=dsync 2>/dev/null
[ "$(stat -f -c %T "$1")" = overlayfs ] && sleep 0.6
rm "$1"
echo done
"""
# Computes, and sleeps where a call is refused.
REFUSED = """
import os, time
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
try:
    os.close(os.memfd_create("planted"))
except PermissionError:
    time.sleep(0.4)
open("/dev/shm/planted", "w").close()
print("done")
"""
# Computes, and sleeps where a call is refused, where /dev/shm is too small, and where /tmp is in a container's layer.
IN_FOUR_STEPS = """
import os, subprocess, time
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
try:
    os.close(os.memfd_create("planted"))
except PermissionError:
    time.sleep(0.08)
try:
    with open("/dev/shm/planted", "wb") as file:
        file.write(bytes(70 << 20))
except OSError:
    time.sleep(0.08)
os.remove("/dev/shm/planted")
with open("/tmp/planted", "w") as file:
    file.write("planted")
os.remove("/tmp/planted")
if subprocess.check_output(["stat", "-f", "-c", "%T", "/tmp"]) == b"overlayfs\\n":
    time.sleep(0.08)
print("done")
"""
# Where this program costs something with the client below.
FOUR_STEPS = (LIMITS, LAYER, MEMORY, FILTER)
# Docker's client, with options for every container: a quota of 80 % of a processor, and a filter that refuses one call.
_CLIENT = """#!/bin/sh
real={real} option=
if [ "$1" = run ]; then
    shift
    case "$*" in *seccomp=unconfined*) ;; *) option="--security-opt seccomp={filter}" ;; esac
    exec "$real" run --cpu-period 100000 --cpu-quota 80000 {more} $option "$@"
fi
exec "$real" "$@"
"""
_REFUSING = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["memfd_create"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}],
}


@contextlib.contextmanager
def client(*more: str) -> Iterator[str]:
    """Yield a PATH with a client of Docker that plants a quota and the options `more` in every container.

    In every confined one it plants a filter that refuses memfd_create.
    """
    # A folder of PATH has no colon, and a word of a shell no space.
    with tempfile.TemporaryDirectory(prefix="plimsoll-client-") as folder:
        (Path(folder) / "filter.json").write_text(json.dumps(_REFUSING))
        script = Path(folder) / "docker"
        words = {"real": shutil.which("docker"), "filter": f"{folder}/filter.json", "more": " ".join(more)}
        script.write_text(_CLIENT.format(**words))
        script.chmod(0o755)
        yield f"{folder}:{os.environ['PATH']}"
