"""Answers of a cluster's daemons about a job, checked: an answer that cannot be right raises InvalidOutput."""

import re
from typing import Any, NotRequired, TypedDict

from plimsoll import documents
from plimsoll.workloads.base import InvalidOutput

# The line that the client prints when it has submitted a job. Its identifier becomes part of addresses.
SUBMITTED = re.compile(r"job (job_[0-9]+_[0-9]+)\s*")


class App(TypedDict):
    """The state of an application."""

    state: str
    finalStatus: str
    diagnostics: NotRequired[str]


class Job(TypedDict):
    """A job that has ended. Times and durations are in milliseconds."""

    id: str
    submitTime: int
    startTime: int
    finishTime: int
    mapsCompleted: int
    reducesCompleted: int
    failedMapAttempts: int
    failedReduceAttempts: int
    killedMapAttempts: int
    killedReduceAttempts: int
    avgMapTime: int
    avgShuffleTime: int
    avgMergeTime: int
    avgReduceTime: int


class Counter(TypedDict):
    """A counter of a job."""

    name: str
    mapCounterValue: int
    reduceCounterValue: int


class Property(TypedDict):
    """A setting in a job's configuration."""

    name: str
    value: str | bool | int | float  # Hadoop's JSON has no quotes around a text that looks like one of these types


def job(answer: dict) -> Job:
    """Return what the history server says about a job.

    Raise InvalidOutput if it has another form, or times that cannot be right.
    """
    found = _part(answer, Job, "job")
    order = [found["submitTime"], found["startTime"], found["finishTime"]]
    if order != sorted(order) or order[0] <= 0 or min(_numbers(found)) < 0:
        raise InvalidOutput(f"the history server tells times of the job that cannot be: {order}")
    return found


def _numbers(found: dict) -> list[int]:
    return [found[name] for name, kind in Job.__annotations__.items() if kind is int]


def counters(answer: dict) -> dict[str, dict[str, int]]:
    """Return what map tasks and reduce tasks counted, by the counter's name.

    Raise InvalidOutput if the answer has another form, or if a counter is negative or occurs twice with different
    values.
    """
    counted = {}
    for group in _listed(answer, "jobCounters", "counterGroup"):
        for one in _listed(group, "counter"):
            counter = _part({"counter": one}, Counter, "counter")
            sides = {"map": counter["mapCounterValue"], "reduce": counter["reduceCounterValue"]}
            if min(sides.values()) < 0 or counted.setdefault(counter["name"], sides) != sides:
                raise InvalidOutput(f"the history server tells {counter['name']} twice, or that it is below zero")
    return counted


def configuration(answer: dict) -> dict[str, str | bool | int | float]:
    """Return the values of a job's configuration, by key. Raise InvalidOutput if the answer has another form."""
    properties = [_part({"property": one}, Property, "property") for one in _listed(answer, "conf", "property")]
    return {one["name"]: one["value"] for one in properties}


def app(answer: dict) -> App | None:
    """Return the state of an application. Return None if the daemon's answer has another form: a later one may be right."""
    try:
        return _part(answer, App, "app")
    except InvalidOutput:
        return None


def _listed(answer: object, *keys: str) -> list:
    """Return the list below these keys. Hadoop's JSON gives a single element without a list around it."""
    for key in keys:
        if not isinstance(answer, dict) or key not in answer:
            raise InvalidOutput(f"the history server's answer has no {key}")
        answer = answer[key]
    return answer if isinstance(answer, list) else [answer]


def _part(answer: dict, kind: Any, key: str) -> Any:
    try:
        documents.fit(answer.get(key), kind)
    except documents.Misfit as misfit:
        raise InvalidOutput(f"a daemon's answer about a job is not what it should be: {misfit}") from misfit
    return answer[key]
