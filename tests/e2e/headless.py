"""A headless Chromium, driven through its own protocol: enough to open a page, ask it something and look at it."""

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_S = 60


def find_chromium():
    """Return the path of a Chromium, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page; what goes wrong on the page is kept in `problems`, what it asks for in `requests`."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.process = subprocess.Popen(
            [
                find_chromium(),
                *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
                *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"),
                *("--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={folder}", "about:blank"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.socket = websocket.create_connection(self.address(), timeout=PATIENCE_S)
        self.number, self.session = 0, None
        self.problems, self.requests, self.events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def address(self):
        """Wait until the browser says where it listens."""
        port_file = self.folder / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE_S
        while not (port_file.exists() and len(port_file.read_text().splitlines()) == 2):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("Chromium does not start")
            time.sleep(0.05)
        port, path = port_file.read_text().splitlines()
        return f"ws://127.0.0.1:{port}{path}"

    def call(self, method, **params):
        """Send a command and return its answer; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.socket.send(json.dumps(message | ({"sessionId": self.session} if self.session else {})))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Keep an event, and what it says of the page."""
        method, params = event.get("method"), event.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path, *, width, height=900, dark=False, script=True):
        """Open a file in a window of that size, and wait until it has been loaded."""
        self.problems, self.requests, self.events = [], [], []
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=Path(path).as_uri())
        while "Page.loadEventFired" not in self.events:
            self.note(json.loads(self.socket.recv()))

    def ask(self, expression):
        """Return the value of an expression on the page, or what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key, code, text=""):
        """Press a key."""
        common = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **(common | {"text": ""}))

    def screenshot(self, *, whole=True):
        """Return a picture of the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self):
        """Return the page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])

    def close(self):
        """End the browser."""
        self.session = None
        self.call("Browser.close")
        self.socket.close()
        self.process.wait(PATIENCE_S)
