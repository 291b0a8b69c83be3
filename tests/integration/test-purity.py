#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Purity on trial: the policy depends on the job and its seed, and on nothing else."""
import json, os, subprocess, sys
from story import *

# Sixteen actors, half a dozen rounds: small enough to run often, large enough that a stray bit would spread.
SMALL = ("Scaling.Actors=16", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=24", "Learner.MinibatchSize=96", "Learner.Epochs=4",
         "Job.StopSteps=6000", "Job.StopReturn=")


def policy(*sets, seed=7, **kw):
    return run("cartpole", *SMALL, *sets, seed=seed, **kw)


def digests(r):
    """The hashes of the policy, and of all that the learner has learned and keeps."""
    assert r.state_sha256 and r.state_sha256 != r.policy_sha256, r.state_sha256
    return r.policy_sha256, r.state_sha256


calm = {}


def undisturbed():
    if "sha" not in calm:
        calm["sha"] = policy().policy_sha256
    return calm["sha"]


@story("the same job and seed give the same policy; another seed gives another")
def same_seed():
    equal(policy().policy_sha256, undisturbed(), "policies")
    assert policy(seed=8).policy_sha256 != undisturbed()


@story("1, 2 and 16 processes give the same policy")
def number_of_processes():
    for n in (1, 2, 16):
        equal(policy(f"Actor.Processes={n}").policy_sha256, undisturbed(), f"the policy of {n} processes and that of 16")


@story("1, 2 and 3 learner threads give the same policy")
def number_of_threads():
    for n in (1, 3):
        equal(policy(f"Learner.Threads={n}").policy_sha256, undisturbed(), f"policies of {n} threads")


@story("measuring curvature and noise leaves no trace in the policy")
def measurements():
    equal(policy("Learner.Curvature=both", "Learner.NoiseScale=yes", "Learner.Threads=2").policy_sha256, undisturbed(), "policies")


@story("every sandbox level that this machine offers gives the same policy")
def levels():
    for level in ("none", "process", "userns", "full"):
        if ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"), "--set", f"Actor.Sandbox={level}").status != 0:
            assert level in ("userns", "full"), level
            continue
        equal(policy(f"Actor.Sandbox={level}").policy_sha256, undisturbed(), f"the policy under Sandbox={level} and the others")


@story("a loaded machine gives the same policy")
def under_load():
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        equal(policy().policy_sha256, undisturbed(), "policies")
    finally:
        for p in load:
            p.kill()
            p.wait()


@story("actors killed at random give the same policy, and the bill shows the waste")
def killed_actors():
    sets = ("Job.StopSteps=40000", "Scaling.Actors=4", "Actor.RolloutSteps=512")
    before = run("hopper", *sets, seed=5)
    killer = Killer("actord-actor", low=0.02, high=0.2)
    after = run("hopper", *sets, seed=5, during=killer)
    assert len(killer.killed) >= 2, killer.killed
    equal(after.policy_sha256, before.policy_sha256, "policies")
    assert after.invocations["retried"] >= 1, after.invocations
    assert any(l["kind"] == "retries" and l["amount"] > 0 for l in after.cost["lines"]), after.cost
    equal(after.env_steps, before.env_steps, "environment steps")


def lengths_of_rounds(r):
    """Of a run: the time of each round on the emulated clock, which is what a scheduler sees."""
    ends = [row["emulated_s"] for row in json.loads(ctl("rounds", run_of(r), "--json").out)]
    return [round(end - begin, 6) for begin, end in zip([0, *ends], ends)]


@story("under Clock=model rounds are as long whatever is killed: only the bill has the starts that a kill causes")
def emulated_clock():
    sets = ("Job.StopSteps=40000", "Job.StopReturn=", "Billing.Clock=model", "Billing.ColdStartSec=3s", "Scaling.Policy=auto", "Scaling.MaxActors=6",
            "Checkpoint.IntervalSec=0")
    before = run("cartpole", *sets, seed=5)
    for _ in range(8):  # kills may all hit actors that were idle
        killer = Killer("actord-actor", low=0.02, high=0.1)
        after = run("cartpole", *sets, seed=5, during=killer)
        if after.invocations["retried"] >= 1:
            break
    assert after.invocations["retried"] >= 1, (killer.killed, after.invocations)
    equal(lengths_of_rounds(after), lengths_of_rounds(before), "lengths of rounds with actors killed and without")
    equal(after.policy_sha256, before.policy_sha256, "policies")
    equal(after.invocations["cold"], before.invocations["cold"] + after.invocations["retried"], "cold starts on the bill")
    killer = within(before, "actord-learner")
    after = run("cartpole", *sets, seed=5, during=killer)
    killer.hit(after)
    longer = [i for i, (x, y) in enumerate(zip(lengths_of_rounds(after), lengths_of_rounds(before))) if x > y + 1]
    assert not longer, f"rounds {longer} start cold again"


@story("pairs of rollouts are the same pairs whatever is killed, and however many processes the actors have")
def pairs():
    sets = ("Job.Environment=Hopper-v4", "Job.StopSteps=40000", "Job.StopReturn=", "Scaling.Actors=4", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=512",
            "Learner.NormalizeObservations=yes", "Checkpoint.IntervalSec=0.2")
    before = run("cartpole-rebel", *sets, seed=5)
    equal(run("cartpole-rebel", *sets, "Actor.Processes=1", seed=5).policy_sha256, before.policy_sha256, "policies of one process and of four")
    killer = Killer("actord-actor", low=0.02, high=0.2)
    after = run("cartpole-rebel", *sets, seed=5, during=killer)
    assert len(killer.killed) >= 1, killer.killed
    equal(after.policy_sha256, before.policy_sha256, "policies with actors killed and without")
    assert after.invocations["retried"] >= 1, after.invocations
    killer = within(before, "actord-learner")
    after = run("cartpole-rebel", *sets, seed=5, during=killer)
    killer.hit(after)
    equal(after.policy_sha256, before.policy_sha256, "policies with the learner killed and without")


@story("a killed learner starts the job's next life, which ends with the same policy")
def killed_learner():
    sets = ("Job.StopSteps=20000", "Actor.RolloutSteps=512", "Checkpoint.IntervalSec=0.2")
    before = run("hopper", *sets, seed=5)
    killer = within(before, "actord-learner")
    after = run("hopper", *sets, seed=5, during=killer)
    killer.hit(after)
    equal(digests(after), digests(before), "policies, and all else that was learned")


@story("a killed invoker takes everything of its life along, and the next one ends with the same policy")
def killed_invoker():
    sets = ("Job.StopSteps=20000", "Actor.RolloutSteps=512", "Checkpoint.IntervalSec=0.2")
    before = run("hopper", *sets, seed=5)
    killer = within(before, "actord-invoker")
    after = run("hopper", *sets, seed=5, during=killer)
    killer.hit(after)
    equal(digests(after), digests(before), "policies, and all else that was learned")


ELASTIC = ("Scaling.Policy=random", "Scaling.MinActors=1", "Scaling.MaxActors=6", "Billing.Clock=model")


@story("a number of actors that changes each round gives the same policy again, also when the learner or the invoker is killed")
def elastic():
    sets = (*ELASTIC, "Job.StopSteps=20000", "Actor.RolloutSteps=256", "Checkpoint.IntervalSec=0.2")
    before = run("hopper", *sets, seed=5)
    equal(digests(run("hopper", *sets, seed=5)), digests(before), "policies, and all else that was learned")
    for comm in ("actord-learner", "actord-invoker"):
        killer = within(before, comm)
        after = run("hopper", *sets, seed=5, during=killer)
        killer.hit(after)
        equal(after.policy_sha256, before.policy_sha256, f"policies after {comm} was killed")
        equal(after.env_steps, before.env_steps, "environment steps")


# DQN, with exploration, a replay store that goes around, and windows across the borders of invocations.
REPLAY = ("Scaling.Actors=4", "Actor.RolloutSteps=16", "Job.StopSteps=12000", "Job.StopReturn=", "Learner.ReplaySize=4000", "Learner.ReplayMin=500",
          "Learner.EpsilonSteps=6000", "Learner.NSteps=3", "Learner.TrainRatio=0.125", "Learner.HiddenLayers=32 32")


@story("replay: processes, threads and killed actors change nothing")
def replay_actors():
    sets = (*REPLAY, "Job.StopSteps=48000")  # long enough for a kill, however busy the machine
    before = run("cartpole-dqn", *sets, seed=5)
    equal(digests(run("cartpole-dqn", *sets, "Actor.Processes=2", "Learner.Threads=3", seed=5)), digests(before), "policies, and all else that was learned")
    killer = Killer("actord-actor", low=0.02, high=0.1)
    after = run("cartpole-dqn", *sets, seed=5, during=killer)
    assert len(killer.killed) >= 1, killer.killed
    equal(digests(after), digests(before), "policies, and all else that was learned")


@story("replay: a killed learner's store comes back from the checkpoint, and the policy is the same")
def replay_learner():
    sets = (*REPLAY, "Job.StopSteps=160000", "Checkpoint.IntervalSec=0.1")
    before = run("cartpole-dqn", *sets, seed=5)
    killer = within(before, "actord-learner")
    after = run("cartpole-dqn", *sets, seed=5, during=killer)
    killer.hit(after)
    equal(digests(after), digests(before), "policies, and all else that was learned")


@story("noise that goes on from step to step is the same whatever is killed, and wherever actions are chosen")
def carried_noise():
    sets = ("Learner.NoiseProcess=ou", "Learner.ActionNoise=0.2", "Job.StopSteps=48000", "Job.StopReturn=", "Scaling.Actors=2", "Learner.ReplayMin=500",
            "Learner.TrainRatio=0.02", "Learner.HiddenLayers=32", "Learner.MinibatchSize=32", "Evaluation.Episodes=0", "Checkpoint.IntervalSec=0.1")
    before = run("pendulum-ddpg", *sets, seed=5)
    assert before.policy_sha256 != run("pendulum-ddpg", *sets, "Learner.NoiseProcess=gaussian", seed=5).policy_sha256
    for other in ("Actor.Processes=1", "Distribution.Policy=single-learner-fine", "Distribution.Policy=fused"):
        equal(digests(run("pendulum-ddpg", *sets, other, seed=5)), digests(before), f"with {other}")
    for comm in "actord-actor", "actord-learner":
        killer = within(before, comm)
        after = run("pendulum-ddpg", *sets, seed=5, during=killer)
        killer.hit(after)
        equal(digests(after), digests(before), f"with {comm} killed")


# Seen as images of bytes, through convolutions.
IMAGES = ("Actor.RolloutSteps=64", "Job.StopSteps=40000", "Job.StopReturn=")


@story("images: threads, processes and killed actors change nothing")
def images():
    before = run("catch", *IMAGES, seed=5)
    equal(digests(run("catch", *IMAGES, "Actor.Processes=1", "Learner.Threads=3", seed=5)), digests(before), "policies, and all else that was learned")
    killer = Killer("actord-actor", low=0.02, high=0.1)
    after = run("catch", *IMAGES, seed=5, during=killer)
    assert len(killer.killed) >= 1, killer.killed
    equal(digests(after), digests(before), "policies, and all else that was learned")


@story("convolutions that do not fit the observation are refused with a reason")
def images_refused():
    for example, sets in (("catch", "Learner.Convolutions=8x11"), ("cartpole", "Learner.Convolutions=8x2")):
        r = ctl("verify", os.path.join(EXAMPLES, example + ".conf"), "--set", sets)
        assert r.status != 0 and "no kernel may be larger than its input" in r.err, r.err


@story("networks that are too large or have no layer, and actions that a critic's algorithm cannot take, are refused by the key or the space")
def networks_refused():
    for example, sets, words in (("cartpole", "Learner.HiddenLayers=65536", "the network (Convolutions=, HiddenLayers=, Candidates=)"),
                                 ("cartpole", "Learner.HiddenLayers=0", "needs a hidden layer"),
                                 ("catch", "Learner.Convolutions=9000x3", "with at most 1024 channels"),
                                 *((f"pendulum-{a}", "Job.Environment=CartPole-v1", "action.kind: Algorithm= needs continuous actions")
                                   for a in ("ddpg", "td3", "sac"))):
        r = ctl("verify", os.path.join(EXAMPLES, example + ".conf"), "--set", sets)
        assert r.status != 0 and words in " ".join(r.err.split()), (example, sets, r.err)


@story("dqn on continuous actions, and a store that does not fit, are refused with settings that would work")
def replay_refused():
    r = ctl("verify", os.path.join(EXAMPLES, "pendulum.conf"), "--set", "Job.Algorithm=dqn", "--set", "Learner.Lambda=", "--set", "Learner.Epochs=",
            "--set", "Learner.ValueWeight=")
    assert r.status != 0 and "dqn needs discrete actions" in r.err and "impala" in r.err, r.err
    r = ctl("verify", os.path.join(EXAMPLES, "cartpole-dqn.conf"), "--set", "Learner.ReplaySize=100000000")
    assert r.status != 0 and "MemoryMax=" in r.err, r.err


tell()
