"""Changed clocks and other time zones: records and tables do not depend on when a file was written."""

import os
import time

from plimsoll.measuring import record

from tests.project import RUNS

DAY = 86_400
TABLE = "results/liu2020/observations.csv"


def test_what_is_measured_again_follows_from_records_and_not_from_their_times(fresh):
    fresh.keep_three_cells()
    assert fresh.snakemake("measurements").returncode == 0
    failed, later, earlier = (fresh.folder / path for path in sorted(fresh.files(RUNS)))
    # A run that counts is kept, and another one is tried again. That holds even if the clock was a day ahead or behind
    # when it was written.
    record.keep(failed, {**record.read(failed), "status": "failed", "reason": "says a test"})
    kept = {path: path.read_bytes() for path in (later, earlier)}
    for path, moment in ((failed, DAY), (later, DAY), (earlier, -DAY)):
        os.utime(path, 2 * (time.time() + moment,))
    done = fresh.snakemake("measurements", TABLE)
    assert done.returncode == 0, done.stderr
    assert record.read(failed)["status"] == "valid"
    assert {path: path.read_bytes() for path in kept} == kept
    # A table that is made in another time zone is the same.
    table = (fresh.folder / TABLE).read_bytes()
    (fresh.folder / TABLE).unlink()
    done = fresh.snakemake(TABLE, TZ="Pacific/Kiritimati")
    assert done.returncode == 0 and (fresh.folder / TABLE).read_bytes() == table, done.stderr
