#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scripts in the form of CleanRL's become job files. They are only read as text, whatever they contain."""
from story import *

ARGS = """import os
from dataclasses import dataclass
open("/EXECUTED", "w").write(os.system("touch /EXECUTED"))


@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    \"\"\"a text: str = "of the line above"\"\"\"
    seed: int = 3
    cuda: bool = True
    wandb_entity: str = None
    env_id: str = "%s"
    total_timesteps: int = 20_000  # it's a "comment"
    num_envs: int = %d
    gamma: float = 0.97
%s

class Other:
    seed: int = 99
"""
LINES = {
    "ppo": "learning_rate: float = 2.5e-4 num_steps: int = 128 anneal_lr: bool = True gae_lambda: float = 0.9 num_minibatches: int = 4 update_epochs: int = 5 "
           "norm_adv: bool = False clip_coef: float = 0.1 clip_vloss: bool = True ent_coef: float = 0.01 vf_coef: float = 0.25 max_grad_norm: float = 0.7 "
           "target_kl: float = None batch_size: int = 0 minibatch_size: int = 0 num_iterations: int = 0",
    "dqn": "learning_rate: float = 2.5e-4 buffer_size: int = 10000 tau: float = 1.0 target_network_frequency: int = 500 batch_size: int = 128 start_e: float = 1 "
           "end_e: float = 0.05 exploration_fraction: float = 0.5 learning_starts: int = 1000 train_frequency: int = 10",
    "ddpg": "learning_rate: float = 3e-4 buffer_size: int = int(1e6) tau: float = 0.005 batch_size: int = 256 exploration_noise: float = 0.2 "
            "learning_starts: int = 25e2 policy_frequency: int = 2 noise_clip: float = 0.4",
    "sac": "buffer_size: int = int(1e6) tau: float = 0.01 batch_size: int = 256 learning_starts: int = 5e3 policy_lr: float = 3e-4 q_lr: float = 1e-3 "
           "policy_frequency: int = 2 target_network_frequency: int = 1 alpha: float = 0.2 autotune: bool = True",
}
LINES["td3"] = LINES["ddpg"] + " policy_noise: float = 0.3"
SCRIPTS = {"ppo.py": ("ppo", "CartPole-v1", 4), "ppo_continuous_action.py": ("ppo", "Pendulum-v1", 1), "dqn.py": ("dqn", "CartPole-v1", 1),
           "ddpg_continuous_action.py": ("ddpg", "Pendulum-v1", 1), "td3_continuous_action.py": ("td3", "Pendulum-v1", 1),
           "sac_continuous_action.py": ("sac", "Pendulum-v1", 1)}


def script(directory, name, text=None):
    algorithm, env, n = SCRIPTS[name]
    body = re.sub(r" (?=\w+: )", "\n    ", " " + LINES[algorithm])
    path = os.path.join(directory, name)
    open(path, "w").write(text if text is not None else ARGS % (env, n, body))
    return path


@story("the defaults of each script of CleanRL are a job that runs, value by value; the script is not executed, and another one is refused")
def cleanrl():
    with tempfile.TemporaryDirectory() as d:
        for name, (algorithm, env, n) in SCRIPTS.items():
            job = os.path.join(d, name + ".conf")
            r = ctl("import", "cleanrl", script(d, name), f"--output={job}")
            equal(r.status, 0, r.err)
            shown = dict(line.split("=", 1) for line in open(job).read().splitlines() if "=" in line and not line.startswith("#"))
            equal((shown["Algorithm"], shown["Environment"], shown["Seed"], shown["StopSteps"]), (algorithm, env, "3", "20000"), name)
            r = ctl("run", job, "--set", "Job.StopSteps=300", "--quiet")
            equal(r.status, 0, (name, r.err))
        ppo = open(os.path.join(d, "ppo.py.conf")).read()
        for line in ("EnvsPerActor=4", "RolloutSteps=128", "MinibatchSize=128", "Epochs=5", "Gamma=0.97", "Lambda=0.9", "Clip=0.1", "ValueClip=0.1",
                     "NormalizeAdvantages=no", "LearningRate=0.00025", "LearningRateSchedule=linear", "ValueWeight=0.25", "MaxGradNorm=0.7",
                     "# CleanRL: vf_coef = 0.25"):
            assert line in ppo.splitlines(), (line, ppo)
        dqn = open(os.path.join(d, "dqn.py.conf")).read().splitlines()
        assert {"TargetInterval=50", "TrainRatio=0.1", "EpsilonSteps=10000", "ReplayMin=1000", "HiddenLayers=120 84"} <= set(dqn), dqn
        sac = open(os.path.join(d, "sac_continuous_action.py.conf")).read().splitlines()
        assert {"CriticLearningRate=0.001", "Temperature=", "ReplaySize=20000", "#     policy_frequency = 2"} <= set(sac), sac
        assert not os.path.exists("/EXECUTED")
        good = ARGS % ("CartPole-v1", 4, re.sub(r" (?=\w+: )", "\n    ", " " + LINES["ppo"]))
        for text, reason in (("import argparse\n", "no class Args"), (good.replace("CartPole-v1", "x]\\n[Actor]"), "no env_id"),
                             (good.replace("CartPole-v1", "a b"), "not an environment's name"), (good.replace("num_envs: int = 4", "num_envs: int = 0"), "num_envs"),
                             (good.replace("seed: int = 3", "".join(f"a{i}: int = 1\n    " for i in range(300))), "more than 200"),
                             (good + "\0", "UTF-8"), ("class Args:\n" + " " * 500000 + "x", "no env_id")):
            r = ctl("import", "cleanrl", script(d, "ppo.py", text))
            assert r.status == 2 and reason in r.err and not r.out, (reason, r)
        told = ctl("import", "cleanrl", script(d, "ppo.py", good.replace("gamma: float = 0.97", 'odd: str = "\x1b[31mred"')))
        assert told.status == 0 and "\x1b" not in told.out and "odd = ?[31mred" in told.out, told.out
        os.rename(script(d, "ppo.py"), os.path.join(d, "ppo_atari.py"))
        r = ctl("import", "cleanrl", os.path.join(d, "ppo_atari.py"))
        assert r.status == 2 and "sac_continuous_action.py" in r.err, r.err


tell()
