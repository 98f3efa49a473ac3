"""The long form: python -m tests.fuzz [--inputs 100000] [--seed 1] [--reader NAME [--number N]].

It prints how many inputs each reader was given, and each failure with the command that gives that input again. The exit
status is 1 if an input fails.
"""

import argparse
import resource
import sys

from tests.fuzz import campaign
from tests.fuzz.reader import inputs, problem

# Limit of memory (bytes). An input that needs more fails.
MEMORY = 6 * 2**30


def main() -> int:
    """Run the requested inputs, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--reader", choices=campaign.READERS)
    parser.add_argument("--number", type=int, help="of one input, which is shown")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    readers = [campaign.READERS[options.reader]] if options.reader else []
    if options.number is not None:
        return _show(readers[0], options.seed, options.number)
    given = failed = 0
    print(f"{'reader':<28} {'mutated':>8} {'made up':>8} {'seconds':>8} {'failures':>9}", flush=True)
    for told in campaign.all_of(options.seed, options.inputs, readers):
        given += told.mutated + told.invented
        failed += len(told.failures)
        counts = f"{told.mutated:>8} {told.invented:>8} {told.seconds:>8.1f} {len(told.failures):>9}"
        print(f"{told.reader.name:<28} {counts}", flush=True)
        for failure in told.failures:
            print(f"  {failure}", flush=True)
    print(f"{given} inputs, {failed} failures (seed {options.seed})")
    return 1 if failed else 0


def _show(reader, seed: str, number: int) -> int:
    given = inputs(reader, seed, number)
    sys.stdout.buffer.write(given.data)
    wrong = problem(given)
    print(f"\n---\n{campaign.shown(given, wrong or 'nothing is wrong with what comes of it')}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
