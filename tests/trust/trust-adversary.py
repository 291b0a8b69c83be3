#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A hostile plugin in jobs of run mode and of a user's own daemon, and in a trial without a job: each attempt of adversary.py
gets the signal or the errno that its row demands. lane-adversary.py tries the same through the system's daemon."""
import shutil

from adversary import *
from bus import Bus


AT_ONCE = 4


class Runs:
    """The door without a daemon: each job is a run of its own."""

    def __init__(self, path):
        self.path = path

    def submit(self, sets):
        words = [CTL, "run", self.path, "--json=short", *set_words(*sets)]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

    def end(self, run):
        out, err = run.communicate(timeout=60 * PATIENCE)
        r = Result(run.returncode, out, err, 0)
        return r.result, r.fault, r.sandbox_level


class Trials:
    """The door without a job. A sandbox level that is demanded is given, or nothing runs."""

    def __init__(self, path):
        self.plugin = os.path.join(os.path.dirname(path), "adversary.so")

    def submit(self, sets):
        words = [CTL, "env", "rollout", self.plugin, "--steps=1", *set_words(*sets)]
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        return run, sets[-1].partition("=")[2]

    def end(self, job):
        out, err = job[0].communicate(timeout=60 * PATIENCE)
        return job[0].returncode, err, job[1]


class Daemon:
    """The door of a user's own daemon."""

    def __init__(self, bus, path):
        self.bus, self.path = bus, path

    def submit(self, sets):
        return int(re.search(r"\d+", self.bus.ctl("submit", self.path, *set_words(*sets)).out).group())

    def end(self, job):
        return self.bus.ended(job), self.bus.get(job, "Fault"), self.bus.get(job, "SandboxLevel")


def levels(path):
    """The sandbox levels that this host gives this user."""
    if not shutil.which("cc"):
        raise Skip("no compiler for the hostile plugin")
    found = [level for level in LEVELS if ctl("run", path, "--json", "--set", f"Actor.Sandbox={level}").status == 0]
    print(f"# levels of this host: {', '.join(found)}", flush=True)
    if not found:
        raise Skip("this host gives no level")
    return found


@story("run mode: whatever a plugin tries, its sandbox has the answer of the table")
def run_mode():
    path = conf(STATE)
    door = Runs(path)
    attack("run mode", door.submit, door.end, plan(dice("adversary"), levels(path), RUN), AT_ONCE)


@story("env rollout: whatever a plugin tries, its sandbox has the answer of the table")
def trial():
    path = conf(STATE)
    door = Trials(path)
    attack("env rollout", door.submit, door.end, plan(dice("adversary"), levels(path), TRIAL), AT_ONCE)


@story("user mode: whatever a plugin tries, its sandbox has the answer of the table")
def user():
    if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
        raise Skip("dbus-daemon and busctl are needed")
    path = conf(STATE)
    with Bus(f"MaxJobs={AT_ONCE}\n") as bus:
        door = Daemon(bus, path)
        attack("user mode", door.submit, door.end, plan(dice("adversary"), levels(path), USER))


begin()
tell()
