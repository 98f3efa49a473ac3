"""No text of a configuration, a record or a benchmark's output reaches a shell, or a path outside its folder."""

import ast
import io
import re
import tarfile
from pathlib import Path

import pytest
import yaml
from plimsoll import designs
from plimsoll.config import configuration, studies
from plimsoll.errors import PlimsollError, plain, quote
from plimsoll.images import store
from plimsoll.planning import planner
from plimsoll.runtimes.guests import agent

from tests.conftest import PROJECT, built, host_of

SOURCES = sorted((PROJECT / "scripts/plimsoll").rglob("*.py"))
SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash"}
# Words that have a special meaning for a shell, a path, a regular expression or a page.
EVIL = (
    *("../x", "a/b", "/etc", ".", "..", "a b", "a;b", "$(id)", "`id`", "a'b", 'a"b', "a\nb", "a\n", "-rf", "", "a|b", "<b>"),
    *("é", "A B"),
)


def shell_words(tree: ast.AST):
    """Yield what follows `sh -c` in each list of words of a module."""
    for node in ast.walk(tree):
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        for shell, option, script in zip(words, words[1:], words[2:], strict=False):
            given = [word.value if isinstance(word, ast.Constant) else None for word in (shell, option)]
            if given[0] in SHELLS and str(given[1]).startswith("-") and "c" in str(given[1]):
                yield script


def is_quoted(script: ast.AST) -> bool:
    """Return whether a script is a constant, the name of one, or a text with only words that `shlex` has quoted."""
    if isinstance(script, ast.Constant):
        return True
    if isinstance(script, ast.Name):
        return script.id.isupper()
    if isinstance(script, ast.Attribute):
        return script.attr.isupper()
    if not isinstance(script, ast.JoinedStr):
        return False
    filled = [part.value for part in script.values if isinstance(part, ast.FormattedValue)]
    return all(isinstance(one, ast.Call) and ast.unparse(one.func) in ("shlex.join", "shlex.quote") for one in filled)


def test_shells_get_constant_scripts():
    wrong = {}
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        found = [ast.unparse(script) for script in shell_words(tree) if not is_quoted(script)]
        found += [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "shell"]
        called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found += [name for name in called if name in ("os.system", "os.popen", "eval", "exec", "subprocess.getoutput")]
        if found:
            wrong[path.relative_to(PROJECT)] = found
    assert wrong == {}


def test_what_is_refused_is_seen():
    """Show that the test above can fail."""
    odd = ast.parse('run(["bash", "-c", f"echo {name}"]); run(("sh", "-ec", SCRIPT.format(name))); run(["sh", "-c", name])')
    assert [is_quoted(script) for script in shell_words(odd)] == [False, False, False]
    right = ast.parse('run([*enter, "sh", "-c", LOOKING, port]); run(["bash", "-c", f"{shlex.join(a)} | {shlex.join(b)}"])')
    assert [is_quoted(script) for script in shell_words(right)] == [True, True]


# Lines of the rules have these without quotes: wildcards and parameters made of digests, of numbers and of names. The
# schemas restrict the names to letters, digits and dashes. Anything else is quoted (:q).
HARMLESS = {
    *("wildcards.study", "wildcards.figure", "wildcards.table", "wildcards.image"),
    *("params.run", "params.wishes", "params.made_from", "params.judged", "wildcards.number"),
    # Paths of studies' folders and plans. The schema restricts their names to letters, digits and dashes.
    *("params.plans", "params.beside"),
    # Joined by shlex.
    "params.command",
}


def test_the_rules_quote_what_may_be_anything():
    seen = set()
    for path in sorted((PROJECT / "rules").glob("*.smk")):
        for line in re.findall(r'^ +"(.*)"$', path.read_text(), re.MULTILINE):
            seen |= set(re.findall(r"\{((?:wildcards|params)[^{}]*)\}", line))
    assert {name for name in seen if not name.endswith(":q")} <= HARMLESS
    assert {"params.base:q", "params.config:q"} <= seen


def refused(folder: Path, name: str, change) -> bool:
    """Return whether a study is refused after a change."""
    study = yaml.safe_load((studies.STUDIES / f"{name}.yaml").read_text())
    change(study)
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(study, sort_keys=False, allow_unicode=True))
    try:
        studies.read(path, designs.known())
    except PlimsollError:
        return True
    return False


@pytest.mark.parametrize("word", EVIL)
@pytest.mark.parametrize("kind", ["figures", "tables", "metrics", "experiments", "strategies"])
def test_names_in_a_study_are_names(tmp_path, kind, word):
    built("li2018-hadoop")

    def change(study: dict) -> None:
        study[kind] = {**study[kind], word: next(iter(study[kind].values()))}

    assert refused(tmp_path, "li2018-hadoop", change)


@pytest.mark.parametrize("word", [word for word in EVIL if word not in ("A B",)])
def test_levels_in_a_study_are_names(tmp_path, word):
    built("liu2020")
    for key in ("hardware", "mode", "runtime", "affinity"):
        assert refused(tmp_path, "liu2020", lambda study, key=key: study["factors"][key].append(word))
    assert refused(tmp_path, "liu2020", lambda study: study["factors"]["yield"].update({word: {}}))
    assert refused(tmp_path, "liu2020", lambda study: study.update(image=word))
    assert refused(tmp_path, "liu2020", lambda study: study["factors"]["yield"].update(own={word: 1}))


@pytest.mark.parametrize("word", ["a b", "a;b", "$(id)", "`id`", "a'b", "a\nb", "a|b", "<b>", ""])
def test_parameters_of_open_mpi_are_nothing_that_a_shell_reads(tmp_path, word):
    built("liu2020")
    assert refused(tmp_path, "liu2020", lambda study: study["factors"]["yield"].update(own={"mpi_x": word}))


@pytest.mark.parametrize("word", ["-oProxyCommand=id", "a b", "a;b", "$(id)", "a\n", "", "a@-x", "a@", "'a'"])
def test_machines_are_names_and_no_options(word):
    for key, value in (("second_host", word), ("cluster_hosts", [word])):
        config = {**configuration.read([], local=Path("/nonexistent")), key: value}
        with pytest.raises(PlimsollError, match=key):
            configuration.validate(config)


@pytest.mark.parametrize("word", ["a;b", "$(id)", "a b", "-x", "", "a\n", "'a'"])
def test_a_base_image_is_a_name(word):
    with pytest.raises(PlimsollError, match="base_image"):
        configuration.validate({**configuration.read([], local=Path("/nonexistent")), "base_image": word})


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_the_path_of_a_cell_stays_below_its_folder(name, config):
    study = studies.load(name, designs.known())
    runtimes = dict.fromkeys(config["runtimes"], "optional")
    plan = planner.make(study, studies.profile("quick"), host_of(2, 8), {**config, "runtimes": runtimes}, {})
    pattern = re.compile(study.design.factors.PATTERN)
    assert plan["cells"]
    for path, cell in plan["cells"].items():
        assert pattern.fullmatch(path) and ".." not in path and path == cell["path"], path


@pytest.mark.parametrize("tag", ["plimsoll/../../etc", "/etc", "plimsoll/..", "plimsoll/.x", "..", "plimsoll/a/b:c"])
def test_the_folder_of_an_image_is_in_the_store(tag):
    with pytest.raises(PlimsollError, match="is not the tag of an image of this project"):
        store.folder_of({"tag": tag})


def test_files_of_a_guest_stay_in_the_folder_of_its_node(tmp_path):
    node = tmp_path / "node"
    node.mkdir()
    within = str(node).lstrip("/")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        outside = (
            "../outside",
            "/outside",
            f"{tmp_path}/outside",
            "etc/passwd",
            f"{within}/{tmp_path}/outside",
            f"{within}/./a",
        )
        for name in (f"{within}/right", f"{within}/../outside", *outside):
            described = tarfile.TarInfo(name)
            described.size = 1
            archive.addfile(described, io.BytesIO(b"x"))
        link = tarfile.TarInfo(f"{within}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
        # This file would take a terabyte.
        sparse = tarfile.TarInfo(f"{within}/sparse")
        sparse.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**40), "GNU.sparse.realsize": str(2**40)}
        archive.addfile(sparse)
    agent.unpack(packed.getvalue(), node, io.BytesIO(), io.BytesIO())
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["node", "node/right"]


def test_what_a_terminal_would_obey_is_not_printed():
    assert plain("it ended with 1: \x1b[2J\x07\x9b") == "it ended with 1: \ufffd[2J\ufffd\ufffd"
    assert plain("µs, 20 %, Größe\n") == "µs, 20 %, Größe\n"
    assert quote("\x1b[2J") == "'\\x1b[2J'" and quote("x" * 100).endswith("…")
