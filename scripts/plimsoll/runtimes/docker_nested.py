"""Nested containers: each runs in a parent, a container with an engine that has loaded the child's image from a file.

A parent is not privileged. It has two capabilities more than other containers, no seccomp filter, the host's cgroups,
and a volume for its engine. docs/reports/nesting.md says what each is for. The children's cgroups are made in the run's own
cgroup. So their time counts as the run's, and their leftovers go with the run's cgroup.
"""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import run_files
from plimsoll.interchange import Image
from plimsoll.runtimes.base import HOST, Node, Spec
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.nested import engine_folders
from plimsoll.runtimes.networks import host_networks
from plimsoll.runtimes.networks.base import HostNetwork, Network
from plimsoll.runtimes.privileges import CONFINED, Privileges

PARENT = "/opt/plimsoll/bin/parent.sh"
# File of the child's image in a parent.
ARCHIVE = "/opt/plimsoll/child.tar"
# Cgroup in which the children's cgroups are made, where the run has none of its own.
CHILDREN_GROUP = "/docker"
# Folder in which the engine of a parent keeps its data.
ENGINE = "/var/lib/docker"
# Settings file of a parent's engine.
SETTINGS = "/etc/docker/daemon.json"
# Settings of an engine on the host's network: it leaves the host's firewall and bridges alone. It gets a bridge of
# ours, because Docker without any bridge would remove the bridge of the host's engine.
ON_HOST = {"bridge": host_networks.CHILDREN.device, "iptables": False, "ip-masq": False, "ip-forward": False}
# A parent that takes longer to be ready hangs, and so does one that takes longer to end (s).
READY_SECONDS, END_SECONDS = 120.0, 30
LOOK_SECONDS = 0.02
# Size of a parent's notes that is read (bytes): a parent writes only some lines.
NOTES_BYTES = 2**16
# What an engine says if layers cannot lie on its file system.
UNFIT = "not supported"
# What `privileges` has to find in a parent, and in a child. A child is like any other container.
GIVEN = {"capabilities": {"CAP_NET_ADMIN", "CAP_SYS_ADMIN"}, "seccomp": "off"}
USUAL = {"capabilities": set(), "seccomp": "on"}
# Line in a parent's notes.
NOTED = re.compile(r"(?P<part>[a-z]+) (?P<moment>[0-9]{1,12}\.[0-9]{6})")
# First process of a container: it writes down its privileges, and becomes the command that follows.
NOTING = ("sh", "-c", 'cat /proc/self/status >"$0" && exec "$@"')
# Names of capabilities by number (capabilities(7)): Docker's default ones, and those of a parent.
CAPABILITIES = {
    **{0: "CAP_CHOWN", 1: "CAP_DAC_OVERRIDE", 3: "CAP_FOWNER", 4: "CAP_FSETID", 5: "CAP_KILL", 6: "CAP_SETGID"},
    **{7: "CAP_SETUID", 8: "CAP_SETPCAP", 10: "CAP_NET_BIND_SERVICE", 12: "CAP_NET_ADMIN", 13: "CAP_NET_RAW"},
    **{18: "CAP_SYS_CHROOT", 21: "CAP_SYS_ADMIN", 27: "CAP_MKNOD", 29: "CAP_AUDIT_WRITE", 31: "CAP_SETFCAP"},
}


class Parents(Docker):
    """Containers that can start containers. They are no runtime of their own, because nothing is measured in a
    parent.

    Each has a volume of its own for its engine, or a folder if one was made for it (engine_folders). With `volume_of`
    it has the volume of the container with this name.
    """

    capabilities = ("SYS_ADMIN", "NET_ADMIN")
    options = (
        *Docker.options,
        *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
        *("--volume", ENGINE, "--volume", "/sys/fs/cgroup:/sys/fs/cgroup"),
    )

    def privileges(self) -> Privileges:
        """Return what an engine in a container needs."""
        return CONFINED._replace(
            capabilities="docker",
            added=("CAP_NET_ADMIN", "CAP_SYS_ADMIN"),
            seccomp=False,
            apparmor=False,
            mounts=("FOLDER", "/sys/fs/cgroup", "/var/lib/docker"),
            why="the engine in it mounts file systems, makes namespaces, networks, session keys and cgroups (nesting.md)",
        )

    def __init__(self, volume_of: str = ""):
        if volume_of:
            own = self.options.index(ENGINE)
            self.options = (*self.options[: own - 1], "--volumes-from", volume_of, *self.options[own + 1 :])

    def words(self, spec):
        own = engine_folders.of_parent(spec.name)
        return [f"{own}:{ENGINE}" if word == ENGINE and own.is_dir() else word for word in super().words(spec)]

    def remove(self, names, on=HOST):
        super().remove(names, on)
        engine_folders.remove(names)


class Inner(Docker):
    """Engine of a parent, on which the parent's containers are started. They are on its own bridge unless their spec
    names another network."""

    network = Network("bridge")

    def image_of(self, spec: Spec) -> str:
        """Return the child's tag, because a parent's engine gets the image from a file."""
        return spec.image["tag"]


PARENTS, INNER = Parents(), Inner()


class DockerNested(Docker):
    """A Docker container in a Docker container. A node is the child, and `on` is its parent."""

    name = "docker-nested"
    label = "Nested Docker containers"
    colour, hatch = "#882255", "\\\\"
    # The engine of a parent loads the child's image from this file.
    form = "archive"
    variant_of = "docker"
    nested = True

    def start(self, specs: Sequence[Spec], on: Node = HOST) -> list[Node]:
        """Start parents side by side, and a child in each parent that is ready.

        `spec.image` has the parent's image as a stage, and the child's as a file. On the host's network there can be
        one parent at a time. Raise Unavailable, with the parent's last words, if one does not get ready.
        """
        refuse_others(specs[0].image)
        if any(map(on_host, specs)):
            host_networks.CHILDREN.set_up(on)
        ready = has_loaded(specs[0], on)
        wanted = [parent_of(spec, loads=not ready) for spec in specs]
        if ready:
            engine_folders.copy_all([parent.name for parent in wanted], specs[0].image)
        try:
            parents = PARENTS.start(wanted, on)
            try:
                wait(wanted)
            except Unavailable:
                # The engine's folder that parents got copies of may be damaged. Without it the next run makes a new
                # one.
                engine_folders.forget(specs[0].image)
                raise
            return [_child(spec, parent) for spec, parent in zip(specs, parents, strict=True)]
        except Unavailable:
            PARENTS.remove([parent.name for parent in wanted], on)
            raise

    def stop(self, nodes: Sequence[Node]) -> None:
        """End the parents, which first end their children and their engines, and remove them."""
        parents, host = [node.on.name for node in nodes], nodes[0].on.on
        end(parents, host)
        PARENTS.remove(parents, host)
        host_networks.CHILDREN.sweep()

    def sweep(self) -> None:
        try:
            super().sweep()
        finally:
            engine_folders.sweep()

    def intact(self, nodes: Sequence[Node]) -> None:
        """Raise Outage if a parent is no longer up. A child's own process only sleeps, or runs a service."""
        super().intact([node.on for node in nodes])


def has_loaded(spec: Spec, on: Node = HOST) -> bool:
    """Return whether there is the folder of an engine that has loaded a child's image.

    The folder is made the first time. Raise Unavailable if that fails. If the file system is not fit for an engine,
    this is noted, and each parent loads the image.
    """
    image = spec.image
    if not engine_folders.usable(image):
        return False
    if not engine_folders.with_image(image).is_dir():
        parent = parent_of(spec._replace(name=f"{spec.name}-loads", parent_network=None))
        try:
            engine_folders.make(parent.name)
            load_once(parent, on)
            engine_folders.keep(parent.name, image)
        except Unavailable as problem:
            if UNFIT not in str(problem):
                raise
            engine_folders.refuse(image, str(problem))
            return False
        finally:
            PARENTS.remove([parent.name], on)
    return True


def load_once(parent: Spec, on: Node = HOST) -> None:
    """Start a parent, and end it when it has loaded the child's image. It is not removed.

    Raise Unavailable if it does not load the image.
    """
    PARENTS.start([parent], on)
    wait([parent])
    end([parent.name], on)


def parent_of(spec: Spec, children: int = 0, loads: bool = True) -> Spec:
    """Return the spec of the parent of a child.

    With `children` it runs this number of children at once, each by the spec's command, until all have ended, and
    then ends. NUMBER in the spec's words becomes the child's number, counted from 1. Without `children` it stays up.
    If it does not load the child's image (`loads`), its engine must have the image.
    """
    group = spec.group or CHILDREN_GROUP
    child = INNER.words(_inner(spec._replace(name=f"{spec.name}-NUMBER"))) if children else []
    name = f"{spec.name}-parent"
    words = (PARENT, str(notes_of(spec)), ARCHIVE if loads else "", str(children), group, "--", *child)
    mounts = [(spec.image["archive"], ARCHIVE)]
    if on_host(spec):
        settings = notes_of(spec).with_suffix(".json")
        run_files.write(settings, json.dumps(ON_HOST))
        mounts.append((str(settings), SETTINGS))
    return spec._replace(
        name=name,
        image=spec.image["stages"]["parent"],
        mounts=tuple(mounts),
        network=spec.parent_network,
        parent_network=None,
        command=(*NOTING, str(status_of(spec.folder, name)), *words),
    )


def on_host(spec: Spec) -> bool:
    """Return whether the parent of a child is on the host's network."""
    return isinstance(spec.parent_network, HostNetwork)


def refuse_others(image: Image) -> None:
    """Raise Unavailable if an image lacks what nesting needs: a parent, and itself as a file."""
    if lacking := [form for form in ("archive", "stages") if form not in image]:
        raise Unavailable(f"the image {image['tag']} has no {lacking[0]} for nested containers")


def end(parents: Sequence[str], on: Node = HOST) -> None:
    """Make parents end their children, then their engines, and then themselves."""
    output(on.inside([*PARENTS.command, "stop", "-t", str(END_SECONDS), *parents]), 2 * END_SECONDS)


def notes_of(spec: Spec) -> Path:
    """Return the file in which the parent of a child notes when each part of its start ended (`moments`)."""
    return spec.folder / f"{spec.name}.moments"


def moments(notes: Path) -> dict[str, float]:
    """Return, by name, when each part of a parent ended (seconds since 1970).

    - `parent`: its first process runs.
    - `engine`: its engine answers.
    - `image`: the child's image is loaded.
    - Then `ready`, or `children` (they have ended), or `failed`.

    A line that is still being written is left out. Raise Unavailable if there is a line that no parent writes.
    """
    found: dict[str, float] = {}
    for line in run_files.text(notes, NOTES_BYTES).split("\n")[:-1]:
        if not (row := NOTED.fullmatch(line)) or row["part"] in found:
            raise Unavailable(f"{notes} has a line that no parent notes")
        found[row["part"]] = float(row["moment"])
    return found


def privileges(status: str) -> dict:
    """Return the privileges of a process, from its /proc/PID/status.

    `capabilities` is the set beyond Docker's default ones: names, or numbers where the name is not known here.
    `seccomp` is `on` or `off`. Raise ValueError if the text is not complete.
    """
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in status.split("\n")[:-1])}
    if not re.fullmatch("[0-9a-f]{16}", fields.get("CapEff", "")) or not re.fullmatch("[0-9]", fields.get("Seccomp", "")):
        raise ValueError("it does not tell of its capabilities and of seccomp")
    mask = int(fields["CapEff"], 16)
    held = {CAPABILITIES.get(number, str(number)) for number in range(mask.bit_length()) if mask >> number & 1}
    usual = set(CAPABILITIES.values()) - GIVEN["capabilities"]
    return {"capabilities": held - usual, "seccomp": "off" if fields["Seccomp"] == "0" else "on"}


def status_of(folder: Path, name: str) -> Path:
    """Return the file in which a parent or a child of this name notes its privileges: its /proc/self/status
    (`privileges`)."""
    return folder / f"{name}.status"


def _child(spec: Spec, parent: Node) -> Node:
    (node,) = INNER.start([_inner(spec)], on=parent)
    return node


def _inner(spec: Spec) -> Spec:
    """Return the spec of a child for the engine of its parent."""
    noted = str(status_of(spec.folder, spec.name))
    return spec._replace(mounts=(), command=(*NOTING, noted, *spec.command))


def wait(parents: Sequence[Spec]) -> None:
    """Wait until each parent is ready. Raise Unavailable if one has failed, or is not ready in READY_SECONDS."""
    end = time.monotonic() + READY_SECONDS
    for parent in parents:
        while "ready" not in (parts := moments(_notes(parent))):
            if "failed" in parts or time.monotonic() > end:
                raise Unavailable(f"the parent {parent.name} did not get ready{said(parent.name)}")
            time.sleep(LOOK_SECONDS)


def _notes(parent: Spec) -> Path:
    """Return the file in which a parent notes its moments: the word after its program's name."""
    return Path(parent.command[parent.command.index(PARENT) + 1])


def said(parent: str) -> str:
    """Return the last words of a parent after a colon, or an empty text if there are none."""
    words = PARENTS.last_words(parent)
    return f": {words.removeprefix('parent: ')}" if words else ""


RUNTIMES = (DockerNested(),)
