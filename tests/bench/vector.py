#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our environments beside EnvPool's and Gymnasium's, on two cores, under random actions, in turns.

vector.py [--rounds=N] [ID...], from a virtual environment that has them. Ours: two sandboxes at a time, an environment in each; on the default
engine, and on the release of MuJoCo that Gymnasium has, where it is built in. EnvPool: 64 environments on two threads. Gymnasium: AsyncVectorEnv with
two processes; and twice the speed of one environment: the bound for two processes that never wait. Resets of ended episodes are included; actions are
drawn beforehand. Figures are thousands of steps per two CPU seconds, medians of the rounds. For the others, brackets have the same by wall time: on a
quiet machine the two differ by the time that they wait. The quotients compare equal releases of MuJoCo, if both have one. Never fails."""
import importlib.metadata, json, os, resource, statistics, subprocess, sys, time

import figure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ACTORD_BUILD") or os.path.join(ROOT, os.environ.get("B", "build"))
NAMES = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Humanoid-v4")
WORKERS, ENVS, BATCHES, SECONDS = 2, 64, 64, 1.5


def cpu_used():
    return sum(getattr(resource.getrusage(who), part) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
               for part in ("ru_utime", "ru_stime"))


def measure(step, actions, n, end=lambda: None):
    """Steps per two CPU seconds, those of `end` and of children included, and per second."""
    step(actions[0])
    steps, start, used = 0, time.perf_counter(), cpu_used()
    while time.perf_counter() - start < SECONDS:
        for a in actions:
            step(a)
        steps += n * len(actions)
    wall = time.perf_counter() - start
    end()
    return steps / (cpu_used() - used) * WORKERS, steps / wall


def actions_of(space, n):
    import numpy as np
    rng = np.random.default_rng(1)
    if hasattr(space, "n"):
        return [rng.integers(0, space.n, n, dtype=np.int32) for _ in range(BATCHES)]
    return [rng.uniform(space.low, space.high, (n, *space.shape)).astype(space.dtype) for _ in range(BATCHES)]


def run_ours(name, *sets):
    command = [os.path.join(BUILD, "actorctl"), "env", "bench", name, "--json=short", *sets]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(WORKERS)]
    return [sum(json.loads(p.communicate()[0])["inside_steps_per_s"] for p in running)]


def run_ours_same(name):
    release = importlib.metadata.version("mujoco")
    if not os.path.exists(os.path.join(BUILD, f"env-mujoco-{release}.so")):
        sys.exit("not built with MUJOCO=")
    return run_ours(name, "--set", "Engine=" + release)


def run_envpool(name):
    import envpool
    envs = envpool.make(name, env_type="gymnasium", num_envs=ENVS, num_threads=WORKERS)
    envs.reset()
    return measure(envs.step, actions_of(envs.action_space, ENVS), ENVS)


def run_vector(name):
    import gymnasium
    envs = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make(name)] * WORKERS)
    envs.reset(seed=1)
    return measure(envs.step, actions_of(envs.single_action_space, WORKERS), WORKERS, envs.close)


def run_single(name):
    import gymnasium
    env = gymnasium.make(name)

    def step(action):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    env.reset(seed=1)
    per_cpu, wall = measure(step, [a[0] for a in actions_of(env.action_space, 1)], 1)
    return per_cpu, wall * WORKERS


COLUMNS = {"ours": run_ours, "ours, same MuJoCo": run_ours_same, "EnvPool": run_envpool, "AsyncVectorEnv": run_vector, "2 x Gymnasium": run_single}


def turn(column, name):
    """Measures in a process of its own, since libraries of one package may break another. None: it has no such environment, or does not run."""
    r = subprocess.run([sys.executable, os.path.abspath(__file__), "--column=" + column, name], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True)
    return json.loads(r.stdout.splitlines()[-1]) if r.returncode == 0 else None


def cell(turns):
    turns = [t for t in turns if t]
    if not turns:
        return "-"
    middle = [f"{statistics.median(part) / 1e3:,.1f}" for part in zip(*turns)]
    return middle[0] + "".join(f" ({wall})" for wall in middle[1:])


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    if "column" in options:
        print(json.dumps(COLUMNS[options["column"]](names[0])))
        return
    print("| thousand steps / s, two cores | " + " | ".join(COLUMNS) + " | ours / EnvPool | ours / Gymnasium |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name in names or NAMES:
        turns = {column: [] for column in COLUMNS}
        for _ in range(int(options.get("rounds", 3))):
            for column in COLUMNS:
                turns[column].append(turn(column, name))
        middle = {c: statistics.median(t[0] for t in turns[c] if t) if any(turns[c]) else float("nan") for c in COLUMNS}
        ours = middle["ours, same MuJoCo"] if turns["ours, same MuJoCo"][0] else middle["ours"]
        rival = max((c for c in COLUMNS if not c.startswith("ours")), key=lambda c: middle[c] if middle[c] == middle[c] else 0)
        figure.note(f"{name}, two cores, in sandboxes", "steps/s", ours, peer=rival, peer_value=middle[rival])
        times = [ours / middle["EnvPool"], ours / max(middle["AsyncVectorEnv"], middle["2 x Gymnasium"])]
        print(f"| {name} | " + " | ".join(cell(turns[c]) for c in COLUMNS) + " | " + " | ".join(f"{t:.1f}" for t in times) + " |", flush=True)


main()
