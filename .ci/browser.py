"""Open pages in headless Chromium, driven by its DevTools protocol over two pipes."""

import base64
import contextlib
import fcntl
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
from pathlib import Path

_SECONDS = 60  # for one answer of the browser
WIDTHS = (1400, 400)

# No network: every name of a host is unknown.
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)

# Waits for formulas and images; returns what is wrong with them and with the text.
_INSPECT = r"""
(async raw => {
  const wrong = [];
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  const images = [...document.images];
  images.forEach(image => { image.loading = "eager"; });
  await Promise.all(images.map(image => image.decode().catch(() => null)));
  for (const image of images)
    if (!image.naturalWidth) wrong.push("image does not load: " + image.src);
  await document.fonts.ready;
  for (const font of document.fonts)
    if (font.status == "error") wrong.push("font does not load: " + font.family);
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    wrong.push("formula with an error: " + error.textContent);
  for (const formula of document.querySelectorAll(".math"))
    if (!formula.querySelector("mjx-container"))
      wrong.push("formula that is not typeset: " + formula.textContent.slice(0, 40));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const written = "pre, code, script, style, textarea, noscript, mjx-container";
  while (walker.nextNode()) {
    const found = walker.currentNode.data.match(new RegExp("(?:" + raw + ").{0,30}"));
    if (found && !walker.currentNode.parentElement.closest(written))
      wrong.push("raw markup " + found[0]);
  }
  return wrong;
})
"""
_WIDTH = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


class BrowserError(Exception):
    """The browser cannot be started, ends, or does not answer."""


class Browser:
    """A running Chromium with one tab.

    Parameters
    ----------
    program : str
        Its path, or a name on the PATH.
    """

    def __init__(self, program):
        path = shutil.which(program)
        if path is None:
            raise BrowserError(f"there is no program {program!r}")
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        self._rest, self._number, self._events = b"", 0, []
        self._session = None
        self._start(path)
        try:
            self._open_tab()
        except BaseException:
            self.close()
            raise

    def _open_tab(self):
        """Open the tab that all commands are for."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _start(self, path):
        """Start the program; it reads commands from file 3 and answers in file 4."""
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Beyond the numbers that they are given in the child.
        given = [
            fcntl.fcntl(f, fcntl.F_DUPFD_CLOEXEC, 10) for f in (theirs_in, theirs_out)
        ]
        actions = [(os.POSIX_SPAWN_DUP2, file, 3 + i) for i, file in enumerate(given)]
        actions += [
            (os.POSIX_SPAWN_OPEN, i, os.devnull, os.O_RDWR, 0o600) for i in (0, 1, 2)
        ]
        command = [path, *_OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        self._pid = os.posix_spawn(path, command, os.environ, file_actions=actions)
        for file in (theirs_in, theirs_out, *given):
            os.close(file)
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._in, selectors.EVENT_READ)

    def _message(self):
        """The next message of the browser."""
        while b"\0" not in self._rest:
            if not self._ready.select(_SECONDS):
                raise BrowserError(f"the browser says nothing for {_SECONDS} seconds")
            data = os.read(self._in, 1 << 16)
            if not data:
                raise BrowserError("the browser has ended")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        """Run a command and return its result; events are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        try:
            os.write(self._out, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserError("the browser has ended") from None
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                break
            self._events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def evaluate(self, expression):
        """The value of an expression of JavaScript, awaited where it is a promise."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in answer:
            return [f"script fails: {_exception(answer['exceptionDetails'])}"]
        return answer["result"].get("value")

    def open(self, url):
        """Open a page and wait until it is loaded."""
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self._events):
            self._events.append(self._message())

    def events(self):
        """What has happened since the page was opened: pairs (method, parameters)."""
        return [(e["method"], e["params"]) for e in self._events if "method" in e]

    def resize(self, width, height=900):
        """Give the window a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path, width):
        """Write a picture of the page, down to 6000 pixels."""
        height = self.evaluate("document.documentElement.scrollHeight")
        self.resize(width, min(height, 6000))
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))
        self.resize(width)

    def close(self):
        """End the browser."""
        self._session = None
        with contextlib.suppress(BrowserError, OSError):
            self.call("Browser.close")
        end = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.05)
        self._ready.close()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)


def _exception(details):
    return details.get("exception", {}).get("description") or details["text"]


def _reported(events):
    """What the browser itself reports: errors of scripts, files and foreign hosts."""
    for method, params in events:
        if method == "Runtime.exceptionThrown":
            yield f"script fails: {_exception(params['exceptionDetails'])}"
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            said = [str(a.get("value", a.get("description"))) for a in params["args"]]
            yield f"script complains: {' '.join(said)}"
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            yield f"{entry['text']} {entry.get('url', '')}".rstrip()
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                yield f"fetched from another host: {url}"


def _look(browser, url, raw, picture):
    """What is wrong with one page."""
    browser.resize(WIDTHS[0])
    browser.open(url)
    yield from browser.evaluate(f"{_INSPECT}({json.dumps(raw)})")
    for width in WIDTHS:
        browser.resize(width)
        needed, there = browser.evaluate(_WIDTH)
        if needed > there:
            yield f"{needed} pixels wide in a window of {width}"
        if picture is not None:
            browser.screenshot(f"{picture}-{width}.png", width)
    yield from dict.fromkeys(_reported(browser.events()))


def look_at(program, folder, pages, raw, screenshots=None):
    """Open pages of a site one after the other.

    Parameters
    ----------
    program : str
        Chromium.
    folder : Path
        Where the site was built.
    pages : list of str
        Pages, relative to the folder.
    raw : str
        Regular expression of what must not stand in running text.
    screenshots : Path, default=None
        Where to write a picture of each page and width.

    Yields
    ------
    tuple
        Name of the page, what is wrong.
    """
    if screenshots is not None:
        screenshots.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        for name in pages:
            picture = screenshots and screenshots / name.replace("/", "-")[:-5]
            for wrong in _look(browser, (folder / name).as_uri(), raw, picture):
                yield name, wrong
    finally:
        browser.close()
