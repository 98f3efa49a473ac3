"""Sysbench's test of the processor: it looks for primes."""

import re

from plimsoll.workloads.base import InvalidOutput, Workload, numbers

# One event takes about as long as this (s), for primes up to 40,000.
EVENT_SECONDS = 0.003
TOTAL = re.compile(r"^\s*total (time|number of events):\s*([0-9.]+)s?$", re.MULTILINE)
PROGRAM, TIMER = "/usr/bin/sysbench", "/usr/bin/time"


class Sysbench(Workload):
    """Primes up to a number, looked for as often as is asked: each time is an event. One thread."""

    in_words = "program"
    name = "sysbench"
    software = "sysbench"

    def command(self, parameters: dict) -> list[str]:
        """The program in the image, and its arguments. It is given a number of events and no time, so that all do the same."""
        asked = {"cpu-max-prime": parameters["primes"], "events": parameters["events"], "time": 0, "threads": 1}
        return [PROGRAM, "cpu", *(f"--{name}={value}" for name, value in asked.items()), "run"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """`seconds` that all events took; InvalidOutput unless it ran as many as were asked for."""
        printed = {name: float(value) for name, value in TOTAL.findall(text)}
        if set(printed) != {"time", "number of events"}:
            raise InvalidOutput("it printed no total time and number of events")
        if printed["number of events"] != parameters["events"]:
            raise InvalidOutput(f"it ran {printed['number of events']:.0f} events, not {parameters['events']}")
        return {"seconds": printed["time"]}

    def expected_seconds(self, parameters: dict, instances: int, cores: int) -> float:
        """About how long instances take that run at once."""
        return EVENT_SECONDS * parameters["events"] * max(1.0, instances / cores)


def switches_counted(file: str) -> list[str]:
    """The words before a program that write its context switches to a file when it ends."""
    return [TIMER, "--output", file, "--format", "voluntary=%w\ninvoluntary=%c"]


def switches(text: str) -> float:
    """How often a program lost its processor, of its own accord or not; InvalidOutput if the text does not say."""
    return sum(numbers(text, "voluntary", "involuntary").values())


WORKLOADS = (Sysbench(),)
