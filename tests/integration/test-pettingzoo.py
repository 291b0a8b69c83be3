#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several agents in Python: environments of PettingZoo's parallel kind step as they do without actord, and give one policy however they are run."""
import glob, json, os
from story import *
from tools import AGENTS_VENV as VENV, bridged

# Agents leave one after another; `fault` breaks a rule.
MODULE = '''
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from pettingzoo import ParallelEnv


class Relay(ParallelEnv):
    metadata = {"name": "relay", "render_modes": []}

    def __init__(self, ann=3, bob=7, cid=12, fault="", choices=False):
        self.lifetimes, self.fault, self.choices = {"ann": ann, "bob": bob, "cid": cid}, fault, choices
        self.possible_agents = list(self.lifetimes)

    def observation_space(self, agent):
        if self.choices:
            return MultiDiscrete([2, 13])
        return Box(0.5, 2, (3 + (self.fault == agent),), np.float32)

    def action_space(self, agent):
        return Discrete(2 + (self.fault == "free " + agent), start=1)

    def look(self, agents):
        if self.choices:
            return {a: [self.bit, self.k] for a in agents}
        return {a: [0.5 + self.bit, 0.5 + self.k / 12, 1] for a in agents}

    def reset(self, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        self.agents, self.k, self.bit = list(self.possible_agents), 0, int(self.random.integers(2))
        return self.look(self.agents), {}

    def step(self, actions):
        assert set(actions) == set(self.agents) and all(x in (1, 2) for x in actions.values()), actions
        acted, self.k = self.agents, self.k + 1
        rewards = {a: float(actions[a] == 1 + self.bit) for a in acted}
        self.bit = int(self.random.integers(2))
        ends = {a: self.k >= self.lifetimes[a] for a in acted}
        self.agents = [a for a in acted if not ends[a]]
        last = not self.agents
        seen, terminated, truncated = self.look(acted), {a: ends[a] and not last for a in acted}, {a: ends[a] and last for a in acted}
        if self.fault == "stays" and ends["ann"]:
            self.agents.append("ann")
        if self.fault == "stranger":
            self.agents.append("eve")
        if self.fault == "unpaid":
            rewards.pop("bob", None)
        if self.fault == "unseen":
            seen.pop("bob", None)
        return (seen, rewards, terminated, truncated, {}) if self.fault != "older" else (seen, rewards, terminated, {})


class Told(Relay):
    def state(self):
        return np.array([self.k / 12, self.bit])


def parallel_env(told=True, **options):
    return Told(**options) if told else Relay(**options)
'''

# Replays what `env rollout` says it did, in plain Python and with the seeds that its streams have.
REFERENCE = '''
import importlib, json, sys
import numpy as np
from streams import first

env, n, left = importlib.import_module(sys.argv[1]).parallel_env(), 0, 0
agents, seed = env.possible_agents, int(sys.argv[2])
start = getattr(env.action_space(agents[0]), "start", 0)
same = lambda seen, row: all(np.array_equal(np.float32(seen[a]), np.float32(o)) for a, o in zip(agents, row["observation"]) if a in env.agents)
for line in sys.stdin:
    row = json.loads(line)
    if "episode" in row:
        assert same(env.reset(seed=first(seed, 2, row["episode"], 0) >> 1)[0], row), row
        continue
    acted = env.agents
    seen, rewards, terminated, truncated, _ = env.step({a: start + x for a, x in zip(agents, np.ravel(row["action"]).tolist()) if a in acted})
    assert same(seen, row) and abs(sum(rewards.values()) / len(agents) - row["reward"]) < 1e-9, (row, seen, rewards)
    cut = all(truncated[a] and not terminated[a] for a in acted)
    assert (row["terminated"], row["truncated"]) == (not env.agents and not cut, not env.agents and cut), row
    n, left = n + 1, left + bool(env.agents and len(env.agents) < len(agents))
print(n, left)
'''

JOB = """[Job]
Environment=%s
Algorithm=mappo
StopSteps=6144
Seed=5
[Scaling]
Actors=2
[Actor]
Python=%s
PythonPath=%s
EnvsPerActor=6
RolloutSteps=64
[Learner]
HiddenLayers=8
LearningRate=0.01
"""


def places():
    """The packages, and the directory with our module."""
    bridged()
    folder = os.path.join(STATE, "modules")
    os.makedirs(folder, exist_ok=True)
    for name, text in ("relay", MODULE), ("turns", "def env():\n    pass\n"):
        with open(os.path.join(folder, name + ".py"), "w") as f:
            f.write(text)
    return VENV, folder


def sets():
    venv, folder = places()
    return ["--set", "Actor.Python=" + venv, "--set", "Actor.PythonPath=" + folder]


def train(environment, *how, **kw):
    path = os.path.join(STATE, "agents.conf")
    with open(path, "w") as f:
        f.write(JOB % (environment, *places()))
    return run(path, *how, **kw)


def run_of(r):
    return "r" + os.path.basename(r.state_directory)


@story("steps are those of the same environment in plain Python, for each agent by its name, while agents leave and at the end")
def equal_to_python():
    venv, folder = places()
    for module, steps in ("relay", 2000), ("mpe2.simple_spread_v3", 500):
        r = ctl("env", "rollout", "pettingzoo:" + module, *sets(), "--seed", "12", "--steps", str(steps))
        equal(r.status, 0, f"{r.err}: status")
        p = subprocess.run([VENV + "/bin/python", "-c", REFERENCE, module, "12"], input=r.out, capture_output=True, text=True, cwd=STATE,
                           env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tests", "parity") + ":" + folder))
        assert p.returncode == 0, f"{module}: {p.stderr[-1500:]}"
        n, left = map(int, p.stdout.split())
        equal(n, steps, "steps that plain Python did")
        assert (left > 0) == (module == "relay"), (module, left)


@story("show says how many agents there are, and whether an episode can be saved; the check passes while they come and go")
def shown():
    r = ctl("env", "show", "pettingzoo:relay", *sets())
    assert "agents:       3, each observes and acts by itself" in r.out and "snapshots:    yes" in r.out and "one of 2 choices" in r.out, r.out + r.err
    r = ctl("env", "check", "pettingzoo:relay", *sets())
    assert r.status == 0 and "ok 8 - an instance restored from a snapshot continues as the original\n" in r.out and "not ok" not in r.out, r.out + r.err
    r = ctl("env", "check", "pettingzoo:relay", *sets(), "--set", "choices=True", "--set", "told=False")
    assert r.status == 0 and "not ok" not in r.out, r.out + r.err
    r = ctl("env", "show", "pettingzoo:mpe2.simple_spread_v3", *sets(), "--set", "N=4")
    assert "agents:       4, each" in r.out and "24 numbers" in r.out and "snapshots:    none" in r.out, r.out + r.err


@story("agents learn with mappo, whose critic reads state() where there is one; kills and the number of processes change nothing")
def pure():
    killer, inputs = Killer("actord-actor", low=0.1, high=0.3, most=2), {}
    for told in "True", "False":
        calm = train("pettingzoo:relay", "Environment.told=" + told)
        rows = json.loads(ctl("rounds", run_of(calm), "--json").out)
        # 22 steps of three agents, each worth 1 at most
        assert rows[0]["return_round"] < 5 and rows[-1]["return_round"] > 6.5, rows
        newest = max(glob.glob(calm.state_directory + "/jobs/*/state/checkpoint-*.safetensors"), key=os.path.getmtime)
        with open(newest, "rb") as f:
            tensors = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        inputs[told] = sorted(t["shape"][1] for n, t in tensors.items() if n.endswith(".0.weight"))
        if told == "True":
            equal(train("pettingzoo:relay", "Actor.Processes=1", "Learner.Threads=2").policy_sha256, calm.policy_sha256, "policy of one process")
            equal(train("pettingzoo:relay", during=killer).policy_sha256, calm.policy_sha256, f"after {len(killer.killed)} kills")
            r = ctl("eval", run_of(calm), "--episodes=3")
            assert r.status == 0, r.err
    equal(inputs, {"True": [3, 3 + 2], "False": [3, 3 * 3]}, "what the actor reads, and the critic")


@story("a task of the package mpe2 trains to one policy in one process as in several")
def package():
    how = "Job.StopSteps=1536", "Learner.Epochs=2"
    calm = train("pettingzoo:mpe2.simple_spread_v3", *how)
    equal(train("pettingzoo:mpe2.simple_spread_v3", *how, "Actor.Processes=1").policy_sha256, calm.policy_sha256, "policy")
    r = run(os.path.join(EXAMPLES, "pettingzoo.conf"), "Actor.Python=" + VENV, "Job.StopSteps=3072")
    equal(r.state, "finished", r.err)


@story("a module that does not suit is refused in one sentence that says what to do")
def refused():
    venv, folder = places()
    for name, how, words in (
            ("relay", ["fault=bob"], "agents ann and bob have different observation spaces, Box(0.5, 2.0, (3,), float32) and Box(0.5, 2.0, (4,), float32)"),
            ("relay", ["fault=free cid"], "agents ann and cid have different action spaces, "),
            ("mpe2.simple_tag_v3", [], "agents adversary_0 and agent_0 have different observation spaces"),
            ("relay", ["speed=3"], "unexpected keyword argument 'speed'"),
            ("turns", [], "the module turns has no parallel_env()"),
            ("relays", [], f"no module relays in PythonPath={folder} or in the virtual environment Python={venv}"),
            ("mpe2.simple_spred_v3", [], "mpe2 has no module simple_spred_v3; did you mean mpe2.simple_spread_v3?"),
            ("mpe.simple_spread_v3", [], f"{venv}/bin/pip install mpe2, and write Environment=pettingzoo:mpe2.simple_spread_v3"),
            ("sisl..x", [], "write pettingzoo:MODULE, the dotted name of a module"), ("", [], "write pettingzoo:MODULE")):
        r = train("pettingzoo:" + name, *["Environment." + h for h in how], ok=False)
        assert r.status == 2 and words in r.err and "Traceback" not in r.err, (name, how, r.status, r.err)
    r = train("pettingzoo:relay", "Actor.EnvsPerActor=4", ok=False)
    assert r.status == 2 and "EnvsPerActor= must be a multiple" in r.err, r.err
    r = train("pettingzoo:relay", "Job.Algorithm=dqn", ok=False)
    assert r.status == 2 and "come and go" in r.err, r.err


@story("a step that breaks the rules of the parallel kind fails with a sentence that names the agent")
def broken():
    for fault, words in (("stays", "agent 'ann' was terminated or truncated, and agents still has it"), ("stranger", "agents has 'eve', which is not in "),
                         ("unpaid", "no entry for agent 'bob' in the rewards"), ("unseen", "no entry for agent 'bob' in the observations"),
                         ("older", "step() did not return (observations, rewards, terminations")):
        r = ctl("env", "rollout", "pettingzoo:relay", *sets(), "--set", "fault=" + fault, "--steps=20")
        assert r.status != 0 and words in r.err, (fault, r.status, r.err)


tell()
