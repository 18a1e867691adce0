"""Headless Chromium through its DevTools protocol, on a pipe: one page, its errors, its requests, keys and pictures."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium")
DEADLINE_SECONDS = 120  # for one answer; a test's own limit is CTest's


def executable():
    """The path of Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """with Browser() as browser: browser.open(path); browser.value("1 + 1")"""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="qsim-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def connect():
            # The protocol is on the descriptors 3 and 4. First out of each other's way.
            reader, writer = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        # The sandbox cannot start as root; the page is our own, and reaches no network.
        self.process = subprocess.Popen(
            [executable(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.left_over = b""
        self.number = 0
        self.session = None
        self.errors = []
        self.requests = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError):
            pass
        os.close(self.write_end)
        os.close(self.read_end)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while b"\0" not in self.left_over:
            if time.monotonic() > deadline:
                raise EOFError("the browser does not answer")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.left_over += part
        text, self.left_over = self.left_over.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        """Keeps what went wrong, and what the page asked the network for."""
        name, data = event.get("method"), event.get("params", {})
        if name == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif name == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in data["args"]))
        elif name == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            self.errors.append(data["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            url = data["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.requests.append(url)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def value(self, expression):
        """The value of a JavaScript expression in the page; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "?"))
        return result["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"never true: {expression}")
            time.sleep(0.05)

    def size(self, width, height=900, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path):
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for(f"location.href === '{path.as_uri()}' && (document.documentElement || {{dataset: {{}}}}).dataset.ready === 'yes'")
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def key(self, key, code=0, text=None):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def picture(self, path, whole=True):
        """A PNG of the whole page."""
        height = self.value("Math.ceil(document.documentElement.scrollHeight)")
        width = self.value("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": clip} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
