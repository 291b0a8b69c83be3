#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""4,000 actors on one host, each a process in a sandbox. Runs as root in the virtual machine, for hosts that do not allow so many open files:

  VM_MEMORY=8192 VM_DEADLINE=2400 TEST_DEADLINE=2200 tests/vm/run.sh tests/bench/actors_vm.py

Counts processes, the time until the first round has ended, invocations a second, and the memory of an actor when most have started. The processor is
emulated, so numbers of actors may be compared with each other, and with nothing else."""
import os, statistics, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

NUMBERS = 64, 1000, 4000
INVOCATIONS, ROUNDS_LEAST = 20000, 4
LOOKING_SHARE, PAUSE_MOST_SEC = 0.05, 5  # a look slows the job, so it has this share of the time


def memory_kb(pid):
    """(proportional, private) of a process; None: it is gone."""
    try:
        text = open(f"/proc/{pid}/smaps_rollup").read()
    except OSError:
        return None
    kb = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
    return kb["Pss"], kb["Private_Clean"] + kb["Private_Dirty"]


class Witness:
    """The most actors that were there at once, and the memory of some of them then."""

    def __init__(self):
        self.most, self.memory = 0, []

    def __call__(self, p):
        while p.poll() is None:
            begin = time.monotonic()
            actors = descendants(p.pid, "actord-actor")
            if len(actors) > self.most:
                self.most = len(actors)
                self.memory = [found for found in map(memory_kb, sorted(actors)[::max(1, len(actors) // 50)]) if found]
            time.sleep(min((time.monotonic() - begin) / LOOKING_SHARE, PAUSE_MOST_SEC))


def measured(n):
    witness, rounds = Witness(), max(ROUNDS_LEAST, INVOCATIONS // n)
    r = run("cartpole", "Actor.EnvsPerActor=1", "Actor.RolloutSteps=4", "Actor.TimeoutSec=600", "Learner.Epochs=1", "Learner.Threads=1", "Job.StopReturn=",
            f"Scaling.Actors={n}", f"Learner.MinibatchSize={4 * n}", f"Job.StopSteps={4 * n * rounds}", during=witness, timeout=300)
    equal((r.status, r.state), (0, "finished"), "status and state")
    rows = json.loads(ctl("rounds", run_of(r), "--json=short").out)
    rate = n * (len(rows) - 1) / (rows[-1]["wall_s"] - rows[0]["wall_s"])
    assert witness.memory, "no actor was seen"
    pss, private = (statistics.median(column) for column in zip(*witness.memory))
    print(f"# {n} actors: {witness.most} processes at once, first round ended after {rows[0]['wall_s']:.1f} s, {rate:,.0f} invocations a second, "
          f"an actor has {pss:.0f} kB ({private:.0f} private)", flush=True)
    equal(witness.most, n, "actors at once")


for number in NUMBERS:
    story(f"a job of {number} actors has as many processes, and makes rounds")(lambda n=number: measured(n))
tell()
