# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium, told what to do by the DevTools protocol over a pair of pipes (--remote-debugging-pipe: messages of JSON that end in a zero byte)."""
import base64, json, os, select, shutil, subprocess, tempfile, time

from story import PATIENCE

NAMES = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"


def program():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Broken(Exception):
    pass


class Browser:
    def __init__(self, user=None):
        self.profile = tempfile.mkdtemp(prefix="actord-browser-")
        self.n, self.kept, self.session, self.said = 0, b"", None, []
        here, there = os.pipe(), os.pipe()
        # Descriptors 3 and 4 of the browser; without its sandbox, as it is root here and looks at pages of ours alone.
        line = f'exec "$0" "$@" 3<&{here[0]} 4>&{there[1]}'
        self.log = open(os.path.join(self.profile, "log"), "w+")
        self.process = subprocess.Popen(
            ["bash", "-c", line, program(), "--remote-debugging-pipe", "--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
             f"--user-data-dir={self.profile}/data", "about:blank"],
            pass_fds=(here[0], there[1]), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=dict(os.environ, HOME=self.profile))
        os.close(here[0])
        os.close(there[1])
        self.to, self.of = here[1], there[0]

    def __enter__(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(domain + ".enable")
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def log_text(self):
        return open(os.path.join(self.profile, "log"), errors="replace").read()

    def take(self, seconds):
        """Reads the next message; events are kept in `said`."""
        end = time.monotonic() + seconds * PATIENCE
        while b"\0" not in self.kept:
            if not select.select([self.of], [], [], max(0, end - time.monotonic()))[0]:
                raise Broken(f"the browser said nothing for {seconds} s: {self.log_text()[-500:]}")
            more = os.read(self.of, 1 << 16)
            if not more:
                raise Broken("the browser has ended: " + self.log_text()[-500:])
            self.kept += more
        text, self.kept = self.kept.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.said.append(message)
        return message

    def ask(self, method, seconds=30, **params):
        self.n += 1
        message = dict(id=self.n, method=method, params=params, **({"sessionId": self.session} if self.session else {}))
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.take(seconds * PATIENCE)
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise Broken(f"{method}: {answer['error']}")
                return answer["result"]

    def go(self, url):
        self.ask("Page.navigate", url=url)

    def run(self, script):
        """Returns the value of an expression in the page; waits for promises."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Broken(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, script, seconds=20):
        """Waits until the expression is true, and returns its value, which may not be an element of the page."""
        end = time.monotonic() + seconds * PATIENCE
        while True:
            try:
                value = self.run(script)
            except Broken as e:  # between two pages there is no document
                value, why = None, e
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not true after {seconds} s: {script}; the page says: {self.text()[:1500]}; {self.complaints()}")
            time.sleep(0.05)

    def text(self):
        try:
            return self.run("document.body.innerText")
        except Broken as e:
            return str(e)

    def key(self, name, code):
        for kind in "keyDown", "keyUp":
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, text="\r" if name == "Enter" else "")

    def look(self, width, height=900, scheme="light", phone=False, media=""):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as f:
            f.write(base64.b64decode(answer["data"]))

    def complaints(self):
        """Returns what the browser has complained about so far: exceptions, errors, what a policy forbade."""
        found = []
        for m in self.said:
            if m["method"] == "Runtime.exceptionThrown":
                d = m["params"]["exceptionDetails"]
                found.append(d.get("exception", {}).get("description") or d["text"])
            elif m["method"] == "Log.entryAdded" and m["params"]["entry"]["level"] == "error":
                found.append(m["params"]["entry"]["text"] + " " + m["params"]["entry"].get("url", ""))
            elif m["method"] == "Runtime.consoleAPICalled" and m["params"]["type"] in ("error", "assert"):
                found.append(" ".join(str(a.get("value", a.get("description"))) for a in m["params"]["args"]))
        return found
