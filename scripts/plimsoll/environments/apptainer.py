"""Plain Singularity (Apptainer): `apptainer exec` of every program, in the host's namespaces and the host's cgroup."""

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from plimsoll import paths
from plimsoll.environments import mounts
from plimsoll.environments.base import (
    HOST,
    UNPACKED,
    Environment,
    Node,
    Spec,
    binding_kept,
    hidden,
    name_of,
    output,
)
from plimsoll.environments.confined import confine, release
from plimsoll.environments.namespaces import refuse_without_user_namespaces
from plimsoll.errors import Outage, Unavailable
from plimsoll.interchange import Image


@cache
def executable() -> str:
    """Path of Apptainer or Singularity: the one that set-up unpacked, or the one on the PATH."""
    for name in (str(paths.tool_prefix() / "apptainer/bin/apptainer"), "apptainer", "singularity"):
        if path := shutil.which(name):
            return path
    raise Unavailable("neither apptainer nor singularity is installed")


def installed() -> bool:
    """Whether there is Apptainer or Singularity."""
    try:
        return bool(executable())
    except Unavailable:
        return False


def execute(spec: Spec, *options: str, form: str = "sif", folder: Path | None = None) -> list[str]:
    """`apptainer exec` of a form of the node's image in its folder, or in another `folder` below that one, up to where the
    program begins."""
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
    """Prefix that gives what follows the HOME of a node, where what starts it would give it the user's."""
    return ["env", f"HOME={spec.home}"]


def form_of(image: Image, form: str) -> str:
    """Where a form of an image lies; Unavailable if the image lacks it."""
    if form not in image:
        remedy = f"delete results/images/{name_of(image['tag'])}.json, so that it is made again"
        raise Unavailable(f"the image {image['tag']} has no {form}, as it was made where Apptainer is not: {remedy}")
    return image[form]


def cgroup_files(specs: Sequence[Spec]) -> list[Path]:
    """Singularity's cgroup files that confine each container to its place (liu2020, section 5.3); none without places."""
    files = []
    for number, spec in enumerate(specs):
        if spec.place:
            files.append(spec.folder / f"cgroups-{number}.toml")
            files[-1].write_text(f'[cpu]\n  cpus = "{spec.place.cpus}"\n  mems = "{spec.place.nodes}"\n')
    return files


@cache
def privileged() -> bool:
    """Whether Apptainer runs containers with privileges: root's, or those of its set-user-ID starter."""
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
    """The node that it is on, in a user namespace that all programs of one starter share: they may read each other's memory
    there, as they may outside."""

    kind = "user namespace"
    separate = False

    def __init__(self, on: Node):
        super().__init__(on.name, on)

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return ["unshare", "--user", "--map-root-user", *HOST.enter(program, folder, without=without)]


class ExecNode(Node):
    """Nothing is up before a program: each brings its own container of a form of the image, with the cgroup file if there is
    one."""

    kind = "singularity"
    separate = False

    def __init__(self, spec: Spec, on: Node, form: str, file: Path | None = None):
        super().__init__(spec.name, on, spec=spec)
        self.form, self.file = form, file

    @property
    def strays(self) -> bool:
        """With a cgroup file each `exec` makes a cgroup of its own."""
        return self.file is not None

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        options = ["--apply-cgroups", str(self.file)] if self.file else []
        prefix = execute(self.spec, *options, form=self.form, folder=folder)
        return [*hidden(without), *(binding_kept(prefix) if self.file and keep_binding else prefix), *program]


class Apptainer(Environment):
    """What all environments of Apptainer need. With `unpacked` their nodes have the image's unpacked files, and not the SIF."""

    unpacked = False
    steps = ("apptainer.sh",)

    @property
    def form(self) -> str:
        """The form of the image that its nodes have."""
        return UNPACKED if self.unpacked else "sif"

    def versions(self) -> dict[str, str]:
        return {"Apptainer": output([executable(), "--version"]).strip()}

    def programs(self) -> tuple[str, ...]:
        return (executable() if installed() else "apptainer",)

    def examine(self, image: Image) -> None:
        """The launcher, Apptainer and the SIF."""
        super().examine(image)
        try:
            output([executable(), "--version"], 10)
        except Unavailable as problem:
            raise Outage(f"Apptainer does not answer ({problem})", "install it again (make setup does)") from problem


class Singularity(Apptainer):
    """Plain Singularity. Where it has no privileges all containers of a run are in one user namespace. Only root's are made of
    the image file: for others Apptainer mounts it by FUSE, with a set-user-ID starter too, unless its configuration lets the
    kernel mount what a user has written."""

    name = "singularity"
    bound = True
    label = "Singularity"
    colour, hatch = "#009e73", "//"

    @property
    def unpacked(self) -> bool:
        """Whether its nodes have the image's unpacked files."""
        return bool(os.geteuid())

    def check(self) -> str:
        """What the executable calls itself, and whether it has no privileges; Unavailable if it can do nothing without."""
        version = output([executable(), "--version"]).strip()
        if privileged():
            return version
        refuse_without_user_namespaces()
        return f"{version}, without privileges"

    def refuse(self, features) -> None:
        """Ranks in user namespaces of their own cannot read each other's memory, and hang."""
        if privileged() and "user" in features["namespaces"]:
            raise Unavailable("Apptainer makes a user namespace for each program, although its starter has privileges")

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the cpuset that all share, or a cgroup file for each if they are apart."""
        if len({spec.place for spec in specs}) > 1:
            return [ExecNode(spec, on, self.form, file) for spec, file in zip(specs, cgroup_files(specs), strict=True)]
        home, _ = confine(specs, on)
        shared = home if privileged() else UserNamespace(home)
        return [ExecNode(spec, shared, self.form) for spec in specs]

    def stop(self, nodes) -> None:
        release(nodes)


ENVIRONMENTS = (Singularity(),)
