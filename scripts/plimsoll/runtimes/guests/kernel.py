"""The kernel that guests boot, and the file system in memory that they begin with."""

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plimsoll import paths, spelling
from plimsoll.errors import Unavailable

HERE = Path(__file__).parent
# Modules that our guests need before they can go on: for the disk, the network, the port, what QEMU passes in, and
# the root file system.
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "qemu_fw_cfg", "squashfs", "overlay")
# Modules that a guest also needs for a disk that it can write to.
FOR_SCRATCH = ("ext4",)
FOLDERS = ("bin", "dev", "lower", "modules", "proc", "root", "sys", "upper")


def folder() -> Path:
    """Return the folder in which set-up has put the kernel and its modules (scripts/setup/guest.sh)."""
    return paths.tool_prefix() / "guest"


def image() -> Path:
    """Return the kernel's path. Raise Unavailable if set-up has put none there."""
    path = folder() / "boot/vmlinuz"
    if not path.is_file():
        raise Unavailable(
            "no kernel for virtual machines is here (on x86-64, root gets one with `bash scripts/setup/guest.sh`)"
        )
    return path


def modules() -> Path:
    """Return the folder of the kernel's modules. Its name is the kernel's release."""
    image()
    return next((folder() / "lib/modules").iterdir())


def initramfs(more: tuple[str, ...] = ()) -> Path:
    """Return the file that our guests begin with, with `more` modules. Raise Unavailable if that fails.

    The file is made once for each kernel and content.
    """
    wanted = (*MODULES, *more)
    texts = {"init": (HERE / "init.sh").read_text(), "node.sh": (HERE / "node.sh").read_text()}
    digest = hashlib.sha256("\0".join([modules().name, *wanted, *texts.values()]).encode()).hexdigest()[:16]
    path = paths.image_store() / f"guest-{digest}.cpio.gz"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        pack(path, wanted, texts)
    return path


def pack(path: Path, wanted: Iterable[str], texts: dict[str, str], folders: Iterable[str] = FOLDERS) -> None:
    """Make a file that guests can begin with, in one step.

    It holds busybox, the `wanted` modules and the modules that these need, in the order in which they have to be
    loaded. It also holds `texts` by name, with `init` among them. Raise Unavailable without busybox or cpio.
    """
    if not (busybox := shutil.which("busybox")):
        raise Unavailable("busybox is not installed")
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        for name in folders:
            (root / name).mkdir()
        shutil.copy(busybox, root / "bin/busybox")
        for number, module in enumerate(_in_order(wanted)):
            shutil.copy(module, root / f"modules/{number:02}-{module.name}")
        for name, text in texts.items():
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        names = "\n".join(str(each.relative_to(root)) for each in sorted(root.rglob("*")))
        try:
            packed = subprocess.run(
                ["cpio", "--quiet", "--create", "--format=newc"],
                cwd=root,
                input=names.encode(),
                capture_output=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as problem:
            raise Unavailable(f"cpio could not pack what a guest begins with: {problem}") from problem
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(gzip.compress(packed.stdout, 1))
    temporary.rename(path)


def _in_order(wanted: Iterable[str]) -> list[Path]:
    """Return the paths of modules and of the modules that these need, each after those that it needs.

    Raise Unavailable if the kernel has no such module.
    """
    where = modules()
    needs = dict(line.split(":") for line in (where / "modules.dep").read_text().splitlines())
    named = {_name(path): path for path in needs}
    order: list[str] = []

    def need(path: str) -> None:
        for other in reversed(needs[path].split()):
            need(other)
        if path not in order:
            order.append(path)

    built_in = {_name(path) for path in (where / "modules.builtin").read_text().splitlines()}
    for name in wanted:
        if name in named:
            need(named[name])
        elif name not in built_in:
            raise Unavailable(
                f"the kernel of virtual machines has no module {name}: delete {folder()}, and {spelling.command('setup')} "
                "fetches it again"
            )
    return [where / path for path in order]


def _name(path: str) -> str:
    """Return the name of a module from its path."""
    return Path(path).name.partition(".")[0].replace("-", "_")
