#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The twenty held-out storms of a stormwater task under its passive controller, its rules, and the policies that are given.

usage: stormwater.py TASK VENV [CHECKPOINT...]      TASK: theta or tidal; VENV has swmm-toolkit; CHECKPOINTs of one job, a seed each

For each it prints the mean over storms of an episode's cost (the return without its sign) and the interquartile mean, with 95 % percentile
bootstrap intervals (10,000 resamples). The costs of the policies are first averaged over seeds, storm by storm. Then come the differences to
both controllers, storm by storm: negative is better."""
import json, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "experiments"))
from intervals import interquartile_mean, interval, mean

ACTORCTL = os.path.join(os.environ.get("ACTORD_BUILD", os.path.join(HERE, "..", "..", "build")), "actorctl")
STEPS = {"theta": 312, "tidal": 96}
WEIGHT = {"theta": ["--set", "Environment.FloodWeight=1e6"], "tidal": []}
N_STORMS = 20


def call(*command):
    return subprocess.run([ACTORCTL, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout


def controlled(task, venv, controller, storm):
    lines = call("env", "rollout", f"stormwater:{task}", "--steps", str(STEPS[task]), "--actions", "zero", "--set", f"Actor.Python={venv}",
                 "--set", f"Environment.Storm={storm}", "--set", f"Environment.Controller={controller}", *WEIGHT[task])
    return -sum(json.loads(line).get("reward", 0) for line in lines.splitlines())


def learned(task, venv, checkpoint, storm):
    return -json.loads(call("eval", checkpoint, "--episodes=1", "--json=short", "--set", f"Actor.Python={venv}",
                            "--set", f"Environment.Storm={storm}", *WEIGHT[task]))["return_mean"]


def show(name, values):
    for word, statistic in (("mean", mean), ("IQM", interquartile_mean)):
        low, high = interval(values, statistic, stream=1)
        print(f"{name:24} {word:4} {statistic(values):14.1f}  [{low:.1f}, {high:.1f}]")


def main(task, venv, *checkpoints):
    storms = range(1, N_STORMS + 1)
    with ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        costs = {controller: list(pool.map(lambda k, c=controller: controlled(task, venv, c, k), storms)) for controller in ("passive", "rules")}
        seeds = [list(pool.map(lambda k, c=checkpoint: learned(task, venv, c, k), storms)) for checkpoint in checkpoints]
    for seed, values in enumerate(seeds, 1):
        costs[f"policy {seed}"] = values
    if seeds:
        costs["policies"] = [mean(values) for values in zip(*seeds)]

    print("storm " + "".join(f"{name:>16}" for name in costs))
    for k in storms:
        print(f"{k:5} " + "".join(f"{values[k - 1]:16.1f}" for values in costs.values()))
    print()
    for name, values in costs.items():
        show(name, values)
    for other in ("passive", "rules") if seeds else ():
        show(f"policies - {other}", [a - b for a, b in zip(costs["policies"], costs[other])])


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in STEPS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
