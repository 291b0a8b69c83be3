#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""All usage is on the bill, whichever process of a job is killed: the ledger's sums are compared with the counters of the job's cgroups, read from outside."""
import os, random, re, signal, time

from story import Skip, descendants, equal, run, story, tell, wait_for

LIVES = ("Job.StopSteps=100000", "Job.StopReturn=", "Scaling.Actors=2", "Actor.RolloutSteps=512", "Checkpoint.IntervalSec=0.1")
USES = ("actors", "learner", "control", "startup", "lost")


def used(r):
    return sum(r.cpu_s[k] for k in USES)


def roots(p):
    """The parent cgroup of the cgroups of the job's lives, which goes on counting when those are gone. Other users' jobs have some, too."""
    daemons = "|".join(map(str, descendants(p.pid, "actord"))) or "none"
    return {d for d, _, _ in os.walk("/sys/fs/cgroup") if re.search(rf"/actord-(({daemons})-1|run({daemons})\.slice)$", d)}


class Watcher:
    """Reads the counters of new cgroups, life by life, for as long as they are there; .seconds is the sum of the last readings."""

    def __init__(self):
        self.open, self.over = {}, 0.0

    def look(self, p):
        for path in roots(p) - set(self.open):
            try:
                self.open[path] = [open(path + "/cpu.stat"), 0]
            except OSError:
                pass
        for path, entry in list(self.open.items()):
            try:
                entry[0].seek(0)
                entry[1] = max(entry[1], int(entry[0].readline().split()[1]))
            except OSError:  # it is removed; we keep its last reading
                entry[0].close()
                self.over += self.open.pop(path)[1] / 1e6

    @property
    def seconds(self):
        return self.over + sum(entry[1] / 1e6 for entry in self.open.values())


class Storm:
    """Kills processes of the given names in turn, and reads the cgroups meanwhile. Before each kill it waits until a learner is there, and then half of the
    pace to all of it (seconds)."""

    def __init__(self, *comms, pace):
        self.comms, self.low, self.high = list(comms), pace / 2, pace
        self.killed, self.watcher, self.random = [], Watcher(), random.Random(5)

    def __call__(self, p):
        left, at = list(self.comms), 0
        while p.poll() is None:
            self.watcher.look(p)
            learners = left and descendants(p.pid, "actord-learner")
            if not learners:
                at = 0
            elif not at:
                at = time.monotonic() + self.random.uniform(self.low, self.high)
            elif time.monotonic() > at:
                victims = descendants(p.pid, left[0])
                if victims:
                    try:
                        os.kill(self.random.choice(sorted(victims)), signal.SIGKILL)
                        self.killed.append(left.pop(0))
                    except ProcessLookupError:
                        pass
                    at = 0
            time.sleep(0.002)
        self.watcher.look(p)


def killed(want, *comms, sets=()):
    """A run like `want`, which was undisturbed. The pace of the kills follows from the time that `want` took, so that on any machine the run outlasts the
    storm, and each life has time for some rounds."""
    storm = Storm(*comms, pace=want.seconds / 12)
    r = run("hopper", *LIVES, *sets, during=storm, timeout=200)
    equal(storm.killed, list(comms), "processes killed")
    return r, storm.watcher


def balanced(r, watcher):
    """Compares both: our counter, and the one read from outside, which lacks the usage after its last reading."""
    if not r.cpu_s.get("scope"):
        raise Skip("no cgroup can be made here: process clocks have no total to compare with")
    assert abs(used(r) - r.cpu_s["scope"]) <= 0.01 * r.cpu_s["scope"], r.cpu_s
    assert used(r) >= 0.99 * watcher.seconds, (r.cpu_s, watcher.seconds)
    equal(r.json["lives_unmetered"], 0, "lives that were not metered")


@story("killing the invoker four times takes nothing off the bill: usage without a record is a line of its own")
def invokers():
    want = run("hopper", *LIVES)
    equal(want.cpu_s["lost"], 0, "lost, without a kill")
    r, watcher = killed(want, *["actord-invoker"] * 4)
    equal(r.policy_sha256, want.policy_sha256, "policies")
    if "scope" not in r.cpu_s:
        assert r.json["lives_unmetered"] == 4, r.json
    balanced(r, watcher)
    lines = [line for line in r.cost["lines"] if line["kind"] == "lost"]
    assert lines and not any(line["paper"] for line in lines) and r.cpu_s["lost"] > 0, (r.cost, r.cpu_s)


@story("books balance over all lives after any mixture of kills")
def mixture():
    want = run("hopper", *LIVES)
    # The spawner stays beside the job only where there is a cgroup to remove.
    spawner = ["actord-spawn"] if want.cpu_s.get("scope") else []
    r, watcher = killed(want, "actord-actor", "actord-invoker", "actord-learner", "actord-actor", "actord-invoker", *spawner, "actord-learner")
    equal(r.policy_sha256, want.policy_sha256, "policies")
    balanced(r, watcher)


@story("a job that ends because its invoker is killed has its last life on the bill, too")
def last_life():
    watcher, done = Watcher(), []

    def during(p):
        wait_for("the learner", lambda: p.poll() is not None or descendants(p.pid, "actord-learner"))
        start = time.monotonic()
        while p.poll() is None:
            watcher.look(p)
            if not done and time.monotonic() > start + 1:
                p.send_signal(signal.SIGINT)
                for pid in descendants(p.pid, "actord-invoker"):
                    os.kill(pid, signal.SIGKILL)
                done.append(True)
            time.sleep(0.002)

    r = run("hopper", "Job.StopSteps=1000000", "Job.StopReturn=", "Scaling.Actors=2", during=during, ok=False)
    equal(r.state, "interrupted", "state")
    balanced(r, watcher)


@story("without a cgroup the bill says how many lives it does not know to their end")
def unknown():
    if os.geteuid() == 0:
        raise Skip("root makes cgroups of its own: this is for those who cannot")
    r, _ = killed(run("hopper", *LIVES), "actord-invoker")
    if "scope" in r.cpu_s:
        raise Skip("a cgroup can be made here")
    equal(r.json["lives_unmetered"], 1, "lives that were not metered")


@story("under Clock=model lost usage costs money, and changes no decision")
def model():
    sets = ("Billing.Clock=model", "Scaling.Policy=auto", "Scaling.MinActors=1", "Scaling.MaxActors=4")
    want = run("hopper", *LIVES, *sets)
    r, watcher = killed(want, "actord-invoker", "actord-invoker", sets=sets)
    equal((r.policy_sha256, r.rounds), (want.policy_sha256, want.rounds), "policies and rounds")
    balanced(r, watcher)


tell()
