"""What nodes may do, as docs/privileges.yaml has it: read for tests, and as the table of docs/security.md."""

import yaml

from tests.conftest import PROJECT

KNOWN = yaml.safe_load((PROJECT / "docs/privileges.yaml").read_text())
ENVIRONMENTS = KNOWN["environments"]
HEADINGS = (
    "environment",
    "capabilities",
    "seccomp",
    "AppArmor",
    "gains by set-user-ID",
    "devices",
    "namespaces of the host",
    "of the host, to write",
    "why",
)
USUAL = {"docker": "Docker's", "podman": "Podman's", "starter": "at most its starter's"}


def row(name: str) -> str:
    """An environment's line of the table."""
    given = ENVIRONMENTS[name]
    of, added = given["capabilities"]["of"], given["capabilities"].get("added", [])
    held = " and ".join([USUAL.get(of, of), *(f"`{one}`" for one in added)])
    mounts = ", ".join(one if one == "everything" else f"`{one}`" for one in given["mounts"])
    shares = ", ".join(given["shares"])
    kept = [given["seccomp"], given["apparmor"], "yes" if given["gains"] else "no", given["devices"]]
    words = [f"`{name}`", held, *kept, shares or "none", mounts or "nothing", given.get("why", "")]
    return f"| {' | '.join(words)} |"


def table() -> str:
    """The table of docs/security.md."""
    return "\n".join([f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}", *map(row, ENVIRONMENTS)])


def allowed(name: str, starter: set[str]) -> set[str]:
    """The capabilities that a node of an environment may have, where whoever starts it has those of `starter`."""
    given = ENVIRONMENTS[name]["capabilities"]
    return {*KNOWN["of"].get(given["of"], starter), *given.get("added", [])}
