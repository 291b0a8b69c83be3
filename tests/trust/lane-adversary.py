#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same hostile plugin through the system's daemon: an ordinary user submits it to the installed daemon. Runs as root inside the lane."""
import json, shutil, subprocess

from adversary import *


def as_tester(*words):
    r = subprocess.run([os.path.join(ROOT, "tests/lane/as-tester"), *words], capture_output=True, text=True, timeout=60 * PATIENCE,
                       stdin=subprocess.DEVNULL)
    assert r.returncode == 0, (words, r.stdout, r.stderr)
    return r.stdout


def prop(job, name):
    return json.loads(as_tester("busctl", "--system", "--json=short", "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job",
                                name))["data"]


@story("system mode: whatever an ordinary user's plugin tries, its sandbox has the answer of the table")
def system():
    if not shutil.which("cc"):
        raise Skip("no compiler for the hostile plugin")
    place = os.path.expanduser("~tester/adversary")
    os.makedirs(place)
    path = conf(place)
    subprocess.run(["chown", "-R", "tester:", place], check=True)
    refused = subprocess.run([os.path.join(ROOT, "tests/lane/as-tester"), "actorctl", "--system", "submit", path, "--set", "Actor.Sandbox=none"],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert refused.returncode != 0 and "Sandbox" in refused.stderr, (refused.returncode, refused.stderr)

    def submit(sets):
        return int(re.search(r"\d+", as_tester("actorctl", "--system", "submit", path, *set_words(*sets))).group())

    def end(job):
        wait_for(f"the end of job {job}", lambda: prop(job, "State") == "ended", 60)
        return prop(job, "Result"), prop(job, "Fault"), prop(job, "SandboxLevel")
    attack("system mode", submit, end, plan(dice("adversary", "system")))


begin()
tell()
