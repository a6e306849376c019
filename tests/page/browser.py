"""Headless Chromium through its driver, spoken to in the driver's own words: no library beside the standard one."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


def missing() -> str:
    """Why no browser can be had here; empty where one can."""
    absent = [name for name, path in (("chromium", CHROMIUM), ("chromedriver", DRIVER)) if path is None]
    return f"{' and '.join(absent)} not installed (Debian: chromium, chromium-driver)" if absent else ""


class Browser:
    """One session; a context manager that ends both processes."""

    def __init__(self, profile: Path) -> None:
        assert DRIVER is not None
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = found.getsockname()[1]
        self._process = subprocess.Popen(
            [DRIVER, f"--port={self._port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        options = {
            "binary": CHROMIUM,
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
            ],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._session = ""
        try:
            self._wait()
            self._session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._process.kill()
            raise

    def _wait(self) -> None:
        until = time.monotonic() + 20
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until:
                    raise
            time.sleep(0.1)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from error

    def _say(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", f"/session/{self._session}{path}", body)

    def devtools(self, command: str, **told: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._say("/goog/cdp/execute", {"cmd": command, "params": told})

    def open(self, url: str, width: int, dark: bool = False, script: bool = True) -> None:
        """Load a page at a width, light or dark, with or without JavaScript."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self.devtools("Emulation.setScriptExecutionDisabled", value=not script)
        self._say("/url", {"url": url})

    def run(self, script: str, *words: Any) -> Any:
        """The value of a script in the page."""
        return self._say("/execute/sync", {"script": script, "args": list(words)})

    def console(self) -> list[str]:
        """What the console was told since it was last asked."""
        return [entry["message"] for entry in self._say("/se/log", {"type": "browser"})]

    def requested(self) -> list[str]:
        """Addresses that pages from files asked for since it was last asked; the browser's own start page is none."""
        events = [json.loads(entry["message"])["message"] for entry in self._say("/se/log", {"type": "performance"})]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self._say("/print", {"page": {"width": 21.0, "height": 29.7}}))

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._call("DELETE", f"/session/{self._session}")
        finally:
            self._process.terminate()
            self._process.wait(10)
