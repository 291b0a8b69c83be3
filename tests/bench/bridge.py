#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The time that the bridge adds to a step of an environment in Python: the bare loop runs in plain Python and in an actor's sandbox, by turns.

bridge.py [VENV [ID...]]. Microseconds of CPU, random actions, resets of ended episodes included; medians and the least of 7. Never fails."""
import os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

PLAIN = """
import sys, time, gymnasium
env = gymnasium.make(sys.argv[1])
env.action_space.seed(1)
actions = [env.action_space.sample() for _ in range(4096)]
if isinstance(env.action_space, gymnasium.spaces.Discrete):
    actions = [int(a) for a in actions]
env.reset(seed=1)
step, n, start = env.step, 0, time.process_time()
while time.process_time() - start < 0.3:
    for a in actions:
        _, _, terminated, truncated, _ = step(a)
        if terminated or truncated:
            env.reset(seed=n)
    n += len(actions)
print((time.process_time() - start) / n * 1e6)
"""


def plain(venv, name):
    return float(subprocess.run([venv + "/bin/python", "-c", PLAIN, name], capture_output=True, text=True, check=True).stdout)


def bridged(venv, name):
    r = ctl("env", "bench", "gym:" + name, "--set", "Actor.Python=" + venv, "--json")
    assert r.status == 0, r.err
    return 1e6 / r.inside_steps_per_s


venv = sys.argv[1] if len(sys.argv) > 1 else os.path.join(BUILD, "venv")
if not os.path.exists(venv + "/bin/python"):
    print(f"{venv} is not a virtual environment: make one with gymnasium in it, or run tests/integration/test-bridge.py")
    sys.exit(0)
print(f"{'microseconds of a step':<26} {'plain Python':>14} {'bridge':>14} {'added':>8}   (at most 2.0)")
for name in sys.argv[2:] or ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCarContinuous-v0"):
    a, b = [], []
    for _ in range(7):
        a.append(plain(venv, name))
        b.append(bridged(venv, name))
    print(f"{name:<26} {min(a):6.2f} {statistics.median(a):7.2f} {min(b):6.2f} {statistics.median(b):7.2f} {min(b) - min(a):8.2f}", flush=True)
