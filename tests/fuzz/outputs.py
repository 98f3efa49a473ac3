"""Readers of the outputs of benchmarks, instruments and daemons."""

import json
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from plimsoll import workloads
from plimsoll.designs.nesting import creation, gate, network
from plimsoll.designs.nesting.attempts import privileges_of
from plimsoll.designs.splitting import attempts, ranks
from plimsoll.designs.tuning import judge, readings
from plimsoll.errors import Unavailable
from plimsoll.instruments import events, mpi_profile
from plimsoll.runtimes import docker_nested
from plimsoll.runtimes.guests import agent
from plimsoll.services import iterations, limits
from plimsoll.services.hadoop import job_answers, rest
from plimsoll.services.hadoop.prices import Prices
from plimsoll.workloads import hpcc, program_output, sysbench
from plimsoll.workloads.base import InvalidOutput

from tests.conftest import DATA
from tests.fuzz.documents import OF_JSON
from tests.fuzz.mutations import OF_TEXT
from tests.fuzz.reader import Reader
from tests.fuzz.scratch import folder, put, take_away

OUTPUTS = DATA / "outputs"
LOGGED = (
    '{{"iteration": {number}, "begin": {begin:.6f}, "end": {end:.6f}, "exit_code": 0, "signal": 0, "late": false, "left": "", '
    '"user_seconds": 0.632232, "system_seconds": 0.003994, "read_bytes": {read}, "written_bytes": {written}}}\n'
)


def logged(*ends: float, begin: float = 501.8, read: int = 0, written: int = 0) -> bytes:
    """Return the log of a loop whose iterations took these times (s)."""
    lines = []
    for number, seconds in enumerate(ends, start=1):
        lines.append(LOGGED.format(number=number, begin=begin, end=begin + seconds, read=read, written=written))
        begin += seconds
    return "".join(lines).encode()


def sample(name: str) -> bytes:
    """Return a real output."""
    return (OUTPUTS / name).read_bytes()


def _microservice(
    service: str,
    file: str,
    parameters: dict,
    seconds: float,
    near: Mapping[str, float] | None = None,
    unborne: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    used: tuple[int, int] = (0, 0),
    name: str = "",
) -> Reader:
    """Return a reader of what a microservice prints, in an iteration of `seconds` that reads and writes the `used` bytes."""
    benchmark, log = workloads.find(service), logged(seconds, read=used[0], written=used[1])

    def read(data: bytes) -> dict:
        put("log.jsonl", log)
        put("1.out", data)
        take_away("3.out")
        (made,) = iterations.read(benchmark, parameters, 100.0, [folder()])
        if made["values"] is None:
            raise InvalidOutput(made["reason"])
        return made["values"]

    return Reader(
        name=name or service,
        samples=(sample(file),),
        read=read,
        refusals=(InvalidOutput,),
        values=lambda found: {key: value for key, value in found.items() if not metrics or key in metrics},
        near=near or {},
        unborne=frozenset(unborne),
        # An error or a residual may be 0.
        may_be_zero=True,
        share=4000,
    )


def _loop(data: bytes) -> list[dict]:
    put("log.jsonl", data)
    for number in range(1, 4):
        put(f"{number}.out", sample("hardinfo.txt"))
    # This is the iteration that was ended with the loop.
    put("4.out", b"")
    take_away("5.out")
    return iterations.read(workloads.find("cpu_blowfish"), {}, 100.0, [folder()])


def _iterations(found: list[dict]) -> dict[str, float]:
    counted = {f"{one['iteration']}": one for one in found if one["values"]}
    times = {f"{number}.seconds": one["end"] - one["begin"] for number, one in counted.items()}
    return times | {f"{number}.begin": one["begin"] for number, one in counted.items()}


def _hpcc(section: str) -> Reader:
    # The section's own line prints the result with three digits after the point, and a latency with at least one
    # significant digit.
    rounded = {name: 0.005 if "Latency" in name else 0.001 for name in hpcc.SECTIONS[section][1]}

    def read(data: bytes) -> dict:
        put("hpccoutf.txt", data)
        return workloads.find("hpcc").results(folder(), {"section": section})

    return Reader(
        name=f"hpcc {section}",
        samples=((DATA / f"hpcc_{section}.txt").read_bytes(),),
        read=read,
        refusals=(InvalidOutput,),
        values=lambda found: {name: found[name] for name in hpcc.SECTIONS[section][1]},
        near=dict.fromkeys(hpcc.SECTIONS[section][1], 0.01),
        rounded=rounded,
        share=3000,
    )


def _text(
    name: str,
    file: str,
    read: Callable[[str], object],
    refusals: tuple[type[Exception], ...] = (InvalidOutput,),
    **more,
) -> Reader:
    """Return a reader of a text in a file."""

    def read_file(data: bytes) -> object:
        return read(program_output.text_of(put("text", data)))

    return Reader(name=name, samples=(sample(file),), read=read_file, refusals=refusals, **more)


# An output has these numbers only once, and without a fixed number of digits. They may lose digits unnoticed.
SWITCHES = frozenset({"switches"})
OF_RANKS = frozenset({"context_switches", "network_bytes"})
# Bonnie's tests of bytes take seconds, however fast the disk is. The time then leaves room for any rate of blocks.
OF_BYTES = ("random_seeks", "byte_output", "byte_input", "block_output", "block_rewrite", "block_input")
CALLS = frozenset(f"mpi_calls/{name}" for name in ("all", *mpi_profile.GROUPS, *mpi_profile.PATTERNS, *mpi_profile.PATTERN_OF))
OF_BOTH = (*OF_TEXT, *OF_JSON)
BYTES = {"data_megabytes": 320, "memory_megabytes": 160}
COUNTED = {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}
NETWORK = {"seconds": 1, "burst": 6, "message_kilobytes": 64}
SYSBENCH = {"primes": 40000, "events": 400}


def _ranks(data: bytes) -> list[dict]:
    for number in range(2):
        put(f"ranks/{number}.json", data.replace(b'"rank": 0', b'"rank": %d' % number))
    found = ranks.read(folder(), 2)
    attempts.bits(found)
    return found


def _of_ranks(found: list[dict]) -> dict[str, float]:
    return {
        "benchmark_seconds": found[0]["benchmark_seconds"],
        "context_switches": sum(found[0]["context_switches"].values()),
        "network_bytes": attempts.transport(found)["network_bytes"] / 2,
    }


def _profile(data: bytes) -> dict[str, float]:
    for number in range(2):
        put(f"ranks/{number}.profile.json", data.replace(b'"rank": 0', b'"rank": %d' % number))
    return mpi_profile.summarise([mpi_profile.section(folder(), rank, "MPIFFT") for rank in range(2)])


def _moments(data: bytes) -> dict[str, float]:
    noted = docker_nested.moments(put("moments", data))
    return creation.parts(noted, 1795658619.0, 1.2)


def _status(data: bytes) -> dict:
    for name in ("p-c0-parent.status", "p-c0.status"):
        put(f"status/{name}", data if "parent" in name else sample("parent.status").replace(b"a82435fb", b"a80425fb"))
    put("status/p-c0.status", sample("parent.status").replace(b"a82435fb", b"a80425fb").replace(b"Seccomp:\t0", b"Seccomp:\t2"))
    cell = {"task": "cpu", "runtime": "docker-nested", "instances": "1", "children": "1", "server": "none"}
    return privileges_of(folder() / "status", cell)


def _begun(data: bytes) -> dict[str, float]:
    # It began five seconds ago, one second after the gate was opened.
    now = time.monotonic()
    moment = gate.begin_moment(put("0.begun", data), 1795658870.124084 - now + 5, now - 6)
    if moment is None:
        raise InvalidOutput("it did not note when it began")
    return {"moment": round(moment - now + 6, 3)}


SEEN = (
    b"Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\nhierarchical_memory_limit 201326592\nown_memory_limit 201326592\n"
    b"block_io_weight\n"
)
JOB = {
    **{"id": "job_1595000000000_0001", "state": "SUCCEEDED", "submitTime": 1795000001000, "startTime": 1795000003500},
    **{"finishTime": 1795000021000, "mapsCompleted": 2, "reducesCompleted": 1},
    **{f"{end}{side}Attempts": 0 for end in ("failed", "killed") for side in ("Map", "Reduce")},
    **{f"avg{name}Time": 1500 for name in ("Map", "Shuffle", "Merge", "Reduce")},
}
HISTORY = {
    "job": {"job": JOB},
    "counters": {
        "jobCounters": {
            "counterGroup": [
                {
                    "counterGroupName": "x",
                    "counter": [
                        {"name": name, "totalCounterValue": 160, "mapCounterValue": 100, "reduceCounterValue": 60}
                        for name in judge.COUNTERS.values()
                    ],
                }
            ]
        }
    },
    "conf": {"conf": {"path": "x", "property": [{"name": "mapreduce.task.io.sort.mb", "value": "100", "source": ["x"]}]}},
}
APP = {"state": "FINISHED", "finalStatus": "SUCCEEDED", "diagnostics": "", "progress": 100.0}
STRATEGIES = {"baseline": {}, "buffer": {"settings": {"mapreduce.task.io.sort.mb": 200}}}


def _history(data: bytes) -> dict[str, float]:
    """Return the metrics of a job from what a cluster's daemons reported of it, as one document."""
    answers = rest.document(data, "x")
    for part in HISTORY:
        if not isinstance(answers.get(part), dict):
            raise rest.NoAnswer(f"{part}: it is no dictionary")
    found = {
        "job": job_answers.job(answers["job"]),
        "counters": job_answers.counters(answers["counters"]),
        "conf": job_answers.configuration(answers["conf"]),
    }
    return readings.values(judge.job("small", found, Prices(Path("x"), 100, 60, 9000, "in", "out"), {}, STRATEGIES))


def _app(data: bytes) -> object:
    return job_answers.app(rest.document(data, "x"))


class _Stream:
    def __init__(self, data: bytes):
        self.data = data

    def readline(self, most: int) -> bytes:
        line = self.data[:most].partition(b"\n")[0]
        line = self.data[: len(line) + 1] if b"\n" in self.data[:most] else self.data[:most]
        self.data = self.data[len(line) :]
        return line

    def read(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken


class _Nowhere:
    def write(self, content: bytes) -> None:
        pass

    def flush(self) -> None:
        pass


def _answer() -> bytes:
    """Return what a guest answers: the archive of a node's folder, with a file of what a program has printed."""
    where = folder() / "node"
    where.mkdir(exist_ok=True)
    (where / "1.out").write_bytes(b"1.0\n")
    packed = agent.archive(where, "", ["true"])
    return b"0 %d\n" % len(packed) + packed


def _guest(data: bytes) -> None:
    code, content = agent.read_answer(_Stream(data))
    agent.unpack(content, folder() / "node", _Nowhere(), _Nowhere())
    assert {path.name for path in folder().parent.iterdir()} == {folder().name}
    return code


# Bytes that a benchmark of the disk has read and written.
DISK = (768 * 2**20, 2 * 768 * 2**20)
BONNIE = {"data_megabytes": 768, "memory_megabytes": 384}
KERNELS = ("copy", "scale", "add", "triad")
PI = ("computation_seconds", "total_seconds")
COMPLETE = (OSError, ValueError, tarfile.TarError)

READERS = (
    *map(_hpcc, hpcc.SECTIONS),
    _microservice("linpack", "linpack.txt", {"order": 3500}, 0.9, {"gflops": 0.01}, metrics=("gflops",)),
    _microservice("stream", "stream.txt", {"elements": 6000000, "times": 15, "threads": 1}, 0.6, metrics=KERNELS),
    _microservice("y_cruncher", "pi.txt", {"digits": 3000000}, 2.0, metrics=PI, name="pi"),
    _microservice("y_cruncher", "y_cruncher.txt", {"digits": 3000000, "sha256": "0" * 64}, 14.0, dict.fromkeys(PI, 0.05), PI),
    _microservice("bonnie", "bonnie.txt", BONNIE, 3.2, used=DISK, unborne=("random_seeks",)),
    _microservice("bonnie_with_bytes", "bonnie_with_bytes.txt", BYTES, 8.0, used=DISK, unborne=OF_BYTES),
    _microservice("netperf_tcp_stream", "netperf_stream.txt", {"seconds": 1}, 1.1),
    _microservice("netperf_tcp_rr", "netperf_rr.txt", {"seconds": 1}, 1.1),
    _microservice("iperf", "iperf.txt", {"seconds": 1}, 1.1, {"throughput": 0.15}),
    _microservice("cpu_blowfish", "hardinfo.txt", {}, 1.9, metrics=("result",), name="hardinfo"),
    Reader(
        "loop log",
        (logged(1.8, 1.9, 1.85),),
        _loop,
        (InvalidOutput,),
        values=_iterations,
        share=6000,
    ),
    _text(
        "sysbench",
        "sysbench.txt",
        lambda text: workloads.find("sysbench").results(text, SYSBENCH),
        values=dict,
        near={"seconds": 0.6},
        share=4000,
    ),
    _text("switches", "switches.txt", lambda text: {"switches": sysbench.switches(text)}, values=dict, unborne=SWITCHES),
    _text(
        "netperf throughput", "netperf_throughput.txt", lambda text: {"rate": network.throughput(text, NETWORK)}, values=dict
    ),
    _text("netperf latency", "netperf_latency.txt", lambda text: {"latency": network.latency(text, NETWORK)}, values=dict),
    _text(
        "perf",
        "perf.csv",
        lambda text: events.parse(text, COUNTED, 2),
        values=dict,
        unborne=frozenset(COUNTED),
        # Programs that did not migrate have 0 migrations.
        may_be_zero=True,
        share=4000,
    ),
    Reader("ranks", (sample("rank.json"),), _ranks, (InvalidOutput,), OF_BOTH, _of_ranks, unborne=OF_RANKS, may_be_zero=True),
    Reader(
        "mpi profile", (sample("profile.json"),), _profile, (InvalidOutput,), OF_BOTH, dict, may_be_zero=True, unborne=CALLS
    ),
    Reader(
        "parent's moments", (sample("parent.moments"),), _moments, (InvalidOutput, Unavailable), values=dict, may_be_zero=True
    ),
    Reader("parent's status", (sample("parent.status"),), _status, (InvalidOutput,)),
    Reader("gate", (sample("gate.begun"),), _begun, (InvalidOutput,), values=dict),
    Reader("limits seen", (SEEN,), lambda data: limits.parse(data.decode(errors="replace")), (Unavailable,)),
    Reader(
        "job history",
        (json.dumps(HISTORY, indent=1).encode(),),
        _history,
        (InvalidOutput, rest.NoAnswer),
        OF_BOTH,
        lambda found: {name: found[name] for name in ("time",)},
        unborne=frozenset({"time"}),
        share=4000,
    ),
    Reader("job state", (json.dumps({"app": APP}).encode(),), _app, (rest.NoAnswer,), OF_BOTH),
    Reader("guest's answer", (_answer(),), _guest, COMPLETE),
)
