"""Programs of an unpacked image, run by the image's own loader with its own libraries, in no container."""

from pathlib import Path

# Folder in which recipes put libraries that are not Debian's.
OWN_LIBRARIES = "opt/plimsoll/lib"


def libraries(rootfs: Path) -> Path:
    """Return the folder of the image's libraries, on any architecture. Images that are not Debian's have them in usr/lib."""
    return next((rootfs / "usr/lib").glob("*-linux-gnu*"), rootfs / "usr/lib")


def loader_command(rootfs: Path, program: str, *arguments: str, preload: str | None = None) -> list[str]:
    """Return the command that runs a program of the unpacked image with the image's loader and libraries.

    `preload` is a library of the image that is loaded before the others.
    """
    folder = libraries(rootfs)
    # At the path where the kernel looks for the loader, Debian has an absolute link. It would lead out of the image.
    loader = next(path for place in (folder, rootfs / "usr/lib", rootfs / "lib64") for path in place.glob("ld-linux*"))
    path = f"{rootfs / OWN_LIBRARIES}:{folder}"
    first = ["--preload", str(rootfs / preload.lstrip("/"))] if preload else []
    return [str(loader), *first, "--library-path", path, str(rootfs / program.lstrip("/")), *arguments]
