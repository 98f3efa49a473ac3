"""The runs of `same` and `known` that come with the project, judged again: measures nothing."""

from tests.bench.calibration import known, read, same


def main() -> None:
    """Judge both again, and write their tables."""
    print("the same cell under two labels")
    same.judge(read("same_runs"))
    print("\na known effect")
    known.judge(read("known_runs"))
