"""A base image of Debian's packages at a moment. A local server takes the place of Debian's archive of snapshots."""

import http.server
import shutil
import threading
from contextlib import contextmanager

import pytest
from plimsoll.images import bootstrap, client, debian

MOMENT = "20261126T000000Z"
BASE = f"bootstrap@{MOMENT}"


@contextmanager
def snapshots(there):
    """Yield (address, requested paths) of a server whose folders of MOMENT lead to this machine's mirrors."""
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            name, moment, path = self.path.removeprefix("/archive/").split("/", 2)
            kind = {"debian": "main", "debian-security": "security"}.get(name)
            if moment != MOMENT or kind not in there:
                return self.send_error(404)
            self.send_response(302)
            self.send_header("Location", f"{there[kind].rstrip('/')}/{path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/archive", asked
    finally:
        server.shutdown()


@pytest.mark.long
def test_a_base_is_made_of_the_packages_of_a_moment(image, monkeypatch):
    there = debian.mirrors()
    if not shutil.which("mmdebstrap") or {"main", "security"} - there.keys():
        pytest.skip("this needs mmdebstrap, and APT with Debian's archives")
    with snapshots(there) as (address, asked):
        monkeypatch.setattr(bootstrap, "SNAPSHOTS", address)
        try:
            bootstrap.make(BASE)
            told = client.output("run", "--rm", "--network", "none", bootstrap.tag(BASE), "cat", "/etc/apt/sources.list")
        finally:
            client.output("image", "rm", "--force", bootstrap.tag(BASE))
        # Images on this base install packages from the same snapshot.
        assert [line for line in told.splitlines() if line.startswith("deb ")] == bootstrap.sources(BASE)
    assert any(path.endswith(".deb") for path in asked)
    assert {path.split("/")[3] for path in asked} == {MOMENT}
