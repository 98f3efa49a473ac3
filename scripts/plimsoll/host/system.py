"""Facts about this host that may change between two days and move every number: kernel, processor, firmware and settings."""

import os
from pathlib import Path

from plimsoll.host import cgroup, processor_name
from plimsoll.host.topology import read

NOT_READABLE = "not readable"


def facts(sysfs: Path = Path("/sys"), proc: Path = Path("/proc")) -> dict[str, str]:
    """Return the facts by name, in words.

    A fact that cannot be read has the value `not readable`, which is the same every day.
    """
    information = read(proc / "cpuinfo")
    vulnerabilities = sorted((sysfs / "devices/system/cpu").glob("vulnerabilities/*"))
    return {
        "kernel": f"{os.uname().release} {os.uname().version}",
        "processor": processor_name.find(),
        "microcode": _microcode(information),
        **settings(sysfs, proc),
        "cgroup version": str(cgroup.version(cgroup.mounts())),
        **{f"mitigation of {file.name}": read(file, NOT_READABLE) for file in vulnerabilities},
    }


def settings(sysfs: Path = Path("/sys"), proc: Path = Path("/proc")) -> dict[str, str]:
    """Return the facts that a user may change while the host is up, by name, in words."""
    cpu = sysfs / "devices/system/cpu"
    return {
        "processors online": read(cpu / "online", NOT_READABLE),
        "hyper-threading": read(cpu / "smt/control", NOT_READABLE),
        "governor": governors(cpu),
        "turbo": turbo(cpu),
        "transparent huge pages": read(sysfs / "kernel/mm/transparent_hugepage/enabled", NOT_READABLE),
        "address space randomisation": read(proc / "sys/kernel/randomize_va_space", NOT_READABLE),
        "NUMA balancing": read(proc / "sys/kernel/numa_balancing", NOT_READABLE),
        "TCP congestion control": read(proc / "sys/net/ipv4/tcp_congestion_control", NOT_READABLE),
        "TCP buffers": ", ".join(
            f"{way} {' '.join(read(proc / f'sys/net/ipv4/tcp_{way}', NOT_READABLE).split())}" for way in ("rmem", "wmem")
        ),
    }


def governors(cpu: Path) -> str:
    """Return the frequency governors of all processors, each named once; `not readable` if none can be read.

    `cpu` is the folder of the processors in sysfs.
    """
    return ", ".join(sorted({read(file, NOT_READABLE) for file in cpu.glob("cpu*/cpufreq/scaling_governor")})) or NOT_READABLE


def turbo(cpu: Path) -> str:
    """Return `on`, `off` or `not readable`. `cpu` is the folder of the processors in sysfs."""
    no_turbo = read(cpu / "intel_pstate/no_turbo")
    boost = read(cpu / "cpufreq/boost")
    if no_turbo:
        return "off" if no_turbo == "1" else "on"
    if boost:
        return "on" if boost == "1" else "off"
    return NOT_READABLE


def boot() -> str:
    """Return an identifier of the time since the host was started."""
    return read(Path("/proc/sys/kernel/random/boot_id"))


def _microcode(information: str) -> str:
    versions = [line.partition(":")[2].strip() for line in information.splitlines() if line.startswith("microcode")]
    return ", ".join(sorted(set(versions))) or NOT_READABLE
