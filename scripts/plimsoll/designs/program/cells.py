"""Cells of a study of a program on a host. Every function is pure."""

from collections.abc import Sequence

from plimsoll import design
from plimsoll.designs.program import ladder
from plimsoll.designs.program.factors import HOST, LOOK, OTHER, SAME, ProgramCell
from plimsoll.host import sizing
from plimsoll.interchange import Plan, Topology
from plimsoll.measuring import record

# Time to start and remove a node, and of the workflow for a run (s).
AROUND = {"host": 0.2, "files": 0.3}
OF_CONTAINER = 1.0
# Keys of a study's program that change nothing in a run.
OF_PLANNING = ("expected_seconds", "minutes", "width", "files")


def expected_seconds(program: dict, runtime: str, runs: int) -> float:
    """Return how long one start of a runtime takes (s): what is around the program's `runs`, these, and one that warms up."""
    return AROUND.get(runtime, OF_CONTAINER) + program["expected_seconds"] * (runs + 1)


class Cells(design.Cells):
    """Cells of a study of a program."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, ProgramCell]]:
        """Return (experiment, cell) for each runtime of each stage, including cells that cannot be measured here."""
        return [
            (stage, self._cell(study["program"], stage, runtime, host, unavailable.get(runtime)))
            for stage, experiment in study["experiments"].items()
            for runtime in experiment["runtime"]
            if config["runtimes"].get(runtime, "off") != "off"
        ]

    def _cell(self, program: dict, stage: str, runtime: str, host: Topology, lacking: str | None) -> ProgramCell:
        runs = 1 if stage == LOOK else program["runs"]
        # Only runs beside a neighbour depend on it, and only levels with volumes on the folders that are written.
        depends = {"beside": stage in (SAME, OTHER), "written": runtime.endswith(ladder.WITH_VOLUMES)}
        left_out = ("command", "runs", "not_installed", *(key for key, does in depends.items() if not does))
        not_installed = program.get("not_installed") if runtime == HOST else None
        cell: ProgramCell = {
            "path": f"{stage}/{runtime}",
            "stage": stage,
            "runtime": runtime,
            "host": sizing.of_host(host)["host"],
            "command": program["command"],
            "runs": runs,
            "parameters": {key: value for key, value in program.items() if key not in left_out},
            "expected_seconds": expected_seconds(program, runtime, runs),
            "useful": True,
            "experiments": [],
            "reason": not_installed or lacking,
        }
        cell["fingerprint"] = record.identify(self.measured(cell))
        return cell

    def measured(self, cell: ProgramCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint."""
        parameters = {key: value for key, value in cell["parameters"].items() if key not in OF_PLANNING}
        return {**{key: cell[key] for key in ("path", "host", "command", "runs")}, "parameters": parameters}

    def repetitions(self, profile: dict) -> int:
        """Return the profile's number of repetitions. `plimsoll try` sets others, stage by stage."""
        return profile["repetitions"]

    def trial(self, plan: Plan, cells: Sequence[ProgramCell]) -> ProgramCell | None:
        """Return a cell with one run that counts."""
        return {**min(cells, key=lambda cell: (cell["stage"] == LOOK, cell["path"])), "runs": 1}
