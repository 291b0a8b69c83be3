# SPDX-License-Identifier: LGPL-2.1-or-later
"""Your own environment in Python, in one file: a walk along a corridor to its door."""
import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    """The walker sees how far the door is and steps left or right; each step costs, and the door pays."""
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=8):
        self.length = length
        self.observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)

    def observation(self):
        return np.array([self.distance / self.length], np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.distance = int(self.np_random.integers(1, self.length + 1))
        return self.observation(), {}

    def step(self, action):
        self.distance = min(self.distance + (1 if action == 0 else -1), self.length)
        arrived = self.distance == 0
        return self.observation(), 1.0 if arrived else -0.1, arrived, False, {}


gymnasium.register("Corridor-v0", Corridor, max_episode_steps=50)
