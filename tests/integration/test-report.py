#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reports: one file that holds everything, in which no job's text becomes markup, with the figures that the other verbs print."""
import contextlib, html.parser

import browser
from story import *

HOSTILE = 'a <script>alert(1)</script> & | [x](http://x) "quoted"'
VOID = {"meta", "link", "br", "path", "line", "rect", "circle", "polyline"}


class Reader(html.parser.HTMLParser):
    """Collects the elements and the text that a reader sees, and checks that each element is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.addresses, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


_jobs = {}


def elastic():
    """A run whose number of actors changes, with a malicious description."""
    if not _jobs:
        r = run("elastic", "Job.Description=" + HOSTILE, "Job.StopSteps=40000", "Scaling.Policy=auto", "Job.StopReturn=")
        _jobs.update(r.json, run="r" + os.path.basename(r.state_directory))
    return _jobs


@story("a report in HTML is one sound file with curves, costs and settings")
def in_html():
    job = elastic()
    path = os.path.join(STATE, "report.html")
    r = ctl("report", job["run"], "--html", f"--output={path}")
    equal(r.status, 0, r.err)
    reader = Reader()
    reader.feed(open(path, encoding="utf-8").read())
    equal(reader.open, [], "elements left open")
    assert reader.seen.count("svg") >= 2 and "script" not in reader.seen, reader.seen
    equal(reader.addresses, [], "addresses")
    text = "".join(reader.text)
    assert HOSTILE in text and job["policy_sha256"] in text and "StopSteps=40000" in text
    for line in job["cost"]["lines"]:
        assert line["kind"] in text, line
    assert "Why the number of actors changed" in text


@story("a report in Markdown has the same figures, and no markup of the job's")
def in_markdown():
    job = elastic()
    r = ctl("report", job["run"], "--md")
    equal(r.status, 0, r.err)
    assert job["policy_sha256"] in r.out and "<script>" not in r.out.split("## Settings")[0], r.out
    assert f"| environment steps | {job['env_steps']:,} |" in r.out, r.out
    tables = [line for line in r.out.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


@story("several jobs stand in one picture, and wrong ones are named")
def together():
    other = run("cartpole", "Job.StopSteps=4000", "Job.StopReturn=")
    name = "r" + os.path.basename(other.state_directory)
    r = ctl("report", elastic()["run"], name)
    assert r.status == 0 and "Together" in r.out and f"run {name}" in r.out, r.err
    for words, says in (([name, "r999"], "no run r999"), ([name, "--html", "--md"], "cannot be used together"), ([name, "--output=/nowhere/x"], "/nowhere/x")):
        r = ctl("report", *words)
        assert r.status != 0 and says in r.err and r.out == "", (words, r.err)


@story("a browser shows it: light, dark, on a phone and on paper, and no page is wider than its screen")
def in_browser():
    if not browser.program():
        raise Skip("no chromium is installed here: packaging/dependencies.sh test installs one")
    page = os.path.join(STATE, "report.html")
    ctl("report", elastic()["run"], f"--output={page}")
    try:
        b = browser.Browser()
        b.__enter__()
    except browser.Broken as e:
        raise Skip("Chromium cannot run here: " + str(e).replace("\n", " ")[:200])
    with contextlib.ExitStack() as stack:
        stack.push(b.__exit__)
        for name, width, scheme, media in (("light", 1200, "light", ""), ("dark", 1200, "dark", ""), ("phone", 390, "light", ""), ("paper", 794, "light", "print")):
            b.look(width, 900, scheme, name == "phone", media)
            b.go("file://" + page)
            b.wait("document.readyState === 'complete' && document.querySelectorAll('svg').length >= 2")
            assert b.run("document.documentElement.scrollWidth") <= width, name
            curve = b.run("(r => [r.width, r.height])(document.querySelector('svg').getBoundingClientRect())")
            assert curve[0] > 200 and curve[1] > 100, (name, curve)
            canvas = b.run("getComputedStyle(document.body).color")
            equal(canvas == "rgb(255, 255, 255)", scheme == "dark", f"light letters, {name}: {canvas}")
            equal(b.run("getComputedStyle(document.querySelector('details')).display === 'none'"), media == "print", f"no settings on paper, {name}")
        equal(b.complaints(), [], "what the browser complains about")


tell()
