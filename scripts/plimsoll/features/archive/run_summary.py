"""What ran of a study, cell by cell, for its description: when, how often, in which image, and what failed."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from plimsoll import documents
from plimsoll.features.archive.records import PackedRecord
from plimsoll.interchange import AttemptRecord, Record, StageOfImage
from plimsoll.measuring import staleness, status


class FailedAttempt(NamedTuple):
    """An attempt that did not count: its unique `name`, when it began and ended (seconds since 1970), and why it failed."""

    name: str
    begun: float
    ended: float
    error: str


@dataclass
class Cell:
    """What ran of a cell.

    `begun` and `ended` are seconds since 1970, and `statuses` are those of its runs. If no record can be read, `image`,
    `begun` and `ended` have the value None.
    """

    path: str
    image: StageOfImage | None = None
    begun: float | None = None
    ended: float | None = None
    statuses: list[str] = field(default_factory=list)
    failed: list[FailedAttempt] = field(default_factory=list)

    def add(self, packed: PackedRecord) -> None:
        """Add a record of the cell. One that cannot be read adds only the status of a damaged record."""
        record, name = packed.record, packed.path.removesuffix(".json")
        if record is None or not _is_whole(record):
            self.statuses.append(status.DAMAGED)
            return
        self.image = record["image"]
        self.statuses.append(record["status"])
        for number, tried in enumerate(staleness.attempts_of(record), 1):
            begun, ended = _span(tried)
            self.begun = min(begun, self.begun or begun)
            self.ended = max(ended, self.ended or ended)
            if tried["status"] not in status.COUNTED:
                error = f"{tried['status']}: {tried['reason']}"
                self.failed.append(FailedAttempt(f"{name}/attempt-{number}", begun, ended, error))

    @property
    def counted(self) -> bool:
        """Whether at least one of its runs counts."""
        return any(one in status.COUNTED for one in self.statuses)


def _is_whole(record: Record) -> bool:
    try:
        documents.fit(record, Record, finite=False)
        return True
    except documents.Misfit:
        return False


def _span(tried: AttemptRecord) -> tuple[float, float]:
    return tried["started"], tried["started"] + sum(tried["seconds"].values())


class Ran(dict[str, Cell]):
    """The cells of a study that ran, by path."""

    def add(self, packed: PackedRecord) -> None:
        """Add a record to its cell."""
        path = PurePosixPath(packed.path).parent.as_posix()
        self.setdefault(path, Cell(path)).add(packed)
