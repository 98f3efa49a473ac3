"""`plimsoll new-system`."""

from pathlib import Path

from plimsoll.cli import options, place


def new_system(directory: options.Directory = None) -> None:
    """Put aside what was measured before an upgrade.

    Runs before and after an upgrade of kernel, engine, firmware or settings are never pooled.

    Examples:
      plimsoll new-system
    """
    from plimsoll import runtimes
    from plimsoll.config import studies
    from plimsoll.measuring import lock
    from plimsoll.planning import new_system

    place.enter(directory)
    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder():
        done = new_system.change(Path("results"), studies.names(studies.STUDIES), runtimes.known())
    print("\n".join(done) or "Nothing to put aside: what was measured here was measured on the system as it is.")
