"""After a run went wrong: find out whether a resource is the cause, repair it, and skip other runs that would fail too."""

import os

from plimsoll import designs, runtimes, spelling
from plimsoll.errors import ImageGone, Outage, PlimsollError
from plimsoll.host import private
from plimsoll.images import restore
from plimsoll.interchange import Cell
from plimsoll.measuring import failing_groups, lock, resources, stop, system
from plimsoll.measuring.attempt import Run


def skip_failing(run: Run) -> None:
    """If the runs of a runtime all fail alike, skip its other runs in this start of the workflow.

    The workflow then restarts without them. Raise PlimsollError, which says so.
    """
    kind = designs.find(run.plan["design"]).cells.kind

    def group_of(cell: Cell) -> failing_groups.Group:
        return failing_groups.Group(cell["runtime"], kind(cell))

    group = group_of(run.cell)
    if reason := failing_groups.reason(run.study_folder, run.plan, group, group_of):
        failing_groups.note(run.study_folder, group, reason)
        stop.restart(run.study_folder)
        raise PlimsollError(
            f"{run.plan['study']}: {group.text}: {reason}. Its other runs are skipped in this start, "
            f"and all others are measured. To try them again, type the command again; "
            f"to leave the runtime out: {spelling.command('drop', group.runtime)}."
        )


def examine(run: Run, killed: int | None = None) -> None:
    """Raise Outage if a resource that the run needs has failed.

    That is a full disk, a process that cannot be killed, something missing that its containers need, or programs that
    the kernel killed for lack of memory. `killed` is the number of such programs before the attempt; None skips that
    check.
    """
    if killed is not None:
        resources.refuse_killed(killed)
    resources.refuse_undying()
    private.refuse_missing(lock.TEMPORARY.parent)
    for folder in (run.study_folder / "raw", lock.TEMPORARY.parent):
        resources.refuse_full(folder)
    for one in resources_of(run):
        one.examine(run.image)


def resources_of(run: Run) -> list:
    """Return the resources of a run: its runtime, and those that its design adds."""
    others = designs.find(run.plan["design"]).attempts.others(run.cell)
    return list(dict.fromkeys([runtimes.find(run.cell["runtime"]), *others]))


def repair(run: Run, problem: Outage) -> None:
    """Repair what interrupted an attempt, or wait for it, and remove the attempt's leftovers.

    Raise Outage if the resource does not come back, or comes back as another version.
    """

    def look_again() -> None:
        # Examine in the environment of an attempt: with the user's environment variables an engine may behave
        # differently.
        with lock.run(f"{os.getpid():x}", run.study_folder):
            examine(run)

    resources.restore(problem, look_again, lambda outage: _repair(run, outage))
    lock.sweep(runtimes.known().values())
    system.note(run.study_folder, [one for one in resources_of(run) if isinstance(one, runtimes.Runtime)])


def _repair(run: Run, problem: Outage) -> None:
    """Repair the resource behind an Outage as far as this process can: restore the image, or revive what the run needs."""
    if isinstance(problem, ImageGone):
        restore.restore(run.image)
    else:
        for one in resources_of(run):
            one.revive()
