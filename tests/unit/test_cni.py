"""What Apptainer's networks leave of an instance whose supervisor was killed. The rules are those of a real leftover."""

import os
import subprocess

import pytest
from plimsoll.runtimes.networks import cni

TRANSLATING = """\
-P PREROUTING ACCEPT
-N CNI-0b516e48f6633f3775d53cce
-N CNI-aaaaaaaaaaaaaaaaaaaaaaaa
-N DOCKER
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A POSTROUTING -s 10.22.0.9/32 -m comment --comment "name: \\"bridge\\" id: \\"4204\\"" -j CNI-0b516e48f6633f3775d53cce
-A POSTROUTING -s 10.22.0.90/32 -m comment --comment "name: \\"bridge\\" id: \\"42045\\"" -j CNI-aaaaaaaaaaaaaaaaaaaaaaaa
-A CNI-0b516e48f6633f3775d53cce -d 10.22.0.0/16 -m comment --comment "name: \\"bridge\\" id: \\"4204\\"" -j ACCEPT
-A CNI-0b516e48f6633f3775d53cce ! -d 224.0.0.0/4 -m comment --comment "name: \\"bridge\\" id: \\"4204\\"" -j MASQUERADE
-A CNI-aaaaaaaaaaaaaaaaaaaaaaaa -d 10.22.0.0/16 -m comment --comment "name: \\"bridge\\" id: \\"42045\\"" -j ACCEPT
""".splitlines()
PASSING = """\
-N CNI-ADMIN
-N CNI-FORWARD
-A FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD
-A CNI-FORWARD -m comment --comment "CNI firewall plugin admin overrides" -j CNI-ADMIN
-A CNI-FORWARD -d 10.22.0.9/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A CNI-FORWARD -s 10.22.0.9/32 -j ACCEPT
-A CNI-FORWARD -s 10.22.0.90/32 -j ACCEPT
""".splitlines()
COMMENT = 'name: "bridge" id: "4204"'
CHAIN = "CNI-0b516e48f6633f3775d53cce"
REMOVED = [
    ("nat", ["POSTROUTING", "-s", "10.22.0.9/32", "-m", "comment", "--comment", COMMENT, "-j", CHAIN]),
    ("nat", [CHAIN, "-d", "10.22.0.0/16", "-m", "comment", "--comment", COMMENT, "-j", "ACCEPT"]),
    ("nat", [CHAIN, "!", "-d", "224.0.0.0/4", "-m", "comment", "--comment", COMMENT, "-j", "MASQUERADE"]),
]


def test_the_rules_of_an_instance_are_removed_and_no_other_s():
    found = cni.removals("bridge", "4204", {"10.22.0.9"}, TRANSLATING, PASSING)
    assert found[:3] == [(table, ["--delete", *words]) for table, words in REMOVED]
    # The chain is empty then, and no rule leads to it.
    assert found[3] == ("nat", ["--delete-chain", CHAIN])
    conntrack = ["-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED"]
    assert found[4:] == [
        ("filter", ["--delete", "CNI-FORWARD", "-d", "10.22.0.9/32", *conntrack, "-j", "ACCEPT"]),
        ("filter", ["--delete", "CNI-FORWARD", "-s", "10.22.0.9/32", "-j", "ACCEPT"]),
    ]


def test_of_rules_for_all_one_stays():
    rule = '-A CNI-FORWARD -m comment --comment "CNI firewall plugin admin overrides" -j CNI-ADMIN'
    assert rule in PASSING and cni.repeated_rules(PASSING) == []
    assert cni.repeated_rules([*PASSING, rule, rule, "-A FORWARD -j DOCKER", "-A FORWARD -j DOCKER"]) == [rule, rule]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's instances have networks")
def test_what_an_instance_has_that_is_there_stays(tmp_path, monkeypatch):
    taken, notes, asked = tmp_path / "networks/bridge", tmp_path / "results", []
    for folder in (taken, notes):
        folder.mkdir(parents=True)
    monkeypatch.setattr(cni, "TAKEN", taken.parent)
    monkeypatch.setattr(cni, "NOTES", notes)
    monkeypatch.setattr(cni.shutil, "which", lambda name: name)
    listed = {"filter": "\n".join(PASSING)}

    def iptables(words):
        if "--list-rules" in words:
            return listed["nat" if "nat" in words else "filter"]
        return asked.append(words[3:])

    monkeypatch.setattr(cni, "output", iptables)
    lives = subprocess.Popen(["unshare", "--net", "sleep", "60"])
    try:
        while cni.gone(str(lives.pid)):
            assert lives.poll() is None
        # The number of the first one belongs to this process by now. The second one still exists.
        for address, number in (("10.22.0.8", os.getpid()), ("10.22.0.10", lives.pid)):
            (taken / address).write_text(f"{number}\r\neth0")
            (notes / f"bridge-{number}-eth0").write_text("{}")
        (taken / "last_reserved_ip.0").write_text("10.22.0.10")
        # The address of the first one was released before CNI was killed.
        (notes / "bridge-4194305-eth0").write_text('{"result":{"ips":[{"address":"10.22.0.90/16"}]}}')
        (notes / "bridge-4194306-eth0").write_text('{"result":{"ips":[{"address":"10.22.0.10/16"}]}}')
        # Entries of other users of CNI.
        (taken / "10.22.0.11").write_text("default-4f")
        (notes / "bridge-default-4f-eth0").write_text('{"result":{"ips":[{"address":"10.22.0.11/16"}]}}')
        (notes / "bridge-9-9-eth0").write_text('{"result":{"ips":[{"address":"10.22.0.12/16"}]}}')
        # Rules name one that exists, and one of which only they are left.
        translating = "\n".join(TRANSLATING).replace('"42045\\"', f'"{lives.pid}\\"').replace("10.22.0.90", "10.22.0.10")
        listed["nat"] = translating.replace('"4204\\"', '"4194307\\"')
        cni.CniNetwork("bridge").sweep()
    finally:
        lives.kill()
        lives.wait()
    assert sorted(path.name for path in taken.iterdir()) == ["10.22.0.10", "10.22.0.11", "last_reserved_ip.0"]
    kept = [f"bridge-{lives.pid}-eth0", "bridge-9-9-eth0", "bridge-default-4f-eth0"]
    assert sorted(path.name for path in notes.iterdir()) == sorted(kept)
    # No instance has the address 10.22.0.90, and the rules of 4194307 are all that there is of it.
    removed = [
        [table, *words]
        for table, words in cni.removals("bridge", "4194307", ["10.22.0.9"], listed["nat"].splitlines(), PASSING)
    ]
    assert len(removed) == 6
    assert sorted(asked) == sorted([["filter", "--delete", "CNI-FORWARD", "-s", "10.22.0.90/32", "-j", "ACCEPT"], *removed])


@pytest.mark.parametrize(("used", "removed"), [(False, ["bridge sbr0", "NOTES"]), (True, [])])
def test_the_bridge_and_the_notes_go_if_nobody_is_on_it(tmp_path, monkeypatch, used, removed):
    notes, commands = tmp_path / "networks", []
    (notes / "bridge").mkdir(parents=True)
    (notes / "bridge/last_reserved_ip.0").write_text("10.22.0.9")
    if used:
        (notes / "bridge/10.22.0.9").write_text("4204")
    (tmp_path / "devices/sbr0/brif").mkdir(parents=True)
    configured = tmp_path / "configured"
    configured.mkdir()
    (configured / "00.conflist").write_text('{"name": "bridge", "plugins": [{"bridge": "sbr0"}, {"type": "firewall"}]}')
    (configured / "10.conflist").write_text('{"name": "other", "plugins": [{"bridge": "br1"}]}')
    (configured / "20.conflist").write_text("{")
    monkeypatch.setattr(cni, "TAKEN", notes)
    monkeypatch.setattr(cni, "DEVICES", tmp_path / "devices")
    monkeypatch.setattr(cni, "output", commands.append)
    monkeypatch.setattr(cni.os, "geteuid", lambda: 0)
    found = cni.CniNetwork("bridge").forget(configured)
    assert found == [each.replace("NOTES", str(notes / "bridge")) for each in removed]
    assert commands == ([] if used else [["ip", "link", "delete", "sbr0"]]) and (notes / "bridge").exists() is used
