"""Bonnie++ 2.00a on files that are twice as large as all memory that could cache them."""

import math
from collections.abc import Mapping

from plimsoll.errors import quote
from plimsoll.workloads import program_output
from plimsoll.workloads.base import FOLDER, InvalidOutput, Microservice, Room

# Columns of its CSV (format 1.98), counted from 0, in kB/s and 1/s.
COLUMNS = {"block_output": 11, "block_rewrite": 13, "block_input": 17, "random_seeks": 19}
BYTE_COLUMNS = {"byte_output": 9, "byte_input": 15}
FORMAT = "1.98"
# Number of columns, and the column with the size of the data.
FIELDS, SIZE = 50, 5
# Upper limit for a plausible result (kB/s, or seeks per second): no disk is as fast.
MOST = 1e9


class Bonnie(Microservice):
    """Block output, rewrite, block input and random seeks; writes are flushed to the disk before their time is taken."""

    name, label, short, resources, stage = "bonnie", "Bonnie++", "B", ("disk",), "bonnie"
    software = "Bonnie++"
    # Columns of its result line, and options that leave out unwanted tests.
    columns, without = COLUMNS, ("-f",)

    def parameters(self, sizes: dict, room: Room, supplied: dict | None = None) -> dict:
        """Return twice the memory of all containers together, in whole MiB: at most half of the data is cached, even
        without limits."""
        megabytes = math.ceil(room.all_bytes / 2**20)
        return {"data_megabytes": 2 * megabytes, "memory_megabytes": megabytes}

    def disk_bytes(self, parameters: dict) -> int:
        return parameters["data_megabytes"] * 2**20

    def flushed_bytes(self, parameters: dict) -> int:
        """Return twice the size of the data: block output and rewrite flush it once each."""
        return 2 * self.disk_bytes(parameters)

    def command(self, parameters: dict, number: int, hosts: Mapping[str, str]) -> list[str]:
        """Return the command of bonnie++ on a folder of the node, without tests of small files, which the papers do not use."""
        size, memory = str(parameters["data_megabytes"]), str(parameters["memory_megabytes"])
        where = ["-d", "/var/tmp", "-s", size, "-r", memory]
        return [f"{FOLDER}/bonnie++", *where, "-n", "0", *self.without, "-q", "-u", "root", "-m", "plimsoll"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return kB/s of the tests, and seeks per second."""
        line = text.removesuffix("\n")
        fields = line.split(",")
        if fields[0] != FORMAT or len(fields) != FIELDS or line == text or "\n" in line:
            raise InvalidOutput(f"it printed no line of its format {FORMAT}: {quote(line)}")
        if fields[SIZE] not in _sizes(parameters["data_megabytes"]):
            raise InvalidOutput(f"it wrote {quote(fields[SIZE])}, and not {parameters['data_megabytes']} MiB")
        if "+" in "".join(fields[column] for column in self.columns.values()):
            raise InvalidOutput("it printed no number for one of its tests: they were too short to be timed")
        found = {name: program_output.number(fields[column]) for name, column in self.columns.items()}
        if not all(0 < value < MOST for value in found.values()):
            raise InvalidOutput(f"it printed {found}")
        return found

    def took(self, values: dict[str, float], parameters: dict) -> float:
        """Return the time of the three block tests, which go once over all of the data each.

        The other tests have a fixed duration.
        """
        kilobytes = self.disk_bytes(parameters) / 1024
        return sum(kilobytes / values[name] for name in ("block_output", "block_rewrite", "block_input"))

    def check_use(self, used: dict, parameters: dict) -> None:
        """Raise InvalidOutput if less was written or read than Bonnie++ must.

        It writes the data twice and reads it twice. At most the size of the memory may come from the page cache instead
        of the disk.
        """
        data, memory = self.disk_bytes(parameters), parameters["memory_megabytes"] * 2**20
        if used["written_bytes"] < 2 * data:
            raise InvalidOutput(f"it wrote {used['written_bytes'] / 1e6:.0f} MB, and should write {2 * data / 1e6:.0f}")
        if used["read_bytes"] < 2 * (data - memory):
            raise InvalidOutput(f"it read only {used['read_bytes'] / 1e6:.0f} MB from the disk: the rest was cached")

    def expected_seconds(self, parameters: dict) -> float:
        """Return the time of three and a half passes at 1 GB/s, and of the seeks."""
        return 3.5 * self.disk_bytes(parameters) / 1e9 + 0.5


def _sizes(megabytes: int) -> tuple[str, ...]:
    """Return the forms in which it may print the size of its data. It prints whole gibibytes as such."""
    return (f"{megabytes}M", *((f"{megabytes // 1024}G",) if megabytes % 1024 == 0 else ()))


class BonnieWithBytes(Bonnie):
    """Bonnie++ with the tests that write and read byte by byte, which end after some seconds."""

    name, label = "bonnie_with_bytes", "Bonnie++ with bytes"
    columns, without = COLUMNS | BYTE_COLUMNS, ()

    def expected_seconds(self, parameters: dict) -> float:
        """Return the time without these tests, and five seconds."""
        return super().expected_seconds(parameters) + 5


WORKLOADS = (Bonnie(), BonnieWithBytes())
