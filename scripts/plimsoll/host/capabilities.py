"""What this machine can do beyond running programs: tried once, and asked by every instrument and study that needs it."""

import shutil
import subprocess

# Our name of each counter, with perf's names for it: the first that the machine knows is taken. Generic names come last: what
# `node-loads` counts (all accesses, or local ones) is not the same on all processors.
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


def counters() -> dict[str, str | None]:
    """Each counter with perf's name for it on this machine; None where it has none. Empty without perf."""
    perf = shutil.which("perf")
    return {name: next((e for e in events if _counts(perf, e)), None) for name, events in COUNTERS.items()} if perf else {}


def _counts(perf: str, event: str) -> bool:
    # Over all processors, as in a run: not every user may.
    done = subprocess.run([perf, "stat", "-a", "-x,", "-e", event, "true"], capture_output=True, text=True)
    return done.returncode == 0 and done.stderr.split(",")[0].strip().isdigit()
