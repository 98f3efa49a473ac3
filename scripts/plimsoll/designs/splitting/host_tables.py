"""liu2020's tables 2 to 5, as the design and this host make them, with the paper's values beside ours."""

from collections.abc import Iterator

import pandas as pd

from plimsoll.analysis.tables import TableRequest
from plimsoll.designs.splitting import affinity, scheme
from plimsoll.errors import Unavailable
from plimsoll.host import cpulist, topology
from plimsoll.interchange import Host, Image
from plimsoll.runtimes import isolation

COLUMNS = {
    "hardware": ("setting", "sockets", "cores", "L3 (MB)", "memory (GB)"),
    "software": ("software", "version"),
    "schemes": ("setting", "scheme", "containers", "ranks per container", "cores"),
}


def make(request: TableRequest) -> pd.DataFrame:
    """Return a table that the study names: our rows, with the paper's values beside them (`beside`)."""
    kind = request.table["kind"]
    ours = {
        "hardware": lambda: hardware(request.study, request.read("host")),
        "software": lambda: software(request.read("host"), request.read("image")),
        "schemes": lambda: schemes(request.study, request.read("host")),
    }[kind]()
    return pd.DataFrame(beside(kind, ours, request.table["printed"]))


def features(request: TableRequest) -> pd.DataFrame:
    """Return table 5: what each runtime isolates, as seen from inside, with the paper's values."""
    return pd.DataFrame(isolation.rows(request.read("environments"), request.table["printed"]))


def hardware(study: dict, host: Host) -> list[dict]:
    """Return table 2: sockets, cores, last-level cache and memory of each hardware setting."""
    rows = []
    for name, setting in _settings(study, host):
        if isinstance(setting, str):
            rows.append({"setting": name, "sockets": setting})
            continue
        nodes = [node for node in host["nodes"] if node["node"] in setting.all_nodes]
        memory = sum(node["memory_bytes"] or 0 for node in nodes) or host["memory_bytes"]
        of_setting = {core for socket in setting.sockets for core in socket}
        caches = [cache for cache in host["caches"] if of_setting & set(cache["cpus"])]
        cache = topology.last_level_cache_bytes({"caches": caches})
        sizes = {"L3 (MB)": f"{cache / 2**20:.0f}", "memory (GB)": f"{memory / 2**30:.0f}"}
        rows.append({"setting": name, "sockets": str(len(setting.sockets)), "cores": str(setting.cores), **sizes})
    return rows


def software(host: Host, image: Image) -> list[dict]:
    """Return table 3: versions of the software used here, as found on the host and in the image."""
    works = {name: tried["version"] for name, tried in host["runtimes"].items() if tried["works"]}
    versions = {
        "Linux": f"{host['distribution']}, {host['system']['kernel']} (host)",
        "Docker": works.get("docker", "does not work here"),
        "Singularity": works.get("singularity", "does not work here"),
        **image["versions"],
    }
    return [{"software": name, "version": version} for name, version in versions.items()]


def schemes(study: dict, host: Host) -> list[dict]:
    """Return table 4: containers, ranks and cores (ANY) of each scheme in each hardware setting of this host."""
    rows = []
    for name, setting in _settings(study, host):
        if isinstance(setting, str):
            rows.append({"setting": name, "scheme": setting})
            continue
        for row in scheme.schemes(setting):
            if not row.beyond and not row.alone and row.mode != scheme.HALVED:
                cores = cpulist.format(affinity.any_core(setting, row)[0].cpus)
                counts = {"containers": str(row.containers), "ranks per container": str(row.ranks_per_container)}
                rows.append({"setting": name, "scheme": row.name, **counts, "cores": cores})
    return rows


def _settings(study: dict, host: Host) -> Iterator[tuple[str, scheme.Setting | str]]:
    """Yield each hardware setting of the study by name, or the reason in words if this host does not have it."""
    for name in study["factors"]["hardware"]:
        try:
            yield name, scheme.setting(name, host, study["factors"]["processes"])
        except Unavailable as reason:
            yield name, f"not here: {reason}"


def beside(kind: str, ours: list[dict], printed: list[dict]) -> list[dict]:
    """Return our rows of a table with the paper's beside them, matched by the columns that name a row.

    Rows that only the paper has follow at the end.
    """
    keys = [column for column in COLUMNS[kind] if column in ("setting", "scheme", "software")]
    theirs = {tuple(str(row[key]) for key in keys): row for row in printed}
    rows = []
    for row in ours:
        paper = theirs.pop(tuple(row.get(key, "") for key in keys), {})
        rows.append(_pair(kind, keys, row, paper))
    return rows + [_pair(kind, keys, {key: str(row[key]) for key in keys}, row) for row in theirs.values()]


def _pair(kind: str, keys: list[str], row: dict, paper: dict) -> dict:
    pair = {key: row.get(key, "") for key in keys}
    for column in COLUMNS[kind]:
        if column not in keys:
            pair[column] = row.get(column, "")
            pair[f"{column} (paper)"] = str(paper.get(column, ""))
    return pair
