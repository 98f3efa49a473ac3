"""Build an image once and give every runtime the same files.

An image exists in several forms: an image of Docker or Podman, a SIF and an unpacked file system.
containers/<image>/image.yaml declares how it is built. Each key is optional:

- `forms`: the forms that the image has, if not all.
- `stages`: stages of its Dockerfile that are images of their own.
- `from`: another image that it is built on.
- `jars`: the file that lists the jars it needs.
- `root`: the files of the recipe that make up the whole image, each with its path in it. An archive has the folder into
  which it is unpacked.

containers/<image>/contents.yaml declares what is in it:

- `programs`: their checksums are recorded beside those of the libraries.
- `versions`: software whose version reports name.
- `built`: programs that the recipe builds from sources that it fetches.
- `unpacked`: libraries that the recipe unpacks from jars.

The forms lie in a folder whose name follows from the build's inputs (paths.image_store()). All clones share it. An
existing folder is complete: it is built under another name and then moved into place.
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

from plimsoll import paths, spelling
from plimsoll.errors import PlimsollError, Unavailable, say
from plimsoll.images import bootstrap, client, contents, forms, image_comparison, settings, store
from plimsoll.interchange import Image, StageOfImage

ELSEWHERE = (
    f"One that was built elsewhere does as well: {spelling.command('image')} there, and "
    f"{spelling.command('reproduce', image='plimsoll-images.tar.gz')} here."
)
# Run a container to look into an image. It needs no network, and not every engine has one by default. It has no label
# of runs: another workflow's sweep must not remove it.
LOOK = ("run", "--rm", "--network", "none")


def identity(name: str, base: str) -> str:
    """Return the identity of an image: a hash of its build inputs.

    These are the files of containers/<name>/, the base, the image that it is built on, and the options that pack the
    SIF.
    """
    digest = hashlib.sha256("\0".join([base, *forms.UNCOMPRESSED]).encode())
    if below := settings.of_image(name)["from"]:
        digest.update(identity(below["image"], base).encode())
    for path in sorted(paths.recipe(name).iterdir()):
        if path.name == contents.FILE:
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@store.hold()
def build(name: str, base: str) -> Image:
    """Build containers/<name>/ if that was not done before, and return the image's description.

    An image that was taken from a file (plimsoll.features.image_file.portable) is not built, and needs no engine. One with a
    `root` needs none either: without an engine it has no form of an engine's, and its `id` is a digest of these files. Raise
    PlimsollError if a step fails.

    The description has these keys:

    - `tag`, and `id`: the engine's digest of the image.
    - `versions`: versions of its software.
    - `files`: SHA-256 and build identifier of each program and library, by path in the image.
    - `sif`, `rootfs`: paths of these forms, unless only Docker runs the image.
    - `archive`: path of the image alone as a file, for an engine without a registry; only if it is one of the forms.
    - `disk`: path of the same files as a read-only file system, for a virtual machine; only if it is one of the forms.
    - `stages`: tag and id of each stage that is an image, by name.
    - `bits`: SHA-256 of each program, the same in all stages; only if Docker alone runs the image.
    """
    given = settings.of_image(name)
    tag = f"plimsoll/{name}:{identity(name, base)}"
    folder = store.folder_of({"tag": tag})
    try:
        if brought := _brought(folder / store.DESCRIPTION):
            return brought
        if given["root"] and not client.works():
            say(f"unpacking {tag} without an engine", "images")
            return forms.assemble(tag, folder, {paths.recipe(name) / file: place for file, place in given["root"].items()})
        # Fail before anything that takes time.
        client.command()
        if given["forms"] == ["docker"]:
            description = _docker_only(name, base, tag, given["stages"], folder / store.DESCRIPTION)
        else:
            stages = _stages(name, base, tag, given["stages"])
            made = {"id": _built(name, base, tag), **({"stages": stages} if stages else {})}
            description = _noted(folder / store.DESCRIPTION, made)
            if not description or forms.lacking(description, given["forms"]):
                say(f"unpacking {tag} for runtimes without an engine", "images")
                there = image_comparison.others(tag)
                description = forms.unpack(tag, folder, stages)
                for sentence in image_comparison.sentences(description, there):
                    say(sentence, "images")
        store.keep(description)
    except Unavailable as problem:
        raise PlimsollError(f"The image {name} could not be built: {problem}. {ELSEWHERE}") from problem
    return description


def packages(names: Iterable[str], base: str) -> list[str]:
    """Return the Debian packages that building these images on this base needs.

    The list is empty if the base comes from a registry or was built before, if all images exist, or if no engine works.
    """
    if not bootstrap.is_meant(base) or not client.works() or client.image_id(bootstrap.tag(base)):
        return []
    there = (client.image_id(f"plimsoll/{name}:{identity(name, base)}") for name in names)
    return [] if all(there) else ["mmdebstrap"]


def _brought(path: Path) -> dict | None:
    """Return the description of an image that was made before, for a machine on which no engine works.

    If an engine works, return None. The engine is first given the image of the store, so that it does not build another
    one by the same recipe.
    """
    description = store.read_description(path)
    if description is None or not client.works():
        return description if description and "rootfs" in description else None
    if not store.in_engine(description) and (path.parent / store.ARCHIVE).is_file():
        store.load(description)
    return None


def _noted(path: Path, made: dict) -> dict | None:
    """Return the saved description of an image. Return None if it is missing, or if it differs from what was `made` now."""
    description = store.read_description(path) or {}
    return description if made == {key: description.get(key) for key in made} else None


def _docker_only(name: str, base: str, tag: str, stages: list[str], noted: Path) -> dict:
    """Return the description of an image that has no other forms than Docker's, with its stages that are images too.

    The description is saved, because looking into that many images takes seconds. It is used as long as Docker has the
    same images.
    """
    built = _stages(name, base, tag, stages)
    made = {"tag": tag, "id": _built(name, base, tag), "stages": built}
    # Another session once saved such a description without its programs.
    if (description := _noted(noted, made)) and "bits" in description:
        return description
    description = {**made, **_content(tag, {stage: image["tag"] for stage, image in built.items()})}
    temporary = noted.with_name(f".{noted.name}-{os.getpid()}")
    noted.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(json.dumps(description, indent=1))
    temporary.rename(noted)
    return description


def _stages(name: str, base: str, tag: str, stages: list[str]) -> dict[str, StageOfImage]:
    """Return tag and id of each stage that is an image too. A stage that is not there is built."""
    tags = {stage: f"plimsoll/{stage}:{tag.rpartition(':')[2]}" for stage in stages}
    return {stage: {"tag": its_tag, "id": _built(name, base, its_tag, stage)} for stage, its_tag in tags.items()}


def _content(tag: str, tags: dict[str, str]) -> dict:
    """Return `bits`, `files` and `versions` of an image. Raise Unavailable if one of its stages has other programs."""
    bits = _programs(tag)
    for stage, its_tag in tags.items():
        if differing := {path for path, checksum in _programs(its_tag).items() if bits.get(path) != checksum}:
            raise Unavailable(f"the stage {stage} has another {', '.join(sorted(differing))} than the whole image")
    noted = client.output(*LOOK, tag, "cat", f"/{contents.NOTES}")
    return {
        "bits": bits,
        "files": {path: {"sha256": checksum} for path, checksum in bits.items()},
        "versions": contents.read_notes(noted),
    }


def _programs(tag: str) -> dict[str, str]:
    """Return the SHA-256 of each file of an image below the folders in /opt/plimsoll, by path."""
    told = client.output(*LOOK, tag, "find", "/opt/plimsoll", "-mindepth", "2", "-type", "f", "-exec", "sha256sum", "{}", "+")
    rows = (line.split() for line in told.splitlines())
    return {path.lstrip("/"): checksum for checksum, path in rows}


def _built(name: str, base: str, tag: str, stage: str | None = None) -> str:
    """Return the engine's digest of an image. Build the image first if the engine does not have it."""
    if built := client.image_id(tag):
        return built
    _build(name, base, tag, stage)
    return client.image_id(tag)


def _build(name: str, base: str, tag: str, stage: str | None = None) -> None:
    given_base = base
    if bootstrap.is_meant(base):
        base = bootstrap.tag(base)
        if not client.image_id(base):
            say(f"bootstrapping {base} from Debian's packages", "images")
            bootstrap.make(given_base)
    arguments = {"BASE": base}
    if below := settings.of_image(name)["from"]:
        its_stage = below.get("stage")
        its_tag = f"plimsoll/{its_stage or below['image']}:{identity(below['image'], given_base)}"
        _built(below["image"], given_base, its_tag, its_stage)
        arguments[below["argument"]] = its_tag
    say(f"building {tag}", "images")
    # Every engine has the classic builder, and it accepts a base image that no registry has.
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
    """Yield the folder in which an image is built: its own, or a temporary copy with the jars that the image needs."""
    own, lock = paths.recipe(name), settings.of_image(name)["jars"]
    if lock is None:
        yield own
        return
    from plimsoll.images import jars  # imported here: most images need no jars

    paths.image_store().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.image_store(), prefix=f".{name}-") as temporary:
        folder = Path(temporary) / name
        shutil.copytree(own, folder)
        jars.place_jars(own / lock, folder / jars.FOLDER)
        yield folder
