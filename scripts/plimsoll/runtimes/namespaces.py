"""Check of user namespaces, which users other than root may make where the kernel lets them."""

from plimsoll.errors import Unavailable
from plimsoll.runtimes.commands import output


def refuse_without_user_namespaces() -> None:
    """Raise Unavailable if no user namespace can be made here."""
    try:
        output(["unshare", "--user", "--map-root-user", "true"], 10)
    except Unavailable as reason:
        raise Unavailable(f"this kernel or its settings allow no user namespace ({reason})") from reason
