"""One file per program that is measured; each lists what it offers in WORKLOADS."""

from functools import cache
from typing import TypeVar

from plimsoll import registry
from plimsoll.workloads.base import Microservice, Workload


@cache
def known() -> dict[str, Workload]:
    """Every workload by name."""
    import plimsoll.workloads as package

    return registry.members(package, "WORKLOADS")


Kind = TypeVar("Kind", bound=Workload)


def of_kind(kind: type[Kind]) -> dict[str, Kind]:
    """Every workload of a kind (`Application`, `Microservice`) by name."""
    return {name: workload for name, workload in known().items() if isinstance(workload, kind)}


def find(name: str, kind: type[Kind] = Workload) -> Kind:
    """The workload of that name and kind; PlimsollError if there is none."""
    return registry.find(of_kind(kind), kind.in_words, name)


def described(parameters: dict[str, dict]) -> dict[str, dict]:
    """Of microservices with their parameters, by name: `label`, `letter` (the papers', with a star if another program stands in
    for it), `resources`, and the program that each `stands_for` (empty if it is no substitute)."""
    return {name: _described(find(name), given) for name, given in parameters.items()}


def _described(service: Microservice, given: dict) -> dict:
    stands_for = service.stands_for(given)
    return {
        "label": service.label_of(given),
        "letter": service.short + ("*" if stands_for else ""),
        "resources": service.resources,
        "stands_for": stands_for,
    }
