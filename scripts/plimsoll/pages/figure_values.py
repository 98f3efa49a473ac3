"""Show the values of a figure on its picture (plimsoll.figures.drawn_values): where each stands, and its text."""

import base64
import json
from pathlib import Path

from plimsoll.figures import drawn_values
from plimsoll.pages import formats


def shown(picture: Path) -> dict:
    """Return a picture for a page: its `image` in base64, and the `spots` of its values."""
    return {"image": base64.b64encode(picture.read_bytes()).decode(), "spots": of_picture(picture)}


def of_picture(picture: Path) -> list[dict]:
    """Return each value of a picture: its `place` in CSS, its `text`, and whether it is in the `right` half.

    Return an empty list for pictures of earlier versions, which have no values beside them.
    """
    path = picture.with_suffix(drawn_values.ENDING)
    return [_spot(one) for one in json.loads(path.read_text())] if path.is_file() else []


def _spot(one: dict) -> dict:
    sides = {"left": one["x"], "top": one["y"], "width": one["width"], "height": one["height"]}
    place = ";".join(f"{side}:{100 * share:.4g}%" for side, share in sides.items())
    return {"place": place, "text": text(one), "right": one["x"] > 0.5}


def text(one: dict) -> str:
    """Return a value as text: Docker, 2 containers: 12.3 GB/s [11.9, 12.7]."""
    value = f"{formats.significant(one['value'])} {formats.unit(one['unit'])}".strip()
    ends = [formats.significant(one[end]) for end in ("low", "high")]
    return f"{', '.join(one['words'])}: {value}{' [{}, {}]'.format(*ends) if all(ends) else ''}"
