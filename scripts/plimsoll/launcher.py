"""One Open MPI launcher for all deployments: the image's own mpirun, run on the host from the unpacked image.

It needs nothing installed on the host: the image's loader starts it with the image's libraries, and two variables tell
Open MPI and PMIx where their files are. They hold for the launcher only; `clean` takes them away before a container.
"""

import os
from pathlib import Path

RELOCATION = ("OPAL_PREFIX", "PMIX_PREFIX", "HWLOC_PLUGINS_PATH")
# Takes the launcher's own variables out of the environment of what follows.
CLEAN = ("env", *(word for name in RELOCATION for word in ("-u", name)))


def libraries(rootfs: Path) -> Path:
    """Folder of the image's libraries, on any architecture."""
    return next((rootfs / "usr/lib").glob("*-linux-gnu*"))


def loaded(rootfs: Path, program: str, *arguments: str) -> list[str]:
    """Command that runs a program of the unpacked image with the image's loader and libraries, in no container."""
    folder = libraries(rootfs)
    loader = next(path for path in (*(rootfs / "lib64").glob("ld-linux*"), *(rootfs / "usr/lib").glob("ld-linux*")))
    # Debian chooses the BLAS by an absolute link, which would lead out of the image.
    path = f"{folder / 'openblas-serial'}:{folder}"
    return [str(loader), "--library-path", path, str(rootfs / program.lstrip("/")), *arguments]


def environment(rootfs: Path) -> dict[str, str]:
    """Environment of the launcher: nothing of the caller's but the way to the commands."""
    folder = libraries(rootfs)
    return {
        "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OPAL_PREFIX": str(rootfs / "usr"),
        "PMIX_PREFIX": str(folder / "pmix2"),
        "HWLOC_PLUGINS_PATH": str(folder / "hwloc"),
    }


def mpirun(rootfs: Path, temporary: Path, parameters: dict, oversubscribe: bool) -> list[str]:
    """mpirun and its options up to where hosts, ranks and programs begin.

    Binding is off explicitly: Open MPI binds to cores by itself when there are two ranks or fewer, and with two containers
    both ranks would be bound to the same core.
    """
    options = ["--noprefix", "--bind-to", "none", "--mca", "orte_tmpdir_base", str(temporary)]
    for name, value in parameters.items():
        options += ["--mca", name, str(value)]
    if oversubscribe:
        options.append("--oversubscribe")
    return loaded(rootfs, "/usr/bin/orterun", *options)
