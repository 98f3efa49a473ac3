"""Checks of the levels that claims about a table name."""

from collections.abc import Iterable

from plimsoll import design
from plimsoll.claims import book


class Check(design.Check):
    """Checks of claims about a table, whose factors and levels are those of its rows."""

    def __init__(self, names: Iterable[str] = ()):
        self.NAMED = tuple(names)

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the levels that a claim names against those of the table (`levels` of a study)."""
        known = study["levels"]
        named = [*book.levels_of(claim), *(("relative_to", one) for one in book.as_list(claim, "relative_to"))]
        if "along" in claim:
            named.append(("along", {claim["along"]["factor"]: claim["along"].get("levels", [])}))
        for key, levels in named:
            for factor, values in levels.items():
                # A claim that is not tested may name factors that the table does not have.
                if factor in known:
                    refer(f"{key}.{factor}", values, known[factor])
