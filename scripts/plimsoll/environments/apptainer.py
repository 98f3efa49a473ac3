"""Plain Singularity (Apptainer): `apptainer exec` of every program, in the host's namespaces and the host's cgroup."""

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import HOST, Environment, Node, Spec, binding_kept, gone, hidden, output
from plimsoll.environments.confined import confine, release
from plimsoll.errors import Outage, Unavailable
from plimsoll.interchange import Image


@cache
def executable() -> str:
    """Path of Apptainer or Singularity: the one that set-up unpacked, or the one on the PATH."""
    for name in (str(paths.tool_prefix() / "apptainer/bin/apptainer"), "apptainer", "singularity"):
        if path := shutil.which(name):
            return path
    raise Unavailable("neither apptainer nor singularity is installed")


def execute(spec: Spec, *options: str, image: str | None = None) -> list[str]:
    """`apptainer exec` of the node's image in its folder, up to where the program begins; `image` is another form of the image
    than its SIF."""
    folder = str(spec.folder)
    return [executable(), "exec", *options, "--bind", folder, "--pwd", folder, image or spec.image["sif"]]


def cgroup_files(specs: Sequence[Spec]) -> list[Path]:
    """Singularity's cgroup files that confine each container to its place (liu2020, section 5.3); none without places."""
    files = []
    for number, spec in enumerate(specs):
        if spec.place:
            files.append(spec.folder / f"cgroups-{number}.toml")
            files[-1].write_text(f'[cpu]\n  cpus = "{spec.place.cpus}"\n  mems = "{spec.place.nodes}"\n')
    return files


class ExecNode(Node):
    """Nothing is up before a program: each brings its own container, with the cgroup file if there is one."""

    kind = "singularity"
    separate = False

    def __init__(self, spec: Spec, on: Node, file: Path | None = None):
        super().__init__(spec.name, on, spec=spec)
        self.file = file

    @property
    def strays(self) -> bool:
        """With a cgroup file each `exec` makes a cgroup of its own."""
        return self.file is not None

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        prefix = execute(self.spec, *(["--apply-cgroups", str(self.file)] if self.file else []))
        return [*hidden(without), *(binding_kept(prefix) if self.file and keep_binding else prefix), *program]


class Apptainer(Environment):
    """What all environments of Apptainer need. With `unpacked` their nodes have the image's unpacked files, and not the SIF."""

    unpacked = False

    def versions(self) -> dict[str, str]:
        return {"Apptainer": output([executable(), "--version"]).strip()}

    def programs(self) -> tuple[str, ...]:
        return (executable(),)

    def examine(self, image: Image) -> None:
        """The launcher, Apptainer and the SIF."""
        super().examine(image)
        try:
            output([executable(), "--version"], 10)
        except Unavailable as problem:
            raise Outage(f"Apptainer does not answer ({problem})", "install it again (make setup does)") from problem
        if not self.unpacked and not Path(image["sif"]).is_file():
            raise gone(image, "its SIF is not there")


class Singularity(Apptainer):
    """Plain Singularity."""

    name = "singularity"
    label = "Singularity"
    colour, hatch = "#009e73", "//"

    def check(self) -> str:
        """What the executable calls itself."""
        return output([executable(), "--version"]).strip()

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the cpuset that all share, or a cgroup file for each if they are apart."""
        if len({spec.place for spec in specs}) > 1:
            return [ExecNode(spec, on, file) for spec, file in zip(specs, cgroup_files(specs), strict=True)]
        home, _ = confine(specs, on)
        return [ExecNode(spec, home) for spec in specs]

    def stop(self, nodes) -> None:
        release(nodes)


ENVIRONMENTS = (Singularity(),)
