"""Judge a run by how many of its iterations count, and by how much of its data reached the disk."""

from plimsoll.designs.interference.factors import InterferenceCell
from plimsoll.workloads.base import Microservice

# At least this share of the flushed bytes must have reached the device. The rest allows for devices that round.
ON_DISK = 0.99


def too_few(cell: InterferenceCell, members: list[list[dict]]) -> str | None:
    """Return why a run has too few iterations that count; None if it has enough.

    Each member of a pair needs one. A microservice alone needs all that the cell plans.
    """
    for name, made in zip(cell["members"], members, strict=True):
        counted = sum(iteration["counts"] for iteration in made)
        if counted < (cell["iterations"] or 1):
            reasons = dict.fromkeys(filter(None, (iteration["why_not"] for iteration in made)))
            return f"{counted} of {len(made)} iterations of {name} count: {'; '.join(reasons) or 'none ended'}"
    return None


def not_on_disk(services: list[Microservice], cell: InterferenceCell, members: list[list[dict]], device: dict) -> str | None:
    """Return why the data that the members wrote and flushed cannot have reached the `device`; None if they have.

    Also None if the bytes written to the device are unknown.
    """
    asked = sum(
        service.flushed_bytes(cell["parameters"][service.name]) * sum(iteration["values"] is not None for iteration in made)
        for service, made in zip(services, members, strict=True)
    )
    if "written_bytes" not in device or device["written_bytes"] >= ON_DISK * asked:
        return None
    return f"{device['written_bytes'] / 1e6:.0f} MB reached {device['name']} of {asked / 1e6:.0f} MB that were written"
