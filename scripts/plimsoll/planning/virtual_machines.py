"""Virtual machines in a plan: on the host's own processor, or on an emulated one where the host cannot run them."""

from plimsoll.interchange import Cell, Plan

# The two runtimes.
MACHINE, EMULATED_MACHINE = "vm", "vm-emulated"
# Need of claims about virtual machines, in words. Emulated machines say nothing about speed, so they are not compared.
MACHINES = "virtual machines on the host's own processor"
NO_SPEED = "emulated ones say nothing about speed"


def is_of(runtime: str, cell: Cell) -> bool:
    """Return whether a cell has a runtime, for its client or for its server."""
    return runtime in (cell["runtime"], cell.get("server"))


def unavailable(plan: Plan) -> str | None:
    """Return why no virtual machine on the host's own processor is measured; None if one is."""
    reasons = {cell["reason"]: None for cell in plan["cells"].values() if is_of(MACHINE, cell)}
    return None if None in reasons else next(iter(reasons), "the configuration leaves them out")


def unmet_needs(plan: Plan) -> dict[str, str]:
    """Return what claims about virtual machines need and is unavailable here, in words, by the name of the need."""
    if reason := unavailable(plan):
        return dict.fromkeys(("vm", "hardware_virtualisation"), f"{MACHINES} ({reason}); {NO_SPEED}")
    if plan.get("hypervisor"):
        return {"hardware_virtualisation": "a host that is no virtual machine itself, as those on it are nested"}
    return {}


def as_measured(printed, plan: Plan, columns: list[str]):
    """Return a paper's table, with virtual machines renamed in `columns` if only emulated ones are measured.

    The table then names what our values belong to.
    """
    if unavailable(plan) and any(is_of(EMULATED_MACHINE, cell) for cell in plan["cells"].values()):
        return printed.replace({column: {MACHINE: EMULATED_MACHINE} for column in columns})
    return printed
