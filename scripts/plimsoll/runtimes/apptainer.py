"""Plain Singularity (Apptainer): `apptainer exec` of every program, in the host's namespaces and the host's cgroup."""

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from plimsoll import paths, spelling
from plimsoll.errors import Outage, Unavailable
from plimsoll.interchange import Image
from plimsoll.runtimes import mounts
from plimsoll.runtimes.base import HOST, Node, Runtime, Spec, binding_kept, without_variables
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.cpuset_node import confine, release
from plimsoll.runtimes.image_forms import UNPACKED, name_of
from plimsoll.runtimes.namespaces import refuse_without_user_namespaces
from plimsoll.runtimes.privileges import Privileges


@cache
def executable() -> str:
    """Return the path of Apptainer or Singularity: the one that set-up unpacked, or the one on the PATH.

    Raise Unavailable if neither is installed.
    """
    for name in (str(paths.tool_prefix() / "apptainer/bin/apptainer"), "apptainer", "singularity"):
        if path := shutil.which(name):
            return path
    raise Unavailable("neither apptainer nor singularity is installed")


def is_installed() -> bool:
    """Return whether Apptainer or Singularity is installed."""
    try:
        return bool(executable())
    except Unavailable:
        return False


def execute(spec: Spec, *options: str, form: str = "sif", folder: Path | None = None) -> list[str]:
    """Return the words of `apptainer exec` for a form of the node's image, up to where the program begins.

    The program starts in the node's folder, or in `folder`, which is below the node's.
    """
    begins, at = str(folder or spec.folder), form_of(spec.image, form)
    return [
        executable(),
        "exec",
        *options,
        "--no-home",
        *mounts.bind(spec.folder, spec.folder),
        "--pwd",
        begins,
        at,
        *at_home(spec),
    ]


def at_home(spec: Spec) -> list[str]:
    """Return the prefix that sets a node's HOME. Without it Apptainer sets the user's HOME."""
    return ["env", f"HOME={spec.home}"]


def form_of(image: Image, form: str) -> str:
    """Return the path of a form of an image. Raise Unavailable if the image lacks the form."""
    if form not in image:
        remedy = f"delete results/images/{name_of(image['tag'])}.json, so that it is made again"
        raise Unavailable(f"the image {image['tag']} has no {form}, as it was made where Apptainer is not: {remedy}")
    return image[form]


def cgroup_files(specs: Sequence[Spec]) -> list[Path]:
    """Write Singularity's cgroup files, which confine each container to its place (liu2020, section 5.3).

    Return their paths; the list is empty if the specs have no places.
    """
    files = []
    for number, spec in enumerate(specs):
        if spec.place:
            files.append(spec.folder / f"cgroups-{number}.toml")
            files[-1].write_text(f'[cpu]\n  cpus = "{spec.place.cpus}"\n  mems = "{spec.place.nodes}"\n')
    return files


@cache
def is_privileged() -> bool:
    """Return whether Apptainer runs containers with privileges: root's, or those of its set-user-ID starter."""
    if not os.geteuid():
        return True
    found = output([executable(), "buildcfg"], 10).splitlines()
    told = dict(line.split("=", 1) for line in found if "=" in line)
    for kind in ("apptainer", "singularity"):
        with contextlib.suppress(OSError, KeyError):
            starter = Path(told["LIBEXECDIR"]) / kind / "bin/starter-suid"
            usual = f"{told['SYSCONFDIR']}/{kind}/{kind}.conf"
            configured = Path(told.get(f"{kind.upper()}_CONF_FILE", usual)).read_text()
            set_user = starter.stat().st_mode & stat.S_ISUID and not os.statvfs(starter).f_flag & os.ST_NOSUID
            return bool(set_user) and starter.stat().st_uid == 0 and not re.search(r"^allow setuid\s*=\s*no", configured, re.M)
    return False


class UserNamespace(Node):
    """The node `on`, in a user namespace that all programs of one starter share. There they may read each other's
    memory, as they may outside."""

    kind = "user namespace"
    separate = False

    def __init__(self, on: Node):
        super().__init__(on.name, on)

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return ["unshare", "--user", "--map-root-user", *HOST.enter(program, folder, without=without)]


class ExecNode(Node):
    """Node in which each program brings its own container, from a form of the image. Nothing is up before a program.

    `file` is the container's cgroup file, if it has one.
    """

    kind = "singularity"
    separate = False

    def __init__(self, spec: Spec, on: Node, form: str, file: Path | None = None):
        super().__init__(spec.name, on, spec=spec)
        self.form, self.file = form, file

    @property
    def strays(self) -> bool:
        """Whether programs leave the starter's cgroup. With a cgroup file each `exec` makes a cgroup of its own."""
        return self.file is not None

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        options = ["--apply-cgroups", str(self.file)] if self.file else []
        prefix = execute(self.spec, *options, form=self.form, folder=folder)
        return [*without_variables(without), *(binding_kept(prefix) if self.file and keep_binding else prefix), *program]


class Apptainer(Runtime):
    """Base class of the runtimes with Apptainer. With `unpacked` their nodes use the image's unpacked files, and not
    the SIF."""

    unpacked = False
    steps = ("apptainer.sh",)

    def privileges(self) -> Privileges:
        """Return what `apptainer exec` gives."""
        why = "it is what `apptainer exec --no-home` gives; the paper measured the same with the home"
        return Privileges(shares=("ipc", "net", "pid", "user", "uts"), mounts=("FOLDER", "CWD", "/tmp", "/var/tmp"), why=why)

    @property
    def form(self) -> str:
        """The form of the image that its nodes use."""
        return UNPACKED if self.unpacked else "sif"

    def versions(self) -> dict[str, str]:
        return {"Apptainer": output([executable(), "--version"]).strip()}

    def programs(self) -> tuple[str, ...]:
        return (executable() if is_installed() else "apptainer",)

    def examine(self, image: Image) -> None:
        """Raise Outage if the launcher or the SIF is gone or has changed, or if Apptainer does not answer."""
        super().examine(image)
        try:
            output([executable(), "--version"], 10)
        except Unavailable as problem:
            raise Outage(
                f"Apptainer does not answer ({problem})", f"install it again ({spelling.command('setup')} does)"
            ) from problem


class Singularity(Apptainer):
    """Plain Singularity. Where it has no privileges, all containers of a run are in one user namespace.

    Only root's containers are made from the image file. For other users Apptainer mounts that file by FUSE, also with
    a set-user-ID starter. The exception is a configuration that lets the kernel mount what a user has written.
    """

    name = "singularity"
    bound = True
    label = "Singularity"
    colour, hatch = "#009e73", "//"

    @property
    def unpacked(self) -> bool:
        """Whether its nodes use the image's unpacked files."""
        return bool(os.geteuid())

    def check(self) -> str:
        """Return the version that the executable prints, and whether it has no privileges. Raise Unavailable if it
        has none and can make no user namespaces."""
        version = output([executable(), "--version"]).strip()
        if is_privileged():
            return version
        refuse_without_user_namespaces()
        return f"{version}, without privileges"

    def refuse(self, features) -> None:
        """Raise Unavailable if each program gets a user namespace although the starter has privileges. Ranks in
        different user namespaces cannot read each other's memory, and hang."""
        if is_privileged() and "user" in features["namespaces"]:
            raise Unavailable("Apptainer makes a user namespace for each program, although its starter has privileges")

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the cpuset that all nodes share, or a cgroup file for each node if their places differ."""
        if len({spec.place for spec in specs}) > 1:
            return [ExecNode(spec, on, self.form, file) for spec, file in zip(specs, cgroup_files(specs), strict=True)]
        home, _ = confine(specs, on)
        shared = home if is_privileged() else UserNamespace(home)
        return [ExecNode(spec, shared, self.form) for spec in specs]

    def stop(self, nodes) -> None:
        release(nodes)


RUNTIMES = (Singularity(),)
