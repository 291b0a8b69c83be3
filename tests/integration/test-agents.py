#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments of several agents: each has a slot of its own, and all share one policy."""
import json, os
from story import *

SOURCE = "tests/integration/agents-env.c"
JOB = """[Job]
Environment=%s
Algorithm=ppo
StopSteps=6144
Seed=5
[Scaling]
Actors=2
[Actor]
EnvsPerActor=6
RolloutSteps=64
[Learner]
HiddenLayers=8
LearningRate=0.01
[Evaluation]
Episodes=4
"""


def conf(environment, name):
    path = os.path.join(STATE, name + ".conf")
    with open(path, "w") as f:
        f.write(JOB % environment)
    return path


def train(*sets, **kw):
    return run(conf(shared_library(SOURCE), "agents"), *sets, **kw)


def rounds(r):
    return json.loads(ctl("rounds", run_of(r), "--json").out)


@story("each agent learns from its own row, and returns are means over agents, in training as in an evaluation")
def learns():
    r = train()
    rows = rounds(r)
    share = [row["return_round"] / row["episode_steps"] for row in rows]
    assert share[0] < 0.7 and share[-1] > 0.8, share
    for row in rows:
        close(row["metric_mean"], row["return_round"])
        close(row["evaluation_metric_mean"], row["evaluation_mean"])
    assert rows[0]["metric_spread"] > 0.5, "agents are paid apart"
    equal([row["env_steps"] for row in rows], [768 * (i + 1) for i in range(len(rows))], "a step counts for each agent")


@story("the number of processes, kills, distributions and evaluations change nothing that several agents learn")
def pure():
    calm, killer = train(), Killer("actord-actor", low=0.01, high=0.05)
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1",), {}), (("Evaluation.Episodes=0",), {}), (("Distribution.Policy=central",), {})]:
        equal(train(*how, **kw).policy_sha256, calm.policy_sha256, f"{how} with {len(killer.killed)} kills")
    many = [run(conf("faas:7", "many"), "Environment.Agents=3", "Job.StopSteps=1536", *how).policy_sha256 for how in ((), ("Distribution.Policy=fused",))]
    equal(many[0], many[1], "three functions in processes of their own and in the learner's")


@story("slots that are no multiple of the agents, too many agents, and agents whose ends differ are refused with words")
def refused():
    for sets, want in [(("Actor.EnvsPerActor=4",), "EnvsPerActor= must be a multiple"), (("Environment.Agents=65", "Actor.EnvsPerActor=65"), "from 1 to 64"),
                       (("Environment.Agents=0",), "from 1 to 64")]:
        r = train(*sets, ok=False)
        assert r.status != 0 and want in r.err + r.out, (sets, r.err)
        r = ctl("verify", conf(shared_library(SOURCE), "agents"), *set_words(*sets))
        assert r.status != 0 and want in r.err + r.out, (sets, r.status, r.err)
    so = shared_library(SOURCE)
    r = ctl("env", "check", so)
    equal(r.status, 0, r.out)
    r = ctl("env", "check", so, "--set", "Apart=1")
    assert r.status == 1 and "the episode of agent 1 ends at another step than that of agent 0" in r.out, r.out


@story("show says how many agents there are, and a rollout prints each one's action and observation")
def shown():
    assert "agents:       3, each observes and acts by itself" in ctl("env", "show", shared_library(SOURCE)).out
    lines = [json.loads(line) for line in ctl("env", "rollout", "faas:3", "--set", "Agents=4", "--steps", "2").out.splitlines()]
    equal((len(lines[0]["observation"]), len(lines[1]["action"]), len(lines[1]["observation"][0])), (4, 4, 6), "agents of a rollout")
    r = ctl("env", "show", "faas:3", "--set", "Agents=5")
    assert r.status != 0 and "at most 1 + Neighbours=" in r.err + r.out, r.err
    equal(ctl("env", "check", "faas:7", "--set", "Agents=8").status, 0, "the check of eight functions")


@story("a data set of an environment with several agents is refused with its reason")
def dataset():
    many = run(conf("faas:7", "many"), "Environment.Agents=3", "Job.StopSteps=1536")
    r = ctl("export", run_of(many), "--rollouts", "--episodes=1", "--output=" + os.path.join(STATE, "rollouts.hdf5"))
    assert r.status != 0 and "one agent" in r.err, (r.status, r.err, r.out)


@story("a policy that was trained on one function plays as each of 4, 8 and 16")
def company():
    alone = run(conf("faas", "alone"), "Environment.Neighbours=0", "Actor.EnvsPerActor=2", "Job.StopSteps=2048", "Actor.RolloutSteps=128")
    p99 = {}
    for n in 1, 4, 8, 16:
        r = ctl("eval", run_of(alone), "--episodes", "10", "--json", "--set", f"Environment.Neighbours={n - 1}", "--set", f"Environment.Agents={n}",
                "--set", f"Actor.EnvsPerActor={n}")
        equal(r.status, 0, r.err)
        p99[n] = json.loads(r.out)["metrics"]["latency_p99"]
    assert all(p > 0 for p in p99.values()) and len(set(p99.values())) == 4, p99
    print(f"# p99 by agents: {p99}")


def others(algorithm, *how, **kw):
    return train(f"Job.Algorithm={algorithm}", "Environment.Others=1", "Environment.Agents=2", *how, **kw)


@story("simppo sees the other agents, which ppo does not, and comes to one policy in any distribution, whatever is killed")
def mean_field():
    killer = Killer("actord-actor", low=0.01, high=0.05)
    calm, blind = others("simppo"), others("ppo")
    last = [rounds(r)[-1] for r in (calm, blind)]
    share = [row["return_round"] / row["episode_steps"] for row in last]
    assert share[0] > 0.8 and 0.4 < share[1] < 0.6, share
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1", "Learner.Threads=2"), {}), (("Distribution.Policy=central",), {})]:
        equal(others("simppo", *how, **kw).policy_sha256, calm.policy_sha256, f"{how} with {len(killer.killed)} kills")


@story("the critic of mappo sees the other agents and its policy does not; it learns, and comes to one policy whatever is killed and however it is run")
def centralised():
    killer = Killer("actord-actor", low=0.01, high=0.05)
    calm = train("Job.Algorithm=mappo")
    share = [row["return_round"] / row["episode_steps"] for row in rounds(calm)]
    assert share[0] < 0.7 and share[-1] > 0.8, share
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1", "Learner.Threads=2"), {}), (("Distribution.Policy=central",), {})]:
        equal(train("Job.Algorithm=mappo", *how, **kw).policy_sha256, calm.policy_sha256, f"{how} with {len(killer.killed)} kills")
    many = [run(conf("faas:7", "many"), "Job.Algorithm=mappo", "Environment.Agents=3", "Job.StopSteps=1536", *how).policy_sha256
            for how in ((), ("Distribution.Policy=fused",))]
    equal(many[0], many[1], "three functions in processes of their own and in the learner's")
    four = run_of(run(conf("faas:3", "four"), "Job.Algorithm=mappo", "Environment.Agents=4", "Actor.EnvsPerActor=4", "Job.StopSteps=512",
                      "Actor.RolloutSteps=64", "Learner.NormalizeObservations=yes"))
    r = ctl("eval", four, "--episodes=1", "--set", "Environment.Agents=2")
    assert r.status != 0 and "shape" in r.err, (r.status, r.err)
    header = os.path.join(STATE, "mappo.h")
    equal(ctl("export", four, "--format=header", "--output=" + header).status, 0, "an export")
    text = open(header).read()
    assert "#define POLICY_OBSERVATIONS 6 " in text and re.search(r"mean\w*\[6\]", text), text[:2000]
    weights = os.path.join(STATE, "mappo.safetensors")
    equal(ctl("export", four, "--weights-only", "--output=" + weights).status, 0, "an export of tensors")
    with open(weights, "rb") as f:
        tensors = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    equal((tensors["actor.0.weight"]["shape"], tensors["observation.mean"]["shape"]), ([8, 6], [6]), "what the policy reads")
    assert not any(name.startswith("critic") for name in tensors), list(tensors)
    last = rounds(others("mappo"))[-1]
    assert 0.4 < last["return_round"] / last["episode_steps"] < 0.6, last
    r = ctl("verify", conf(shared_library(SOURCE), "agents"), "--set", "Job.Algorithm=mappo", "--set", "Learner.SharedNetwork=yes")
    assert r.status != 0 and "SharedNetwork=" in r.err + r.out, (r.status, r.err, r.out)


@story("the critic of mappo learns from a state that no agent sees; the policy reads none of it, and is one whatever is killed and however it is run")
def hidden_state():
    sets = ("Job.Algorithm=mappo", "Learner.Gamma=0.5")
    told, untold = train(*sets, "Environment.Weather=2"), train(*sets, "Environment.Weather=1")
    losses = [sum(row["loss_value"] for row in rounds(r)[-3:]) for r in (told, untold)]
    assert losses[0] < 0.3 * losses[1], losses
    header = os.path.join(STATE, "hidden.h")
    equal(ctl("export", run_of(told), "--format=header", "--output=" + header).status, 0, "an export")
    assert "#define POLICY_OBSERVATIONS 2 " in open(header).read(), "what a policy reads"
    killer = Killer("actord-actor", low=0.01, high=0.05)
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1", "Learner.Threads=2"), {}), (("Distribution.Policy=central",), {})]:
        equal(train(*sets, "Environment.Weather=2", *how, **kw).policy_sha256, told.policy_sha256, f"{how} with {len(killer.killed)} kills")
    equal(ctl("env", "check", shared_library(SOURCE), "--set", "Weather=2").status, 0, "a check of the shared state")


@story("nothing is learned from agents that are not there, whatever they show and are paid; the others learn as before, whatever is killed")
def come_and_go():
    normal = ("Learner.NormalizeObservations=yes", "Learner.NormalizeRewards=yes")
    for algorithm in "ppo", "simppo", "a2c", "impala":
        words = (f"Job.Algorithm={algorithm}", "Environment.Come=1", "Job.StopSteps=3072", *normal)
        clean, garbage = train(*words), train(*words, "Environment.Garbage=1")
        equal(garbage.policy_sha256, clean.policy_sha256, f"{algorithm}: policies, with nonsense from absent agents and without")
    killer = Killer("actord-actor", low=0.01, high=0.05)
    calm = train("Environment.Come=1", "Environment.Garbage=1")
    assert train("Environment.Garbage=1").policy_sha256 != calm.policy_sha256, "agents come and go"
    rows = rounds(calm)
    share = [row["return_round"] / row["episode_steps"] for row in rows]
    assert share[-1] > share[0] + 0.1, share
    for row in rows:
        close(row["metric_mean"], row["return_round"])
        close(row["evaluation_metric_mean"], row["evaluation_mean"])
    for how, kw in [((), {"during": killer}), (("Actor.Processes=1", "Learner.Threads=2"), {}), (("Distribution.Policy=central",), {})]:
        equal(train("Environment.Come=1", "Environment.Garbage=1", *how, **kw).policy_sha256, calm.policy_sha256, f"{how} with {len(killer.killed)} kills")
    many = [run(conf("faas:7", "many"), "Job.Algorithm=simppo", "Environment.Agents=6", "Environment.Stay=10", "Job.StopSteps=1536", *how).policy_sha256
            for how in ((), ("Distribution.Policy=fused",))]
    equal(many[0], many[1], "six functions that come and go, in processes of their own and in the learner's")


@story("what agents that come and go may not do is refused with words: an algorithm that keeps steps, a step without agents, a table without active()")
def absent_refused():
    r = ctl("verify", conf("faas:3", "absent"), "--set", "Job.Algorithm=dqn", "--set", "Environment.Agents=2", "--set", "Environment.Stay=9")
    assert r.status != 0 and "agents come and go" in r.err + r.out and "simppo or mappo would work" in r.err + r.out, (r.status, r.err, r.out)
    so = shared_library(SOURCE)
    equal(ctl("env", "check", so, "--set", "Come=1", "--set", "Garbage=1").status, 0, "a check of agents that come and go")
    equal(ctl("env", "check", "faas:7", "--set", "Agents=8", "--set", "Stay=5").status, 0, "a check of eight functions that come and go")
    r = ctl("env", "check", so, "--set", "Come=1", "--set", "Empty=1")
    assert r.status == 1 and "active() says after step 4 that no agent is there" in r.out, r.out
    cut = shared_library(SOURCE, "-DTABLE_BYTES=offsetof(ActordEnv, active)", name="agents-cut.so")
    equal(ctl("verify", conf(cut, "cut")).status, 0, "a table without functions that nothing asks for")
    for option, want in ("Come=1", "there is no function active()"), ("Weather=2", "no function shared()"):
        r = ctl("verify", conf(cut, "cut"), "--set", "Environment." + option)
        assert r.status != 0 and want in r.err + r.out, (option, r.status, r.err, r.out)
    r = train("Environment.Come=1", "Environment.Empty=1", "Actor.Retries=1", ok=False)
    assert r.state == "failed" and "environment" in r.fault, (r.state, r.fault)


@story("a policy of simppo has one shape among any number of agents, also trained alone; images are refused with a reason")
def scales():
    sets = ("Job.Algorithm=simppo", "Environment.Neighbours=0", "Actor.EnvsPerActor=2", "Job.StopSteps=1024", "Actor.RolloutSteps=128")
    alone = run(conf("faas", "alone"), *sets)
    for n in 4, 16:
        r = ctl("eval", run_of(alone), "--episodes", "4", "--json", "--set", f"Environment.Neighbours={n - 1}", "--set", f"Environment.Agents={n}",
                "--set", f"Actor.EnvsPerActor={n}")
        equal(r.status, 0, r.err)
    many = run(conf("faas:3", "many"), "Job.Algorithm=simppo", "Environment.Agents=4", "Actor.EnvsPerActor=4", "Job.StopSteps=1024",
               "Distribution.Policy=fused")
    r = ctl("export", run_of(alone), "--rollouts", "--episodes=1", "--output=" + os.path.join(STATE, "simppo.hdf5"))
    assert r.status == 0 or "libhdf5" in r.err, r.err
    equal(ctl("eval", run_of(many), "--episodes", "1").status, 0, "a policy of four")
    r = ctl("verify", conf("Catch-v0", "image"), "--set", "Job.Algorithm=simppo")
    assert r.status != 0 and "takes means over agents" in r.err + r.out, (r.status, r.err, r.out)


tell()
