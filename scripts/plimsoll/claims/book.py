"""The claims of the papers: read, checked, and their references to each other and to the studies resolved."""

from plimsoll import designs, documents, paths
from plimsoll.errors import PlimsollError

CLAIMS = paths.PROJECT / "config/claims"


def names() -> list[str]:
    """Studies that there are claims of."""
    return sorted(path.stem for path in CLAIMS.glob("*.yaml"))


def load(study: str) -> list[dict]:
    """The claims of a study in the paper's order. Raises PlimsollError for a file that does not fit its schema, an id given
    twice or of another study, or a claim that names itself as the one it repeats."""
    source = f"config/claims/{study}.yaml"
    document = documents.load(CLAIMS / f"{study}.yaml", "claims")
    if document["study"] != study:
        raise PlimsollError(f"{source}: study: {document['study']!r} is not the file's name, {study!r}.")
    seen = set()
    for claim in document["claims"]:
        if not claim["id"].startswith(f"{study}-") or claim["id"] in seen:
            raise PlimsollError(f"{source}: the id {claim['id']} is given twice, or is of another study.")
        seen.add(claim["id"])
    return document["claims"]


def load_all() -> dict[str, list[dict]]:
    """The claims of every study. Raises PlimsollError if one repeats (`same_as`) a claim that is not there, or a repetition."""
    found = {study: load(study) for study in names()}
    first = {claim["id"]: claim for claims in found.values() for claim in claims}
    for claim in first.values():
        same = claim.get("same_as")
        if same and (same not in first or "same_as" in first[same]):
            source = f"config/claims/{claim['id'].split('-')[0]}.yaml"
            raise PlimsollError(f"{source}: {claim['id']}: same_as: {same} is no claim that stands for itself.")
    return found


def check_against(study: dict, claims: list[dict]) -> None:
    """Raise PlimsollError for a claim that names a level that its study, which is built, does not know."""
    design = designs.find(study["design"])
    for claim in claims:

        def refer(key: str, values: list[str], known: list[str], name: str = claim["id"]) -> None:
            if unknown := set(values) - set(known):
                raise PlimsollError(
                    f"config/claims/{study['id']}.yaml: {name}: {key}: {', '.join(sorted(unknown))} is not a level of the "
                    f"study ({', '.join(sorted(known))})."
                )

        design.check_claim(study, claim, refer)
