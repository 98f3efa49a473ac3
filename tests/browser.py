"""A headless Chromium that a test drives through a pipe: pages at any width, light, dark and on paper."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

from tests.project import PROJECT

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# A root user, and a container, can have no sandbox. The pages are our own, and reach nothing.
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)
# Seconds that one answer may take, on a machine that other tests keep busy.
PATIENCE = 120
AXE = "axe-core-*/axe.min.js"


def program() -> str:
    """Return the path of a Chromium. Skip the test if there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return found or pytest.skip("Chromium is not installed (scripts/setup/browser.sh)")


def axe() -> str:
    """Return the source of axe-core. Skip the test if it was not fetched."""
    found = sorted((PROJECT / ".cache").glob(AXE))
    return found[-1].read_text() if found else pytest.skip("axe-core is not installed (scripts/setup/browser.sh)")


class Browser:
    """One page of a Chromium. Messages are JSON that ends in a zero byte, as its DevTools protocol has them."""

    def __init__(self, sends: int, reads: int):
        self._sends, self._reads, self._rest, self._number = sends, reads, b"", 0

    @cached_property
    def _session(self) -> str:
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        return self._send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

    def open(self, path: Path, *, width: int = 1280, height: int = 800, scheme: str = "light", media: str = "screen") -> None:
        """Load the page in a file, in a window of this size in CSS pixels, light or dark, on a screen or for print."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._ask("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
        self._ask("Page.navigate", {"url": path.resolve().as_uri()})
        end = time.monotonic() + PATIENCE
        while self.run("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end, f"{path} was not loaded"
            time.sleep(0.02)

    def run(self, script: str) -> object:
        """Return what an expression of JavaScript is in the page. A promise is waited for. Raise AssertionError if it fails."""
        given = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = self._ask("Runtime.evaluate", given)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": 9})

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a place of the window."""
        self._ask("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})

    def paper(self) -> bytes:
        """Return the page printed on A4, as a PDF."""
        self._ask("Emulation.setEmulatedMedia", {"media": "", "features": []})
        answer = self._ask("Page.printToPDF", {"preferCSSPageSize": False, "paperWidth": 8.27, "paperHeight": 11.69})
        return base64.b64decode(answer["data"])

    def _ask(self, method: str, given: dict) -> dict:
        return self._send(method, given, sessionId=self._session)

    def _send(self, method: str, given: dict, **more: str) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given, **more}
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._sends, text) :]
        while (answer := self._next()).get("id") != message["id"]:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _next(self) -> dict:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            assert select.select([self._reads], [], [], max(0.0, end - time.monotonic()))[0], "Chromium does not answer"
            read = os.read(self._reads, 1 << 20)
            assert read, "Chromium has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """Yield a Chromium that keeps its files in a folder. Skip the test if none is installed."""
    command = [program(), *OPTIONS, f"--user-data-dir={folder}"]
    (its_reads, sends), (reads, its_sends) = os.pipe(), os.pipe()
    # The protocol's descriptors are 3 and 4.
    shell = f'exec "$@" 3<&{its_reads} 4>&{its_sends}'
    process = subprocess.Popen(
        ["bash", "-c", shell, "-", *command],
        pass_fds=(its_reads, its_sends),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(its_reads)
    os.close(its_sends)
    try:
        yield Browser(sends, reads)
    finally:
        os.close(sends)
        os.close(reads)
        process.terminate()
        process.wait(PATIENCE)
