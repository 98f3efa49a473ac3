"""Builds an image once and gives every runtime the same files: a Docker image, a SIF and an unpacked file system.

An image that only Docker runs says so in containers/<image>/image.yaml (`forms: [docker]`), and may list `stages` of its
Dockerfile that are images of their own. containers/<image>/contents.yaml says what is in one: `programs` whose checksums are
recorded beside the libraries', and `versions` of what reports name.

The forms lie in a folder named for what they were built from (paths.image_store()), shared by all clones; a folder that is
there is complete, because it is built aside and moved into place.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from plimsoll import environments, paths
from plimsoll.config import yaml_files
from plimsoll.environments.apptainer import executable
from plimsoll.environments.base import LABEL, output
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.images import contents, store
from plimsoll.interchange import Image
from plimsoll.measuring import record

BOOTSTRAP_TAG = "plimsoll/base:bookworm"
SUITE = "bookworm"
# To look into an image; without a network, which it does not need and which not every engine has by default.
LOOK = ("docker", "run", "--rm", "--label", LABEL, "--network", "none")
# A SIF that is not compressed: otherwise every start of a container unpacks the libraries again, which costs a third of a
# second per run.
UNCOMPRESSED = ("--mksquashfs-args", "-noI -noD -noF -noX")


def identity(name: str, base: str) -> str:
    """Names an image by what it is built from: the files of containers/<name>/, the base, and how the SIF is packed."""
    digest = hashlib.sha256("\0".join([base, *UNCOMPRESSED]).encode())
    for path in sorted((paths.PROJECT / "containers" / name).iterdir()):
        if path.name == contents.FILE:
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def build(name: str, base: str) -> Image:
    """Build containers/<name>/ unless that is done, and return its description.

    The description has `tag`, `id` (Docker's digest of the image), `versions`, and `files` (path in the image, sha256 and
    build identifier of each program and library); `sif` and `rootfs` (paths) unless only Docker runs it, and then `stages`
    (tag and id by name) and `bits` (sha256 of each program, the same in all stages). Raises PlimsollError if a step fails.
    """
    settings = _settings(name)
    tag = f"plimsoll/{name}:{identity(name, base)}"
    folder = store.folder_of({"tag": tag})
    try:
        # Before anything that takes time: all three forms come from a Docker build.
        environments.find("docker").check()
        if settings["forms"] == ["docker"]:
            description = _docker_only(name, base, tag, settings["stages"], folder / "image.json")
        else:
            made = {"id": _built(name, base, tag)}
            description = _noted(folder / "image.json", made) or unpack(tag, folder)
        store.keep(description)
    except Unavailable as problem:
        raise PlimsollError(f"The image {name} could not be built: {problem}.") from problem
    return description


def _noted(path: Path, made: dict) -> dict | None:
    """The description of an image that was made before; None if there is none or Docker has another image now."""
    description = json.loads(path.read_text()) if path.is_file() else {}
    return description if made == {key: description.get(key) for key in made} else None


def _settings(name: str) -> dict:
    path = paths.PROJECT / "containers" / name / "image.yaml"
    made = {"forms": ["docker", "sif", "rootfs"], "stages": []}
    return {**made, **yaml_files.load(path, "image")} if path.is_file() else made


def _docker_only(name: str, base: str, tag: str, stages: list[str], noted: Path) -> dict:
    """Description of an image that has no other forms, with those of its stages that are images too.

    The description is noted, as looking into that many images takes seconds. The note counts while Docker has the same images.
    """
    tags = {stage: f"plimsoll/{stage}:{tag.rpartition(':')[2]}" for stage in stages}
    built = {stage: {"tag": its_tag, "id": _built(name, base, its_tag, stage)} for stage, its_tag in tags.items()}
    made = {"tag": tag, "id": _built(name, base, tag), "stages": built}
    if description := _noted(noted, made):
        return description
    description = {**made, **_content(tag, tags)}
    record.write(noted, description)
    return description


def _content(tag: str, tags: dict[str, str]) -> dict:
    """`bits`, `files` and `versions` of an image; Unavailable if one of its stages has other programs."""
    bits = _programs(tag)
    for stage, its_tag in tags.items():
        if differing := {path for path, checksum in _programs(its_tag).items() if bits.get(path) != checksum}:
            raise Unavailable(f"the stage {stage} has another {', '.join(sorted(differing))} than the whole image")
    noted = output([*LOOK, tag, "cat", "/opt/plimsoll/versions.txt"])
    return {
        "bits": bits,
        "files": {path: {"sha256": checksum} for path, checksum in bits.items()},
        "versions": dict(line.split(": ", 1) for line in noted.splitlines()),
    }


def _programs(tag: str) -> dict[str, str]:
    """sha256 of each of our programs in an image, by its path."""
    command = [*LOOK, tag, "sh", "-c", "sha256sum /opt/plimsoll/bin/*"]
    rows = (line.split() for line in output(command).splitlines())
    return {path.lstrip("/"): checksum for checksum, path in rows}


def _say(text: str) -> None:
    print(f"images: {text}", file=sys.stderr, flush=True)


def image_id(tag: str) -> str | None:
    """Docker's digest of an image; None if it does not have it."""
    try:
        return output(["docker", "image", "inspect", "--format", "{{.Id}}", tag]).strip()
    except Unavailable:
        return None


def _built(name: str, base: str, tag: str, stage: str | None = None) -> str:
    """Docker's digest of an image, which is built unless it is there."""
    if built := image_id(tag):
        return built
    _build(name, base, tag, stage)
    return image_id(tag)


def _build(name: str, base: str, tag: str, stage: str | None = None) -> None:
    if base == "bootstrap":
        base = BOOTSTRAP_TAG
        if not image_id(base):
            _bootstrap()
    _say(f"building {tag}")
    # The classic builder is there in every engine and takes a base image that no registry has.
    environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
    command = [
        "docker",
        "build",
        "--quiet",
        "--build-arg",
        f"BASE={base}",
        "--tag",
        tag,
        *(["--target", stage] if stage else []),
        str(paths.PROJECT / "containers" / name),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise Unavailable(f"'docker build' of containers/{name} failed; its output is above")


def _bootstrap() -> None:
    """Debian from its packages, fetched from where this machine's own APT fetches them."""
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is not installed (install it, or name an image of a registry as base_image)")
    _say(f"bootstrapping Debian {SUITE} from its packages")
    sources = _apt_sources()
    temporary = paths.image_store() / f".base-{os.getpid()}.tar"
    temporary.parent.mkdir(parents=True, exist_ok=True)
    try:
        options = ["--quiet", "--variant=minbase", "--include=ca-certificates", SUITE]
        output(["mmdebstrap", *options, str(temporary), *sources], 900)
        output(["docker", "import", "--change", 'CMD ["/bin/sh"]', str(temporary), BOOTSTRAP_TAG], 300)
    finally:
        temporary.unlink(missing_ok=True)


def _apt_sources() -> list[str]:
    """This machine's Debian source as a line for mmdebstrap; none (mmdebstrap's own default) where it is no Debian."""
    try:
        targets = output(["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)"])
    except Unavailable:
        return []
    mirrors = [line.split()[2] for line in targets.splitlines() if line.startswith("Debian main ")]
    return mirrors[:1]


def unpack(tag: str, folder: Path) -> dict:
    """SIF and file system of an image, checked against each other, moved into place together; the image's description."""
    _say(f"unpacking {tag} for Singularity and bare metal")
    stated = contents.stated(tag.partition(":")[0].rpartition("/")[2])
    new = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    (new / "rootfs").mkdir(parents=True)
    try:
        container = output(["docker", "create", "--label", "plimsoll", tag]).strip()
        try:
            with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
                tar = ["tar", "--extract", "--directory", str(new / "rootfs"), "--exclude", "dev/*"]
                if subprocess.run(tar, stdin=export.stdout).returncode or export.wait():
                    raise Unavailable("the image's file system could not be unpacked")
        finally:
            output(["docker", "rm", container])
        output(["docker", "save", "--output", str(new / store.ARCHIVE), tag], 300)
        _pack(new / store.ARCHIVE, new / "image.sif")
        description = {
            "tag": tag,
            "id": image_id(tag),
            "sif": str(folder / "image.sif"),
            "rootfs": str(folder / "rootfs"),
            "files": contents.files(new / "rootfs", stated["programs"]),
            "versions": contents.versions(new / "rootfs", stated["versions"]),
        }
        (new / "image.json").write_text(json.dumps(description, indent=1))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
        return description
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _pack(archive: Path, sif: Path) -> None:
    """The SIF of a Docker archive; compressed where this Singularity cannot do otherwise."""
    known = UNCOMPRESSED[0] in output([executable(), "build", "--help"])
    options = ["--force", "--disable-cache", *(UNCOMPRESSED if known else ())]
    output([executable(), "build", *options, str(sif), f"docker-archive://{archive}"], 900)
