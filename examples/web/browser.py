"""Chromium without a window, driven by its DevTools protocol over a pipe. Needs Python alone."""

import base64
import json
import os
import subprocess
import tempfile

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-webgpu",
    "--remote-debugging-pipe",
]


class Browser:
    """One page of a browser with a profile of its own, so that nothing is cached."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.output = os.pipe()
        self.input, theirs_out = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        words = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program, *FLAGS]
        self.process = subprocess.Popen(
            [*words, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer = b""
        self.count = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """What a command of the protocol answers. Events that come before it are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                break
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.input, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        """The value of an expression of JavaScript, awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def visit(self, address, width=1000, height=720, scale=1, dark=False, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)

    def stroke(self, points, touch=False):
        """Draws with the mouse, or a finger: presses at the first point, moves along, lets go at the last."""
        if touch:
            for at, (x, y) in enumerate(points):
                kind = "touchMove" if at else "touchStart"
                self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y}])
            self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            return
        button = {"button": "left", "buttons": 1, "clickCount": 1}
        for at, (x, y) in enumerate(points):
            kind = "mouseMoved" if at else "mousePressed"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **button)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def complaints(self):
        """Errors that the page wrote to its console."""
        thrown = [event for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        logged = [event["params"] for event in self.events if event.get("method") == "Runtime.consoleAPICalled"]
        texts = [event["params"]["exceptionDetails"]["exception"].get("description", "") for event in thrown]
        for event in logged:
            if event["type"] == "error":
                texts.append(" ".join(str(each.get("value", each.get("description"))) for each in event["args"]))
        return texts

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
