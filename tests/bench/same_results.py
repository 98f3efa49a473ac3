"""Check that this checkout makes the same results from another checkout's records, byte for byte, file by file.

`python -m tests.bench.same_results OLD [SETTING...]`: OLD is a checkout in which the workflow has run to its end. The
settings are the ones with which it was run (`profile=ci studies=all`). Its records are copied into a copy of this
checkout, where the workflow runs again. If it would measure anything, the records are not valid any more, and nothing
is compared. The exit status is 1 if something differs. Columns that were added are named and left out of the
comparison.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from tests.project import Project

COMPARED = ("observations.csv", "runs.csv", "comparisons.csv", "answer.csv", "claims.json", "tables/*.csv", "figures/*.csv")
# Made from running containers and not from records: it has identities of containers and networks.
LOOKED_AT = ("liu2020/tables/table05.csv",)
# What runs leave, and what measuring starts from. Everything else is made from these.
MEASURED = ("*/runs", "images")


def main(arguments: list[str]) -> int:
    """Print one line per file that differs, and how many are the same. Return 1 if something differs or cannot be compared."""
    old, settings = Path(arguments[0]).resolve(), tuple(arguments[1:])
    with tempfile.TemporaryDirectory() as folder:
        new = Project(Path(folder))
        for pattern in MEASURED:
            for path in (old / "results").glob(pattern):
                shutil.copytree(path, new.folder / "results" / path.relative_to(old / "results"), dirs_exist_ok=True)
        for profile in (new.folder / "config/profiles").glob("*.yaml"):
            # Runs that do not count are not tried again, so the same records are compared.
            profile.write_text(re.sub(r"^starts: .*$", "starts: 1", profile.read_text(), flags=re.MULTILINE))
        planned = new.jobs("all", config=settings)
        if "measure" in planned:
            print(f"{planned['measure']} records of {old} are not valid here: nothing is compared.")
            return 1
        done = subprocess.run(new.command("all", config=settings), cwd=new.folder, env=new.environment)
        if done.returncode:
            return 1
        return compare(old / "results", new.folder / "results")


def compare(old: Path, new: Path) -> int:
    """Compare the results of two folders. Return 1 if something differs, else 0."""
    studies = sorted(path.parent.name for path in old.glob("*/plan.json"))
    same, different = 0, []
    for path in sorted(path for study in studies for pattern in COMPARED for path in (old / study).glob(pattern)):
        name = path.relative_to(old)
        if str(name) in LOOKED_AT:
            continue
        if not (new / name).exists():
            different.append(f"{name}: is not made any more")
        elif path.read_bytes() == (new / name).read_bytes():
            same += 1
        elif note := _differs(path, new / name):
            different.append(f"{name}: {note}")
        else:
            same += 1
    print("\n".join(different))
    print(f"{same} files are the same, {len(different)} are not.")
    return int(bool(different))


def _differs(old: Path, new: Path) -> str:
    """Return how two files differ; "" if the second one only has more columns."""
    if old.suffix != ".csv":
        return "differs"
    before, after = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (old, new))
    if gone := [column for column in before if column not in after]:
        return f"the columns {', '.join(gone)} are gone"
    if len(before) != len(after):
        return f"{len(before)} rows were {len(after)}"
    unequal = [column for column in before if not before[column].equals(after[column])]
    if unequal:
        return f"the columns {', '.join(unequal)} differ"
    print(f"{new.parent.name}/{new.name}: added are {', '.join(column for column in after if column not in before)}")
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
