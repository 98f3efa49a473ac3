"""Every design against the base class of its parts, and a new design with no more than what is required."""

import inspect
import subprocess
import sys
import time
from itertools import product
from types import SimpleNamespace

import pandas as pd
import pytest
from plimsoll import design, designs
from plimsoll.analysis import collect, observation
from plimsoll.claims import evaluate
from plimsoll.config import studies
from plimsoll.config.studies import Study
from plimsoll.figures import render
from plimsoll.host import sizing
from plimsoll.measuring import record, status
from plimsoll.planning import availability, planner

from tests.conftest import host_of, recorded

PARTS = {name: part.base for name, part in vars(design.Design).items() if isinstance(part, design.Part)}
KNOWN = designs.known()
OF_EACH = pytest.mark.parametrize(("of", "name"), list(product(sorted(KNOWN), PARTS)))


def shared(part: object) -> type:
    """Return the class outside the designs that a part is derived from: the part's base class, or one that shared code has."""
    return next(kind for kind in type(part).__mro__ if not kind.__module__.startswith(f"{designs.__name__}."))


def public(kind: type) -> dict[str, object]:
    """Return the members of a class that others may use, by name. Annotations without a value have None."""
    named = {name: None for base in kind.__mro__[:-1] for name in inspect.get_annotations(base)}
    named |= {name: getattr(kind, name) for base in kind.__mro__[:-1] for name in vars(base)}
    return {name: member for name, member in named.items() if not name.startswith("_")}


@OF_EACH
def test_every_member_of_a_design_is_one_of_the_base_class(of, name):
    part = getattr(KNOWN[of], name)
    assert set(public(type(part))) == set(public(shared(part))) >= set(public(PARTS[name]))


@OF_EACH
def test_signatures_are_those_of_the_base_class(of, name):
    part = getattr(KNOWN[of], name)
    for member, expected in public(shared(part)).items():
        if inspect.isfunction(expected):
            wanted = list(inspect.signature(expected).parameters.values())[1:]
            there = inspect.signature(getattr(part, member)).parameters.values()
            assert [(one.name, one.kind, one.default) for one in there] == [(w.name, w.kind, w.default) for w in wanted], member


@OF_EACH
def test_what_is_required_is_there(of, name):
    """Abstract methods are refused when a part is made. This is for members without a value."""
    part = getattr(KNOWN[of], name)
    assert all(hasattr(part, member) for member in public(PARTS[name]))
    if name == "attempts":
        own = [getattr(type(part), member) is not getattr(design.Attempts, member) for member in ("attempt", "launch")]
        assert sum(own) == 1


def content(member) -> object:
    """Return what a member is: the value, or what a function does whatever its docstring says."""
    code = getattr(member, "__code__", None)
    return (code.co_code, code.co_consts[1:], code.co_names) if code else member


@OF_EACH
def test_no_member_says_again_what_the_base_class_says(of, name):
    own, base = type(getattr(KNOWN[of], name)), vars(PARTS[name])
    again = [key for key, value in vars(own).items() if key in base and key[0] != "_" and content(value) == content(base[key])]
    # A design that measures nothing may leave parts out.
    left_out = own is PARTS[name] and not KNOWN[of].MEASURES
    assert left_out or (own is not PARTS[name] and again == [])


def test_a_design_is_named_like_its_folder():
    assert {name: one.name for name, one in KNOWN.items()} == {name: name for name in KNOWN}
    assert all(designs.find(name) is one for name, one in KNOWN.items())


def folder_of(tmp_path, monkeypatch, name: str, **modules: str) -> design.Design:
    """Return the design of a folder with these modules, by name and source."""
    (tmp_path / name).mkdir()
    head = "from plimsoll.design import Design\nDESIGN = Design(__name__)\n"
    for module, source in {"__init__": head, **modules}.items():
        (tmp_path / name / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(name).DESIGN


def test_a_part_is_imported_when_it_is_used_and_made_once(tmp_path, monkeypatch):
    source = "from plimsoll import design\nprint('imported')\nclass Figures(design.Figures):\n    pass\n"
    made = folder_of(tmp_path, monkeypatch, "design_of_one_part", figures=source)
    assert "figures" not in vars(made)
    assert made.figures is made.figures and type(made.figures).__module__ == "design_of_one_part.figures"
    # A part without a module is the base class, if nothing in that is required.
    assert type(made.contrasts) is design.Contrasts
    with pytest.raises(TypeError, match="abstract"):
        _ = made.cells


def test_a_module_that_a_part_needs_and_that_is_gone_is_not_hidden(tmp_path, monkeypatch):
    made = folder_of(tmp_path, monkeypatch, "design_of_a_broken_part", figures="import no_such_module\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = made.figures


# A new design: how long a runtime sleeps if it should sleep for so many milliseconds.
class Factors(design.Factors):
    FACTORS = ("runtime", "asked")
    PATTERN = "[a-z-]+/[0-9]+"


class Cells(design.Cells):
    def repetitions(self, profile):
        return profile["repetitions"]

    def wanted(self, study, profile, host, config, unavailable):
        cells = []
        for name, experiment in study["experiments"].items():
            for runtime, asked in product(experiment["runtime"], experiment["asked"]):
                cell = {"path": f"{runtime}/{asked}", "runtime": runtime, "asked": str(asked), "experiments": []}
                cell |= {"host": sizing.of_host(host)["host"], "parameters": {"milliseconds": asked}, "useful": True}
                cell |= {"expected_seconds": asked / 1000, "reason": unavailable.get(runtime)}
                cell["fingerprint"] = record.identify(self.measured(cell))
                cells.append((name, cell))
        return cells

    def measured(self, cell):
        return {key: cell[key] for key in ("path", "host", "parameters")}


class Attempts(design.Attempts):
    def attempt(self, attempt):
        begun = time.monotonic()
        time.sleep(attempt.cell["parameters"]["milliseconds"] / 1000)
        return {"status": status.VALID, "reason": None, "bits": {}, "values": {"slept": time.monotonic() - begun}}


class Readings(design.Readings):
    def observations(self, study, row, record):
        return [observation.row(row, name, one, record["values"][one["source"]]) for name, one in study["metrics"].items()]


class Sleeping(design.Design):
    factors, cells, attempts, readings = Factors(), Cells(), Attempts(), Readings()


# The end of the new design: what a study of it looks like.
STUDY = {
    "id": "sleepers",
    "image": "hpcc",
    "alpha": 0.05,
    "experiments": {"naps": {"runtime": ["bare", "docker"], "asked": [1, 5]}},
    "metrics": {"slept": {"label": "Time asleep", "unit": "ms", "better": "lower", "source": "slept", "factor": 1000}},
    "figures": {"fig1": {"experiment": "naps", "metrics": ["slept"], "chart": "naps"}},
}


@pytest.fixture
def sleepers() -> Study:
    return Study(STUDY, Sleeping(__name__))


@pytest.fixture
def plan(sleepers, config):
    return planner.make(
        sleepers, {**studies.profile("quick"), "repetitions": 2}, host_of(1, 2), config, {"docker": "it is not here"}
    )


def test_a_new_design_is_planned_with_the_required_members_alone(sleepers, plan):
    assert {path: cell["repetitions"] for path, cell in plan["cells"].items()} == {
        **dict.fromkeys(("bare/1", "bare/5"), 2),
        **dict.fromkeys(("docker/1", "docker/5"), 0),
    }
    assert len(plan["order"]) == 4 and "4 runs" in planner.summary(plan)
    assert [cell["path"] for cell in availability.shown_cells(plan, sleepers, "fig1")] == list(plan["cells"])
    assert availability.figure(plan, sleepers, "fig1") is None and availability.metrics(plan, sleepers, ["slept"]) == {}


def test_a_new_design_is_measured_collected_and_judged(tmp_path, sleepers, plan):
    part = sleepers.design
    for path, repetition in plan["order"]:
        cell = plan["cells"][path]
        made = part.attempts.launch(SimpleNamespace(cell=cell))[path]
        told = recorded(study="sleepers", cell=cell, repetition=repetition, fingerprint=cell["fingerprint"], **made)
        record.write(record.path_of(tmp_path / "runs", path, repetition), told)
    observations, runs = collect.collect(tmp_path / "runs", plan, sleepers)
    assert list(runs["status"]) == [status.VALID] * 4
    slept = observations.groupby("asked")["value"].min()
    assert slept["1"] >= 1 and slept["5"] >= 5 and set(observations["unit"]) == {"ms"}
    assert part.readings.tests(sleepers, part.readings.measuring(observations)).empty
    assert evaluate.contrast_finders(plan, sleepers)[""]({"metrics": ["slept"]}) == []
    data = render.gather(sleepers, plan, "fig1", tmp_path, None)
    assert data.reason is None and data.missing == ["docker: it is not here"] and isinstance(data.observations, pd.DataFrame)
    assert part.report.cell_label("bare/5", {}) == "bare, 5" and part.attempts.others(cell) == []


def test_a_new_design_takes_sixty_lines():
    text = inspect.getsource(inspect.getmodule(folder_of))
    own = text[text.index("# A new design:") : text.index("# The end of the new design")]
    assert sum(bool(line.strip()) for line in own.splitlines()) <= 60


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_run_loads_no_part_that_it_does_not_need(name):
    """A run needs the parts that make it, and no code that plans, judges, draws or writes."""
    others = ("check", "readings", "contrasts", "tables", "figures", "report")
    script = (
        f"import sys, plimsoll.measure; from plimsoll import designs; one = designs.find({name!r}); one.factors.CELL; "
        f"one.attempts; print([m for m in {others} if f'plimsoll.designs.{name}.{{m}}' in sys.modules], "
        f"sorted(m for m in sys.modules if m.startswith('plimsoll.designs.') and not m.startswith('plimsoll.designs.{name}')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"
