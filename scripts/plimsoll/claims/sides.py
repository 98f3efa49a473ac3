"""The sides that a claim compares: a metric in a cell, and two of these."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Side:
    """A metric in a cell.

    `reference` is the cell that its loss (or another `quantity`) is relative to, if the claim is about that.
    """

    metric: str
    cell: str
    reference: str | None = None
    quantity: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """Paths of the cells that the side needs."""
        return (self.cell,) if self.reference is None else (self.cell, self.reference)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that the side needs."""
        return (self.metric,)


@dataclass(frozen=True)
class Contrast:
    """Two sides that a claim compares."""

    a: Side
    b: Side

    @property
    def cells(self) -> tuple[str, ...]:
        """Paths of the cells that both sides need."""
        return (*self.a.cells, *self.b.cells)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics of both sides."""
        return (self.a.metric, self.b.metric)


@dataclass(frozen=True)
class PrintedSide(Side):
    """A metric in a cell, and the value that the paper prints for it."""

    value: float = float("nan")
