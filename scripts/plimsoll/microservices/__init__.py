"""One file a microservice: a benchmark that runs over and over in a container; each lists what it offers in MICROSERVICES."""

from functools import cache

from plimsoll import registry
from plimsoll.microservices.base import Microservice


@cache
def known() -> dict[str, Microservice]:
    """Every microservice by name."""
    import plimsoll.microservices as package

    return registry.members(package, "MICROSERVICES")


def find(name: str) -> Microservice:
    """The microservice of that name; PlimsollError if there is none."""
    return registry.find(known(), "microservice", name)


def described(parameters: dict[str, dict]) -> dict[str, dict]:
    """Of microservices with their parameters, by name: `label`, `letter` (the papers', with a star if another program stands in
    for it), `resources`, and what each `stands_for` (empty if it is itself)."""
    return {name: _described(find(name), given) for name, given in parameters.items()}


def _described(service: Microservice, given: dict) -> dict:
    stands_for = service.stands_for(given)
    return {
        "label": service.label_of(given),
        "letter": service.short + ("*" if stands_for else ""),
        "resources": service.resources,
        "stands_for": stands_for,
    }
