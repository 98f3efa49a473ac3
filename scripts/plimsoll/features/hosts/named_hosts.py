"""Which hosts are measured, and the command that measures each host, for rules/cluster.smk."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from plimsoll import features, paths, spelling
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.errors import PlimsollError
from plimsoll.features.hosts import marker

SCHEMA, SOURCE = "cluster", "config/cluster.yaml, --configfile or --config"
# Folder of everything about the hosts, below the working directory. Each host has a folder in it.
FOLDER = "hosts"
# File with the images for all hosts, if no other is given.
IMAGES = f"{FOLDER}/images.tar.gz"
# Folder that the workflow keeps on a host that ssh reaches, below the home there.
THERE = "plimsoll-hosts"
ON_HOST = "scripts/cluster/host.sh"
NUMBERS = ("cpus", "memory", "minutes")
# Targets that include verdicts.
JUDGED = ("all", "claims.json", "claims.html", "report.html")


@dataclass(frozen=True)
class Host:
    """A host: a node of Slurm by its `name`, or a machine that `ssh` reaches, where all is kept in `folder`.

    `settings` are those of the workflow there, and `studies` what they select. `cpus`, `memory` (MiB) and `minutes` are
    what its job of Slurm asks for. None stands for what the node has, as Slurm says.
    """

    name: str
    settings: tuple[str, ...]
    studies: tuple[str, ...]
    minutes: int
    ssh: str | None = None
    folder: str = THERE
    cpus: int | None = None
    memory: int | None = None

    @property
    def place(self) -> str:
        """Return the folder with all that is known here of the host, below the working directory."""
        return f"{FOLDER}/{self.name}"

    @property
    def done(self) -> str:
        """Return the path of the marker that the host is done. Snakemake knows no other file of a host."""
        return f"{self.place}/{marker.FILE}"


@dataclass(frozen=True)
class Hosts:
    """The `named` hosts, and what they have in common.

    `images` is the file with their images. The `targets` are made on each host, in so many `hours` if these are given.
    `compare` says whether each two hosts are compared.
    """

    named: dict[str, Host]
    images: str
    targets: tuple[str, ...]
    hours: float | None
    compare: bool

    @property
    def by_ssh(self) -> bool:
        """Return whether ssh reaches the hosts. Otherwise they are nodes of Slurm."""
        return any(host.ssh for host in self.named.values())

    @property
    def judged(self) -> bool:
        """Return whether the targets include verdicts."""
        return any(Path(target).name in JUDGED for target in self.targets)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the names of each two hosts that are compared: those that measure a study in common.

        The list is empty without the feature `compare`.
        """
        if not self.compare or "compare" not in features.modules():
            return []
        pairs = combinations(self.named.items(), 2)
        return [(one, other) for (one, a), (other, b) in pairs if set(a.studies) & set(b.studies)]

    @property
    def image_settings(self) -> list[str]:
        """Return the settings with which the images of all hosts are written into one file."""
        chosen = dict.fromkeys(name for host in self.named.values() for name in host.studies)
        base = dict.fromkeys(word for host in self.named.values() for word in host.settings if word.startswith("base_image="))
        return [f"studies={','.join(chosen)}", *base]

    def command(self, name: str) -> str:
        """Return the shell command that measures a host.

        It runs on the host for a node of Slurm, and here for a host that ssh reaches.
        """
        host = self.named[name]
        asked = ["--images", self.images]
        asked += ["--hours", f"{self.hours:g}"] if self.hours else []
        asked += [word for target in self.targets for word in ("--target", target)]
        if host.ssh:
            to = ["--name", name, "--ssh", host.ssh, "--there", host.folder, "--here", host.place]
            return shlex.join(["python", "-m", "plimsoll", "measure-by-ssh", *to, *asked, *host.settings])
        script = str(paths.PROJECT / ON_HOST)
        return shlex.join(["bash", script, name, host.place, "--slurm", *asked, *host.settings])


def read(config: Mapping) -> Hosts:
    """Return the hosts of a configuration (config/cluster.yaml, overridden by what was given).

    Raise PlimsollError if it does not fit its schema, names no host or one host twice, or has hosts of both kinds.
    Raise it also if the file of images is missing, or if the workflow refuses the settings.
    """
    entries = _listed(config.get("hosts", []))
    given = {**config, "hosts": [_mapping(entry) for entry in entries] if isinstance(entries, list) else entries}
    given |= {key: _listed(given[key]) for key in ("settings", "targets") if key in given}
    yaml_files.check(given, SCHEMA, SOURCE)
    named: dict[str, Host] = {}
    for entry in given["hosts"]:
        if entry["name"] in named:
            raise PlimsollError(f"hosts: two of them have the name {entry['name']}. Give each host a name of its own.")
        settings = (*given["settings"], *entry.get("settings", ()))
        chosen = studies.select(configuration.read(list(settings))["studies"])
        asked = {"minutes": given["minutes"], **entry, "settings": settings, "studies": tuple(chosen)}
        named[entry["name"]] = Host(**asked)
    if not named:
        raise PlimsollError(
            'No host is named. Name nodes of Slurm with --config hosts="[n1, n2]"; docs/how-to/cluster.md '
            "says how ssh reaches others."
        )
    if len({bool(host.ssh) for host in named.values()}) > 1:
        raise PlimsollError(
            "hosts: one call takes nodes of Slurm, or hosts that ssh reaches, and these are both. Nothing was "
            "started. Name those of one kind in each call."
        )
    images = given["images"] or IMAGES
    if given["images"] and not Path(images).is_file():
        raise PlimsollError(
            f"images: there is no file {images}: {spelling.command('image')} writes one where Docker or Podman is."
        )
    return Hosts(named, images, tuple(given["targets"]), given["hours"], given["compare"])


def _listed(value: object) -> object:
    """Return a text as the list of its words, which commas or blanks separate. Return other values unchanged."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _mapping(entry: object) -> object:
    """Return a host's entry as a mapping.

    An entry may be the host's name alone. Numbers that the command line has left as texts become numbers.
    """
    if isinstance(entry, (str, int)):
        return {"name": str(entry)}
    if not isinstance(entry, Mapping):
        return entry
    return {key: int(value) if key in NUMBERS and str(value).isdecimal() else value for key, value in entry.items()}
