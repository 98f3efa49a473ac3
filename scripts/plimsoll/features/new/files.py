"""The first version of a runtime, a workload or a chart, in a clone of the project. Files are written from templates."""

import re
from collections.abc import Mapping
from pathlib import Path

import jinja2

from plimsoll.errors import PlimsollError, quote

TEMPLATES = Path(__file__).with_name("templates")
NAME = re.compile(r"[a-z][a-z0-9-]*")


def checked(name: str) -> str:
    """Return a name for files, commands and paths. PlimsollError if it has other signs than these take."""
    if not NAME.fullmatch(name):
        raise PlimsollError(
            f"{quote(name)} cannot be the name. Take lower-case letters, digits and dashes, and begin with a "
            "letter. Nothing was written."
        )
    return name


def identifier(name: str) -> str:
    """Return a name as that of a module."""
    return name.replace("-", "_")


def class_name(name: str) -> str:
    """Return a name as that of a class."""
    return "".join(part.capitalize() for part in name.split("-"))


def write(files: Mapping[Path, str], **values: object) -> list[Path]:
    """Write files from templates, and return their paths. `files` has the template of each.

    PlimsollError if one of them is there already: nothing is written then.
    """
    if there := next((path for path in files if path.exists()), None):
        raise PlimsollError(f"{there} exists already. Nothing was written. Take another name, or move it.")
    loader = jinja2.FileSystemLoader(TEMPLATES)
    templates = jinja2.Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    # Names are written into YAML in quotes (tojson), in their own letters.
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(templates.get_template(template).render(**values))
    return list(files)


def runtime(name: str, root: Path, like: str, label: str) -> list[Path]:
    """Write a runtime that differs from another one in one thing, and its test. PlimsollError if that is not known."""
    from plimsoll import runtimes

    base = type(runtimes.find(like))
    return write(
        {
            root / f"scripts/plimsoll/runtimes/{identifier(checked(name))}.py": "runtime.py.j2",
            root / f"tests/unit/test_{identifier(name)}.py": "test_runtime.py.j2",
        },
        **{"name": name, "class": class_name(name), "label": label, "like": like},
        **{"base": base.__name__, "module": base.__module__},
    )


def workload(name: str, root: Path, program: str, unit: str, label: str) -> list[Path]:
    """Write a microservice whose program prints one number, and its test with outputs that must be refused."""
    return write(
        {
            root / f"scripts/plimsoll/workloads/{identifier(checked(name))}.py": "workload.py.j2",
            root / f"tests/unit/test_{identifier(name)}.py": "test_workload.py.j2",
        },
        **{"name": identifier(name), "class": class_name(name), "program": program, "unit": unit, "label": label},
    )


def chart(name: str, root: Path, design: str, says: str) -> list[Path]:
    """Write a chart of a design that draws one dot per run, and its test. PlimsollError if the design has no charts."""
    from plimsoll import designs
    from plimsoll.figures import sources

    folder = Path(designs.__path__[0], designs.find(design).name, "charts")
    known = sources.charts(folder)
    if not known:
        raise PlimsollError(f"The design {design} has no charts: its figures are drawn without a study's naming them.")
    return write(
        {
            root / f"scripts/plimsoll/designs/{design}/charts/{identifier(checked(name))}.py": "chart.py.j2",
            root / f"tests/unit/test_{identifier(name)}_chart.py": "test_chart.py.j2",
        },
        **{"name": name, "module": identifier(name), "class": class_name(name), "design": design, "says": says},
        notebook=next(iter(known.values())).notebook,
    )
