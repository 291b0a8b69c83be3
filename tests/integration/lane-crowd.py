#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several users on a real system bus with a real polkit: many submissions at once, shares of the places, quotas. Runs as root inside the lane."""
import json, os, pwd, random, subprocess, time

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


def prop(job, name):
    r = subprocess.run(["busctl", "--system", "--json=short", "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", name],
                       capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["data"]


class Daemon:
    """The daemon with settings of ours; what is left of it is stopped."""

    def __init__(self, config):
        self.config = config

    def __enter__(self):
        os.makedirs(os.path.dirname(DROP_IN), exist_ok=True)
        with open(DROP_IN, "w") as f:
            f.write("[Daemon]\n" + self.config)
        for user in USERS:
            subprocess.run(["useradd", user], stderr=subprocess.DEVNULL)
        restart_service()
        self.uids = [pwd.getpwnam(user).pw_uid for user in USERS]
        self.root = Wire(ADDRESS)
        return self

    def state(self, job):
        return prop(job, "State")

    def ended(self, job, seconds=90):
        wait_for(f"the end of job {job}", lambda: self.state(job) == "ended", seconds)
        return prop(job, "Result")

    def stop_others(self, asked):
        """Stops the jobs that were not asked yet. True: all have ended. After a failed story some submissions are still on their way."""
        live = sorted((i for i, row in jobs(self.root).items() if row[2] != "ended"), reverse=True)
        todo = [i for i in live if i not in asked]
        asked.update(todo)
        # A system bus lets a connection wait for 128 answers.
        for at in range(0, len(todo), 100):
            for one in [self.root.send("org.actord1", "/org/actord1", MANAGER, "StopJob", "t", i) for i in todo[at:at + 100]]:
                self.root.answer(one)
        return not live

    def __exit__(self, *_):
        asked = set()
        wait_for("the jobs' end", lambda: self.stop_others(asked), 90)
        self.root.close()
        os.unlink(DROP_IN)
        restart_service()


class Place(Daemon):
    """One place, which root's own job has."""

    def __init__(self):
        super().__init__("MaxJobs=1\nMaxJobsPerUser=1000\n")

    def __enter__(self):
        super().__enter__()
        self.first = self.root.answer(self.root.submit(JOB_TEXT, ENDLESS))[0]
        wait_for("the place is taken", lambda: self.state(self.first) == "running")
        return self


@story("50 clients of five users with 20 jobs each at once: none is refused, none is lost, each client's are in order")
def crowd():
    with Place() as place:
        wires = [Wire(ADDRESS, place.uids[i % len(USERS)]) for i in range(50)]
        begin = time.monotonic()
        # First the n-th call of each client, so that all clients submit at the same time.
        calls = [[] for _ in wires]
        for _ in range(20):
            for wire, own in zip(wires, calls):
                own.append(wire.submit(JOB_TEXT, JOBS))
        # As many as may be queued: the limit would refuse one more.
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
        # Calls that the daemon had not read yet came after it.
        assert mine < sorted(others)[-1], (mine, sorted(others)[-3:])
        before = len([i for i in others if i < mine])
        print(f"# {before} of 200 were before it")
        for wire in (*many, one):
            wire.close()


HOPPER = open(os.path.join(EXAMPLES, "hopper.conf")).read()
SOME = [("Job.StopReturn", ""), ("Job.StopSteps", "120000"), ("Actor.RolloutSteps", "512"), ("Job.Seed", "5")]


def submit(wire, text, overrides):
    return wire.answer(wire.submit(text, overrides))[0]


def owner():
    """The unique name of the bus's connection that is the daemon; "": there is none. A killed daemon has its name for a moment."""
    r = subprocess.run(["busctl", "--system", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner", "s",
                        "org.actord1"], capture_output=True, text=True, timeout=60)
    return r.stdout


def make_room(kill):
    with Daemon("MaxJobs=2\nPreempt=yes\nPreemptAfterSec=0\n") as daemon:
        calm = submit(daemon.root, HOPPER, SOME)
        equal(daemon.ended(calm), "finished", "results")
        one, other = Wire(ADDRESS, daemon.uids[0]), Wire(ADDRESS, daemon.uids[1])
        long = submit(one, JOB_TEXT, ENDLESS)
        # The age of a job counts from its first message: two that start together may come in either order.
        wait_for("the older one runs", lambda: daemon.state(long) == "running" and prop(long, "Round") > 0)
        young = submit(one, HOPPER, SOME)
        wait_for("both run", lambda: daemon.state(young) == "running" and prop(young, "Round") > 2)
        # It takes some seconds, so that a kill comes before the younger job has its next life: a launch whose answer is lost is a life, too.
        guest = submit(other, JOB_TEXT, [("Job.StopReturn", ""), ("Job.StopSteps", "250000")])
        if kill:
            # The kill comes anywhere between the message to the job and its new place in the queue.
            time.sleep(random.uniform(0, 0.5))
            before = owner()
            subprocess.run(["systemctl", "kill", "-s", "KILL", "actord.service"], check=True)
            wait_for("the next daemon is there", lambda: owner() not in ("", before))
        wait_for("the guest runs", lambda: daemon.state(guest) in ("running", "ending", "ended"), 60)
        equal(daemon.state(long), "running", "the older job")
        equal(daemon.ended(guest), "finished", "the guest's result")
        equal(daemon.ended(young), "finished", f"results ({prop(young, 'Fault')})")
        assert prop(young, "Preempted") == 1 and prop(young, "Life") == 2, [prop(young, name) for name in ("Preempted", "Life", "Fault")]
        for name in ("PolicySHA256", "EnvSteps", "Episodes", "Round"):
            equal(prop(young, name), prop(calm, name), name)
        equal((prop(young, "InvocationsRetried"), prop(long, "Preempted")), (0, 0), "what it cost others")
        lines = {row[0]: row[3] for row in young_bill(young)}
        assert not lines.get("retries"), lines
        for wire in (one, other):
            wire.close()


def young_bill(job):
    r = subprocess.run(["busctl", "--system", "--json=short", "call", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", "GetBill"],
                       capture_output=True, text=True, timeout=60)
    return json.loads(r.stdout)["data"][4]


@story("a user with two long jobs makes room for another's: the younger one goes back to the queue and ends with the same policy, and nothing is wasted")
def preemption():
    make_room(False)


@story("the same when the daemon is killed in the middle of it")
def preemption_killed():
    make_room(True)


@story("a user at the limit of the day waits until tomorrow, and another user's job runs on")
def money():
    # Two users who have spent nothing in the stories before.
    with Daemon("MaxJobs=4\n[User crowd3]\nMaxMoneyPerDayPerUser=0.0001USD\n") as daemon:
        limited, free = Wire(ADDRESS, daemon.uids[3]), Wire(ADDRESS, daemon.uids[4])
        calm = submit(free, JOB_TEXT, ENDLESS)
        first = submit(limited, JOB_TEXT, ENDLESS)
        wait_for("the limit", lambda: daemon.state(first) == "queued" and prop(first, "Preempted") == 1, 60)
        second = submit(limited, JOB_TEXT, ENDLESS)
        for job in first, second:
            wait_for("words", lambda: prop(job, "Waiting"))
            assert "MaxMoneyPerDayPerUser= is 0.0001 USD" in prop(job, "Waiting"), prop(job, "Waiting")
        rounds = prop(calm, "Round")
        wait_for("the other one runs on", lambda: prop(calm, "Round") > rounds + 2)
        equal([daemon.state(job) for job in (first, second, calm)], ["queued", "queued", "running"], "states")
        spent, limit = next(row[2:] for row in call(daemon.root, "GetQuota", "u", daemon.uids[3])[0] if list(row[:2]) == ["money", "nUSD"])
        assert spent >= limit == 100000, (spent, limit)
        equal([row[3] for row in call(daemon.root, "GetQuota", "u", daemon.uids[4])[0] if row[0] == "money"], [0], "the other one's limit")
        for wire in (limited, free):
            wire.close()


tell()
