#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every distribution gives the same policy, whichever of its processes is killed; only the times differ."""
import math, os, re, time
from distributing import *

SERVED = ("single-learner-fine", "environments", "central x 2")


@story("the policy is the same whether the learner acts, on request or for all in step, or the actors themselves")
def acting():
    for job in JOBS:
        for distribution in SERVED:
            r = policy(job, distribution)
            equal((r.policy_sha256, r.env_steps), (coarse(job).policy_sha256, coarse(job).env_steps), f"{job} under {distribution} and coarse")


@story("the policy is the same however actors share containers, and with any number of threads of a learner that acts")
def processes_and_threads():
    for sets in ("Actor.Processes=1", "Actor.Processes=3", "Learner.Threads=3"):
        equal(policy("cartpole", "single-learner-fine", sets).policy_sha256, coarse("cartpole").policy_sha256, f"policies with {sets}")
    equal(policy("cartpole", "environments", "Learner.Threads=2").policy_sha256, coarse("cartpole").policy_sha256, "policies in step")


@story("one process that acts and learns ends with the same policy, with any number of threads, and keeps every record")
def fused():
    for job in JOBS:
        for threads in 1, 2, 4:
            r = policy(job, "fused", f"Learner.Threads={threads}")
            want = coarse(job)
            equal((r.policy_sha256, r.env_steps, r.rounds), (want.policy_sha256, want.env_steps, want.rounds), f"{job} with {threads} threads")
            equal((r.invocations["total"], r.invocations["cold"]), (want.invocations["total"], want.invocations["cold"]), "invocations")
            assert r.cpu_s["learner"] > 0 and r.cpu_s["actors"] > 0, r.cpu_s
            # Where nothing can be metered there is no sum to compare with.
            assert r.cpu_s["actors"] + r.cpu_s["learner"] <= r.cpu_s.get("scope", math.inf) + 0.05, r.cpu_s
            assert abs(sum(l["amount"] for l in r.cost["lines"]) - r.cost["full"]) < 1e-9, r.json


def unified():
    """Where cgroup v2 is mounted; None: nowhere."""
    return next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)


class ThreadWatch:
    """What a fused process's leaf, and each cgroup below it, counted while the job ran: .seen has the increase of each thread; the leaf's own lies between
    .least and .greatest, since it cannot be read at the same moment."""

    def __init__(self):
        self.leaf, self.seen, self.most, self.each = None, None, 0, False
        self.least = self.greatest = 0

    def usage(self, directory):
        return int(re.search(r"usage_usec (\d+)", open(directory + "/cpu.stat").read())[1])

    def look(self):
        names = sorted(d for d in os.listdir(self.leaf) if d.startswith("thread-"))
        # A cgroup is empty before its thread comes and after it went.
        threads = [len(open(f"{self.leaf}/{d}/cgroup.threads").read().split()) for d in names]
        self.most, self.each = max([self.most, *threads]), self.each or set(threads) == {1}
        before, of = self.usage(self.leaf), {d: self.usage(f"{self.leaf}/{d}") for d in names}
        return before, of, self.usage(self.leaf)

    def __call__(self, p):
        first = None
        while p.poll() is None:
            time.sleep(0.1)
            try:
                for pid in descendants(p.pid, "actord-learner") if not self.leaf else ():
                    below = re.search(r"^0::(.*)$", open(f"/proc/{pid}/cgroup").read(), re.M)[1]
                    self.leaf = unified() + os.path.dirname(below) if os.path.basename(below) == "thread-0" else None
                if self.leaf:
                    now = self.look()
                    if first is None or set(first[1]) < set(now[1]):
                        first = now
                    if set(now[1]) == set(first[1]):
                        self.seen = {d: now[1][d] - first[1][d] for d in now[1]}
                        self.least, self.greatest = now[0] - first[2], now[2] - first[0]
            except OSError:  # it ends
                pass


@story("the threads of a process that acts and learns are metered one by one, and together they are what the process used")
def fused_threads():
    want = policy("hopper", "single-learner-coarse", "Job.StopSteps=30000")
    if not want.cpu_s.get("scope") or not unified():
        raise Skip("no cgroup can be made here: threads are metered by their clocks")
    for threads in 2, 4:
        watch = ThreadWatch()
        r = policy("hopper", "fused", "Job.StopSteps=30000", f"Learner.Threads={threads}", during=watch)
        equal(r.policy_sha256, want.policy_sha256, f"policies with {threads} threads")
        assert watch.seen, "no threads were metered"
        equal(sorted(watch.seen), [f"thread-{k}" for k in range(threads)], "cgroups")
        total = sum(watch.seen.values())
        assert watch.most == 1 and watch.each, (watch.most, watch.each)
        assert total > 100000 and 0.99 * watch.least <= total <= 1.01 * watch.greatest, (watch.least, watch.seen, watch.greatest)
        metered = sum(r.cpu_s[k] for k in ("actors", "learner", "control", "startup"))
        assert abs(metered - r.cpu_s["scope"]) <= 0.01 * r.cpu_s["scope"], r.cpu_s
        assert not os.path.exists(watch.leaf), watch.leaf


@story("of one actor no thread is metered: it shares none, and a round is one order")
def fused_alone():
    watch = ThreadWatch()
    r = policy("hopper", "fused", "Job.StopSteps=30000", "Scaling.Actors=1", "Learner.Threads=2", during=watch)
    if not r.cpu_s.get("scope") or not unified():
        raise Skip("no cgroup can be made here: threads are metered by their clocks")
    assert not watch.leaf, watch.leaf
    metered = sum(r.cpu_s[k] for k in ("actors", "learner", "control", "startup"))
    assert abs(metered - r.cpu_s["scope"]) <= 0.02 * r.cpu_s["scope"], r.cpu_s


@story("a fused process that is killed starts the next life, evaluations change nothing, and the emulated clock is that of a fleet")
def fused_lives():
    sets = ("Job.StopSteps=16000", "Actor.RolloutSteps=512", "Checkpoint.IntervalSec=0.2", "Billing.Clock=model")
    want = policy("hopper", "single-learner-coarse", *sets)
    killer = within(want, "actord-learner")
    r = policy("hopper", "fused", *sets, "Evaluation.Episodes=2", "Evaluation.EveryRounds=2", during=killer)
    killer.hit(r)
    equal(r.policy_sha256, want.policy_sha256, "policies")
    r = policy("hopper", "fused", *sets)
    equal((r.policy_sha256, r.emulated_s), (want.policy_sha256, want.emulated_s), "policy and emulated time")


@story("auto picks a distribution, says which and why, and ends with the same policy")
def auto():
    path = os.path.join(EXAMPLES, "cartpole.conf")
    for sets, word, why in ((("Learner.Threads=4",), "fused", "no data has to cross"), ((), "single-learner-coarse", "more actors"),
                            (("Distribution.Learners=2",), "multi-learner", "asks for several")):
        r = ctl("graph", path, *set_words(*JOBS["cartpole"], "Distribution.Policy=auto", *sets))
        assert r.status == 0 and r.out.startswith(word + ":") and why in r.out, r.out[:300]
        equal(policy("cartpole", "auto", *sets).policy_sha256, coarse("cartpole").policy_sha256, f"policies under {word}")


@story("graph says whether a job's first rounds are going to be measured, as the daemon decides it")
def measured():
    for sets, want in (((), "first rounds are measured"), (("Distribution.Learners=2",), None), (("Billing.Clock=model",), "first rounds are measured"),
                       (("Billing.Clock=model", "Scaling.Policy=random", "Scaling.MaxActors=4"), "not measured, because its scheduler reads")):
        r = ctl("graph", os.path.join(EXAMPLES, "cartpole.conf"), *set_words("Distribution.Policy=auto", *sets))
        said = " ".join(r.out.split())
        assert r.status == 0 and (want in said if want else "measured" not in said) and max(map(len, r.out.splitlines())) <= 80, (sets, r.out)


@story("every algorithm of the examples gives the same policy when the learner acts, and when there are several")
def algorithms():
    jobs = sorted(f.removesuffix(".conf") for f in os.listdir(EXAMPLES) if f.startswith("cartpole-") and f.endswith(".conf"))
    assert jobs
    for job in jobs:
        sets = ("Job.StopSteps=3000", "Job.StopReturn=", "Scaling.Actors=2")
        if job == "cartpole-dqn":
            sets += ("Learner.ReplayMin=500",)  # it learns before the end
        want = run(job, *sets, seed=7).policy_sha256
        for distribution in (("Policy=single-learner-fine",), ("Policy=multi-learner", "Learners=2"),
                             ("Policy=central", "Learners=2"), ("Policy=fused",)):
            equal(run(job, *sets, *(f"Distribution.{s}" for s in distribution), seed=7).policy_sha256, want, f"policies of {job} under {distribution}")


@story("policies that learn by critics, and all else that they keep, are the same under each distribution")
def critics():
    sets = ("Job.StopSteps=600", "Scaling.Actors=2", "Learner.ReplayMin=300", "Learner.ReplaySize=5000", "Learner.HiddenLayers=32 24",
            "Learner.MinibatchSize=64", "Learner.TrainRatio=0.2", "Evaluation.Episodes=0")
    for job in ("pendulum-ddpg", "pendulum-td3", "pendulum-sac", "phydrl"):
        if job == "phydrl":  # with both networks edited: the critic's value of four numbers and an action, the policy without products of the first
            sets += ("Learner.InputAugmentation=2", "Learner.PolicyInputAugmentation=2", "Learner.PolicyLinkEditing=1 1 1 1  0 0 0 0  1 1 1  1 1  1")
        want = run(job, *sets, seed=7)
        assert want.state_sha256, want.json
        for distribution in (("Policy=single-learner-fine",), ("Policy=environments",), ("Policy=multi-learner", "Learners=2"),
                             ("Policy=central", "Learners=2"), ("Policy=fused",)):
            r = run(job, *sets, *(f"Distribution.{s}" for s in distribution), seed=7)
            equal((r.policy_sha256, r.state_sha256), (want.policy_sha256, want.state_sha256), f"{job} under {distribution}")


@story("a number of actors that changes gives the same policy, whether the learner acts or the actors")
def elastic():
    sets = ("Scaling.Policy=random", "Scaling.MinActors=1", "Scaling.MaxActors=5", "Billing.Clock=model")
    want = policy("cartpole", "single-learner-coarse", *sets).policy_sha256
    for distribution in (*SERVED, "fused"):
        equal(policy("cartpole", distribution, *sets).policy_sha256, want, f"policies under {distribution}")


@story("an actor that is killed while it is served asks again from step 0, and gets the same actions")
def killed():
    sets = ("Job.StopSteps=20000", "Actor.RolloutSteps=512")
    want = policy("hopper", "single-learner-coarse", *sets)
    for distribution in SERVED:
        killer = Killer("actord-actor", low=0.02, high=0.2)
        r = policy("hopper", distribution, *sets, during=killer)
        assert len(killer.killed) >= 2, killer.killed
        equal((r.policy_sha256, r.env_steps), (want.policy_sha256, want.env_steps), f"policies under {distribution}")
        assert r.invocations["retried"] >= 1, r.invocations


@story("a learner that is killed while it serves starts the next life, which ends with the same policy")
def killed_learner():
    sets = ("Job.StopSteps=20000", "Actor.RolloutSteps=512", "Checkpoint.IntervalSec=0.2")
    want = policy("hopper", "single-learner-coarse", *sets)
    killer = within(want, "actord-learner")
    r = policy("hopper", "single-learner-fine", *sets, during=killer)
    killer.hit(r)
    equal(r.policy_sha256, want.policy_sha256, "policies")


@story("an environment that hangs, dies or lies fails its own invocation while the learner acts for it, and the job with a reason")
def hostile():
    so, conf = shared_library(HOSTILE), os.path.join(STATE, "hostile.conf")
    open(conf, "w").write(f"[Job]\nEnvironment={so}\nStopSteps=1000\n[Scaling]\nActors=2\n[Actor]\nRolloutSteps=64\nRetries=1\nTimeoutSec=60\n"
                          "[Learner]\nMinibatchSize=32\nEpochs=1\n")
    want = run(conf).policy_sha256
    for distribution in SERVED:
        equal(run(conf, *under(distribution)).policy_sha256, want, "policies of the plugin")
        for how, word in ("hang", "TimeoutSec"), ("crash", "signal"), ("nan", "not finite"):
            r = run(conf, *under(distribution), f"Environment.How={how}", *in_time(how), ok=False)
            equal((r.status, r.state), (1, "failed"), f"status and state of {how}: {r.err}")
            assert word in r.json["fault"] and r.invocations["retried"] >= 1, (how, r.json["fault"], r.invocations)


@story("Ctrl-C and a limit of time end a job whose learner is acting, with a checkpoint and its bill")
def ends():
    r = run("hopper", "Distribution.Policy=single-learner-fine", "Scaling.Actors=2", "Job.RuntimeMaxSec=1", "Job.StopSteps=100000000")
    assert r.state == "finished" and r.env_steps < 100000000 and r.cost["full"] > 0, r.json
    r = run("hopper", "Distribution.Policy=environments", "Scaling.Actors=2", "Job.StopSteps=100000000", ok=False, timeout=30,
            during=lambda p: (time.sleep(1.0), p.send_signal(signal.SIGINT)))
    equal((r.status, r.state), (130, "interrupted"), "status and state")


@story("a distribution that the job's processes cannot run under is refused with the reason and what would work")
def refused():
    path = os.path.join(EXAMPLES, "cartpole.conf")
    r = ctl("verify", path, "--set", "Distribution.Policy=environments", "--set", "Scaling.Actors=4", "--set", "Actor.Processes=2")
    equal(r.status, 2, f"status: {r.err}")
    for sets, want in ((("Policy=multi-learner", "Learners=3"), "divides"), (("Policy=central", "Learners=3"), "divides"),
                       (("Learners=2",), "multi-learner or central")):
        r = ctl("verify", path, *set_words(*(f"Distribution.{s}" for s in sets)))
        assert r.status == 2 and want in r.err and len(r.err.splitlines()) == 1, r
    plugin = os.path.join(STATE, "plugin.conf")
    open(plugin, "w").write("[Job]\nEnvironment=/nowhere/mine.so\nStopSteps=1000\n")
    for conf, sets, want in ((plugin, (), "memory"), (path, ("Actor.CPUQuota=50%",), "CPUQuota"), (path, ("Actor.ActorScope=each",), "scope")):
        r = ctl("verify", conf, "--set", "Distribution.Policy=fused", *set_words(*sets))
        assert r.status == 2 and want in r.err and "single-learner-coarse" in r.err and len(r.err.splitlines()) == 1, r
    r = ctl("verify", path, "--set", "Distribution.Policy=environments", "--set", "Scaling.Actors=4", "--set", "Actor.Processes=2")
    assert "Processes=2" in r.err and "single-learner-fine" in r.err and len(r.err.splitlines()) == 1, r.err


tell()
