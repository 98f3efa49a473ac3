from plimsoll.environments import isolation

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


def test_probe_lines():
    assert isolation.parse("mnt mnt:[1]\ncpu_cgroup /\nlinks\n") == {
        "mnt": "mnt:[1]",
        "cpu_cgroup": "/",
        "links": "",
    }
