#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A hostile plugin in real jobs of a user's own daemon: each attempt of adversary.py gets the signal or the errno that it must get."""
import shutil

from adversary import *
from bus import Bus


def possible(bus, path, level):
    """Whether this host gives that level to that user."""
    r = bus.ctl("submit", path, "--set", f"Actor.Sandbox={level}", ok=False)
    return r.status == 0 and bus.ended(int(re.search(r"\d+", r.out).group())) == "finished"


@story("user mode: whatever a plugin tries, its sandbox has the answer of the table")
def user():
    if not shutil.which("cc"):
        raise Skip("no compiler for the hostile plugin")
    path = conf(STATE)
    with Bus("MaxJobs=4\n") as bus:
        levels = [level for level in LEVELS if possible(bus, path, level)]
        print(f"# levels of this host: {', '.join(levels)}", flush=True)
        if not levels:
            raise Skip("this host gives no level")

        def submit(sets):
            return int(re.search(r"\d+", bus.ctl("submit", path, *(w for s in sets for w in ("--set", s))).out).group())

        def end(job):
            return bus.ended(job), bus.get(job, "Fault"), bus.get(job, "SandboxLevel")
        attack(submit, end, levels, dice("adversary"))


begin()
if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
