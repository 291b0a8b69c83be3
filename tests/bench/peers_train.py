# SPDX-License-Identifier: LGPL-2.1-or-later
"""The other side of peers.py: one training by one peer, in that peer's virtual environment.

peers_train.py PEER TASK SEED STEPS      prints {"train_s": ..., "steps": ..., "return": ...}

Settings are those of peers.py's own jobs. `return` is the mean of the last 100 episodes; a task that ends in -475 stops when it is 475."""
import collections, json, sys, time

TO_REACH = 475
ZOO = dict(envs=8, rollout=32, epochs=20, batch=256, gamma=0.98, gae_lambda=0.8, rate=1e-3, clip=0.2, entropy=0.0)
CLEANRL = dict(envs=4, rollout=128, epochs=4, batch=128, gamma=0.99, gae_lambda=0.95, rate=2.5e-4, clip=0.2, entropy=0.01)


class Episodes:
    """Returns of the last 100 episodes."""

    def __init__(self):
        self.last = collections.deque(maxlen=100)

    def mean(self):
        return sum(self.last) / len(self.last) if self.last else None

    def reached(self):
        return len(self.last) == 100 and self.mean() >= TO_REACH


def stable_baselines3(task, seed, steps):
    import gymnasium
    import torch
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    episodes = Episodes()

    class Watch(BaseCallback):
        def _on_step(self):
            episodes.last.extend(info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
            return not (task.endswith("-475") and episodes.reached())

    if task.startswith("hopper"):
        name = "Hopper-v4" if "Hopper-v4" in gymnasium.registry else "Hopper-v5"
        model = PPO("MlpPolicy", make_vec_env(name, n_envs=1, seed=seed), n_steps=2048, batch_size=64, n_epochs=10,
                    learning_rate=lambda left: 3e-4 * left, device="cpu", seed=seed)
    elif task == "cartpole-dqn":
        # The settings of examples/cartpole-dqn.conf, which are CleanRL's.
        model = DQN("MlpPolicy", make_vec_env("CartPole-v1", n_envs=1, seed=seed), learning_rate=2.5e-4, buffer_size=10000,
                    learning_starts=10000, batch_size=128, gamma=0.99, train_freq=10, gradient_steps=1, target_update_interval=500,
                    exploration_fraction=0.5, exploration_final_eps=0.05, max_grad_norm=1e9, policy_kwargs={"net_arch": [120, 84]},
                    device="cpu", seed=seed)
    else:
        s = ZOO
        model = PPO("MlpPolicy", make_vec_env("CartPole-v1", n_envs=s["envs"], seed=seed), n_steps=s["rollout"], batch_size=s["batch"],
                    n_epochs=s["epochs"], gamma=s["gamma"], gae_lambda=s["gae_lambda"], ent_coef=s["entropy"],
                    learning_rate=lambda left: s["rate"] * left, clip_range=lambda left: s["clip"] * left, device="cpu", seed=seed)
    start = time.perf_counter()
    model.learn(steps, callback=Watch())
    return time.perf_counter() - start, model.num_timesteps, episodes.mean()


def gymnasium_vector(envs, seed):
    import gymnasium
    vector = gymnasium.make_vec("CartPole-v1", num_envs=envs, vectorization_mode="sync",
                                vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})
    return vector, vector.reset(seed=seed)[0]


def envpool_vector(envs, seed):
    import envpool
    vector = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=envs, seed=seed)
    return vector, vector.reset()[0]


def ppo(vector, observation, s, seed, steps):
    """PPO as CleanRL's settings have it, in PyTorch: clipped values and advantages normalised by minibatch."""
    import numpy as np
    import torch
    from torch import nn

    def layer(n_in, n_out, gain):
        made = nn.Linear(n_in, n_out)
        nn.init.orthogonal_(made.weight, gain)
        nn.init.zeros_(made.bias)
        return made

    def network(n_out, gain):
        return nn.Sequential(layer(4, 64, 2**0.5), nn.Tanh(), layer(64, 64, 2**0.5), nn.Tanh(), layer(64, n_out, gain))

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    actor, critic = network(2, 0.01), network(1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=s["rate"], eps=1e-5)
    envs, length, episodes, running = s["envs"], s["rollout"], Episodes(), np.zeros(s["envs"])
    updates = steps // (envs * length)
    start = time.perf_counter()
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = s["rate"] * (1 - update / updates)
        seen, taken, logs, values, rewards, ends = ([] for _ in range(6))
        for _ in range(length):
            x = torch.as_tensor(observation, dtype=torch.float32)
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=actor(x))
                action = choice.sample()
                values.append(critic(x).flatten())
                logs.append(choice.log_prob(action))
            seen.append(x)
            taken.append(action)
            observation, reward, terminated, truncated, _ = vector.step(action.numpy())
            done = terminated | truncated
            running += reward
            episodes.last.extend(running[done])
            running[done] = 0
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            ends.append(torch.as_tensor(done, dtype=torch.float32))
        with torch.no_grad():
            next_value = critic(torch.as_tensor(observation, dtype=torch.float32)).flatten()
            advantages, advantage = [], torch.zeros(envs)
            for t in reversed(range(length)):
                going = 1 - ends[t]
                delta = rewards[t] + s["gamma"] * next_value * going - values[t]
                advantage = delta + s["gamma"] * s["gae_lambda"] * going * advantage
                next_value = values[t]
                advantages.insert(0, advantage)
        x, a, log, value, gain = (torch.cat(part) for part in (seen, taken, logs, values, advantages))
        target = gain + value
        for _ in range(s["epochs"]):
            for rows in torch.randperm(envs * length).split(s["batch"]):
                choice = torch.distributions.Categorical(logits=actor(x[rows]))
                ratio = (choice.log_prob(a[rows]) - log[rows]).exp()
                g = (gain[rows] - gain[rows].mean()) / (gain[rows].std() + 1e-8)
                policy = -torch.min(g * ratio, g * ratio.clamp(1 - s["clip"], 1 + s["clip"])).mean()
                now = critic(x[rows]).flatten()
                held = value[rows] + (now - value[rows]).clamp(-s["clip"], s["clip"])
                error = 0.5 * torch.max((now - target[rows])**2, (held - target[rows])**2).mean()
                optimiser.zero_grad()
                (policy - s["entropy"] * choice.entropy().mean() + 0.5 * error).backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimiser.step()
    return time.perf_counter() - start, updates * envs * length, episodes.mean()


def cleanrl(_task, seed, steps):
    return ppo(*gymnasium_vector(CLEANRL["envs"], seed), CLEANRL, seed, steps)


def envpool(_task, seed, steps):
    return ppo(*envpool_vector(CLEANRL["envs"], seed), CLEANRL, seed, steps)


def rllib(task, seed, steps):
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig

    s = ZOO
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    algorithm = (PPOConfig().environment("CartPole-v1").debugging(seed=seed, log_level="ERROR")
                 .env_runners(num_env_runners=0, num_envs_per_env_runner=s["envs"])
                 .training(train_batch_size_per_learner=s["envs"] * s["rollout"], minibatch_size=s["batch"], num_epochs=s["epochs"],
                           gamma=s["gamma"], lambda_=s["gae_lambda"], lr=s["rate"], clip_param=s["clip"], entropy_coeff=s["entropy"],
                           grad_clip=0.5).build_algo())
    start, done, mean = time.perf_counter(), 0, None
    while done < steps:
        result = algorithm.train()["env_runners"]
        done, mean = int(result["num_env_steps_sampled_lifetime"]), result.get("episode_return_mean", mean)
        if task.endswith("-475") and mean is not None and mean >= TO_REACH:
            break
    return time.perf_counter() - start, done, mean


def make_cartpole(*_args, **_options):
    import gymnasium
    return gymnasium.make("CartPole-v1")


def sample_factory(_task, seed, steps):
    from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
    from sample_factory.train import run_rl

    s = ZOO
    words = dict(algo="APPO", env="cartpole", experiment=f"peers-{seed}-{time.time_ns()}", train_dir="/tmp/actord-peers", device="cpu", seed=seed,
                 train_for_env_steps=steps, num_workers=2, num_envs_per_worker=4, worker_num_splits=1, rollout=s["rollout"],
                 batch_size=s["batch"], num_batches_per_epoch=1, num_epochs=s["epochs"], gamma=s["gamma"], gae_lambda=s["gae_lambda"],
                 learning_rate=s["rate"], exploration_loss_coeff=s["entropy"], use_rnn=False, normalize_input=False, async_rl=False,
                 encoder_mlp_layers="64 64", nonlinearity="tanh", save_every_sec=100000, with_wandb=False)
    argv = [f"--{name}={value}" for name, value in words.items() if name != "encoder_mlp_layers"] + ["--encoder_mlp_layers", "64", "64"]
    parser, _ = parse_sf_args(argv)
    config = parse_full_cfg(parser, argv)
    start = time.perf_counter()
    if run_rl(config) != 0:
        sys.exit("Sample Factory did not finish")
    return time.perf_counter() - start, steps, None


def main():
    peer, task, seed, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    train = {"stable-baselines3": stable_baselines3, "cleanrl": cleanrl, "envpool": envpool, "ray": rllib, "sample-factory": sample_factory}[peer]
    seconds, done, mean = train(task, seed, steps)
    print(json.dumps({"train_s": seconds, "steps": int(done), "return": None if mean is None else float(mean)}), flush=True)


# Its processes import this file anew.
if sys.argv[1] == "sample-factory":
    from sample_factory.envs.env_utils import register_env
    register_env("cartpole", make_cartpole)
if __name__ == "__main__":
    main()
