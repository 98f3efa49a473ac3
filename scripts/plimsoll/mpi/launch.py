"""One Open MPI launcher for all deployments: the image's own mpirun, run on the host from the unpacked image.

If all ranks are in one container with namespaces of its own, mpirun runs in that container, as a user would type it.
The reason is that Open MPI sees that there are more ranks than slots only on the node where mpirun itself runs. Its
remote daemons never do.

On the host mpirun needs nothing installed: the image's loader starts it with the image's libraries. Variables tell Open
MPI and PMIx where their files are. They are for the launcher only (`RELOCATION`), and must not reach a container.
"""

from pathlib import Path

from plimsoll.host import cpulist, run_files
from plimsoll.runtimes.rootfs import libraries, loader_command
from plimsoll.workloads import kernels

BIND = Path(__file__).with_name("agents") / "bind-rank.sh"
MPIRUN = "/usr/bin/orterun"
# Copy messages through shared memory, and not directly from rank to rank. Ranks in two user namespaces may not read
# each other's memory. Without this setting Open MPI 4.1 sees that, and falls back on copies that never end between such
# ranks.
TWO_COPIES = {"btl_vader_single_copy_mechanism": "none"}
# Variables of every rank, in every runtime: one thread for each.
OF_RANKS = {"OPENBLAS_NUM_THREADS": "1"}
RELOCATION = ("OPAL_PREFIX", "OPAL_SYSCONFDIR", "PMIX_PREFIX", "PMIX_SYSCONFDIR", "HWLOC_PLUGINS_PATH")


def environment(rootfs: Path) -> dict[str, str]:
    """Return the variables of the launcher, besides those of the run."""
    folder = libraries(rootfs)
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OPAL_PREFIX": str(rootfs / "usr"),
        # The image's own settings say which transports there are. This host's settings would reach only some runtimes.
        "OPAL_SYSCONFDIR": str(rootfs / "etc/openmpi"),
        "PMIX_SYSCONFDIR": str(rootfs / "etc/pmix"),
        "PMIX_PREFIX": str(folder / "pmix2"),
        "HWLOC_PLUGINS_PATH": str(folder / "hwloc"),
    }


def options(temporary: Path, parameters: dict, where: list[str]) -> list[str]:
    """Return mpirun's options up to the ranks and programs. `where` has the options that say which rank goes where
    (`placement`)."""
    given = ";".join(f"{name}={value}" for name, value in {**OF_RANKS, **kernels.variables()}.items())
    # One setting for the ranks in all nodes: `-x` holds for one program specification alone.
    own = {"orte_tmpdir_base": temporary, "mca_base_env_list": given}
    words = ["--noprefix", *where]
    for name, value in {**own, **parameters}.items():
        words += ["--mca", name, str(value)]
    return words


def mpirun(rootfs: Path, words: list[str]) -> list[str]:
    """Return the command that runs mpirun on the host with these options."""
    return loader_command(rootfs, MPIRUN, *words)


def placement(folder: Path, hosts: list[str], places: list[dict], ranks: int) -> list[str]:
    """Write the host file and the rankfile. Return mpirun's options for hosts, mapping and binding.

    Each host gets the same number of ranks, in order. `places` are the plan's, one per host. The options name the files
    relative to their folder, where mpirun starts, because mpirun splits paths at commas.

    Ranks are bound to their cores by the rankfile. On hosts with different cores each rank binds itself instead
    (`self_bound`). Open MPI takes hosts that look alike for the same, and binds by the cores of the one that answered
    first.

    The host file gives each host as many slots as processors that its ranks may use. So Open MPI's own view of
    over-subscription is right as far as it can see. Binding is always explicit. Otherwise Open MPI binds to cores when
    there are two ranks or fewer, and with two containers both would get the same core.
    """
    slots = [len(cpulist.parse(place["cpus"])) or ranks for place in places]
    lines = "".join(f"{host} slots={count}\n" for host, count in zip(hosts, slots, strict=True))
    each = ranks // len(hosts)
    options = ["--hostfile", run_files.write(folder / "hosts", lines).name]
    if any(count < each for count in slots):
        options.append("--oversubscribe")
    apart = len({place["cpus"] for place in places}) > 1
    if not places[0]["cores"] or apart:
        # On one host the ranks may have several program specifications, which ppr cannot divide.
        mapping = f"ppr:{each}:node" if len(hosts) > 1 else "slot"
        return [*options, "--map-by", mapping, "--bind-to", "none"]
    return [*options, "--rankfile", run_files.write(folder / "rankfile", rankfile(hosts, places)).name]


def rankfile(hosts: list[str], places: list[dict]) -> str:
    """Return Open MPI's rankfile: each rank on its host, bound to the core that is `slot` among those that Open MPI sees.

    Ranks are counted host by host.
    """
    slots = [(host, slot) for host, place in zip(hosts, places, strict=True) for slot in place["slots"]]
    return "".join(f"rank {rank}={host} slot={slot}\n" for rank, (host, slot) in enumerate(slots))


def self_bound(folder: Path, places: list[dict], program: list[str]) -> list[str]:
    """Return the program, started by a script that binds each rank to its core, by the rank's number.

    Write the script and the list of cores into the folder, where ranks start. `sh` runs the script, because nothing may
    be executable there.
    """
    cores = [core for place in places for core in place["cores"]]
    run_files.write(folder / "cores", "".join(f"{core}\n" for core in cores))
    return ["sh", run_files.write(folder / BIND.name, BIND.read_bytes()).name, *program]
