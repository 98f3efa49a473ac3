"""Cells of a table: what its rows have in common. Nothing is planned."""

from plimsoll import design
from plimsoll.interchange import Cell, Plan, Topology


class Cells(design.Cells):
    """Cells of a table. They follow from its rows (plimsoll.designs.table.row_observations)."""

    def repetitions(self, profile: dict) -> int:
        """Return 0: what is not measured here is not repeated."""
        return 0

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, Cell]]:
        """Return no cell, as nothing is measured."""
        return []

    def measured(self, cell: Cell) -> dict:
        """Return the path of a cell: its levels say what was measured."""
        return {"path": cell["path"]}

    def shown(self, plan: Plan, study: dict, name: str) -> list[Cell]:
        """Return all cells: every figure of a table shows all of them."""
        return list(plan["cells"].values())
