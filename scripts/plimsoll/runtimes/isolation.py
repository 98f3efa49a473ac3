"""Try every runtime, and observe from inside its containers what liu2020's table 5 states about it."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll import runtimes, spelling
from plimsoll.errors import Outage, PlimsollError, Unavailable, say
from plimsoll.interchange import Image
from plimsoll.measuring import lock
from plimsoll.runtimes.base import LABEL, Node, Runtime, Spec
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.image_forms import image_gone

PROBE = Path(__file__).with_name("probe.sh")
# Time during which a runtime that exists may fail to start a node (s): an engine restarts its containerd within
# eleven seconds. Then the pause between two looks (s).
PATIENCE, LOOK_SECONDS = 15.0, 1.0
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class Trying(NamedTuple):
    """What is tried of each runtime, and with what.

    - `image` is the description of a built image.
    - `restore` makes forms of the image again that are gone or have changed.
    - `trials` makes runs of the runtime with this name. It returns, by kind of runs, why it does not work, or None if
      it does.
    - `look` describes what the runtime is tried on.
    - `observed`: nodes are also observed from inside.
    """

    image: Image
    restore: Callable[[Image], None]
    trials: Callable[[str], dict[str, str | None]]
    look: Callable[[Runtime], Mapping]
    observed: bool = True


def try_all(wishes: dict[str, str], trying: Trying) -> dict[str, dict]:
    """Try each runtime whose wish is not `off`. Return, by name: `works`, `version`, `features`, and `look` (what it
    was tried on).

    `kinds` gives, by kind of runs, why it does not work, or None. A runtime that does not work at all has a `reason`.
    Raise PlimsollError that names all required runtimes that fail.
    """
    results = {}
    with lock.machine(runtimes.known):
        for name, wish in wishes.items():
            if wish != "off":
                runtime = runtimes.find(name)
                try:
                    found = {"works": True, **_try(runtime, trying)}
                except Unavailable as reason:
                    found = {"works": False, "reason": str(reason)}
                results[name] = {**found, "look": trying.look(runtime)}
    lacking = {name: reason for name, one in results.items() if wishes[name] == "required" and (reason := _lacking(one))}
    if lacking:
        raise PlimsollError(_question(lacking))
    return results


def _try(runtime: Runtime, trying: Trying) -> dict:
    runtime.wake()
    found: dict = {"version": runtime.check()}
    if trying.observed:
        found["features"] = _observed(runtime, trying.image, trying.restore)
        put_right(runtime)
        runtime.refuse(found["features"])
    return {**found, "kinds": trying.trials(runtime.name)}


def _lacking(found: dict) -> str | None:
    """Return, in words, what does not work of a runtime that was tried. Return None if all works."""
    if not found["works"]:
        return found["reason"]
    return "; ".join(f"{kind}: {reason}" for kind, reason in found["kinds"].items() if reason) or None


def put_right(runtime: Runtime) -> None:
    """Clean up what the first nodes of a runtime have made. If that fails, print a warning, because the nodes work
    all the same."""
    try:
        runtime.tried()
    except Unavailable as problem:
        say(f"leftovers of {runtime.label} could not be removed: {problem}. The next run removes them.")


def _question(lacking: dict[str, str]) -> str:
    """Return the message for a user who requires runtimes that do not work. `lacking` gives the reason of each."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in lacking.items():
        by_reason.setdefault(reason, []).append(name)
    why = "; ".join(f"{' and '.join(names)} ({reason})" for reason, names in by_reason.items())
    return (
        f"Required runtimes do not work here: {why}. Repair that ({spelling.command('setup')} installs what it can), or "
        f"go on without: {spelling.command('drop', *lacking)}."
    )


def _observed(runtime: Runtime, image: Image, restore: Callable[[Image], None]) -> dict:
    """Return what is observed of a runtime that exists, trying again for a while.

    What it needs may have been killed, and may be about to come back. The image may be gone or have changed: it is
    restored once. Raise Unavailable if nodes still cannot be observed.
    """
    end, looked, restored = time.monotonic() + PATIENCE, False, False
    while True:
        try:
            return observe(runtime, image)
        except Unavailable as reason:
            # A part of it may have been killed, and nothing else removes the leftovers.
            lock.sweep([runtime], aloud=False)
            # The engine may answer only later, so it is queried each time. All files of the image are read only once.
            problem = runtime.lost(image) or (None if looked else runtime.image_problem(image))
            looked = True
            if problem and not restored:
                _restore(image, problem, restore, reason)
                restored = True
            elif time.monotonic() > end:
                raise
        time.sleep(LOOK_SECONDS)


def _restore(image: Image, changed: str, restore: Callable[[Image], None], reason: Unavailable) -> None:
    """Make an image again after `changed` was found, and print a message. Raise Unavailable if that fails."""
    say(f"{image_gone(image, changed).cause}: it is made again from its copy.")
    try:
        restore(image)
    except (Outage, Unavailable, OSError) as problem:
        said = str(problem).rstrip(".")
        raise Unavailable(f"{reason}; {changed}, and the image could not be made again: {said}") from problem


def observe(runtime: Runtime, image: Image) -> dict:
    """Start two nodes, run a probe in each, and return what `compare` finds between their output and the host's.

    A runtime without containers gets one node.
    """
    identity = f"probe{os.getpid()}"
    folder = lock.temporary_folder(identity)
    try:
        with lock.run(identity, folder):
            return _observe(runtime, image, identity, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _observe(runtime: Runtime, image: Image, identity: str, folder: Path) -> dict:
    number = 2 if runtime.has_containers else 1
    specs = [Spec(identity, f"{LABEL}-{identity}-c{i}", image, folder) for i in range(number)]
    shutil.copy(PROBE, folder)
    nodes = runtime.start(specs)
    try:
        program = ["/bin/sh", str(folder / PROBE.name)]
        inside = [_told(node, parse(output(node.inside(node.of_image(program))))) for node in nodes]
        # Look while the nodes are up: the other ends of their interfaces are on the host.
        bridges = runtime.bridges()
        seen = compare(inside, _host(), _bridges() if bridges is None else bridges)
        return {**seen, "network": ", ".join(filter(None, (seen["network"], runtime.outward())))}
    finally:
        runtime.stop(nodes)


def parse(text: str) -> dict[str, str]:
    """Return the `key value` lines of the probe as a dictionary."""
    return dict(line.partition(" ")[::2] for line in text.splitlines() if line)


def _told(node: Node, printed: dict[str, str]) -> dict[str, str]:
    """Return what a probe printed in a node. If the node has a kernel of its own, mark the kernel's numbers as
    different from the host's."""
    if not node.own_kernel:
        return printed
    own = {key: f"{node.name}: {printed[key]}" for key in (*NAMESPACES, "cpu_cgroup") if key in printed}
    return {**printed, **own, "links": ""}


def _host() -> dict[str, str]:
    return parse(subprocess.run(["/bin/sh", str(PROBE)], capture_output=True, text=True, check=True).stdout)


def _bridges() -> dict[int, str]:
    """Return, by interface number, the name of the bridge that each of the host's interfaces is a port of."""
    ports = {}
    for interface in Path("/sys/class/net").iterdir():
        master = interface / "master"
        if (master / "bridge").is_dir():
            ports[int((interface / "ifindex").read_text())] = master.resolve().name
    return ports


def compare(inside: list[dict[str, str]], host: dict[str, str], bridges: dict[int, str]) -> dict:
    """Return the features of containers, from what the probe printed in each of them and on the host.

    `namespaces` lists those that differ from the host's. `separate_namespaces` lists those that the containers do not
    share with each other. `cgroup` is the path of the cpu controller's cgroup as seen from inside. `own_cgroup` says
    whether that path differs from what the host sees.
    """
    own = [kind for kind in NAMESPACES if all(probe.get(kind) != host.get(kind) for probe in inside)]
    apart = [kind for kind in own if len({probe.get(kind) for probe in inside}) == len(inside)]
    links = [int(link) for link in inside[0].get("links", "").split()]
    # A node on the host's network sees the host's interfaces, and these include ports of other containers' bridges.
    bridge = next((bridges[link] for link in links if link in bridges), None) if "net" in own else None
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
    """Return table 5 of liu2020, one row per runtime: the four features as measured here, each beside the paper's
    value.

    Every container has a mount namespace, so the paper's table does not count it as isolation. It is named all the
    same.
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
    """Write the results to `path` as JSON."""
    path.write_text(json.dumps(results, indent=1) + "\n")
