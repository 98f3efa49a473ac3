import pytest
import yaml
from plimsoll import designs
from plimsoll.claims import book
from plimsoll.config import studies, yaml_files
from plimsoll.errors import PlimsollError

from tests.conftest import PROJECT

TEXT = (PROJECT / "config/studies/liu2020.yaml").read_text()


def edited(tmp_path, old: str, new: str):
    """Write liu2020.yaml with one change. Return its path."""
    assert TEXT.count(old) >= 1
    path = tmp_path / "liu2020.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    return path


def line_of(path, part: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alpha: 0.05", "alpha: high", "alpha: 'high' is not a number"),
        ("alpha: 0.05", "alfa: 0.05", "unknown key 'alfa'"),
        ("better: lower", "better: smaller", "'smaller' is not one of higher, lower"),
        ("    schemes: single", "    schemes: some", "'some' is not one of all, single"),
        ("id: liu2020", "id: liu2021", "'liu2021' is not the file's name"),
        ("baseline: bare", "baseline: sarus", "baseline: 'sarus' is not one of"),
        ("image: hpcc", "image: linpack", "image: 'linpack' is not one of hadoop, hpcc"),
        ("    affinity: [any]", "    affinity: [anywhere]", "affinity: 'anywhere' is not one of any, pin"),
        ("uma: [any, cpumem]", "uma: [any, cpu]", "cpu is defined over 2 sockets, and uma has 1"),
        ("{numa: [any, cpu, cpumem], uma: [any, cpumem]}", "{uma: [any]}", "it must give levels for numa, uma"),
        (
            "fig05: {chart: granularity, experiment: granularity, metrics: [randomring_bandwidth]}",
            "fig05: {chart: granularity, experiment: granularity, metrics: [ringing]}",
            "figures.fig05.metrics: 'ringing' is not one of",
        ),
        (
            "{section: dgemm,",
            "{section: degemm,",
            "metrics.dgemm_gflops.section: 'degemm' is not one of dgemm",
        ),
        ("{chart: granularity,", "{chart: grain,", "figures.fig05.chart: 'grain' is not one of affinity, cgroup-scheduling"),
        (
            "metrics: [randomring_bandwidth]}",
            "metrics: [randomring_bandwidth, pingpong_bandwidth]}",
            "figures.fig05.metrics names 2, and the chart granularity shows one metric",
        ),
        (
            "experiment: mpi-patterns, title: Time in MPI functions of b_eff ping-pong, metrics: [beff_pingpong_seconds]}",
            "experiment: mpi-patterns, title: Time in MPI functions of b_eff ping-pong}",
            "figures.fig07.metrics names 0, and the chart patterns shows one metric or more",
        ),
        (
            "bars: runtime, title: Events of EP-DGEMM,",
            "title: Events of EP-DGEMM,",
            "figures.fig14.bars is missing: the chart events needs it",
        ),
    ],
)
def test_a_wrong_study_file_is_refused_in_one_sentence(tmp_path, old, new, message):
    with pytest.raises(PlimsollError) as refused:
        studies.read(edited(tmp_path, old, new), designs.known())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "liu2020.yaml" in str(refused.value)


def test_the_line_is_named(tmp_path):
    path = edited(tmp_path, "better: lower", "better: smaller")
    with pytest.raises(PlimsollError, match=f"line {line_of(path, 'better: smaller')}: metrics.pingpong_latency.better"):
        studies.read(path, designs.known())


def test_what_is_no_yaml_is_refused_with_its_line(tmp_path):
    path = edited(tmp_path, "alpha: 0.05", "alpha: [0.05")
    with pytest.raises(PlimsollError, match="not valid YAML"):
        studies.read(path, designs.known())


def test_a_key_given_twice_is_refused(tmp_path):
    path = edited(tmp_path, "alpha: 0.05", "alpha: 0.05\nalpha: 0.01")
    with pytest.raises(PlimsollError, match="'alpha' is given twice"):
        studies.read(path, designs.known())


def test_unknown_studies_and_profiles_are_refused():
    with pytest.raises(
        PlimsollError, match=r"There is no study 'liu2021' \(did you mean liu2020\?\): config/studies/ has .*liu2020"
    ):
        studies.select(["liu2021"])
    with pytest.raises(PlimsollError, match="There is no profile 'slow': config/profiles/ has ci, paper, quick"):
        studies.profile("slow")


def test_studies_may_be_named_in_any_way():
    assert studies.select("all") == studies.names(studies.STUDIES)
    assert studies.select(["all"]) == studies.names(studies.STUDIES)
    assert studies.select("liu2020") == ["liu2020"]
    assert studies.select("liu2020,liu2020") == ["liu2020"]


@pytest.mark.parametrize("name", ["config", "profile", "study"])
def test_schemas_are_schemas(name):
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(yaml.safe_load((yaml_files.SCHEMAS / f"{name}.yaml").read_text()))


def test_the_shipped_configuration_fits():
    yaml_files.load(PROJECT / "config/config.yaml", "config")
    for name in studies.names(studies.PROFILES):
        studies.profile(name)


def test_a_claim_of_a_question_that_its_file_does_not_spell_out_is_refused(tmp_path, monkeypatch):
    text = (PROJECT / "config/claims/jha2018.yaml").read_text()
    (tmp_path / "jha2018.yaml").write_text(text.replace("    question: RQ2", "    question: RQ3", 1))
    monkeypatch.setattr(book, "CLAIMS", tmp_path)
    with pytest.raises(PlimsollError, match=r"jha2018-c\d+: question: RQ3 is not one of the file's questions \(RQ1, RQ2\)"):
        book.load("jha2018")


def test_every_study_s_questions_are_spelt_out():
    for name in book.names():
        questions = book.questions(name)
        assert {claim["question"] for claim in book.load(name)} == set(questions)
        assert all("?" in text for text in questions.values())
