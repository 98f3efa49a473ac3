"""Design `table`. plimsoll.design says which module beside this one has which part."""

from collections.abc import Mapping

from plimsoll.design import Design


class Table(Design):
    """Rows that others have measured. The study names their factors, and Plimsoll measures nothing."""

    name = "table"
    MEASURES = False

    def for_study(self, study: Mapping) -> "Table":
        """Return this design with the factors of a study (plimsoll.designs.table.study_file)."""
        from plimsoll.designs.table.check import Check
        from plimsoll.designs.table.factors import Factors

        bound = type(self)()
        # Each part is an attribute of the instance, as after its first use (plimsoll.design.Part).
        bound.__dict__.update(factors=Factors(study["factors"]), check=Check(study["factors"]))
        return bound


DESIGN = Table()
