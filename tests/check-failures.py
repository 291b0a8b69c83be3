#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A failed test prints its reason first and once more at the end, since a tool that cuts long output keeps one of the two."""
import os, subprocess, sys, tempfile

from sources import finish, point

STORY = """
import sys
sys.path.insert(0, {integration!r})
from story import *

class Fixture:
    def __enter__(self): pass
    def __exit__(self, *error):
        bear_witness([f"line {{i}} of the log" for i in range(500)])
        raise RuntimeError("the fixture does not end either")

@story("books close")
def books():
    with Fixture():
        equal(1, 2, "the books")

tell()
"""


def run(*words):
    return subprocess.run(["tests/run", *words], capture_output=True, text=True, timeout=600).stdout.splitlines()


def told():
    with tempfile.TemporaryDirectory(prefix="actord-failures-") as directory:
        path = os.path.join(directory, "story.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STORY.format(integration=os.path.abspath("tests/integration")))
        lines = run(f"{sys.executable} {path}")
        within = run("--jobs=1", f"tests/run --tap '{sys.executable} {path}'")
    reason = [i for i, line in enumerate(lines) if "the books differ: 1 and 2" in line]
    log = [i for i, line in enumerate(lines) if "of the log" in line]
    if not reason or not log or reason[0] > 3:
        yield "the reason is not among the first lines: " + " / ".join(lines[:6])
    if not log or len(log) > 60 or "line 499 of the log" not in lines[log[-1]]:
        yield f"{len(log)} lines of the log were told, the last is {lines[log[-1]] if log else None}"
    if reason[-1:] < log[-1:]:
        yield "the reason is not told again behind the log"
    if lines[-1:] != ["0 passed, 1 failed, 0 skipped"]:
        yield f"the last line is {lines[-1:]}"
    if not any("the books differ" in line for line in within[:5]):
        yield "the reason of a subtest is not among the first lines: " + " / ".join(within[:6])


point("the reason of a failure stands before and behind the output of its test", list(told()))
finish()
