"""From records to observations: one row per metric of each run that counts. The other runs are listed with the reason."""

import math
from collections.abc import Set
from pathlib import Path

import pandas as pd

from plimsoll.analysis import capacity, cell_paths
from plimsoll.errors import DamagedFile, PlimsollError
from plimsoll.interchange import Plan, Record
from plimsoll.measuring import record, status

MEASURED = ["metric", "label", "unit", "better", "value", "censored"]
RUN = ["repetition", "block", "place_in_order", "started", "fingerprint", "profile"]
# Columns that the table of runs has even if nothing could be measured.
OF_EVERY_RUN = ["repetition", "status", "reason", "attempts", "invalid_attempts", "place_in_order", "started", "raw"]


def collect(records: Path, plan: Plan, study: dict) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (observations, runs) of all runs of a study, from the records below the folder `records`.

    `runs` has one row per run: its status and reason, what neighbours used, and what the design adds. Runs that exceed
    what the machine can do are invalid. Raises PlimsollError if two runs did not run the same bits or kernels, or were
    made on two systems.
    """
    observations, runs = _read(records, plan, study, plan["order"])
    return possible(observations, runs, study, plan)


def collect_some(
    records: Path, plan: Plan, study: dict, wanted: list[tuple[str, int]], judged: Path | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (observations, runs) of the `wanted` runs of a study, such as those of a figure, as `collect` does.

    `judged` is the list of all runs that `collect` made: runs that are invalid there are invalid here. Without it, only
    the `wanted` runs are known, and they alone decide what is possible.
    """
    observations, runs = _read(records, plan, study, wanted)
    if judged is None:
        return possible(observations, runs, study, plan, {cell_path for cell_path, _ in wanted})
    known = table(judged, plan["factors"])
    invalid = known[known["status"] == status.INVALID]
    reasons = dict(zip(_keys(invalid, plan), invalid["reason"], strict=True))
    return _without(reasons, observations, runs, plan)


def _read(records: Path, plan: Plan, study: dict, wanted: list[tuple[str, int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    columns_of = study.design.factors
    described = [*columns_of.FACTORS, *columns_of.SIZES]
    observations, runs, bits, systems, kernels = [], [], Bits(), Systems(), Kernels()
    for cell_path, repetition in wanted:
        path = record.path_of(records, cell_path, repetition)
        cell = plan["cells"][cell_path]
        row = {**{key: cell[key] for key in described}, "repetition": repetition}
        try:
            recorded = record.read(path, columns_of.RECORD)
            if recorded["fingerprint"] != cell["fingerprint"]:
                reason = "it was measured with other parameters than the plan's: delete the record, and it is measured again"
                runs.append({**row, "status": status.STALE, "reason": reason})
                continue
            run, observed = _told(path, recorded, study, row)
        except record.DamagedFile as damage:
            runs.append({**row, "status": status.DAMAGED, "reason": str(damage)})
            continue
        systems.add(path, recorded)
        if recorded["status"] == status.VALID:
            bits.add(path, recorded)
            kernels.add(path, recorded)
        runs.append(run)
        observations.extend(observed)
    columns = ["study", *described, *columns_of.OF_OBSERVATION, *MEASURED, *RUN]
    table_of_runs = pd.DataFrame(runs)
    lacking = [name for name in (*described, *OF_EVERY_RUN, *columns_of.OF_RUN) if name not in table_of_runs]
    table_of_runs = table_of_runs.reindex(columns=[*table_of_runs, *lacking])
    return pd.DataFrame(observations, columns=columns), table_of_runs


def possible(
    observations: pd.DataFrame, runs: pd.DataFrame, study: dict, plan: Plan, cells: Set[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return observations and runs after each run that exceeds what the machine can do was made invalid.

    Invalid runs have no observations. `cells` are those of a part of the study, such as a figure.
    """
    exceeding = capacity.check(study, plan, observations, cells).above
    if exceeding.empty:
        return observations, runs
    return _without(dict(capacity.reasons(exceeding, plan)), observations, runs, plan)


def _without(
    reasons: dict[tuple[str, int], str], observations: pd.DataFrame, runs: pd.DataFrame, plan: Plan
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return observations and runs after the runs that have `reasons` were made invalid. Invalid runs have no observations."""
    # A table without a row has no texts that paths could be made of.
    if not reasons or runs.empty:
        return observations, runs
    why = pd.Series(map(reasons.get, _keys(runs, plan)), runs.index, dtype=object)
    invalid = why.notna()
    runs = runs.assign(
        status=runs["status"].mask(invalid, status.INVALID), reason=runs["reason"].astype(object).mask(invalid, why)
    )
    return observations[[run not in reasons for run in _keys(observations, plan)]].reset_index(drop=True), runs


def _keys(rows: pd.DataFrame, plan: Plan) -> list[tuple[str, int]]:
    """Return the run of each row: (path of its cell, repetition)."""
    return list(zip(cell_paths.of_table(rows, plan["factors"]), rows["repetition"], strict=True))


def _told(path: Path, recorded: Record, study: dict, row: dict) -> tuple[dict, list[dict]]:
    """Return the row of a record's run, and its observations if it counts.

    Raises DamagedFile if the record does not hold what records of its design hold, or if it has an impossible value.
    """
    observed = []
    if recorded["status"] == status.VALID and "bits" not in recorded:
        raise record.DamagedFile(f"{path} is not a complete record: it lacks 'bits'")
    try:
        run = {**row, **_run(recorded), **study.design.readings.of_run(recorded)}
        if recorded["status"] in status.COUNTED:
            whole = {"study": study["id"], **row, **{key: recorded[key] for key in RUN}}
            observed = study.design.readings.observations(study, whole, recorded)
    except (LookupError, TypeError, ValueError, ArithmeticError) as problem:
        raise record.DamagedFile(f"{path} is not a complete record: it lacks {problem}") from problem
    for one in observed:
        # No metric of any study can be negative.
        if not 0 <= one["value"] < math.inf:
            raise record.DamagedFile(f"{path} has {one['value']} for {one['metric']}, which cannot have been measured")
    return run, observed


class Bits:
    """The build identifiers seen so far. A second identifier of the same object is refused."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, str, Path]] = {}

    def add(self, path: Path, recorded: Record) -> None:
        """Compare a record's objects, and its image, with those of earlier records. Raise PlimsollError if they differ."""
        for name, build_id in {**recorded["bits"], "the image": recorded["image"]["id"]}.items():
            first, runtime, where = self.seen.setdefault(name, (build_id, recorded["cell"]["runtime"], path))
            if first != build_id:
                raise PlimsollError(
                    f"{recorded['cell']['runtime']} in {path} did not run the same bits as {runtime} in {where}: "
                    f"{name} is {build_id[:16]} and not {first[:16]}. They cannot be compared, so no table was made. "
                    "Delete the records of the older image, and type the command again: it measures these runs again."
                )


class Kernels:
    """The kernels seen so far that libraries chose for the processor. Other kernels of the same library are refused."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, str, Path]] = {}

    def add(self, path: Path, recorded: Record) -> None:
        """Compare a record's kernels with those of earlier records. Raise PlimsollError if they differ."""
        runtime = recorded["cell"]["runtime"]
        for library, kernels in recorded.get("kernels", {}).items():
            first, other, where = self.seen.setdefault(library, (kernels, runtime, path))
            if first != kernels:
                raise PlimsollError(
                    f"{runtime} in {path} ran {library}'s {kernels} kernels, and {other} in {where} its {first} "
                    "kernels. They cannot be compared, so no table was made. Delete the records with the kernels that "
                    "you do not want, and type the command again: it measures these runs again."
                )


class Systems:
    """The system of each runtime's records seen so far. A second system is refused."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str | None, Path]] = {}

    def add(self, path: Path, recorded: Record) -> None:
        """Compare a record's system with that of earlier records of the same runtime. Raise PlimsollError if they differ."""
        runtime, own = recorded["cell"]["runtime"], recorded.get("system")
        first, where = self.seen.setdefault(runtime, (own, path))
        if first != own:
            raise PlimsollError(
                f"{path} and {where} were measured on two systems. Records of two systems are never pooled, so no "
                "table was made. Delete the records of one of them, and type the command again."
            )


def _run(recorded: Record) -> dict:
    during = recorded.get("noise", {}).get("during", {})
    return {
        "status": recorded["status"],
        "reason": recorded.get("reason"),
        "attempts": recorded["attempts"],
        "invalid_attempts": "; ".join(f"{a['status']}: {a['reason']}" for a in recorded["invalid_attempts"]),
        "neighbour_share": during.get("neighbour_share"),
        "stolen": during.get("stolen_seconds"),
        "neighbours_apart": during.get("apart", True),
        "busy_share_before": recorded["noise"]["before"]["busy_share"],
        **{f"{part}_seconds": seconds for part, seconds in recorded["seconds"].items()},
        # All seconds except those of the run itself are the launch's. The other runs of the launch have them too.
        "runs_in_launch": len(recorded.get("launch", (1,))),
        "place_in_order": recorded["place_in_order"],
        "started": recorded["started"],
        "raw": recorded["raw"],
        **({"kernels": named} if (named := ", ".join(map(" ".join, recorded.get("kernels", {}).items()))) else {}),
    }


def table(path: Path, factors: list[str] | tuple[str, ...]) -> pd.DataFrame:
    """Return observations, or another table with one column per factor, as written: levels are text.

    Only an empty cell is missing. An empty file gives an empty table. Raises DamagedFile if the file is not a table.
    """
    try:
        return pd.read_csv(path, dtype=dict.fromkeys(factors, str), keep_default_na=False, na_values=[""])
    except pd.errors.EmptyDataError:
        # If no run of a study counts, its tests are an empty file without names of columns.
        return pd.DataFrame()
    except ValueError as error:
        problem = str(error).splitlines()[0]
        raise DamagedFile(
            f"{path} is not a table ({problem}). Delete it, and type the command again: the records make a new one."
        ) from error
