"""The first version of a runtime, a workload or a chart, in a clone of the project."""

import inspect
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.features.new.files import checked, class_name, identifier, write


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

    folder = Path(inspect.getfile(type(designs.find(design)))).with_name("charts")
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
