"""Rows that others have measured. The study names their factors, and Plimsoll measures nothing."""

from collections.abc import Mapping

from plimsoll import design


class Design(design.Design):
    """Design of tables: each study has factors of its own."""

    MEASURES = False

    def for_study(self, study: Mapping) -> "Design":
        """Return this design with the factors of a study (plimsoll.designs.table.study_file)."""
        from plimsoll.designs.table.check import Check
        from plimsoll.designs.table.factors import Factors

        bound = Design(self.package)
        # Each part is an attribute of the instance, as after its first use (plimsoll.design.Part).
        bound.__dict__.update(factors=Factors(study["factors"]), check=Check(study["factors"]))
        return bound


DESIGN = Design(__name__)
