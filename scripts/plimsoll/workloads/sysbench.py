"""Sysbench's processor test: it looks for primes."""

from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput, Workload

# Approximate duration of an event (s), for primes up to 40,000.
EVENT_SECONDS = 0.003
# Form of all that it prints, with named groups for the numbers that are used.
PRINTED = (
    f"sysbench {program_output.REST}\n"
    "\n"
    "Running the test with following options:\n"
    "Number of threads: 1\n"
    "Initializing random number generator from current time\n"
    "\n"
    "\n"
    f"Prime numbers limit: (?P<primes>{program_output.INTEGER})\n"
    "\n"
    "Initializing worker threads...\n"
    "\n"
    "Threads started!\n"
    "\n"
    "CPU speed:\n"
    f" +events per second: +(?P<rate>{program_output.fixed_point(2)})\n"
    "\n"
    "General statistics:\n"
    f" +total time: +(?P<seconds>{program_output.fixed_point(4)})s\n"
    f" +total number of events: +(?P<events>{program_output.INTEGER})\n"
    "\n"
    "Latency [(]ms[)]:\n"
    + "".join(f" +{name}: +{program_output.fixed_point(2)}\n" for name in ("min", "avg", "max", "95th percentile"))
    + f" +sum: +(?P<milliseconds>{program_output.fixed_point(2)})\n"
    "\n"
    "Threads fairness:\n"
    f" +events [(]avg/stddev[)]: +{program_output.fixed_point(4)}/{program_output.fixed_point(2)}\n"
    f" +execution time [(]avg/stddev[)]: +{program_output.fixed_point(4)}/{program_output.fixed_point(2)}\n"
    "\n"
)
# The rate and the sum of the events' times must agree with the total time, within this many seconds or this share of
# it. The program may have to wait for a processor in between, so the tolerance is wide.
NEARLY, SHARE = 0.3, 0.5
PROGRAM, TIMER = "/usr/bin/sysbench", "/usr/bin/time"
SWITCHES = program_output.named_numbers(voluntary=program_output.INTEGER, involuntary=program_output.INTEGER)


class Sysbench(Workload):
    """Search for all primes up to a number, on one thread. One search is an event; a run has a given number of events."""

    in_words = "program"
    name = "sysbench"
    software = "sysbench"

    def command(self, parameters: dict) -> list[str]:
        """Return the program's path in the image, and its arguments.

        It gets a number of events and no time limit, so that all runs do the same.
        """
        asked = {"cpu-max-prime": parameters["primes"], "events": parameters["events"], "time": 0, "threads": 1}
        return [PROGRAM, "cpu", *(f"--{name}={value}" for name, value in asked.items()), "run"]

    def results(self, text: str, parameters: dict) -> dict[str, float]:
        """Return the `seconds` that all events took. Raise InvalidOutput if it ran another number of events than requested."""
        found = program_output.numbers(PRINTED, text)
        if found["events"] != parameters["events"] or found["primes"] != parameters["primes"]:
            raise InvalidOutput(
                f"it looked {found['events']:.0f} times for primes up to {found['primes']:.0f}, and not {parameters['events']} "
                f"times up to {parameters['primes']}"
            )
        # A single event may wait longer for a processor than it runs.
        if found["events"] > 1 and found["rate"]:
            for seconds in (found["events"] / found["rate"], found["milliseconds"] / 1000):
                program_output.agree("total time", found["seconds"], seconds, SHARE, NEARLY)
        return {"seconds": found["seconds"]}

    def expected_seconds(self, parameters: dict, instances: int, cores: int) -> float:
        """Return about how long these instances take if they run at once."""
        return EVENT_SECONDS * parameters["events"] * max(1.0, instances / cores)


def switches_counted(file: str) -> list[str]:
    """Return the words to put before a program so that its context switches are written to a file when it ends."""
    return [TIMER, "--output", file, "--format", "voluntary=%w\ninvoluntary=%c"]


def switches(text: str) -> float:
    """Return how often a program lost its processor, voluntarily or not. Raise InvalidOutput if the text does not say."""
    return sum(program_output.numbers(SWITCHES, text).values())


WORKLOADS = (Sysbench(),)
