"""Performance counters that perf can read on this machine.

They are tried when the machine is described. Instruments and studies read the result there.
"""

import shutil
import subprocess

# Our name of each counter, and perf's names for it. The first name that works on this machine is used. Generic names
# come last, because what `node-loads` counts (all accesses, or local ones) differs between processors.
COUNTERS = {
    "context_switches": ("context-switches",),
    "cpu_migrations": ("cpu-migrations",),
    "l3_misses": ("LLC-load-misses", "longest_lat_cache.miss"),
    "local_memory_loads": ("mem_load_uops_l3_miss_retired.local_dram", "mem_load_l3_miss_retired.local_dram", "node-loads"),
    "remote_memory_loads": (
        "mem_load_uops_l3_miss_retired.remote_dram",
        "mem_load_l3_miss_retired.remote_dram",
        "node-load-misses",
    ),
    "cycles": ("cycles",),
    "stall_cycles": ("cycle_activity.stalls_total", "stalled-cycles-backend"),
}
# Counters of the kernel. All others are the processor's.
OF_KERNEL = frozenset({"context_switches", "cpu_migrations"})


def counters() -> dict[str, str | None]:
    """Return perf's name of each counter on this machine, by our name; None for a counter that it does not have.

    Return an empty dictionary if perf is not installed.
    """
    perf = shutil.which("perf")
    return {name: next((e for e in events if _counts(perf, e)), None) for name, events in COUNTERS.items()} if perf else {}


def _counts(perf: str, event: str) -> bool:
    # On all processors (-a), as in a run: not every user may count there.
    done = subprocess.run([perf, "stat", "-a", "-x,", "-e", event, "true"], capture_output=True, text=True)
    return done.returncode == 0 and done.stderr.split(",")[0].strip().isdigit()
