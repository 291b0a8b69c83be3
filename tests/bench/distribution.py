#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of each distribution: coarse against fine and in step, by the size of the network, for as many
actors as cores and for many more; one learner against several, which all update
parameters or leave that to a centre; one process for acting and learning against coarse; the estimates of a bill
against the cost of the other distributions. Medians; the distributions alternate. Prints a table; never fails.

distribution.py [acting] [crowd] [learners] [centre] [fused] [estimates] [--runs N]

There are two clocks: wall time, which contains all other work of the machine, and emulated time, which is metered CPU time: in a round,
the learner's plus the slowest actor's. The table also has the steps for each second of CPU, of learners and actors together. The policies
are asserted to be equal."""
import json, os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

RUNS = int(sys.argv[sys.argv.index("--runs") + 1]) if "--runs" in sys.argv else 3
# An update of one gradient, so that a round is almost all acting.
ACTING = ("Scaling.Actors=2", "Actor.RolloutSteps=256", "Learner.Epochs=1", "Learner.Updates=full-batch", "Learner.MinibatchSize=",
          "Job.StopReturn=", "Learner.Threads=1", "Learner.OrthogonalInit=no")  # the start of large orthogonal layers takes longer than such a run
NETWORKS = {"64 64": 80_000, "512 512": 20_000, "1024 1024": 8_000}
# For several learners: enough steps for some seconds, since the start is not compared.
LEARNING = {"64 64": 131_072, "256 256": 16_384, "512 512": 8_192}


def compare(title, job, arms):
    """arms: {name: settings}. Each line: steps a second on both clocks, and against the first arm."""
    results = {name: [] for name in arms}
    for _ in range(RUNS):
        for name, sets in arms.items():
            results[name].append(run(job, *sets, seed=7))
    equal(len({r.policy_sha256 for rs in results.values() for r in rs}), 1, "policies")
    print(title)
    first = None
    for name, rs in results.items():
        wall = statistics.median(r.env_steps / r.wall_s for r in rs)
        emulated = statistics.median(r.env_steps / r.emulated_s for r in rs)
        cpu = statistics.median(r.env_steps / (r.cpu_s["actors"] + r.cpu_s["learner"]) for r in rs)
        first = first or (wall, emulated, cpu)
        print(f"  {name:<28} {wall:>10.0f} /s wall {wall / first[0]:>6.2f} x {emulated:>10.0f} /s emulated {emulated / first[1]:>6.2f} x"
              f" {cpu:>10.0f} /s of CPU {cpu / first[2]:>6.2f} x", flush=True)


def acting():
    for envs in 1, 8:
        for layers, steps in NETWORKS.items():
            base = (*ACTING, f"Actor.EnvsPerActor={envs}", f"Learner.HiddenLayers={layers}", f"Job.StopSteps={steps * (2 if envs > 1 else 1)}",
                    "Billing.ColdStartSec=0")
            compare(f"CartPole-v1, 2 actors x {envs} environments, hidden layers {layers}", "cartpole",
                    {p: (*base, f"Distribution.Policy={p}") for p in ("single-learner-coarse", "single-learner-fine", "environments")})


def crowd():
    """Sixteen actors on any number of cores: each reads all weights for its one row, or the learner reads them once for sixteen."""
    for layers, steps in {"256 256": 65_536, "1024 1024": 8_192, "3072 3072": 2_048}.items():
        base = (*ACTING, "Scaling.Actors=16", "Actor.EnvsPerActor=1", "Actor.RolloutSteps=64", "Learner.Threads=2", "Learner.OrthogonalInit=no",
                "Learner.MemoryMax=6G", f"Learner.HiddenLayers={layers}", f"Job.StopSteps={steps}", "Billing.ColdStartSec=0")
        compare(f"CartPole-v1, 16 actors x 1 environment, hidden layers {layers}, 2 threads", "cartpole",
                {p: (*base, f"Distribution.Policy={p}") for p in ("single-learner-coarse", "single-learner-fine", "environments")})


def learners():
    base = ("Scaling.Actors=2", "Actor.EnvsPerActor=4", "Actor.RolloutSteps=128", "Learner.Epochs=20", "Learner.MinibatchSize=1024",
            "Job.StopReturn=", "Learner.Threads=1", "Billing.ColdStartSec=0", "Distribution.Policy=multi-learner")
    for layers, steps in LEARNING.items():
        arms = {f"{n} learner{'s' if n > 1 else ''}": (*base, f"Job.StopSteps={steps}", f"Learner.HiddenLayers={layers}", f"Distribution.Learners={n}")
                for n in (1, 2, 4)}
        for n in 1, 2, 4:
            arms[f"central, {n}"] = (*arms[f"{n} learner{'s' if n > 1 else ''}"], "Distribution.Policy=central")
        compare(f"CartPole-v1, 20 epochs of 1,024 rows, hidden layers {layers}", "cartpole", arms)


def centre():
    """Small minibatches: a centre updates parameters alone, while the others wait."""
    base = ("Scaling.Actors=2", "Actor.EnvsPerActor=4", "Actor.RolloutSteps=128", "Learner.Epochs=10", "Learner.MinibatchSize=64",
            "Learner.HiddenLayers=256 256", "Job.StopSteps=4096", "Job.StopReturn=", "Learner.Threads=1", "Billing.ColdStartSec=0")
    for n in 1, 2, 4:
        compare(f"CartPole-v1, 10 epochs of minibatches of 64 rows, hidden layers 256 256, {n} learners", "cartpole",
                {p: (*base, f"Distribution.Learners={n}", f"Distribution.Policy={p}") for p in ("multi-learner", "central")})


def estimates():
    """What `actorctl bill` expects for a job under coarse if it ran under another distribution, and what it takes there."""
    for layers, rows in ("64 64", 64), ("128 128", 512):
        base = ("Scaling.Actors=4", "Actor.EnvsPerActor=8", "Actor.RolloutSteps=64", "Learner.Epochs=10", f"Learner.MinibatchSize={rows}",
                f"Learner.HiddenLayers={layers}", "Job.StopSteps=16384", "Job.StopReturn=", "Learner.Threads=1")
        coarse = run("cartpole", *base, "Distribution.Policy=single-learner-coarse", seed=7)
        bill = json.loads(ctl("bill", coarse.state_directory, "--json").out)
        expected = {e["distribution"] + (f", {e['learners']}" if e["learners"] > 1 else ""): e for e in bill["estimates"]}
        print(f"CartPole-v1, 4 actors x 8 environments, hidden layers {layers}, minibatches of {rows} rows: estimated from coarse, and taken")
        for name, sets in {"fused": (), "multi-learner, 2": ("Distribution.Learners=2",), "multi-learner, 4": ("Distribution.Learners=4",)}.items():
            r, e = run("cartpole", *base, f"Distribution.Policy={name.split(',')[0]}", *sets, seed=7), expected[name]
            print(f"  {name:<28} {e['emulated_s']:>8.3f} s {r.emulated_s:>8.3f} s {e['emulated_s'] / r.emulated_s:>6.2f} x,"
                  f" full total {e['full'] / r.cost['full']:>6.2f} x", flush=True)


def fused():
    for actors, steps in (1, 128), (2, 256), (8, 64):
        base = (f"Scaling.Actors={actors}", f"Actor.RolloutSteps={steps}", "Learner.Epochs=1", "Learner.Threads=1", "Job.StopReturn=",
                "Job.StopSteps=1200000", "Billing.ColdStartSec=0")
        compare(f"CartPole-v1, {actors} actors, rollouts of {steps} steps, one epoch", "cartpole",
                {"coarse": (*base,), "fused": (*base, "Distribution.Policy=fused"),
                 "fused, 2 threads": (*base, "Distribution.Policy=fused", "Learner.Threads=2")})


ALL = (acting, crowd, learners, centre, fused, estimates)
chosen = [f for f in ALL if f.__name__ in sys.argv[1:]] or ALL
print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
for f in chosen:
    f()
print(f"load average {os.getloadavg()[0]:.1f}")
