"""Builds an image once and gives every runtime the same files: an image of Docker or Podman, a SIF and an unpacked file system.

containers/<image>/image.yaml says which of these `forms` an image has, if not all, which `stages` of its Dockerfile are images
of their own, which other image it is built `from`, and which file lists the `jars` that it needs.
containers/<image>/contents.yaml says what is in one: `programs` whose checksums are recorded beside the libraries', `versions`
of what reports name, what is `built` of sources that the recipe fetches, and what is `unpacked` from jars.

The forms lie in a folder named for what they were built from (paths.image_store()), shared by all clones; a folder that is
there is complete, because it is built aside and moved into place.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.images import bootstrap, client, comparing, contents, forms, settings, store
from plimsoll.interchange import Image, StageOfImage

ELSEWHERE = (
    "One that was built elsewhere does as well: `make image` there, and make reproduce IMAGE=plimsoll-images.tar.gz here."
)
# To look into an image; without a network, which it does not need and which not every engine has by default. Without the label
# of runs too: another workflow's sweep must not remove it.
LOOK = ("run", "--rm", "--network", "none")


def identity(name: str, base: str) -> str:
    """Names an image by what it is built from: the files of containers/<name>/, the base, the image that it is built on, and
    how the SIF is packed."""
    digest = hashlib.sha256("\0".join([base, *forms.UNCOMPRESSED]).encode())
    if below := settings.of(name)["from"]:
        digest.update(identity(below["image"], base).encode())
    for path in sorted((paths.PROJECT / "containers" / name).iterdir()):
        if path.name == contents.FILE:
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@store.alone()
def build(name: str, base: str) -> Image:
    """Build containers/<name>/ unless that is done, and return its description. One that was brought in a file
    (plimsoll.images.portable) is not built, and needs no engine.

    The description has `tag`, `id` (the engine's digest of the image), `versions`, and `files` (path in the image, sha256 and
    build identifier of each program and library); `sif` and `rootfs` (paths) unless only Docker runs it, and then `stages`
    (tag and id by name) and `bits` (sha256 of each program, the same in all stages). `archive` is the image alone as a file for
    an engine that has no registry, and `disk` the same files as a read-only file system for a virtual machine, where these are
    forms of it. Raises PlimsollError if a step fails.
    """
    given = settings.of(name)
    tag = f"plimsoll/{name}:{identity(name, base)}"
    folder = store.folder_of({"tag": tag})
    try:
        if brought := _brought(folder / store.DESCRIPTION):
            return brought
        # Before anything that takes time.
        client.command()
        if given["forms"] == ["docker"]:
            description = _docker_only(name, base, tag, given["stages"], folder / store.DESCRIPTION)
        else:
            stages = _stages(name, base, tag, given["stages"])
            made = {"id": _built(name, base, tag), **({"stages": stages} if stages else {})}
            description = _noted(folder / store.DESCRIPTION, made)
            if not description or forms.lacking(description, given["forms"]):
                _say(f"unpacking {tag} for what is no engine")
                there = comparing.others(tag)
                description = forms.unpack(tag, folder, stages)
                for sentence in comparing.sentences(description, there):
                    _say(sentence)
        store.keep(description)
    except Unavailable as problem:
        raise PlimsollError(f"The image {name} could not be built: {problem}. {ELSEWHERE}") from problem
    return description


def packages(names: Iterable[str], base: str) -> list[str]:
    """Debian packages that building images here takes: none where they are there, or nothing works that could build them."""
    if not bootstrap.is_meant(base) or not _engine() or client.image_id(bootstrap.tag(base)):
        return []
    there = (client.image_id(f"plimsoll/{name}:{identity(name, base)}") for name in names)
    return [] if all(there) else ["mmdebstrap"]


def _brought(path: Path) -> dict | None:
    """The description of an image that was made before, where no engine works that could make it. Where one works, it has the
    image as it was made then, and not another one by the same recipe."""
    description = store.described(path)
    if description is None or not _engine():
        return description if description and "rootfs" in description else None
    if not store.in_engine(description) and (path.parent / store.ARCHIVE).is_file():
        store.load(description)
    return None


def _engine() -> bool:
    try:
        return bool(client.command())
    except Unavailable:
        return False


def _noted(path: Path, made: dict) -> dict | None:
    """The description of an image that was made before; None if there is none or Docker has another image now."""
    description = store.described(path) or {}
    return description if made == {key: description.get(key) for key in made} else None


def _docker_only(name: str, base: str, tag: str, stages: list[str], noted: Path) -> dict:
    """Description of an image that has no other forms, with those of its stages that are images too.

    The description is noted, as looking into that many images takes seconds. The note counts while Docker has the same images.
    """
    built = _stages(name, base, tag, stages)
    made = {"tag": tag, "id": _built(name, base, tag), "stages": built}
    # Another session once noted such an image without its programs.
    if (description := _noted(noted, made)) and "bits" in description:
        return description
    description = {**made, **_content(tag, {stage: image["tag"] for stage, image in built.items()})}
    temporary = noted.with_name(f".{noted.name}-{os.getpid()}")
    noted.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(json.dumps(description, indent=1))
    temporary.rename(noted)
    return description


def _stages(name: str, base: str, tag: str, stages: list[str]) -> dict[str, StageOfImage]:
    """Tag and id of each stage that is an image too; they are built unless they are there."""
    tags = {stage: f"plimsoll/{stage}:{tag.rpartition(':')[2]}" for stage in stages}
    return {stage: {"tag": its_tag, "id": _built(name, base, its_tag, stage)} for stage, its_tag in tags.items()}


def _content(tag: str, tags: dict[str, str]) -> dict:
    """`bits`, `files` and `versions` of an image; Unavailable if one of its stages has other programs."""
    bits = _programs(tag)
    for stage, its_tag in tags.items():
        if differing := {path for path, checksum in _programs(its_tag).items() if bits.get(path) != checksum}:
            raise Unavailable(f"the stage {stage} has another {', '.join(sorted(differing))} than the whole image")
    noted = client.asked(*LOOK, tag, "cat", f"/{contents.NOTES}")
    return {
        "bits": bits,
        "files": {path: {"sha256": checksum} for path, checksum in bits.items()},
        "versions": contents.noted(noted),
    }


def _programs(tag: str) -> dict[str, str]:
    """sha256 of each of our programs and libraries in an image, by its path."""
    told = client.asked(*LOOK, tag, "find", "/opt/plimsoll", "-mindepth", "2", "-type", "f", "-exec", "sha256sum", "{}", "+")
    rows = (line.split() for line in told.splitlines())
    return {path.lstrip("/"): checksum for checksum, path in rows}


def _say(text: str) -> None:
    print(f"images: {text}", file=sys.stderr, flush=True)


def _built(name: str, base: str, tag: str, stage: str | None = None) -> str:
    """The engine's digest of an image, which is built unless it is there."""
    if built := client.image_id(tag):
        return built
    _build(name, base, tag, stage)
    return client.image_id(tag)


def _build(name: str, base: str, tag: str, stage: str | None = None) -> None:
    given_base = base
    if bootstrap.is_meant(base):
        base = bootstrap.tag(base)
        if not client.image_id(base):
            _say(f"bootstrapping {base} from Debian's packages")
            bootstrap.make(given_base)
    arguments = {"BASE": base}
    if below := settings.of(name)["from"]:
        its_stage = below.get("stage")
        its_tag = f"plimsoll/{its_stage or below['image']}:{identity(below['image'], given_base)}"
        _built(below["image"], given_base, its_tag, its_stage)
        arguments[below["argument"]] = its_tag
    _say(f"building {tag}")
    # The classic builder is there in every engine and takes a base image that no registry has.
    environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
    command = [
        *client.command(),
        "build",
        *client.build_options(),
        "--quiet",
        *(word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")),
        "--tag",
        tag,
        *(["--target", stage] if stage else []),
    ]
    with _context(name) as folder:
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise Unavailable(f"'{client.command()[0]} build' of containers/{name} failed; its output is above")


@contextlib.contextmanager
def _context(name: str) -> Iterator[Path]:
    """The folder that an image is built in: its own, or a copy of that with the jars that it needs beside it."""
    own, lock = paths.PROJECT / "containers" / name, settings.of(name)["jars"]
    if lock is None:
        yield own
        return
    from plimsoll.images import jars  # here, because most images need none

    paths.image_store().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.image_store(), prefix=f".{name}-") as temporary:
        folder = Path(temporary) / name
        shutil.copytree(own, folder)
        jars.put(own / lock, folder / jars.FOLDER)
        yield folder
