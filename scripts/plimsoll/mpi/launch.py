"""One Open MPI launcher for all deployments: the image's own mpirun, run on the host from the unpacked image.

Only where all ranks are in one container with namespaces of its own does it run in there, as one would type it: Open MPI
sees that there are more ranks than slots only on the node where mpirun itself runs (its remote daemons never do).

On the host it needs nothing installed: the image's loader starts it with the image's libraries, and variables tell Open MPI
and PMIx where their files are. They hold for the launcher only (`RELOCATION`), and must not reach a container.
"""

from pathlib import Path

from plimsoll.environments.rootfs import libraries, loaded
from plimsoll.host import cpulist, shared
from plimsoll.workloads import kernels

BIND = Path(__file__).with_name("agents") / "bind-rank.sh"
MPIRUN = "/usr/bin/orterun"
# Copies through shared memory, in place of one from rank to rank. Ranks in two user namespaces may not read each other's
# memory. Open MPI 4.1 sees it, and falls back on copies that never end between such ranks, unless it is told so.
TWO_COPIES = {"btl_vader_single_copy_mechanism": "none"}
# What every rank is given, whatever it runs in: one thread for each.
OF_RANKS = {"OPENBLAS_NUM_THREADS": "1"}
RELOCATION = ("OPAL_PREFIX", "OPAL_SYSCONFDIR", "PMIX_PREFIX", "PMIX_SYSCONFDIR", "HWLOC_PLUGINS_PATH")


def environment(rootfs: Path) -> dict[str, str]:
    """Variables of the launcher, besides those of the run."""
    folder = libraries(rootfs)
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OPAL_PREFIX": str(rootfs / "usr"),
        # The image's own settings say which transports there are. This host's settings would reach some runtimes alone.
        "OPAL_SYSCONFDIR": str(rootfs / "etc/openmpi"),
        "PMIX_SYSCONFDIR": str(rootfs / "etc/pmix"),
        "PMIX_PREFIX": str(folder / "pmix2"),
        "HWLOC_PLUGINS_PATH": str(folder / "hwloc"),
    }


def options(temporary: Path, parameters: dict, where: list[str]) -> list[str]:
    """mpirun's options up to where ranks and programs begin; `where` says which rank goes where (`placement`)."""
    given = ";".join(f"{name}={value}" for name, value in {**OF_RANKS, **kernels.variables()}.items())
    # One setting for the ranks in all nodes: `-x` is for those of one specification.
    own = {"orte_tmpdir_base": temporary, "mca_base_env_list": given}
    words = ["--noprefix", *where]
    for name, value in {**own, **parameters}.items():
        words += ["--mca", name, str(value)]
    return words


def mpirun(rootfs: Path, words: list[str]) -> list[str]:
    """mpirun on the host with these options."""
    return loaded(rootfs, MPIRUN, *words)


def placement(folder: Path, hosts: list[str], places: list[dict], ranks: int) -> list[str]:
    """Options for hosts, mapping and binding: as many ranks on each host as on the others, in order.

    The files are named as seen from their folder, where mpirun starts: it splits paths at commas.
    `places` are the plan's, one per host. Ranks are bound to their cores by a rankfile, except on hosts with different cores:
    Open MPI takes hosts that look alike for the same, and binds by the cores of the one that answered first. There a rank binds
    itself (`self_bound`). The host file tells the truth: a host has as many slots as processors that its ranks may use, so that
    Open MPI's own view of over-subscription is right as far as it can see. Binding is always explicit: Open MPI binds to cores
    by itself when there are two ranks or fewer, and with two containers both would get the same core.
    """
    slots = [len(cpulist.parse(place["cpus"])) or ranks for place in places]
    lines = "".join(f"{host} slots={count}\n" for host, count in zip(hosts, slots, strict=True))
    each = ranks // len(hosts)
    options = ["--hostfile", shared.write(folder / "hosts", lines).name]
    if any(count < each for count in slots):
        options.append("--oversubscribe")
    apart = len({place["cpus"] for place in places}) > 1
    if not places[0]["cores"] or apart:
        # On one host the ranks may be of several program specifications, which ppr does not know how to divide.
        mapping = f"ppr:{each}:node" if len(hosts) > 1 else "slot"
        return [*options, "--map-by", mapping, "--bind-to", "none"]
    return [*options, "--rankfile", shared.write(folder / "rankfile", rankfile(hosts, places)).name]


def rankfile(hosts: list[str], places: list[dict]) -> str:
    """Open MPI's rankfile: each rank on its host, bound to the core that is `slot` among those that Open MPI sees. Ranks are
    counted host by host."""
    slots = [(host, slot) for host, place in zip(hosts, places, strict=True) for slot in place["slots"]]
    return "".join(f"rank {rank}={host} slot={slot}\n" for rank, (host, slot) in enumerate(slots))


def self_bound(folder: Path, places: list[dict], program: list[str]) -> list[str]:
    """The program through a script that binds each rank to its core, by its number. Ranks start in the script's folder, where
    nothing may be executable."""
    cores = [core for place in places for core in place["cores"]]
    shared.write(folder / "cores", "".join(f"{core}\n" for core in cores))
    return ["sh", shared.write(folder / BIND.name, BIND.read_bytes()).name, *program]
