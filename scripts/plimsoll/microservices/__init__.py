"""One file a microservice: a benchmark that runs over and over in a container; each lists what it offers in MICROSERVICES."""

from functools import cache

from plimsoll import registry
from plimsoll.errors import PlimsollError
from plimsoll.microservices.base import Microservice


@cache
def known() -> dict[str, Microservice]:
    """Every microservice by name."""
    import plimsoll.microservices as package

    return registry.members(package, "MICROSERVICES")


def find(name: str) -> Microservice:
    """The microservice of that name; PlimsollError if there is none."""
    if name not in known():
        raise PlimsollError(f"There is no microservice {name!r}; known are {', '.join(sorted(known()))}.")
    return known()[name]


def described(parameters: dict[str, dict]) -> dict[str, dict]:
    """Of microservices with their parameters, by name: `label`, `short`, `resources`, and what each `stands_for` (empty if it
    is itself)."""
    return {
        name: {
            "label": find(name).label_of(given),
            "short": find(name).short,
            "resources": find(name).resources,
            "stands_for": find(name).stands_for(given),
        }
        for name, given in parameters.items()
    }
