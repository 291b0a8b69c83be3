# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of docs/experiments/ppo.md and algorithms.md, and the published scores.

A row is a job file, the settings that differ, and the score to compare it with. RETURN is the mean of the last 100 episodes of training,
as CleanRL reports it. EVALUATION is the mean of so many episodes with the most likely actions, as in RL Zoo. BEST is the highest such mean of a
training, as in Tianshou."""
from collections import namedtuple

RETURN, EVALUATION, BEST = "return", "evaluation", "best"

# score, deviation and runs: as published. With one run the deviation is that of its episodes, which makes no target.
# seeds, target: only where they differ from those of the table, and from the score less its deviation.
Row = namedtuple("Row", "name job sets metric episodes score deviation runs source seeds target", defaults=(None, None))

CLEANRL = "CleanRL"
ZOO = "RL Zoo"
TIANSHOU = "Tianshou"
NO_TARGET = "no target"

# Mean returns of random actions: of MuJoCo's tasks by docs/experiments/parity.md; of MountainCar and Acrobot the least return there is, which
# they nearly always get. A target that is not higher says nothing about an algorithm.
AT_RANDOM = {"MountainCar-v0": -200, "Acrobot-v1": -500, "CartPole-v1": 22, "InvertedPendulum-v4": 5.7, "Reacher-v4": -43.2, "HalfCheetah-v4": -288.4,
             "InvertedDoublePendulum-v4": 55.7, "Swimmer-v4": 1.8, "Hopper-v4": 15.9, "Pusher-v4": -148.9, "Walker2d-v4": 2.2, "Ant-v4": -70.3,
             "Humanoid-v4": 124.4}


def cleanrl(name, job, score, deviation, *sets):
    return Row(name, job, sets, RETURN, 20, score, deviation, 3, CLEANRL)


def zoo(name, job, score, deviation, *sets):
    return Row(name, job, sets, EVALUATION, 100, score, deviation, 1, ZOO)


def tianshou(name, job, score, deviation, *sets):
    # Ten episodes every 30,000 steps there, which are 15 rounds of 2,048 here
    return Row(name, job, (*sets, "Evaluation.EveryRounds=15"), BEST, 10, score, deviation, 10, TIANSHOU)


def unpublished(name, job, metric, *sets):
    return Row(name, job, sets, metric, 20, None, None, 0, None)


def pixels(game, score, deviation, seeds, target, *sets):
    # CleanRL's scores are those of ten million steps with a larger network
    return Row(game, "pong-small", (f"Job.Environment=gym:ale_py:ALE/{game}", *sets), RETURN, 0, score, deviation, 3, CLEANRL, seeds, target)


# In the order of what a seed costs.
PPO = [
    zoo("CartPole-v1 (RL Zoo)", "cartpole", 500.0, 0.0, "Job.StopReturn="),
    cleanrl("CartPole-v1 (CleanRL)", "acrobot", 490.04, 6.12, "Job.Environment=CartPole-v1"),
    cleanrl("Acrobot-v1", "acrobot", -86.36, 1.32),
    zoo("Pendulum-v1", "pendulum", -172.225, 104.159),
    zoo("MountainCarContinuous-v0", "mountaincar-continuous", 88.343, 2.572),
    zoo("MountainCar-v0", "mountaincar", -110.423, 19.473),
    cleanrl("InvertedPendulum-v4", "hopper", 963.09, 22.20, "Job.Environment=InvertedPendulum-v4"),
    tianshou("Reacher-v4", "ant", -4.1, 0.3, "Job.Environment=Reacher-v4"),
    zoo("LunarLander-v3", "lunarlander", 242.119, 31.823),
    zoo("LunarLanderContinuous-v3", "lunarlander", 270.863, 32.072, "Job.Environment=LunarLanderContinuous-v3"),
    cleanrl("HalfCheetah-v4", "hopper", 1442.64, 46.03, "Job.Environment=HalfCheetah-v4"),
    tianshou("InvertedDoublePendulum-v4", "ant", 9231.3, 270.4, "Job.Environment=InvertedDoublePendulum-v4"),
    tianshou("Swimmer-v4", "ant", 66.7, 99.1, "Job.Environment=Swimmer-v4"),
    cleanrl("Hopper-v4", "hopper", 2382.86, 271.74),
    cleanrl("Pusher-v4", "hopper", -40.38, 7.15, "Job.Environment=Pusher-v4"),
    cleanrl("Walker2d-v4", "hopper", 2287.95, 571.78, "Job.Environment=Walker2d-v4"),
    zoo("BipedalWalker-v3", "bipedalwalker", 213.299, 129.490),
    tianshou("Ant-v4", "ant", 3258.4, 1079.3),
    cleanrl("Humanoid-v4", "hopper", 716.11, 49.08, "Job.Environment=Humanoid-v4"),
    unpublished("HumanoidStandup-v4", "hopper", RETURN, "Job.Environment=HumanoidStandup-v4"),
    # Its first million steps alone, for which nothing is published. Points differ by their bricks, from 1 to 7
    pixels("Breakout-v5", 414.66, 28.09, 1, NO_TARGET, "Job.StopSteps=1000000", "Job.StopReturn=", "Learner.NormalizeRewards=yes"),
    pixels("Pong-v5", 20.36, 0.20, 2, 18.0),
]

ALGORITHMS = [
    zoo("A2C: CartPole-v1", "cartpole-a2c", 500.0, 0.0, "Job.StopReturn="),
    zoo("A2C: Acrobot-v1", "acrobot-a2c", -83.353, 17.213),
    zoo("A2C: MountainCar-v0", "acrobot-a2c", -111.263, 24.087, "Job.Environment=MountainCar-v0", "Job.StopSteps=1000000"),
    zoo("A2C: LunarLander-v3", "lunarlander-a2c", 155.751, 80.419),
    zoo("A2C: Pendulum-v1", "pendulum-a2c", -162.965, 103.210),
    cleanrl("DQN: CartPole-v1", "cartpole-dqn", 488.69, 16.11, "Job.StopReturn="),
    cleanrl("DQN: Acrobot-v1", "cartpole-dqn", -91.54, 7.20, "Job.StopReturn=", "Job.Environment=Acrobot-v1"),
    cleanrl("DQN: MountainCar-v0 (CleanRL)", "cartpole-dqn", -194.95, 8.48, "Job.StopReturn=", "Job.Environment=MountainCar-v0"),
    zoo("DQN: CartPole-v1 (RL Zoo)", "cartpole-dqn", 500.0, 0.0, "Job.StopSteps=50000", "Job.StopReturn=", "Actor.RolloutSteps=256",
        "Learner.LearningRate=0.0023", "Learner.MinibatchSize=64", "Learner.ReplaySize=100000", "Learner.ReplayMin=1000", "Learner.TrainRatio=0.5",
        "Learner.TargetInterval=128", "Learner.HuberBound=1", "Learner.MaxGradNorm=10", "Learner.EpsilonEnd=0.04", "Learner.EpsilonSteps=8000",
        "Learner.HiddenLayers=256 256"),
    zoo("DQN: MountainCar-v0 (RL Zoo)", "mountaincar-dqn", -100.849, 9.925),
    zoo("DQN: LunarLander-v3", "lunarlander-dqn", 154.382, 79.241),
    unpublished("IMPALA: CartPole-v1", "cartpole-impala", RETURN, "Job.StopReturn="),
    unpublished("IMPACT: CartPole-v1", "cartpole-impact", RETURN, "Job.StopReturn="),
]

TABLES = {"ppo": (PPO, 10), "algorithms": (ALGORITHMS, 5)}
