#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many submissions of several users at once on a real system bus with a real polkit. Runs as root inside the lane."""
import os, pwd, subprocess, time

from bus import ENDLESS, JOB_TEXT, MANAGER
from story import *
from wire import Wire

ADDRESS, DROP_IN = "unix:path=/run/dbus/system_bus_socket", "/etc/actord/actord.conf.d/crowd.conf"
USERS = [f"crowd{i}" for i in range(5)]
JOBS = [("Job.StopReturn", ""), ("Job.StopSteps", "1000000000")]


def sh(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL, timeout=60)


def call(wire, method, *words):
    return wire.call("org.actord1", "/org/actord1", MANAGER, method, *words)


def jobs(wire):
    return {row[0]: row for row in call(wire, "ListJobs")[0]}


class Place:
    """The daemon with one place, which root's own job has; what is left of it is stopped."""

    def __enter__(self):
        os.makedirs(os.path.dirname(DROP_IN), exist_ok=True)
        with open(DROP_IN, "w") as f:
            f.write("[Daemon]\nMaxJobs=1\nMaxJobsPerUser=1000\n")
        for user in USERS:
            subprocess.run(["useradd", user], stderr=subprocess.DEVNULL)
        sh("systemctl", "restart", "actord.service")
        self.uids = [pwd.getpwnam(user).pw_uid for user in USERS]
        self.root = Wire(ADDRESS)
        self.first = self.root.answer(self.root.submit(JOB_TEXT, ENDLESS))[0]
        wait_for("the place is taken", lambda: jobs(self.root)[self.first][2] == "running")
        return self

    def __exit__(self, *_):
        live = sorted((i for i, row in jobs(self.root).items() if row[2] != "ended"), reverse=True)
        # A system bus lets a connection wait for 128 answers.
        for at in range(0, len(live), 100):
            for one in [self.root.send("org.actord1", "/org/actord1", MANAGER, "StopJob", "t", i) for i in live[at:at + 100]]:
                self.root.answer(one)
        wait_for("the jobs' end", lambda: not [row for row in jobs(self.root).values() if row[2] != "ended"], 60)
        self.root.close()
        os.unlink(DROP_IN)
        sh("systemctl", "restart", "actord.service")


@story("50 clients of five users with 20 jobs each at once: none is refused, none is lost, each client's are in order")
def crowd():
    with Place() as place:
        wires = [Wire(ADDRESS, place.uids[i % len(USERS)]) for i in range(50)]
        begin = time.monotonic()
        # The n-th of each, so that all clients are at it at once.
        calls = [[] for _ in wires]
        for _ in range(20):
            for wire, own in zip(wires, calls):
                own.append(wire.submit(JOB_TEXT, JOBS))
        # As many as may be queued: one more would be for the limit to refuse.
        ids = [[wire.answer(c)[0] for c in own] for wire, own in zip(wires, calls)]
        print(f"# 1000 submissions took {time.monotonic() - begin:.1f} s")
        for own in ids:
            equal(own, sorted(own), "the order of a client's jobs")
        every = sorted(i for own in ids for i in own)
        equal(every, list(range(place.first + 1, place.first + 1001)), "numbers")
        known = jobs(place.root)
        for i, own in enumerate(ids):
            assert all(known[job][1] == place.uids[i % len(USERS)] and known[job][2] == "queued" for job in own), own
        for wire in wires:
            wire.close()


@story("a user with two hundred calls does not keep one with a single call waiting")
def flood():
    with Place() as place:
        many, one = [Wire(ADDRESS, place.uids[0]) for _ in range(20)], Wire(ADDRESS, place.uids[1])
        calls = [(wire, wire.submit(JOB_TEXT, JOBS)) for _ in range(10) for wire in many]
        mine = one.answer(one.submit(JOB_TEXT, JOBS))[0]
        others = [wire.answer(c)[0] for wire, c in calls]
        # Whatever the daemon had not read yet came after it.
        assert mine < sorted(others)[-1], (mine, sorted(others)[-3:])
        before = len([i for i in others if i < mine])
        print(f"# {before} of 200 were before it")
        for wire in (*many, one):
            wire.close()


tell()
