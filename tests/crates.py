"""Check RO-Crates against their profiles with the profiles' own validator, without a network.

The validator fetches the context of RO-Crate 1.1. Its offline mode is a cache that the network has to fill first. The
library that writes crates contains the context of a later version as a file, in which a few terms have other names.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
import requests

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "workflow-run-crate"
# Names of these terms in RO-Crate 1.1.
OF_1_1 = {
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
    "output": "https://bioschemas.org/ComputationalWorkflow#output",
}


@contextmanager
def _without_network() -> Iterator[list[str]]:
    """Answer requests for the context from its file, and refuse all others. Yield the list of the requested addresses."""
    asked: list[str] = []
    context = json.loads(files("rocrate").joinpath("data/ro-crate.jsonld").read_text())
    context["@context"].update(OF_1_1)

    def send(adapter: object, request: requests.PreparedRequest, **options: object) -> requests.Response:
        asked.append(request.url)
        if request.url != CONTEXT:
            raise requests.ConnectionError(f"There is no network for {request.url}.", request=request)
        answer = requests.Response()
        answer.status_code, answer.url, answer.request = 200, request.url, request
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = json.dumps(context).encode()
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests.adapters.HTTPAdapter, "send", send)
        yield asked


def issues(crate: Path) -> list[str]:
    """Return what a crate lacks of the requirements of its profile, a Workflow Run Crate, and of the profiles that this
    extends."""
    from rocrate_validator import models, services

    with _without_network() as asked:
        settings = services.ValidationSettings(
            rocrate_uri=str(crate),
            profile_identifier=PROFILE,
            requirement_severity=models.Severity.REQUIRED,
            no_cache=True,
        )
        result = services.validate(settings)
    assert set(asked) == {CONTEXT}
    return [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]
