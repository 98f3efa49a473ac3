import contextlib
import shutil
import subprocess

import pytest
from plimsoll import runtimes
from plimsoll.errors import Outage, PlimsollError, Unavailable
from plimsoll.runtimes import isolation, podman_rootless
from plimsoll.runtimes.commands import last_words, output
from plimsoll.runtimes.image_forms import CHANGED

HOST = {"mnt": "m0", "net": "n0", "pid": "p0", "cpu_cgroup": "/", "root": "ext4", "links": "2"}


def test_a_container_of_its_own():
    inside = [
        {
            **HOST,
            "mnt": f"m{i}",
            "net": f"n{i}",
            "pid": f"p{i}",
            "cpu_cgroup": f"/docker/{i}",
            "root": "overlay",
            "links": "7",
        }
        for i in (1, 2)
    ]
    seen = isolation.compare(inside, HOST, {7: "br0"})
    assert seen["namespaces"] == ["mnt", "net", "pid"] == seen["separate_namespaces"]
    assert seen["own_cgroup"] and seen["cgroup"] == "/docker/1"
    assert (seen["file_system"], seen["network"]) == ("overlay", "bridge br0")


def test_plain_singularity_has_only_its_mounts():
    seen = isolation.compare([{**HOST, "mnt": "m1"}, {**HOST, "mnt": "m2"}], HOST, {})
    assert seen["namespaces"] == ["mnt"]
    assert not seen["own_cgroup"]
    assert seen["network"] == "host"


def test_on_the_host_s_network_another_container_s_bridge_is_not_taken_for_its_own():
    inside = [{**HOST, "mnt": f"m{i}", "links": "2 7"} for i in (1, 2)]
    assert isolation.compare(inside, HOST, {7: "br0"})["network"] == "host"


def test_a_network_that_two_containers_share_is_not_separate():
    inside = [{**HOST, "net": "n1"}, {**HOST, "net": "n1"}]
    seen = isolation.compare(inside, HOST, {})
    assert seen["namespaces"] == ["net"] and seen["separate_namespaces"] == []


def test_rows_put_the_paper_beside_the_measurement(liu2020):
    seen = isolation.compare([{**HOST, "mnt": "m1"}, {**HOST, "mnt": "m2"}], HOST, {})
    tried = {
        "singularity": {"works": True, "version": "apptainer 1.4", "features": {**seen, "seccomp": "0"}},
        "docker": {"works": False, "reason": "no engine"},
    }
    rows = isolation.rows(tried, liu2020["tables"]["table05"]["printed"])
    assert rows[0]["namespaces"] == "no (mnt)" and rows[0]["namespaces (paper)"] == "no"
    assert rows[0]["network"] == "host" and rows[0]["file system (paper)"] == "ext3"
    assert rows[1]["namespaces"] == "not tried: no engine"


def observing(monkeypatch, answers):
    """Make each look from inside return the next answer, or raise it. The pause between two looks is short."""

    def observe(*_):
        if isinstance(answer := next(answers), Unavailable):
            raise answer
        return answer

    monkeypatch.setattr(isolation, "observe", observe)
    monkeypatch.setattr(isolation, "LOOK_SECONDS", 0.01)


def restored(image):
    raise AssertionError("nothing is wrong with the image")


TRYING = isolation.Trying({}, restored, lambda name: {}, lambda environment: {"on": environment.name}, observed=False)


class Engine:
    """An engine that always reports `problem` for the files of an image. `lost` are its answers, in turn, about its own
    copy."""

    def __init__(self, problem=None, lost=()):
        self.problem, self.told = problem, iter(lost)

    def image_problem(self, image):
        return self.problem

    def lost(self, image):
        return next(self.told, None)


def test_all_required_runtimes_that_do_not_work_are_asked_about_at_once(monkeypatch):
    reasons = {"docker": "no engine", "docker-ptrace": "no engine", "singularity": "no Apptainer", "podman": "needs root"}

    class Fails:
        def __init__(self, name: str):
            self.name = name

        def wake(self):
            pass

        def check(self):
            raise Unavailable(reasons[self.name])

    monkeypatch.setattr(isolation.runtimes, "find", Fails)
    monkeypatch.setattr(isolation.lock, "machine", lambda known: contextlib.nullcontext())
    wishes = {**dict.fromkeys(reasons, "required"), "podman": "optional", "singularity-user": "off"}
    with pytest.raises(PlimsollError) as asked:
        isolation.try_all(wishes, TRYING)
    assert str(asked.value) == (
        "Required runtimes do not work here: docker and docker-ptrace (no engine); singularity (no Apptainer). Repair that "
        "(./plimsoll setup installs what it can), or go on without: ./plimsoll drop docker docker-ptrace singularity."
    )
    found = isolation.try_all(dict.fromkeys(reasons, "optional"), TRYING)
    assert found == {name: {"works": False, "reason": reason, "look": {"on": name}} for name, reason in reasons.items()}


def test_a_required_runtime_of_which_one_kind_of_runs_does_not_work_is_asked_about(monkeypatch):
    class Works:
        def __init__(self, name: str):
            self.name = name

        def wake(self):
            pass

        def check(self):
            return "1.0"

    monkeypatch.setattr(isolation.runtimes, "find", Works)
    monkeypatch.setattr(isolation.lock, "machine", lambda known: contextlib.nullcontext())
    kinds = {"one node": None, "several nodes": "mpirun ended with 1: no route"}
    trying = TRYING._replace(trials=lambda name: kinds)
    found = isolation.try_all({"docker": "optional"}, trying)
    assert found == {"docker": {"works": True, "version": "1.0", "kinds": kinds, "look": {"on": "docker"}}}
    with pytest.raises(PlimsollError, match=r"docker \(several nodes: mpirun ended with 1: no route\)"):
        isolation.try_all({"docker": "required"}, trying)


def test_an_engine_that_is_on_its_way_back_is_waited_for(monkeypatch):
    answers, swept = iter([Unavailable("no containerd"), {"namespaces": []}]), []
    monkeypatch.setattr(isolation.lock, "sweep", lambda runtimes, aloud: swept.append(runtimes))

    observing(monkeypatch, answers)
    engine = Engine()
    assert isolation._observed(engine, {}, restored) == {"namespaces": []} and swept == [[engine]]
    monkeypatch.setattr(isolation, "PATIENCE", 0.0)
    observing(monkeypatch, iter([Unavailable("no containerd")] * 2))
    with pytest.raises(Unavailable, match="no containerd"):
        isolation._observed(engine, {}, restored)
    assert swept == [[engine]] * 2


def test_an_image_that_has_changed_is_made_again_before_it_is_tried_again(monkeypatch, capsys):
    image = {"tag": "plimsoll/hpcc:0", "id": "sha256:0"}
    answers, made = iter([Unavailable("EOF"), {"namespaces": []}, Unavailable("EOF"), Unavailable("EOF")]), []

    observing(monkeypatch, answers)
    monkeypatch.setattr(isolation, "PATIENCE", 0.0)
    monkeypatch.setattr(isolation.lock, "sweep", lambda runtimes, aloud: None)
    engine = Engine(f"its sif {CHANGED}")
    assert isolation._observed(engine, image, made.append) == {"namespaces": []} and made == [image]
    assert "the image plimsoll/hpcc:0 has changed" in capsys.readouterr().err
    # The image is restored only once: a failure with the restored image has another cause.
    with pytest.raises(Unavailable, match="EOF"):
        isolation._observed(engine, image, made.append)
    assert made == [image] * 2


def test_an_image_that_an_engine_has_lost_is_given_to_it_again_as_soon_as_it_answers(monkeypatch):
    answers, made = iter([Unavailable("no such image")] * 2 + [{"namespaces": []}]), []

    observing(monkeypatch, answers)
    monkeypatch.setattr(isolation.lock, "sweep", lambda runtimes, aloud: None)
    image = {"tag": "plimsoll/hpcc:0", "id": "sha256:0"}
    engine = Engine(lost=[None, "Docker does not have it as it was built"])
    assert isolation._observed(engine, image, made.append) == {"namespaces": []} and made == [image]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Outage("there is no copy", "build it"), "there is no copy: build it"),
        (Unavailable("no engine"), "no engine"),
        (OSError(28, "disk full"), "[Errno 28] disk full"),
    ],
)
def test_an_image_that_cannot_be_made_again_is_the_reason_of_its_runtime_alone(monkeypatch, problem, said):
    def fails(*_):
        raise Unavailable("EOF")

    def refused(image):
        raise problem

    monkeypatch.setattr(isolation, "observe", fails)
    monkeypatch.setattr(isolation.lock, "sweep", lambda runtimes, aloud: None)
    image = {"tag": "plimsoll/hpcc:0", "id": "sha256:0"}
    with pytest.raises(Unavailable) as told:
        isolation._observed(Engine(f"its sif {CHANGED}"), image, refused)
    assert str(told.value) == f"EOF; its sif {CHANGED}, and the image could not be made again: {said}"


def test_an_image_without_a_form_has_no_problem_with_it(tmp_path):
    image = {"tag": "plimsoll/hpcc:0", "id": "sha256:0", "files": {}}
    for name in ("singularity", "vm", "docker"):
        assert runtimes.find(name).image_problem(image) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("docker: Error response from daemon: no space\n\nRun 'docker run --help' for more information\n", "docker: Error r"),
        ("docker: Error response from daemon: x.\nSee 'docker run --help'.\n", "docker: Error response from daemon: x."),
        ("one\ntwo\n\n", "two"),
        ("\n", "exit status 125"),
    ],
)
def test_what_a_command_said_of_its_failure_is_told_and_not_where_its_options_are(said, told):
    assert last_words(said, 125).startswith(told)


def test_probe_lines():
    assert isolation.parse("mnt mnt:[1]\ncpu_cgroup /\nlinks\n") == {
        "mnt": "mnt:[1]",
        "cpu_cgroup": "/",
        "links": "",
    }


@pytest.mark.parametrize(("name", "told"), [("slirp4netns", "slirp4netns"), ("pasta.avx2", "pasta")])
def test_what_leads_out_of_a_user_s_network_is_a_program_that_serves_this_network(tmp_path, monkeypatch, name, told):
    level = runtimes.find("podman-rootless")
    monkeypatch.setattr(level, "_in_network", lambda *words: output(list(words)), raising=False)
    with contextlib.ExitStack() as stack:
        # Only one of these processes has this network as its argument. The others have similar names or another argument.
        for program, network in ((name, "/proc/self/ns/net"), ("pasta", tmp_path), ("slirp4netns-x", "/proc/self/ns/mnt")):
            shutil.copy(shutil.which("dash") or shutil.which("sh"), tmp_path / program)
            words = [str(tmp_path / program), "-c", "read _", "sh", str(network)]
            process = stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE))
            stack.callback(process.stdin.close)
        assert level.outward() == f"in the user's own network, {told} to the outside"
    assert level.outward() == "in the user's own network, nothing to the outside"


def test_without_root_podman_s_containers_need_a_bridge_and_networks_of_their_own():
    level = runtimes.find("podman-rootless")
    inside = [{**HOST, "net": f"n{i}", "links": "4"} for i in (1, 2)]
    level.refuse(isolation.compare(inside, HOST, {4: "podman1"}))
    shared = [{**HOST, "net": "n1", "links": "4"}] * 2
    for seen in (isolation.compare(inside, HOST, {}), isolation.compare(shared, HOST, {4: "podman1"})):
        with pytest.raises(Unavailable, match="not on a bridge, each in a network namespace of its own"):
            level.refuse(seen)


def test_one_way_out_of_a_user_s_network_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(podman_rootless, "HELPERS", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("netavark", "aardvark-dns", "ip"):
        (tmp_path / name).touch(0o755)
    lacking = r"slirp4netns \(Debian's package slirp4netns\) or pasta \(Debian's package passt\) is not installed"
    with pytest.raises(Unavailable, match=lacking):
        podman_rootless._refuse_missing(podman_rootless.RUNNING)
    (tmp_path / "pasta").touch(0o755)
    podman_rootless._refuse_missing(podman_rootless.RUNNING)
