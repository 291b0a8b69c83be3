# SPDX-License-Identifier: LGPL-2.1-or-later
"""The other side of off_policy.py: one training by Stable-Baselines3, in the virtual environment that has it.

off_policy_peer.py JSON      prints {"curve": {steps: mean return}, "cpu_s": of training alone, "versions": ...}

The argument has task, algorithm, seed, steps, every, episodes and the settings, so that off_policy.py alone knows them."""
import json, sys, time

import gymnasium
import numpy
import stable_baselines3
import torch
from stable_baselines3 import DDPG, SAC, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise


class Evaluations(BaseCallback):
    """Episodes without noise after every so many steps, on an environment of their own; their CPU time is counted apart."""

    def __init__(self, env, every, episodes):
        super().__init__()
        self.env, self.every, self.episodes = env, every, episodes
        self.curve, self.cpu = {}, 0.0

    def _on_step(self):
        if self.every and self.num_timesteps % self.every == 0:
            before = time.process_time()
            self.curve[self.num_timesteps] = float(evaluate_policy(self.model, self.env, n_eval_episodes=self.episodes)[0])
            self.cpu += time.process_time() - before
        return True


def model(x):
    kind = {"ddpg": DDPG, "td3": TD3, "sac": SAC}[x["algorithm"]]
    env = Monitor(gymnasium.make(x["task"]))
    own = {}
    if x["algorithm"] != "sac":
        n = env.action_space.shape[0]
        own["action_noise"] = NormalActionNoise(numpy.zeros(n), x["noise"] * numpy.ones(n))
    return kind("MlpPolicy", env, learning_rate=x["rate"], buffer_size=x["buffer"], learning_starts=x["starts"], batch_size=x["batch"], tau=x["tau"],
                gamma=x["gamma"], train_freq=1, gradient_steps=1, policy_kwargs={"net_arch": x["hidden"]}, seed=x["seed"], device="cpu", **own)


def main():
    x = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    evaluations = Evaluations(Monitor(gymnasium.make(x["task"])), x["every"], x["episodes"])
    evaluations.env.reset(seed=1000 + x["seed"])
    learner = model(x)
    before = time.process_time()
    learner.learn(x["steps"], callback=evaluations)
    cpu = time.process_time() - before - evaluations.cpu
    print(json.dumps({"curve": evaluations.curve, "cpu_s": cpu, "versions": [stable_baselines3.__version__, torch.__version__, gymnasium.__version__]}))


main()
