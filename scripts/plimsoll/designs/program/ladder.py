"""The steps between a program on this host and an engine's default, and what gives a step back. Data, and pure functions."""

from typing import NamedTuple

from plimsoll.designs.program.factors import FILES, HOST


class Step(NamedTuple):
    """A level of a ladder: the runtime that is measured, and what it adds to the level before, in words."""

    runtime: str
    adds: str


class Remedy(NamedTuple):
    """What gives a step back: the step's level, the runtime that is the default with an option, and the option in words."""

    step: str
    runtime: str
    option: str


# What a level adds in which a program no longer writes to volumes.
LAYER = "the container's layer where the program writes (in place of volumes)"


def _of_engine(name: str) -> tuple[Step, ...]:
    return (
        Step(f"{name}-cgroup", "the container's cgroup and limits (ulimit)"),
        Step(
            f"{name}-volumes",
            "the container's root file system (with mount, UTS and cgroup namespaces, and volumes where the program writes)",
        ),
        Step(f"{name}-open", LAYER),
        Step(f"{name}-pid", "a process namespace"),
        Step(f"{name}-ipc", "an IPC namespace (with a /dev/shm of 64 MB)"),
        Step(f"{name}-unfiltered", "fewer capabilities (and AppArmor's profile where the host has AppArmor)"),
        Step(f"{name}-filtered", "the seccomp filter"),
        Step(name, "a network namespace and its bridge"),
    )


# Levels in which the ranks of a program are split over containers. Each default is compared with its kind's one container.
OF_SPLIT: dict[str, tuple[Step, ...]] = {
    "docker-split": (
        Step("docker-shared-ptrace", "several containers, on the host's IPC, PID and network, with CAP_SYS_PTRACE"),
        Step("docker-shared", "no CAP_SYS_PTRACE"),
        Step("docker-shared-daemon", "a daemon of Open MPI in each container, which has a host name of its own"),
        Step("docker-shared-processes", "an IPC namespace for each container"),
        Step("docker-host-network", "a process namespace for each container"),
        Step("docker-split", "a network namespace for each container, on a bridge"),
    ),
    "podman-split": (Step("podman-split", "several containers"),),
    "podman-rootless-split": (Step("podman-rootless-split", "several containers without root"),),
    "singularity-split": (Step("singularity-split", "a container for each rank"),),
}
SPLITTING = "splitting"

# Levels above the image's files, by the runtime that is the default of its kind.
LADDERS: dict[str, tuple[Step, ...]] = {
    "docker": _of_engine("docker"),
    "podman": _of_engine("podman"),
    "podman-rootless": (
        Step(
            "podman-rootless-volumes",
            "a container without root (on the host's network, with volumes where the program writes)",
        ),
        Step("podman-rootless-filtered", LAYER),
        Step("podman-rootless", "a network namespace (on a bridge of the user's own network)"),
    ),
    "singularity": (
        Step("singularity-unpacked", "Apptainer's mount namespace"),
        Step("singularity", "a root file system from a SIF"),
    ),
    "singularity-user": (
        Step("singularity-unpacked", "Apptainer's mount namespace"),
        Step("singularity-user", "a user namespace"),
    ),
    "charliecloud": (Step("charliecloud", "Charliecloud's mount namespace and user namespace"),),
    **OF_SPLIT,
}


# Ends the names of levels with volumes for the folders that a program writes.
WITH_VOLUMES = "-volumes"


def _remedies(name: str) -> tuple[Remedy, ...]:
    return (
        Remedy(f"{name}-open", f"{name}-with{WITH_VOLUMES}", "--volume for each folder that it writes"),
        Remedy(f"{name}-ipc", f"{name}-with-shm", "--shm-size as large as this host's /dev/shm"),
        Remedy(f"{name}-ipc", f"{name}-with-ipc", "--ipc host"),
        Remedy(f"{name}-unfiltered", f"{name}-with-capabilities", "--cap-add ALL --security-opt apparmor=unconfined"),
        Remedy(f"{name}-filtered", f"{name}-with-seccomp", "--security-opt seccomp=unconfined"),
        Remedy(name, f"{name}-filtered", "--network host"),
    )


# Several remedies of one step are tried in this order, the one that gives up less first.
REMEDIES = (
    *_remedies("docker"),
    *_remedies("podman"),
    Remedy("podman-rootless-filtered", "podman-rootless-with-volumes", "--volume for each folder that it writes"),
    Remedy("podman-rootless", "podman-rootless-filtered", "--network host"),
    Remedy("singularity", "singularity-unpacked", "a sandbox in place of the SIF (apptainer build --sandbox)"),
    Remedy("docker-shared-daemon", "docker-shared", "--ipc host --pid host --network host, and one mpirun on the host"),
    Remedy("docker-split", "docker-host-network", "--network host"),
)
DEFAULTS = tuple(LADDERS)
SPLIT = frozenset(step.runtime for steps in OF_SPLIT.values() for step in steps)


def unsplit(runtime: str) -> str | None:
    """Return the default with all ranks in one container that a split default is compared with; None for other levels."""
    return runtime.removesuffix("-split") if runtime in OF_SPLIT else None


def levels(runtime: str) -> tuple[str, ...]:
    """Return the runtimes from the image's files up to a default, in their order."""
    return (FILES, *(step.runtime for step in LADDERS[runtime]))


def adds(runtime: str, default: str | None = None) -> str:
    """Return what a level adds to the one before, in words. `default` names its ladder, if several have the level."""
    if runtime == FILES:
        return "other files"
    ladders = [LADDERS[default]] if default else LADDERS.values()
    return next(step.adds for steps in ladders for step in steps if step.runtime == runtime)


def everything() -> tuple[str, ...]:
    """Return every runtime that a study of this design may name."""
    of_ladders = [step.runtime for steps in LADDERS.values() for step in steps]
    return tuple(dict.fromkeys([HOST, FILES, *of_ladders, *(remedy.runtime for remedy in REMEDIES)]))
