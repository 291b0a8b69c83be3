#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments in Python that break a rule or nearly so: wherever they draw random numbers, the policy follows from the seed, and what does not
fit its space is refused with both."""
from story import *
from tools import bridged

MODULE = '''
import random
import gymnasium, numpy as np


class Plain(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 3), np.float64)
    action_space = gymnasium.spaces.Discrete(3)

    def picture(self):
        return np.full((2, 3), self.k + self.noise)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.k, self.noise = 0, float(self.np_random.random())
        return self.picture(), {}

    def step(self, action):
        self.k += 1
        return self.picture(), float(action) * self.noise, False, self.k == 100, {}


class Drawn(Plain):
    """It draws a number where it is made, and from a generator of its own that takes no seed."""
    def __init__(self):
        self.offset, self.own = np.random.random(), np.random.default_rng()

    def step(self, action):
        observation, reward, *ends = super().step(action)
        return observation, reward + self.offset + self.own.random(), *ends


class Late(Plain):
    """Resets draw from the streams that the process shares; steps do so only later than any that are tried when a job begins."""
    def reset(self, seed=None, options=None):
        random.random()
        return super().reset(seed=seed)

    def step(self, action):
        observation, reward, *ends = super().step(action)
        return observation, reward + (np.random.random() if self.k > 80 else 0), *ends


class Turned(Plain):
    """After some steps its observations have as many numbers as the space, but another shape."""
    def __init__(self, after=0):
        self.after = after

    def picture(self):
        return super().picture().reshape((3, 2) if self.k >= self.after else (2, 3))


class Many(Plain):
    action_space = gymnasium.spaces.Discrete(2 ** 40)


class Beyond(Plain):
    """It shows a choice that its space does not have."""
    observation_space = gymnasium.spaces.Discrete(3, start=2)

    def picture(self):
        return 2 + self.k


for kind in Drawn, Late, Turned, Many, Beyond:
    gymnasium.register(f"{kind.__name__}-v0", kind)
'''

JOB = """[Job]
Environment=gym:rules:%s-v0
StopSteps=3072
Seed=4
[Scaling]
Actors=3
[Actor]
Python=%s
PythonPath=%s
EnvsPerActor=2
RolloutSteps=64
[Learner]
Epochs=2
"""


def job(name):
    folder, path = os.path.join(STATE, "rules"), os.path.join(STATE, "rules.conf")
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/rules.py", "w") as f:
        f.write(MODULE)
    with open(path, "w") as f:
        f.write(JOB % (name, bridged(), folder))
    return path


@story("what an environment draws where it is made, and where it rarely draws, follows from the job's seed")
def draws():
    for name in "Drawn", "Late":
        apart, shared, other = run(job(name)), run(job(name), "Actor.Processes=1"), run(job(name), "Job.Seed=5")
        equal(shared.policy_sha256, apart.policy_sha256, f"{name}: policies")
        assert other.policy_sha256 != apart.policy_sha256, f"{name}: seeds make no difference"


@story("an observation or a space that does not fit is refused with what it is and what it must be")
def misfits():
    for name, want, *sets in (("Turned", "an observation has the shape (3, 2), but the observation space is Box"),
                              ("Turned", "an observation has the shape (3, 2), but the observation space is Box", "Environment.after=70"),
                              ("Beyond", "an observation is 5, but the observation space has whole numbers from 2 to 4"),
                              ("Many", "its action space is Discrete(1099511627776), but a choice may have at most")):
        r = run(job(name), *sets, ok=False)
        assert r.status in (1, 2) and want in r.err, (name, r.status, r.err)


tell()
