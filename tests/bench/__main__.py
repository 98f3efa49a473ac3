"""Run every bench and print its figures."""

import sys

from tests.bench import agreement, overhead

if __name__ == "__main__":
    wanted = sys.argv[1:]
    for bench in (overhead, agreement):
        if not wanted or bench.__name__.rpartition(".")[2] in wanted:
            print(f"\n{bench.__doc__.strip().splitlines()[0]}\n", flush=True)
            bench.main()
