import pytest
import yaml
from plimsoll import documents, study
from plimsoll.errors import PlimsollError

from tests.conftest import PROJECT

TEXT = (PROJECT / "config/studies/liu2020.yaml").read_text()


def edited(tmp_path, old: str, new: str):
    """liu2020.yaml with one thing changed."""
    assert TEXT.count(old) >= 1
    path = tmp_path / "liu2020.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    return path


def line_of(path, part: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha: 0.05", "alpha: high", "alpha: 'high' is not of type 'number'"),
        ("alpha: 0.05", "alfa: 0.05", "unknown key 'alfa'"),
        ("better: lower", "better: smaller", "'smaller' is not one of higher, lower"),
        ("    schemes: single", "    schemes: some", "'some' is not one of all, single"),
        ("id: liu2020", "id: liu2021", "'liu2021' is not the file's name"),
        ("baseline: bare", "baseline: podman", "baseline: 'podman' is not one of"),
        ("image: hpcc", "image: linpack", "image: 'linpack' is not one of hpcc"),
        ("    affinity: [any]", "    affinity: [anywhere]", "affinity: 'anywhere' is not one of any, pin"),
        ("uma: [any, cpumem]", "uma: [any, cpu]", "cpu is defined over 2 sockets, and uma has 1"),
        ("{numa: [any, cpu, cpumem], uma: [any, cpumem]}", "{uma: [any]}", "it must give levels for numa, uma"),
        (
            "fig05: {notebook: granularity, experiment: granularity, metrics: [randomring_bandwidth]}",
            "fig05: {notebook: granularity, experiment: granularity, metrics: [ringing]}",
            "figures.fig05.metrics: 'ringing' is not one of",
        ),
        (
            "{section: dgemm,",
            "{section: degemm,",
            "metrics.dgemm_gflops.section: 'degemm' is not one of dgemm",
        ),
        ("{notebook: granularity,", "{notebook: grain,", "there is no notebooks/grain.ipynb"),
    ],
)
def test_a_wrong_study_file_is_refused_in_one_sentence(tmp_path, old, new, message):
    with pytest.raises(PlimsollError) as refused:
        study.load(edited(tmp_path, old, new))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "liu2020.yaml" in str(refused.value)


def test_the_line_is_named(tmp_path):
    path = edited(tmp_path, "better: lower", "better: smaller")
    with pytest.raises(PlimsollError, match=f"line {line_of(path, 'better: smaller')}: metrics.pingpong_latency.better"):
        study.load(path)


def test_what_is_no_yaml_is_refused_with_its_line(tmp_path):
    path = edited(tmp_path, "alpha: 0.05", "alpha: [0.05")
    with pytest.raises(PlimsollError, match="not valid YAML"):
        study.load(path)


def test_a_key_given_twice_is_refused(tmp_path):
    path = edited(tmp_path, "alpha: 0.05", "alpha: 0.05\nalpha: 0.01")
    with pytest.raises(PlimsollError, match="'alpha' is given twice"):
        study.load(path)


def test_unknown_studies_and_profiles_are_refused():
    with pytest.raises(PlimsollError, match="There is no study 'liu2021': config/studies/ has jha2018, jha2021, liu2020"):
        study.selected(["liu2021"])
    with pytest.raises(PlimsollError, match="There is no profile 'slow': config/profiles/ has ci, paper, quick"):
        study.profile("slow")


def test_studies_may_be_named_in_any_way():
    assert study.selected("all") == study.names(study.STUDIES)
    assert study.selected(["all"]) == study.names(study.STUDIES)
    assert study.selected("liu2020") == ["liu2020"]
    assert study.selected("liu2020,liu2020") == ["liu2020"]


@pytest.mark.parametrize("name", ["config", "profile", "study"])
def test_schemas_are_schemas(name):
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(yaml.safe_load((documents.SCHEMAS / f"{name}.yaml").read_text()))


def test_the_shipped_configuration_fits():
    documents.load(PROJECT / "config/config.yaml", "config")
    for name in study.names(study.PROFILES):
        study.profile(name)
