"""What a slow function returned in an earlier process for the same input. Nothing is lost if the files are deleted.

All clones of a user share the files, which lie beside the images.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from typing import TypeVar

from plimsoll import paths

FOLDER = paths.image_store().parent / "remembered"
Value = TypeVar("Value")


def remembered(name: str, inputs: Iterable[bytes], make: Callable[[], Value]) -> Value:
    """Return what `make` returns, which can be written as JSON and follows from the `inputs` alone.

    If the last call with this name, in any process, had the same inputs, the value is read from a file.
    """
    path = FOLDER / f"{name}.json"
    key = hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in inputs)).hexdigest()
    with contextlib.suppress(OSError, ValueError):
        noted = json.loads(path.read_bytes())
        if isinstance(noted, dict) and noted.get("key") == key:
            return noted["value"]
    value = make()
    # Some users may not write here.
    with contextlib.suppress(OSError):
        FOLDER.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{name}.{os.getpid()}")
        temporary.write_text(json.dumps({"key": key, "value": value}))
        temporary.replace(path)
    return value
