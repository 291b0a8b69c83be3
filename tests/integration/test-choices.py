#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments whose action is several choices at once (MULTI_DISCRETE): each choice is learned, and algorithms that cannot learn them say so."""
import json, os
from story import *

SOURCE = "tests/integration/dials-env.c"
ABI_1 = os.path.join(ROOT, "tests", "data", "abi-1")
JOB = """[Job]
Environment=%s
Algorithm=ppo
StopSteps=16384
Seed=5
[Scaling]
Actors=2
[Actor]
EnvsPerActor=4
RolloutSteps=64
[Learner]
HiddenLayers=16
LearningRate=0.01
[Evaluation]
Episodes=4
"""


def conf(environment):
    path = os.path.join(STATE, os.path.basename(environment) + ".conf")
    with open(path, "w") as f:
        f.write(JOB % environment)
    return path


def train(*sets, environment=None, **kw):
    return run(conf(environment or shared_library(SOURCE)), *sets, **kw)


def shares(r):
    """The returns as shares of the greatest return, round by round: without the dial of 2, of 3 or of 4 positions the most is 0.83, 0.78 or 0.75."""
    return [row["return_round"] / row["episode_steps"] for row in json.loads(ctl("rounds", run_of(r), "--json").out) if row["episode_steps"]]


@story("all choices of an action are learned, and one policy comes out whatever is killed and however it is run")
def learns():
    killer = Killer("actord-actor", low=0.01, high=0.05)
    calm = train()
    share = shares(calm)
    assert share[0] < 0.45 and share[-1] > 0.9, share
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1", "Learner.Threads=2"), {}), (("Distribution.Policy=central",), {}),
                    (("Distribution.Policy=multi-learner", "Distribution.Learners=2"), {})]:
        equal(train(*how, **kw).policy_sha256, calm.policy_sha256, f"{how} with {len(killer.killed)} kills")
    r = ctl("eval", run_of(calm), "--episodes", "4", "--json")
    equal(r.status, 0, r.err)
    assert json.loads(r.out)["return_mean"] > 19, r.out


@story("a2c, impala, impact and rebel learn them too")
def algorithms():
    for algorithm, more in [("a2c", ()), ("impala", ("Learner.LearningRate=0.003",)), ("impact", ("Learner.LearningRate=0.003",)), ("rebel", ("Learner.Eta=4",))]:
        share = shares(train(f"Job.Algorithm={algorithm}", "Job.StopSteps=20480", *more))
        assert share[-1] > share[0] + 0.15, (algorithm, share)


@story("a job goes on from its checkpoint with the choices that impact keeps, bit for bit")
def resumes():
    sets = ("Job.Algorithm=impact", "Job.StopSteps=61440", "Learner.LearningRate=0.003", "Checkpoint.IntervalSec=0.1")
    calm = train(*sets)
    killer = within(calm, "actord-learner")
    lost = train(*sets, during=killer)
    killer.hit(lost)
    equal(lost.policy_sha256, calm.policy_sha256, "policies with the learner killed and without")


@story("a plugin of the first ABI, whose choices are all alike, learns what one of this ABI learns")
def first_abi():
    new, old = shared_library(SOURCE), shared_library(SOURCE, "-I", ABI_1, name="dials-abi-1.so")
    hashes = [train("Environment.Equal=1", "Job.StopSteps=1024", environment=so).policy_sha256 for so in (new, old)]
    equal(*hashes, "both plugins")


@story("choices that are observed are learned from as a 1 among zeros for each, however the job is run, and exported tensors say so")
def observed():
    sets = ("Environment.Choices=1", "Job.StopSteps=12288")
    calm = train(*sets)
    assert shares(calm)[-1] > 0.85, shares(calm)
    equal(train(*sets, "Distribution.Policy=central", "Learner.Threads=2").policy_sha256, calm.policy_sha256, "policies")
    weights = os.path.join(STATE, "observed.safetensors")
    equal(ctl("export", run_of(calm), "--weights-only", "--output=" + weights).status, 0, "an export")
    with open(weights, "rb") as f:
        tensors = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    equal((tensors["actor.0.weight"]["shape"], tensors["__metadata__"]["observation"]), ([16, 12], "choices"), "what the policy reads")
    assert "3 choices at once, each of 4" in ctl("env", "show", shared_library(SOURCE), "--set", "Choices=1").out


@story("algorithms that learn one choice or numbers, and sizes that are none, are refused in words")
def refused():
    so = shared_library(SOURCE)
    for algorithm in "dqn", "ddpg", "sac":
        r = ctl("verify", conf(so), "--set", f"Job.Algorithm={algorithm}")
        assert r.status != 0 and "several choices (MULTI_DISCRETE)" in r.err + r.out and "impact or rebel would work, and bc with Dataset=" in r.err + r.out, (algorithm, r.err, r.out)
    r = ctl("verify", conf(so), "--set", "Environment.Last=0")
    assert r.status != 0 and "action_choices: a MULTI_DISCRETE action has at most 64 numbers" in r.err + r.out, (r.status, r.err, r.out)


@story("show and a rollout have each of them, the check passes, and exported policies say which outputs are whose")
def shown():
    so = shared_library(SOURCE)
    assert "3 choices at once, of 2, 3, 4" in ctl("env", "show", so).out
    assert "3 choices at once, each of 3" in ctl("env", "show", so, "--set", "Equal=1").out
    equal(json.loads(ctl("env", "show", so, "--json").out)["action"]["choices"], [2, 3, 4], "choices of the JSON")
    equal(ctl("env", "check", so).status, 0, "the check")
    lines = [json.loads(line) for line in ctl("env", "rollout", so, "--steps", "50").out.splitlines()]
    equal([max(line["action"][k] for line in lines if "action" in line) for k in range(3)], [1, 2, 3], "the greatest of each")
    trained = run_of(train("Job.StopSteps=512"))
    header, weights = os.path.join(STATE, "dials.h"), os.path.join(STATE, "dials.safetensors")
    equal(ctl("export", trained, "--format=header", "--output=" + header).status, 0, "an export")
    assert "policy_choices[3] = { 2, 3, 4 };" in open(header).read() and "#define POLICY_ACTIONS 9 " in open(header).read()
    equal(ctl("export", trained, "--weights-only", "--output=" + weights).status, 0, "an export of tensors")
    with open(weights, "rb") as f:
        tensors = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    equal((tensors["actor.2.weight"]["shape"], tensors["__metadata__"]["choices"]), ([9, 16], "2 3 4"), "what the outputs are")


tell()
