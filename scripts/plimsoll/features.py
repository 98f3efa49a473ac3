"""Tries every runtime, and looks from inside its running containers at what liu2020's table 5 states about it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from plimsoll import lock, runtimes
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.processes import run_bounded
from plimsoll.runtimes.base import Job, Runtime

PROBE = Path(__file__).with_name("probe.sh")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


def try_all(wishes: dict[str, str], image: dict) -> dict[str, dict]:
    """By runtime: `works`, `version`, and `features` or the `reason`. Raises PlimsollError for a required one that fails."""
    results = {}
    with lock.machine():
        for name, wish in wishes.items():
            if wish == "off":
                continue
            runtime = runtimes.find(name)
            try:
                results[name] = {
                    "works": True,
                    "version": runtime.check(),
                    "features": observe(runtime, image),
                }
            except Unavailable as reason:
                if wish == "required":
                    raise PlimsollError(
                        f"The runtime {name} does not work here: {reason}. Mend that (make setup installs what it can), "
                        f"or set runtimes.{name} to optional or off in config/config.yaml."
                    ) from reason
                results[name] = {"works": False, "reason": str(reason)}
    return results


def observe(runtime: Runtime, image: dict) -> dict:
    """Start two containers (one process for bare metal), run a probe in each as an MPI rank, and compare with the host."""
    os.environ[lock.VARIABLE] = identity = f"probe{os.getpid()}"
    temporary = lock.temporary_folder(identity)
    folder = temporary / "probe"
    folder.mkdir()
    containers = 2 if runtime.containers else 1
    cell = {
        "containers": containers,
        "ranks": containers,
        "ranks_per_container": 1,
        "cores": containers,
        "mpi_parameters": {},
        "restricted": False,
        "places": [{"cpus": "", "nodes": "", "cores": [], "slots": []}] * containers,
    }
    job = Job(identity, folder, temporary, cell, image)
    try:
        shutil.copy(PROBE, folder)
        deployment = runtime.deploy(job)
        try:
            environment = {**deployment.environment(), lock.VARIABLE: identity}
            code = run_bounded(deployment.launch(["/bin/sh", f"{folder}/{PROBE.name}", str(folder)]), environment, folder, 60)
            if code != 0:
                words = (folder / "stderr.txt").read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
                raise Unavailable(f"a probe in its containers ended with {code}: {words[-1]}")
            inside = [parse(path.read_text()) for path in sorted(folder.glob("probe-*.txt"))]
            # While the containers are up: their interfaces' other ends are on the host.
            return compare(inside, _host(), _bridges())
        finally:
            deployment.remove()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def parse(text: str) -> dict[str, str]:
    """`key value` lines of the probe."""
    return dict(line.partition(" ")[::2] for line in text.splitlines() if line)


def _host() -> dict[str, str]:
    return parse(subprocess.run(["/bin/sh", str(PROBE)], capture_output=True, text=True, check=True).stdout)


def _bridges() -> dict[int, str]:
    """Name of the bridge that each of the host's interfaces is a port of, by interface number."""
    ports = {}
    for interface in Path("/sys/class/net").iterdir():
        master = interface / "master"
        if (master / "bridge").is_dir():
            ports[int((interface / "ifindex").read_text())] = master.resolve().name
    return ports


def compare(inside: list[dict], host: dict, bridges: dict[int, str]) -> dict:
    """Features of the containers, from what the probe printed in each and on the host.

    `namespaces` lists those that are not the host's, `separate_namespaces` those that the containers do not share with each
    other; `cgroup` is the path of the cpu controller, as the host's relates to it.
    """
    own = [kind for kind in NAMESPACES if all(probe.get(kind) != host.get(kind) for probe in inside)]
    apart = [kind for kind in own if len({probe.get(kind) for probe in inside}) == len(inside)]
    links = [int(link) for link in inside[0].get("links", "").split()]
    bridge = next((bridges[link] for link in links if link in bridges), None)
    return {
        "namespaces": own,
        "separate_namespaces": apart,
        "cgroup": inside[0].get("cpu_cgroup", ""),
        "own_cgroup": all(probe.get("cpu_cgroup") != host.get("cpu_cgroup") for probe in inside),
        "file_system": inside[0].get("root", ""),
        "network": f"bridge {bridge}" if bridge else ("own, no bridge seen" if "net" in own else "host"),
        "seccomp": inside[0].get("seccomp", ""),
        "capabilities": inside[0].get("capabilities", ""),
    }


def rows(tried: dict[str, dict], paper: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Table 5, one row a runtime: the paper's four features as measured here, each beside what the paper prints.

    The mount namespace, which no container goes without, does not count as isolation in the paper's table; it is named.
    """
    table = []
    for name, result in tried.items():
        printed = paper.get(name, {})
        row = {"runtime": runtimes.find(name).label, "version": result.get("version", "")}
        if not result["works"]:
            table.append({**row, "namespaces": f"not tried: {result['reason']}"})
            continue
        seen = result["features"]
        isolating = [kind for kind in seen["namespaces"] if kind != "mnt"]
        measured = {
            "namespaces": f"{'yes' if isolating else 'no'} ({', '.join(seen['namespaces']) or 'none'})",
            "cgroup": f"{'yes' if seen['own_cgroup'] else 'no'} ({seen['cgroup']})",
            "file system": seen["file_system"],
            "network": seen["network"],
        }
        for feature, value in measured.items():
            row[feature] = value
            row[f"{feature} (paper)"] = printed.get(feature, "")
        row["seccomp"] = {"0": "off", "2": "filter"}.get(seen["seccomp"], seen["seccomp"])
        table.append(row)
    return table


def write(results: dict, path: Path) -> None:
    """The results as JSON."""
    path.write_text(json.dumps(results, indent=1) + "\n")
