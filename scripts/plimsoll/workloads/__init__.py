"""Benchmarks: one file per measured program. Each file lists what it offers in WORKLOADS."""

from functools import cache
from typing import TypeVar

from plimsoll import registry
from plimsoll.workloads.base import Microservice, Workload


@cache
def known() -> dict[str, Workload]:
    """Return every workload by name."""
    import plimsoll.workloads as package

    return registry.members(package, "WORKLOADS")


Kind = TypeVar("Kind", bound=Workload)


def of_kind(kind: type[Kind]) -> dict[str, Kind]:
    """Return every workload of a kind (`Application`, `Microservice`) by name."""
    return {name: workload for name, workload in known().items() if isinstance(workload, kind)}


def find(name: str, kind: type[Kind] = Workload) -> Kind:
    """Return the workload of this name and kind. Raise PlimsollError if it is unknown."""
    return registry.find(of_kind(kind), kind.in_words, name)


def describe(parameters: dict[str, dict]) -> dict[str, dict]:
    """Describe microservices for a plan, given their parameters by name.

    Each has `label`, `letter` (the papers', with a star if it is a substitute), `resources`, and `stands_for`: the
    program that it is a substitute for, otherwise empty.
    """
    return {name: _described(find(name), given) for name, given in parameters.items()}


def _described(service: Microservice, given: dict) -> dict:
    stands_for = service.stands_for(given)
    return {
        "label": service.label_of(given),
        "letter": service.short + ("*" if stands_for else ""),
        "resources": service.resources,
        "stands_for": stands_for,
    }
