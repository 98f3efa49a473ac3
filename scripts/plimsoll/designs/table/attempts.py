"""Nothing of a table is measured."""

from typing import Any

from plimsoll import design
from plimsoll.errors import PlimsollError


class Attempts(design.Attempts):
    """Refuses to measure."""

    def attempt(self, attempt: Any) -> dict:
        """Raise PlimsollError: the rows of a table exist already."""
        raise PlimsollError(
            "A study of the design `table` is not measured. Type ./plimsoll judge with its file, which reads its rows."
        )
