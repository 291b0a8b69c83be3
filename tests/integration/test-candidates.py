#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Candidates=: a policy that makes several actions out of noise, from which the critics choose one."""
import glob, re, shutil
from story import *

EXAMPLES_OF = {"consistency": "pendulum-consistency", "diffusion-ql": "pendulum-diffusion-ql", "pi-ft": "pendulum-pi-ft"}
# Actors that learn by acting: 15 rounds, of which the policy chooses the actions from the fifth on.
SHORT = ("Learner.Dataset=", "Scaling.Actors=2", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=25", "Job.StopSteps=1500", "Learner.ReplayMin=400",
         "Learner.HiddenLayers=16", "Learner.MinibatchSize=32", "Learner.TrainRatio=0.1", "Learner.LearningRate=0.0003", "Learner.EpsilonStart=0.05",
         "Evaluation.Episodes=3", "Evaluation.EveryRounds=5")
FIFTY = ("Learner.Candidates=50",)
known = {}


def train(algorithm, *sets, **kw):
    return run(EXAMPLES_OF[algorithm], *SHORT, *sets, seed=7, **kw)


def calm(algorithm, *sets):
    """The undisturbed run. A copy of its checkpoint outlives the run, of which only the newest are kept."""
    if (algorithm, sets) not in known:
        r = known[algorithm, sets] = train(algorithm, *sets)
        files = glob.glob(os.path.join(r.state_directory, "jobs", "1", "state", "checkpoint-*.safetensors"))
        newest = max(files, key=lambda file: int(re.search(r"(\d+)\.safetensors", file)[1]))
        r.copy = shutil.copy(newest, os.path.join(STATE, f"copy-{len(known)}.safetensors"))
    return known[algorithm, sets]


def found(r):
    return r.policy_sha256, r.state_sha256


def alike(r, want, what):
    equal(found(r), found(want), f"policy and state {what}")
    equal((r.evaluation_mean, r.evaluation_sd), (want.evaluation_mean, want.evaluation_sd), f"evaluation {what}")


def played(checkpoint, *sets, n=5):
    r = ctl("eval", checkpoint, f"--episodes={n}", "--json", *set_words(*sets))
    assert r.status == 0, r.err
    return r.json["return_mean"]


@story("actors that choose among candidates learn another policy, and the same under each distribution, with any width, threads and processes")
def distributions():
    for algorithm in EXAMPLES_OF:
        want = calm(algorithm, *FIFTY)
        assert found(want) != found(calm(algorithm)), want
        for sets in (("Distribution.Policy=single-learner-fine",), ("Distribution.Policy=environments",), ("Distribution.Policy=fused",),
                     ("Distribution.Policy=central", "Distribution.Learners=2", "Actor.Processes=1"),
                     ("Distribution.Policy=multi-learner", "Distribution.Learners=2"),
                     ("Learner.KernelClass=scalar",), ("Learner.Threads=3", "Actor.Processes=1"), ("Actor.Sandbox=none", "Evaluation.Actors=2")):
            alike(train(algorithm, *FIFTY, *sets), want, f"of {algorithm} with {sets}")


@story("under async the same policy comes again, whatever the processes, threads and deaths")
def overlapping():
    sets = (*FIFTY, "Distribution.Policy=async", "Billing.Clock=model", "Learner.HiddenLayers=64 64", "Checkpoint.IntervalSec=0")
    want = calm("consistency", *sets)
    alike(train("consistency", *sets, "Actor.Processes=1", "Learner.Threads=2"), want, "with one process")
    killer = within(want, "actord-learner")
    after = train("consistency", *sets, during=killer)
    killer.hit(after)
    alike(after, want, "with the learner killed")


@story("whatever is killed, the policy and its evaluations are the same")
def killed():
    sets = (*FIFTY, "Actor.RolloutSteps=250", "Job.StopSteps=20000", "Learner.TrainRatio=0.02", "Learner.HiddenLayers=64 64", "Checkpoint.IntervalSec=0.1")
    want = calm("consistency", *sets)
    for _ in range(8):  # kills may all hit actors that were idle
        killer = Killer("actord-actor", low=0.02, high=0.2)
        after = train("consistency", *sets, during=killer)
        if after.invocations["retried"] >= 1:
            break
    assert after.invocations["retried"] >= 1, (killer.killed, after.invocations)
    alike(after, want, "with actors killed")
    for comm in "actord-learner", "actord-invoker":
        killer = within(want, comm)
        after = train("consistency", *sets, during=killer)
        killer.hit(after)
        alike(after, want, f"with {comm} killed")


@story("one checkpoint is evaluated with one candidate and with fifty, by the best one or a drawn one")
def evaluated():
    for algorithm in EXAMPLES_OF:
        one, fifty = calm(algorithm).copy, calm(algorithm, *FIFTY).copy
        best, drawn = played(one, *FIFTY), played(one, *FIFTY, "Evaluation.Stochastic=yes")
        alone = played(one)
        assert not close(alone, best) and not close(alone, drawn) and not close(best, drawn), (algorithm, alone, best, drawn)
        assert close(played(one, *FIFTY, "Learner.KernelClass=scalar"), best), "with vectors and without"
        # A checkpoint has the number of candidates of its job.
        assert close(played(fifty), played(fifty, *FIFTY)), algorithm
        assert not close(played(fifty, "Learner.Candidates=1"), played(fifty)), algorithm


@story("a job goes on from a checkpoint with another number of candidates; rounds that overlap need critics in its policies")
def on_from_there():
    one, fifty = (calm("consistency", *sets).copy for sets in ((), FIFTY))
    longer = ("Job.StopSteps=2000", "Evaluation.Episodes=0")
    for checkpoint, own, other in (one, ("Learner.Candidates=1",), FIFTY), (fifty, FIFTY, ("Learner.Candidates=1",)):
        def on(*sets):
            r = ctl("run", os.path.join(EXAMPLES, "pendulum-consistency.conf"), "--from", checkpoint, "--seed", "7", "--json",
                    *set_words(*SHORT, *longer, *sets))
            assert r.status == 0, r.err
            return r.policy_sha256
        assert on(*own) != on(*other), (own, other)
    overlap = ("Distribution.Policy=async", "Billing.Clock=model")
    late = calm("consistency", *overlap).copy
    r = ctl("run", os.path.join(EXAMPLES, "pendulum-consistency.conf"), "--from", late, "--seed", "7",
            *set_words(*SHORT, *overlap, *longer, *FIFTY))
    assert r.status != 0 and "Candidates=1, but the job has 50" in " ".join(r.err.split()), r.err
    assert not close(played(late), played(late, *FIFTY))


@story("a wrong number of candidates is refused by name, and so is the key where nothing reads it")
def refused():
    example = os.path.join(EXAMPLES, "pendulum-consistency.conf")
    for value, words in (("0", "from 1 to 64"), ("65", "from 1 to 64"), ("-1", "from 1 to 64"), ("many", "whole number")):
        r = ctl("verify", example, "--set", "Learner.Dataset=", "--set", f"Learner.Candidates={value}")
        assert r.status == 2 and f"Candidates={value}" in r.err and words in r.err, r.err
    for other in "pendulum-sac", "cartpole", "cartpole-dqn":
        r = ctl("verify", os.path.join(EXAMPLES, other + ".conf"), "--set", "Learner.Candidates=2")
        assert r.status == 2 and "Candidates=2" in r.err and "consistency" in r.err, r.err
    # The default is as good as no key, as in each checkpoint.
    assert ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Learner.Candidates=1").status == 0


@story("an exported policy makes one action, and the command says so")
def exported():
    checkpoint = calm("consistency", *FIFTY).copy
    for sets, said in ((), True), (("--set", "Learner.Candidates=1"), False), (("--quiet",), False):
        r = ctl("export", checkpoint, "--weights-only", f"--output={os.path.join(STATE, 'weights')}", *sets)
        assert r.status == 0 and ("makes one action" in " ".join(r.err.split())) == said, r


tell()
