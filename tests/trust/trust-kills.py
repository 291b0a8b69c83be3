#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The storm of kills: every program of a job, and the daemon, is killed at random while jobs run under every distribution. Each job ends
with the policy, the rounds and the steps of an undisturbed one, and with a bill that agrees with its cgroup.

TRUST_SEED decides which program is killed when; of several with that name, the order of their numbers decides."""
import collections, time

from trust import *
import bus as buses
from bus import JOB, MANAGER, Bus, BusError, check_ledger

AT_ONCE = 3
KILLS = 76 if LONG_FORM else 10  # for each row; the long form comes to more than 500

# name, example, settings: long enough that several kills hit each job, with checkpoints so close that lives get on.
COMMON = {"Job.StopReturn": "", "Checkpoint.IntervalSec": "0.1", "Scaling.Actors": "4", "Job.Seed": "7"}
PPO = {"Job.StopSteps": "60000", "Actor.RolloutSteps": "64", "Learner.MinibatchSize": "256"}
STORMS = [
    ("single-learner-coarse", "cartpole", PPO),
    ("single-learner-fine", "cartpole", {**PPO, "Job.StopSteps": "30000"}),
    ("environments", "cartpole", {**PPO, "Job.StopSteps": "30000"}),
    ("multi-learner", "cartpole", {**PPO, "Distribution.Learners": "2"}),
    ("central", "cartpole", {**PPO, "Distribution.Learners": "2", "Job.StopSteps": "30000"}),
    ("fused", "cartpole", {**PPO, "Job.StopSteps": "120000"}),
    ("async", "cartpole-impala", {"Job.StopSteps": "60000", "Billing.Clock": "model"}),
]
# Weights: an actor's death is retried in place, the others' end a life or are none of the job's business.
VICTIMS = ["actord-actor"] * 5 + ["actord-learner"] * 2 + ["actord-invoker"] * 2 + ["actord"] * 2 + ["actord-spawn"]
ENDS_A_LIFE = ("actord-learner", "actord-invoker", "actord-spawn")
PARTS = ("CPUActorsNSec", "CPULearnerNSec", "CPUControlNSec", "CPUStartupNSec", "CPULostNSec")


class Storm:
    def __init__(self, bus, rng, text, sets):
        self.bus, self.rng, self.text, self.sets = bus, rng, text, sets
        self.killed = collections.Counter()
        self.kept = {}

    def submit(self):
        return self.bus.submit(self.text, overrides=list(self.sets.items()))

    def checkpoints(self, job):
        place = f"{self.bus.dir}/state/actord/jobs/{job}/state"
        try:
            return sorted((os.stat(f"{place}/{f}").st_mtime_ns, f) for f in os.listdir(place) if f.endswith(".safetensors"))[-1:]
        except OSError:
            return []

    def may_end_a_life(self, jobs):
        """Lives that end one after another before a checkpoint are the job's end, and rightly so."""
        now = {job: self.checkpoints(job) for job in jobs}
        if any(not seen or self.kept.get(job) == seen for job, seen in now.items()):
            return False
        self.kept.update(now)
        return True

    def kill_one(self, jobs):
        """Draws what is to die; 1 if it did."""
        time.sleep(self.rng.uniform(0.02, 0.12))
        victim, pick = self.rng.choice(VICTIMS), self.rng.random()
        if victim == "actord":
            self.bus.stop(signal.SIGKILL)
            self.bus.start()
        else:
            pids = self.bus.processes(victim)
            if not pids or victim in ENDS_A_LIFE and not self.may_end_a_life(jobs):
                return 0
            try:
                os.kill(pids[int(pick * len(pids))], signal.SIGKILL)
            except ProcessLookupError:
                return 0
        self.killed[victim] += 1
        return 1

    def facts(self, job):
        return {name: self.bus.get(job, name) for name in ("Result", "PolicySHA256", "Round", "EnvSteps", "Episodes")}


def check_books(bus, job, metered=True):
    """What is on the bill against the cgroups of all lives, each of which is known where one can be made; None where nothing can be metered."""
    used = bus.get(job, "CPUScopeNSec")
    if not used:
        assert not metered, f"job {job} in {bus.get(job, 'Life')} lives: what its cgroup counted is not known of each"
        return None
    billed = sum(bus.get(job, name) for name in PARTS)
    assert abs(billed - used) <= 0.01 * used, f"job {job} in {bus.get(job, 'Life')} lives: {billed / 1e9:.3f} s are on the bill, {used / 1e9:.3f} s were used"
    return billed / used


def storm(name, example, sets):
    rng, kills = dice("kills", name), 0
    text = open(os.path.join(EXAMPLES, example + ".conf")).read()
    with Bus(f"MaxJobs={AT_ONCE}\n") as bus:
        s = Storm(bus, rng, text, {**COMMON, **sets, "Distribution.Policy": name})
        calm = s.submit()
        equal(bus.ended(calm), "finished", f"result ({bus.get(calm, 'Fault')})")
        want, done, books = s.facts(calm), [], [check_books(bus, calm, False)]
        end = time.monotonic() + 300 * PATIENCE
        while kills < KILLS:
            jobs = [s.submit() for _ in range(AT_ONCE)]
            running = list(jobs)
            while running and kills < KILLS:
                assert time.monotonic() < end, f"{kills} of {KILLS} kills in vain: {s.killed}"
                kills += s.kill_one(running)
                running = [j for j in running if bus.state(j) != "ended"]
            for job in jobs:
                equal(bus.ended(job, 120), "finished", f"result of job {job} in life {bus.get(job, 'Life')} ({bus.get(job, 'Fault')})")
                equal(s.facts(job), want, f"job {job} after {bus.get(job, 'Life')} lives and one that was left alone")
                books.append(check_books(bus, job, books[0] is not None))
                check_ledger(bus, job)
            done += jobs
        metered = [b for b in books if b is not None]
        print(f"# {name}: {len(done)} jobs, {kills} kills ({', '.join(f'{n} {w}' for w, n in sorted(s.killed.items()))}), 0 other policies; "
              + (f"books of {len(metered)} of {len(books)} jobs within {max(abs(b - 1) for b in metered):.2%}" if metered
                 else "nothing can be metered here"), flush=True)


def add(name, example, sets):
    def f():
        storm(name, example, sets)
    f.__name__ = name
    story(f"under {name} any mixture of kills ends with the same policy, the same rounds and steps, and books that close")(f)


for row in STORMS:
    add(*row)
begin()
tell()
