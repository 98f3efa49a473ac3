"""The documentation is true: its commands can be typed, its links lead somewhere, its code runs, and the site is built.

Blocks of Python are run, and make is run dry. tests/dry/test_documented_commands.py types the other commands.
"""

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import typer
import yaml
from plimsoll import __main__ as stages
from plimsoll import cli, verdicts
from plimsoll.claims import book, findings
from plimsoll.claims import verdicts as claim_verdicts
from plimsoll.cli import groups, names, show
from plimsoll.config import configuration, studies, yaml_files
from plimsoll.design import Design
from plimsoll.errors import PlimsollError
from plimsoll.figures import chart
from plimsoll.pages import formats
from plimsoll.workloads import base

from tests import markdown
from tests.conftest import PROJECT, REFERENCE
from tests.unit import test_charts, test_words

# What stands for a word of the user's: STUDY, [FOLDER, A, ...].
PLACEHOLDER = re.compile(r"[A-Z_\[\].<>=]+(=[A-Z]+)?|.*\.\.\..*|.*[\[\]<>].*")
WRITTEN = ("README.md", "docs/tutorials", "docs/how-to")
# Words of a page, with its code and tables.
README = 800
HOW_TO = range(300, 701)
# Words of the sentences of all pages together, without code, tables, reports and the changelog.
WHOLE = 17_000
# A paragraph with more numbers than this should be a table. Names of figures and sections, code and links are not counted.
# Words of the sentences of one page.
OF_PAGE = {"docs/explanation/verdicts.md": 1_800, "docs/explanation/architecture.md": 1_200}
NUMBERS = 3
NOT_COUNTED = re.compile(
    r"`[^`]*`|\[[^]]*\]\([^)]*\)|\b(?:[Ff]ig(?:ure)?s?|[Ss]ections?|[Tt]ables?)\.? [\d.]+(?:(?:,| to| and) [\d.]+)*"
)
NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*(?!\w)")

# What a page or a style loads: the address is in one of the groups.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|embed|audio|video|object)\b[^>]*?\b(?:src|data)=[\"']([^\"']+)"
    r"|<link\b[^>]*?\bhref=[\"']([^\"']+)|\burl\(\s*[\"']?([^\"')\s]+)|@import\s+[\"']([^\"']+)"
)

COMMANDS = [command for page in markdown.pages() for command in markdown.commands(page)]


def of(*programs: str) -> list:
    """Return the commands of the documentation with one of these programs, each once, as parameters of a test."""
    found = {command.words: command for command in COMMANDS if command.words[0] in programs}
    return [pytest.param(command, id=str(command)) for command in found.values()]


def written() -> list[Path]:
    """Return the pages that people read whole."""
    return [page for page in markdown.pages() if str(page.relative_to(PROJECT)).startswith(WRITTEN)]


def known(words: Iterable[str], there: Iterable[str]) -> None:
    """Fail if a word is neither one that is there nor a placeholder."""
    missing = [word for word in words if word not in set(there) and not PLACEHOLDER.fullmatch(word)]
    assert not missing, f"{', '.join(missing)}: not there"


# Commands


def parsed(words: Iterable[str], inline: bool) -> tuple[str, dict]:
    """Return the name and the parameters of a command of `plimsoll`. Nothing of it is done."""
    group = typer.main.get_command(cli.app)
    with group.make_context("plimsoll", list(words)) as context:
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        complete = rest or not inline
        return name, command.make_context(name, rest, parent=context, resilient_parsing=not complete).params


def tried(page: Path) -> list[str]:
    """Return the studies that `plimsoll try --name` has written on a page before."""
    found = [
        command.words for command in COMMANDS if command.page == page and "try" in command.words and "--name" in command.words
    ]
    return [f"my-{words[words.index('--name') + 1]}.yaml" for words in found]


@pytest.mark.parametrize("command", of("./plimsoll", "plimsoll"))
def test_a_command_of_plimsoll_can_be_typed(command):
    words = command.words[1:]
    # The option is typer's own. Parsing it would install completion for the shell of who runs the tests.
    if not words or PLACEHOLDER.fullmatch(words[0]) or words == ("--install-completion",):
        return
    try:
        name, given = parsed(words, command.inline)
    except typer.Exit:  # --help and --version
        return
    known(given.get("studies") or (), [*names.studies(), *tried(command.page)])
    known(given.get("runtimes") or (), names.runtimes())
    known(filter(None, [given.get("profile")]), names.profiles())
    settings = [word for word in given.get("config") or () if not PLACEHOLDER.fullmatch(word)]
    selected = studies.select(configuration.read(settings)["studies"])
    for figure in given.get("figure") or ():
        asked = [study for study in given["studies"] or selected if not PLACEHOLDER.fullmatch(study)]
        assert all(show.find(figure, [study]).study == study for study in asked)
    if name == "show" and given.get("thing") and not PLACEHOLDER.fullmatch(given["thing"]):
        show.find(given["thing"], selected)
    if inner := given.get("command"):
        assert inner[0].endswith("plimsoll") and parsed(inner[1:], inline=False)


def test_commands_stand_in_blocks_of_a_shell():
    """No other block is typed by a test."""
    lines = [
        line for page in markdown.pages() for one in markdown.blocks(page) if not one.language for line in one.text.splitlines()
    ]
    assert lines and [line for line in lines if line.split(" ")[0] in markdown.PROGRAMS] == []


def test_every_command_of_plimsoll_is_on_its_page():
    listed = markdown.inline(PROJECT / "docs/reference/command.md")
    assert {text.split()[1] for text in listed if text.startswith("plimsoll ")} >= set(groups.names())


@pytest.mark.parametrize("command", of("make"))
def test_a_command_of_make_has_a_target_and_variables(command):
    words = [word for word in command.words[1:] if not PLACEHOLDER.fullmatch(word)]
    done = subprocess.run(["make", "--dry-run", *words], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def text_of(path: str) -> str:
    """Return the text of a file of the project."""
    return (PROJECT / path).read_text()


@functools.cache
def rules() -> set[str]:
    """Return the names of the workflow's rules."""
    files = [PROJECT / "Snakefile", *(PROJECT / "rules").glob("*.smk")]
    return {name for file in files for name in re.findall(r"^\s*(?:rule|checkpoint) (\w+):", file.read_text(), re.MULTILINE)}


def made(target: str) -> bool:
    """Return whether a target of Snakemake is a rule, a file that is there, or one that the workflow makes."""
    if target in rules() or (PROJECT / target).exists() or target in ("results/claims.html", "results/index.html"):
        return True
    if image := re.fullmatch(r"results/images/(\w+)(\.sbom)?\.json", target):
        return (PROJECT / "containers" / image[1]).is_dir()
    if not (part := re.fullmatch(r"results/([\w-]+)/(?:(figures|tables)/(\w+)\.(?:pdf|png|csv)|report\.html)", target)):
        return False
    study, kind, name = part.groups()
    known_names = yaml.safe_load(text_of(f"config/studies/{study}.yaml")) if study in names.studies() else {}
    return study in names.studies() and (not kind or name in known_names[kind])


@pytest.mark.parametrize("command", of("snakemake"))
def test_a_command_of_snakemake_has_options_and_targets(command):
    from snakemake.cli import get_argument_parser

    # The option of a plugin that the environment need not have.
    words = [word for word in command.words[1:] if word not in ("--slurm-status-command", "squeue")]
    parser = get_argument_parser()
    given = parser.parse_args(words)
    missing = [target for target in given.targets if not PLACEHOLDER.fullmatch(target) and not made(target)]
    assert not missing, f"the workflow does not make {', '.join(missing)}"
    profiles = given.profile if isinstance(given.profile, list) else [given.profile]
    for path in filter(None, [given.snakefile, given.workflow_profile, *profiles]):
        assert str(path).startswith("/path/to/") or (PROJECT / path).exists(), path
    if not given.snakefile and given.config:
        configuration.read([word for word in given.config if not PLACEHOLDER.fullmatch(word)])


@pytest.mark.parametrize("command", of("python"))
def test_a_module_that_is_run_is_there(command):
    module, *words = command.words[1:]
    if module == "plimsoll" and not command.inline:
        stages._parser().parse_args(words)
    elif module == "pytest":
        assert all((PROJECT / word).exists() for word in words if word.startswith("tests/"))
    elif module == "tests.bench" and words:
        known(words, re.findall(r'^    "(\w+)":', text_of("tests/bench/__main__.py"), re.MULTILINE))
    else:
        assert importlib.util.find_spec(module)


# Code


def code(language: str) -> list:
    """Return the blocks of a language in the pages that people read whole, as parameters of a test."""
    found = [(page, block) for page in written() for block in markdown.blocks(page) if block.language == language]
    return [pytest.param(block.text, id=f"{page.name}-{number}") for number, (page, block) in enumerate(found)]


@pytest.mark.parametrize("text", code("python"))
def test_a_block_of_python_runs(text, tmp_path, monkeypatch):
    """Import each block as a package of this name, and call what it only defines."""
    if text.startswith("module "):
        pytest.skip("it is a workflow: tests/dry/test_elsewhere.py runs it")
    (tmp_path / "sleeping").mkdir()
    (tmp_path / "sleeping/__init__.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("sleeping", None)
    defined = vars(importlib.import_module("sleeping"))
    called = [call(defined[name]) for name, call in CALLS.items() if name in defined]
    assert called or any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in ast.parse(text).body)


def call_runtimes(runtimes: tuple) -> None:
    assert all(runtime.label and runtime.name for runtime in runtimes)


def call_charts(charts: list) -> None:
    for one in charts:
        drawn = chart.draw_figure(one, test_charts.shown())
        plt.close(drawn.figure)
        assert set(drawn.summary["runtime"]) == set(test_charts.RUNTIMES) and drawn.figure.axes[0].patches
        assert drawn.caption == "Bars: means over runs of profile quick."
        assert drawn.alternative.startswith("A metric. The largest mean is that of ")


def call_design(design: Design) -> None:
    assert design.name == "sleeping" and design.report.cell_label("sleeping/docker", {}) == "sleeping, docker"


def call_workload(workload: type) -> None:
    [server] = workload.roles
    assert workload.command(None, {}, 1, {server.name: "10.0.0.2"}) == [f"{base.FOLDER}/netperf", "-H", "10.0.0.2"]
    assert str(server.port) in server.command


# What is called of a block of Python, by the name that the block defines.
CALLS = {"RUNTIMES": call_runtimes, "CHARTS": call_charts, "DESIGN": call_design, "Netperf": call_workload}


@pytest.mark.parametrize("text", code("yaml"))
def test_a_block_of_yaml_is_a_document_of_its_kind(text):
    document = yaml.safe_load(text)
    if "claims" in document and "study" not in document:
        # Claims about a table: tests/unit/test_judge.py judges them.
        allowed = yaml.safe_load(text_of("config/schemas/claims.yaml"))["properties"]["claims"]["items"]["properties"]
        assert all(set(claim) <= set(allowed) for claim in document["claims"])
    elif "data" in document:
        assert set(document) <= set(yaml.safe_load(text_of("config/schemas/designs/table.yaml"))["properties"])
    elif "claims" in document:
        yaml_files.check(document, "claims", "the page", text)
        there = {claim["id"]: claim for claim in book.load(document["study"])}
        assert all(claim["statement"] == there[claim["id"]]["statement"] for claim in document["claims"])
    elif "hosts" in document:
        allowed = yaml.safe_load(text_of("config/schemas/cluster.yaml"))["properties"]
        assert set(document) <= set(allowed)
    else:
        assert set(document) <= set(yaml.safe_load(text_of("config/schemas/study.yaml"))["properties"])


# Links


@contextlib.contextmanager
def extension():
    """Yield the module that writes reference pages."""
    sys.path.insert(0, str(PROJECT / "docs/extension"))
    try:
        yield importlib.import_module("reference_pages")
    finally:
        sys.path.remove(str(PROJECT / "docs/extension"))


@functools.cache
def generated() -> dict[str, str]:
    """Return the pages that the build makes, by their paths below docs/."""
    with extension() as reference_pages:
        made_pages = [maker.pages(PROJECT) for maker in reference_pages.MAKERS]
    return {f"reference/generated/{name}.md": text for pages in made_pages for name, text in pages.items()}


def test_tables_in_written_pages_are_those_of_the_code():
    """`make docs` writes them."""
    with extension() as reference_pages:
        texts = reference_pages.tables_in_pages.texts(PROJECT)
    assert {path.name for path in texts} == {"statuses.md", "command.md"}
    assert [path.name for path, text in texts.items() if path.read_text() != text] == []
    assert all(text.count("\n| `disturbed` |") + text.count("\n| 130 | `INTERRUPTED` |") == 1 for text in texts.values())


def broken(page: Path, link: str) -> bool:
    """Return whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if target.is_relative_to(PROJECT / "docs/reference/generated"):
        return str(target.relative_to(PROJECT / "docs")) not in generated()
    if any(target.is_relative_to(PROJECT / folder) for folder in markdown.BUILT):
        return False  # the test of the site knows
    if not target.is_relative_to(PROJECT) or not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in markdown.anchors(target)


@pytest.mark.parametrize("page", markdown.pages(), ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_and_paths_lead_somewhere(page):
    local = [link for link in markdown.links(page) if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if broken(page, link)] == []
    assert [path for path in markdown.paths(page) if not _is_there(path)] == []


def _is_there(path: str) -> bool:
    """Return whether a path leads somewhere in the project, its package or its tests."""
    return any(any(folder.glob(path.rstrip("/"))) for folder in (PROJECT, PROJECT / "scripts/plimsoll", PROJECT / "tests"))


def test_every_page_is_in_the_contents():
    contents = [(page, one.text) for page in markdown.pages() for one in markdown.blocks(page) if one.language == "{toctree}"]
    entries = [(page, line) for page, text in contents for line in text.splitlines() if line and not line.startswith(":")]
    listed = {path for page, entry in entries for path in page.parent.glob(f"{entry}.md")}
    pages = {page for page in markdown.pages() if page.is_relative_to(PROJECT / "docs")} - {PROJECT / "docs/index.md"}
    assert pages - listed == set()


# Result files


def documented_results() -> set[str]:
    """Return the paths below results/ in the first column of the tables of results/README.md, `{}` for each part that varies.

    Names after the first one of a row are in the same folder. An ending alone is one of the file before it.
    """
    found = set()
    for cell in re.findall(r"^\| (`.*?) \|", text_of("results/README.md"), re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", cell)
        folder = first.rpartition("/")[0]
        more = [f"{first.rpartition('.')[0]}{other}" if other.startswith(".") else f"{folder}/{other}" for other in others]
        found |= {re.sub(r"<\w+>|\.\.\.", "{}", path.removeprefix("/")) for path in (first, *more)}
    return found


def outputs() -> set[str]:
    """Return the paths below results/ that rules of the workflow have as outputs, `{}` for each wildcard."""
    files = [*(PROJECT / "rules").glob("*.smk"), *(PROJECT / "scripts/plimsoll/features").rglob("*.smk")]
    blocks = [block for file in files for block in re.findall(r"^    output:\n((?: {8}.*\n)+)", file.read_text(), re.MULTILINE)]
    return {re.sub(r"{\w+}", "{}", path) for block in blocks for path in re.findall(r'"results/([^"]+)"', block)}


def test_each_file_that_the_workflow_makes_is_described():
    there, made_ones = documented_results(), outputs()
    folders = tuple(path for path in there if path.endswith("/"))
    assert len(made_ones) > 30 and "{}/runs.csv" in there and "{}/together.csv" in there
    missing = [path for path in made_ones if path not in there and not path.startswith(folders)]
    assert [path for path in missing if not path.startswith("{}/runs/{}")] == []


# Reports


def test_each_report_has_its_date():
    reports = [page for page in markdown.pages() if page.parent == PROJECT / "docs/reports" and page.name != "index.md"]
    dated = re.compile(r"# .+\n\nLaboratory note of \d{1,2} \w+ \d{4}[.:]")
    assert len(reports) > 10 and [page.name for page in reports if not dated.match(markdown.text_of(page))] == []


# Lengths


def test_pages_are_short():
    words = {page: len(markdown.text_of(page).split()) for page in written()}
    assert words[PROJECT / "README.md"] <= README
    how_to = {page.name: number for page, number in words.items() if page.parent.name == "how-to"}
    assert {name: number for name, number in how_to.items() if number not in HOW_TO} == {}
    assert [name for name, most in OF_PAGE.items() if sentences(PROJECT / name) > most] == []


def sentences(page: Path) -> int:
    """Return the number of words in a page's sentences: without code and tables."""
    return sum(len(text.words.split()) for text in test_words.paragraphs(markdown.text_of(page), 1))


def kept_up() -> list[Path]:
    """Return the pages that say how things are now. Reports and the changelog have dates."""
    return [page for page in markdown.pages() if "docs/reports" not in str(page) and page.name != "changelog.md"]


def test_all_pages_together_can_be_read():
    written_words = sum(sentences(page) for page in kept_up())
    assert WHOLE / 2 < written_words <= WHOLE


def crowded(page: Path) -> list[str]:
    """Return the paragraphs of a page that have too many numbers, each with its line."""
    found = test_words.paragraphs(markdown.text_of(page), 1)
    many = [text for text in found if len(NUMBER.findall(NOT_COUNTED.sub("", text.words))) > NUMBERS]
    return [f"{page.relative_to(PROJECT)}:{text.line}: {text.words}" for text in many]


def test_numbers_stand_in_tables():
    assert [line for page in kept_up() for line in crowded(page)] == []
    assert NUMBER.findall(NOT_COUNTED.sub("", "Figure 6 shows 3 of 12 in `0.5`, 1.5 s and 80 %, see [7](8.md).")) == [
        "3",
        "12",
        "1.5",
        "80",
    ]


# The site


@pytest.mark.parametrize("study", studies.names(studies.STUDIES))
def test_a_verdict_stands_beside_what_it_rests_on(study):
    text = generated()[f"reference/generated/studies/{study}.md"]
    shown = re.findall(rf"^\| ({study}-c\d+) \| .+ \| (.*) \| (.*) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    judged = {one["id"]: one for one in findings.of_table(REFERENCE / study / "claims.csv")}
    assert [name for name, *_ in shown] == list(judged)
    for name, verdict, effect, runs, q in shown:
        assert effect and q == formats.p_value(judged[name]["q"])
        if judged[name]["verdict"] in claim_verdicts.DECIDED:
            assert verdict.startswith(judged[name]["verdict"]) and re.fullmatch(r"n = \d+( to \d+)?", runs), name


@pytest.mark.skipif(not importlib.util.find_spec("sphinx"), reason="Sphinx is not in this environment: make setup installs it")
def test_the_site_is_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tutorials/own-program.html").is_file()
    library = (tmp_path / "reference/verdicts.html").read_text()
    public = [name for name, one in vars(verdicts).items() if getattr(one, "__module__", "") == verdicts.__name__]
    assert public and [name for name in public if f'id="plimsoll.verdicts.{name}"' not in library] == []
    study = (tmp_path / "reference/generated/studies/liu2020.html").read_text()
    assert all(title in study for title in ("Recommendation", "The answer on the reference machine", "Cells", "Claims"))
    assert from_elsewhere(tmp_path) == []


def from_elsewhere(folder: Path) -> list[str]:
    """Return what the pages and styles of a site load from the network, each with the file that loads it."""
    found = [(path, LOADED.findall(path.read_text())) for kind in ("html", "css") for path in folder.rglob(f"*.{kind}")]
    addresses = [(path, address) for path, matches in found for groups in matches for address in filter(None, groups)]
    return [f"{path.name}: {address}" for path, address in addresses if re.match(r"(https?:)?//", address)]


def test_what_is_loaded_from_the_network_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script defer src="https://x.org/a.js"></script><link rel="stylesheet" href="//x.org/a.css"><img alt="" src="a.png">'
        '<a href="https://x.org">x</a><link rel="icon" href="data:,">'
    )
    (tmp_path / "a.css").write_text(
        '@import "http://x.org/b.css"; a { background: url(http://x.org/a.png) } b { src: url("b.woff") }'
    )
    found = ["a.html: https://x.org/a.js", "a.html: //x.org/a.css", "a.css: http://x.org/b.css", "a.css: http://x.org/a.png"]
    assert from_elsewhere(tmp_path) == found


@pytest.mark.parametrize("function", [verdicts.judge, verdicts.judge_study])
def test_the_library_says_what_goes_in_and_what_is_refused(function):
    assert [name for name in inspect.signature(function).parameters if f"`{name}`" not in function.__doc__] == []
    assert "Raise PlimsollError" in function.__doc__ and function.__doc__.startswith("Return ")


def test_a_placeholder_is_told_from_a_name():
    with pytest.raises(AssertionError, match="lui2020"):
        known(["STUDY", "[STUDY", "...]", "liu2020", "lui2020"], ["liu2020"])
    with pytest.raises((typer.TyperException, PlimsollError)):
        parsed(["reproduce", "--hour", "1"], inline=False)
