"""Software bill of materials of an image, in CycloneDX (https://cyclonedx.org).

It describes what the image holds, not how that was put there. Packages come from dpkg's list in the image; jars and
programs are its files with their checksums. For a program that the recipe builds, the bill names the source that the
recipe fetches. The image does not tell that source, so it comes from `built` in containers/<image>/contents.yaml.

The same image gives the same bits: the serial number follows from its digest, and the time is the image's.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.metadata import version
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType, Pedigree
from cyclonedx.model.component_evidence import ComponentEvidence, Occurrence
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from plimsoll import paths
from plimsoll.features.bills.image_layers import SavedImage
from plimsoll.images import contents, jars, settings
from plimsoll.runtimes.image_forms import name_of

RELEASE, DEBIAN_VERSION = "usr/lib/os-release", "etc/debian_version"
# Folders in which recipes put files that are not Debian's.
OWN = ("opt/plimsoll/", "opt/hadoop/")
# The source of a package, where its name or version differs from the package's.
SOURCE = re.compile(r"(?P<name>\S+)(?: \((?P<version>\S+)\))?")


def bill(image: SavedImage, stages: Iterable[SavedImage]) -> str:
    """Return the bill of materials of an image and of its stages that are images too, as JSON.

    Its `dependencies` say what each of them holds. Raise PlimsollError if one is not based on Debian.
    """
    name = name_of(image.tag)
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, image.id))
    bom.metadata.timestamp = datetime.fromisoformat(image.created)
    bom.metadata.tools.components.add(_component(ComponentType.APPLICATION, "plimsoll", version=version("plimsoll")))
    bom.metadata.component = whole = _described(image)
    for one, described in [(image, whole), *((stage, _described(stage)) for stage in stages)]:
        if described is not whole:
            bom.components.add(described)
        parts = _parts(one, name)
        bom.components.update(parts)
        bom.register_dependency(described, parts)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def _parts(image: SavedImage, name: str) -> list[Component]:
    own, locked = _own(image), _locked(name)
    fetched = [*_jars(own, locked), *_built(image, name), *_unpacked(image, name)]
    return [_system(image), *_packages(image), *fetched, *_files(own, locked)]


def _component(kind: ComponentType, name: str, **known: object) -> Component:
    """Return a component whose reference is its package URL or, without one, its kind, name and version."""
    purl = known.get("purl")
    reference = str(purl) if purl else f"{kind.value}:{name}@{known.get('version', '')}"
    return Component(type=kind, name=name, bom_ref=reference, **known)


def _sha256(checksum: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=checksum)]


def _described(image: SavedImage) -> Component:
    """Return an image as a component: its digest, with the notes of its build."""
    noted = contents.read_notes(image.text(contents.NOTES)) if contents.NOTES in image else {}
    name, _, identity = image.tag.rpartition(":")
    return _component(
        ComponentType.CONTAINER,
        name,
        version=identity,
        purl=PackageURL("oci", None, name_of(image.tag), image.id, {"tag": identity}),
        hashes=_sha256(image.id.removeprefix("sha256:")),
        properties=[Property(name=f"plimsoll:noted:{what}", value=value) for what, value in noted.items()],
    )


def _release(image: SavedImage) -> dict[str, str]:
    lines = (line.partition("=") for line in image.text(RELEASE).splitlines())
    return {key: value.strip('"') for key, _, value in lines}


def _system(image: SavedImage) -> Component:
    """Return the distribution as a component. Scanners choose their vulnerability list by it."""
    release = _release(image)
    known = {"version": image.text(DEBIAN_VERSION).strip(), "description": release["PRETTY_NAME"]}
    return _component(ComponentType.OPERATING_SYSTEM, release["ID"], **known)


def _packages(image: SavedImage) -> Iterator[Component]:
    """Yield the packages that are installed in an image."""
    release = _release(image)
    distribution = f"{release['ID']}-{release['VERSION_ID']}"
    for fields in contents.paragraphs(image.text(contents.STATUS)):
        if fields.get("Status", "").endswith(" installed"):
            name, number = fields["Package"], fields["Version"]
            qualifiers = {"arch": fields["Architecture"], "distro": distribution, **_source(fields)}
            purl = PackageURL("deb", release["ID"], name, number, qualifiers)
            yield _component(ComponentType.LIBRARY, name, version=number, purl=purl)


def _source(fields: dict[str, str]) -> dict[str, str]:
    """Return the source of a package as a qualifier, if it is named differently.

    Debian's vulnerability list goes by sources.
    """
    if not (found := SOURCE.fullmatch(fields.get("Source", ""))):
        return {}
    return {"upstream": f"{found['name']}@{found['version']}" if found["version"] else found["name"]}


def _locked(name: str) -> dict[str, str]:
    """Return the jars that an image is built from: path in the repository by SHA-256."""
    lock = settings.of_image(name)["jars"]
    listed = jars.read_lock(paths.recipe(name) / lock) if lock else {}
    return {checksum: path for path, checksum in listed.items()}


def _own(image: SavedImage) -> dict[str, str]:
    """Return the SHA-256 of each file that is not Debian's, by path. The notes of the build are left out."""
    found = (path for path in sorted(image.files) if path.startswith(OWN) and path != contents.NOTES)
    return {path: image.sha256(path) for path in found}


def _jars(own: dict[str, str], locked: dict[str, str]) -> Iterator[Component]:
    """Yield the jars of Maven Central in an image: files that have the checksum of one."""
    for path, checksum in own.items():
        if checksum in locked:
            group, artifact, number, file = locked[checksum].rsplit("/", 3)
            # The text between the version and the ending distinguishes two jars of one artifact.
            classifier = file.removeprefix(f"{artifact}-{number}").removesuffix(".jar").lstrip("-")
            purl = PackageURL(
                "maven", group.replace("/", "."), artifact, number, {"classifier": classifier} if classifier else None
            )
            yield _component(
                ComponentType.LIBRARY,
                artifact,
                group=group.replace("/", "."),
                version=number,
                purl=purl,
                hashes=_sha256(checksum),
                external_references=[_of_central(locked[checksum])],
                evidence=_found([path]),
            )


def _of_central(path: str, **known: list[HashType]) -> ExternalReference:
    """Return the address of a jar, from its path in Maven Central."""
    return ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(f"{jars.CENTRAL}/{path}"), **known)


def _unpacked(image: SavedImage, name: str) -> Iterator[Component]:
    """Yield each library that the recipe unpacks from a jar, with its places in the image.

    The recipes of the images that it is built on count too.
    """
    for what, given in contents.declaration(name)["unpacked"].items():
        if there := [path for path, checksum in given["files"].items() if path in image and image.sha256(path) == checksum]:
            group, artifact, number = given["jars"].rstrip("/").rsplit("/", 2)
            locked = {path: checksum for checksum, path in _locked(name).items() if path.startswith(given["jars"])}
            yield _component(
                ComponentType.LIBRARY,
                what,
                version=given["version"],
                purl=PackageURL("maven", group.replace("/", "."), artifact, number),
                external_references=[_of_central(path, hashes=_sha256(checksum)) for path, checksum in locked.items()],
                evidence=_found(there),
            )
    if below := settings.of_image(name)["from"]:
        yield from _unpacked(image, below["image"])


def _found(places: Iterable[str]) -> ComponentEvidence:
    """Return the places of a component's files. References are set here, because the library would draw new ones each time."""
    return ComponentEvidence(occurrences=[Occurrence(location=f"/{path}", bom_ref=f"place:/{path}") for path in places])


def _built(image: SavedImage, name: str) -> Iterator[Component]:
    """Yield the programs in an image that its recipe builds from sources that it fetches."""
    for what, given in built_programs(name).items():
        if there := [path for path in given["files"] if path in image]:
            named = {"download_url": given["archive"], "checksum": f"sha256:{given['sha256']}"}
            source = ExternalReference(
                type=ExternalReferenceType.SOURCE_DISTRIBUTION, url=XsUri(given["archive"]), hashes=_sha256(given["sha256"])
            )
            yield _component(
                ComponentType.APPLICATION,
                what,
                version=given["version"],
                purl=PackageURL("generic", None, what, given["version"], named),
                external_references=[source],
                pedigree=Pedigree(notes=f"changed: {given['changed']}") if "changed" in given else None,
                evidence=_found(there),
            )


def built_programs(name: str) -> dict[str, dict]:
    """Return the programs that the recipe of an image builds from sources that it fetches, by name.

    Each has what contents.yaml states, and the `sha256` of its source from the recipe. The recipes of the images that
    it is built on count too.
    """
    recipe = (paths.recipe(name) / "Dockerfile").read_text()
    pinned = dict(re.findall(r"^ARG (\w+)=([0-9a-f]{64})$", recipe, re.MULTILINE))
    own = {what: {**given, "sha256": pinned[given["checksum"]]} for what, given in contents.declaration(name)["built"].items()}
    below = settings.of_image(name)["from"]
    return {**(built_programs(below["image"]) if below else {}), **own}


def _files(own: dict[str, str], locked: dict[str, str]) -> Iterator[Component]:
    """Yield every other file that is not Debian's: programs, libraries and scripts of the recipe."""
    for path, checksum in own.items():
        if checksum not in locked:
            # The checksum is part of the reference: two images of one recipe share a file, but another file at the same
            # path is another component.
            yield Component(
                type=ComponentType.FILE, name=f"/{path}", bom_ref=f"file:/{path}#{checksum}", hashes=_sha256(checksum)
            )
