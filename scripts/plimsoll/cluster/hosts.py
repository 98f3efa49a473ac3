"""Which hosts are measured, and with which command each of them is: what rules/cluster.smk works on."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from plimsoll import paths
from plimsoll.cluster import marker
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.errors import PlimsollError

SCHEMA, SOURCE = "cluster", "config/cluster.yaml, --configfile or --config"
# Where everything about the hosts lies, below the working directory: one folder for each.
FOLDER = "hosts"
# The file of images for all hosts, where none is given.
IMAGES = f"{FOLDER}/images.tar.gz"
# What the workflow keeps on a host that ssh reaches, below the home there.
THERE = "plimsoll-hosts"
ON_HOST = "scripts/cluster/host.sh"
NUMBERS = ("cpus", "memory", "minutes")
# Targets of which the verdicts come.
JUDGED = ("all", "claims.json", "claims.html", "report.html")


@dataclass(frozen=True)
class Host:
    """A host: a node of Slurm by its `name`, or a machine that `ssh` reaches, where all is kept in `folder`.

    `settings` are those of the workflow there, and `studies` what they select. `cpus`, `memory` (MiB) and `minutes` are what
    its job of Slurm asks for, None for what Slurm says the node has.
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
        """The folder with all that is known here of the host, below the working directory."""
        return f"{FOLDER}/{self.name}"

    @property
    def done(self) -> str:
        """The mark that all is done: the only file of a host that Snakemake knows of."""
        return f"{self.place}/{marker.FILE}"


@dataclass(frozen=True)
class Hosts:
    """The `named` hosts, the file with their `images`, what is made on each (`targets`, in so many `hours`), and whether each
    two of them are compared."""

    named: dict[str, Host]
    images: str
    targets: tuple[str, ...]
    hours: float | None
    compare: bool

    @property
    def by_ssh(self) -> bool:
        """Whether ssh reaches them; otherwise they are nodes of Slurm."""
        return any(host.ssh for host in self.named.values())

    @property
    def judged(self) -> bool:
        """Whether verdicts come of what is made."""
        return any(Path(target).name in JUDGED for target in self.targets)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of each two hosts that are compared."""
        return list(combinations(self.named, 2)) if self.compare else []

    @property
    def image_settings(self) -> list[str]:
        """The settings with which the images of all hosts are written into one file."""
        chosen = dict.fromkeys(name for host in self.named.values() for name in host.studies)
        base = dict.fromkeys(word for host in self.named.values() for word in host.settings if word.startswith("base_image="))
        return [f"studies={','.join(chosen)}", *base]

    def command(self, name: str) -> str:
        """The command that has a host measured, for the shell: on the host itself for a node of Slurm, from here by ssh."""
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
    """The hosts of a configuration (config/cluster.yaml, with what was given over it). PlimsollError for what does not fit its
    schema, a host that is named twice or none at all, hosts of both kinds together, and settings that the workflow refuses."""
    entries = _listed(config.get("hosts", []))
    given = {**config, "hosts": [_mapping(entry) for entry in entries] if isinstance(entries, list) else entries}
    given |= {key: _listed(given[key]) for key in ("settings", "targets") if key in given}
    yaml_files.check(given, SCHEMA, SOURCE)
    named: dict[str, Host] = {}
    for entry in given["hosts"]:
        if entry["name"] in named:
            raise PlimsollError(f"hosts: {entry['name']} is named twice: give each host a name of its own.")
        settings = (*given["settings"], *entry.get("settings", ()))
        chosen = studies.selected(configuration.read(list(settings))["studies"])
        asked = {"minutes": given["minutes"], **entry, "settings": settings, "studies": tuple(chosen)}
        named[entry["name"]] = Host(**asked)
    if not named:
        raise PlimsollError(
            'No host is named: --config hosts="[n1, n2]" names nodes of Slurm, and docs/hosts.md says how ssh reaches others.'
        )
    if len({bool(host.ssh) for host in named.values()}) > 1:
        raise PlimsollError("hosts: nodes of Slurm and hosts that ssh reaches take two calls: name those of one kind in each.")
    images = given["images"] or IMAGES
    if given["images"] and not Path(images).is_file():
        raise PlimsollError(f"images: there is no file {images}: `make image` writes one where Docker or Podman is.")
    return Hosts(named, images, tuple(given["targets"]), given["hours"], given["compare"])


def _listed(value: object) -> object:
    """A list; words of the command line may be separated by commas."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _mapping(entry: object) -> object:
    """A host's entry: its name alone, or a mapping whose numbers the command line may have left as texts."""
    if isinstance(entry, (str, int)):
        return {"name": str(entry)}
    if not isinstance(entry, Mapping):
        return entry
    return {key: int(value) if key in NUMBERS and str(value).isdecimal() else value for key, value in entry.items()}
