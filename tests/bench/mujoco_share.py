#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The share of a MuJoCo training that its simulator takes: whole processes of `actorctl run`, exec to exit, one actor, a learner of two threads, by turns
over the tasks. "simulator" is the time in the environment's step that the run's own profile counts. "bare loop" is the time of as many steps in a loop
around the simulator alone (build/bench/env-steps), under a fixed policy, so its actions differ from the run's.

  MUJOCO_STEPS=200000   environment steps of a run
  MUJOCO_RUNS=3         runs of each task; medians are printed"""
import json, os, re, statistics, subprocess, tempfile, time

import figure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("B", os.path.join(ROOT, "build")))
STEPS, RUNS = int(os.environ.get("MUJOCO_STEPS", 200000)), int(os.environ.get("MUJOCO_RUNS", 3))
TASKS = ["Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Humanoid-v4"]
JOB = os.path.join(ROOT, "examples", "hopper.conf")


def run(task):
    """Wall seconds of the process, and seconds of the parts of its rounds."""
    with tempfile.TemporaryDirectory(prefix="actord-bench-") as state:
        words = [os.path.join(BUILD, "actorctl"), "run", JOB, "--json=short", "--quiet", "--profile"]
        for setting in (f"Job.Environment={task}", f"Job.StopSteps={STEPS}", "Learner.Threads=2"):
            words += ["--set", setting]
        began = time.monotonic()
        r = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_STATE_HOME": state})
        wall = time.monotonic() - began
    if r.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {r.returncode}: {r.stderr}")
    return wall, json.loads(r.stdout)["profile"]["parts_s"]


def bare_loop(task):
    """Seconds that STEPS steps take in the simulator's bare loop, by the fixed policy."""
    r = subprocess.run([os.path.join(BUILD, "bench", "env-steps"), os.path.join(BUILD, "env-mujoco.so"), task], capture_output=True, text=True)
    rates = re.search(rf"^{task} +\d+ +(\d+)$", r.stdout, re.MULTILINE)
    if r.returncode != 0 or not rates:
        raise SystemExit(f"env-steps {task} ended with {r.returncode}: {r.stdout}{r.stderr}")
    return STEPS / int(rates[1])


if not os.path.exists(os.path.join(BUILD, "env-mujoco.so")):
    raise SystemExit("MuJoCo was not found when this tree was built: packaging/dependencies.sh build, then make")
walls, parts, bare = ({task: [] for task in TASKS} for _ in range(3))
for _ in range(RUNS):
    for task in TASKS:
        bare[task].append(bare_loop(task))
        wall, spent = run(task)
        walls[task].append(wall)
        parts[task].append(spent)
print(f"{STEPS:,} steps, medians of {RUNS} runs; seconds")
print("| task | whole run | simulator | gradient | forward | rest | simulator, of the run | bare loop | bare loop, of the run |")
print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
for task in TASKS:
    wall, loop = statistics.median(walls[task]), statistics.median(bare[task])
    part = {name: statistics.median(p[name] for p in parts[task]) for name in parts[task][0]}
    share = 100 * statistics.median(p["environment"] / w for p, w in zip(parts[task], walls[task]))
    loop_share = 100 * statistics.median(b / w for b, w in zip(bare[task], walls[task]))
    rest = wall - part["environment"] - part["gradient"] - part["forward"]
    print(f"| {task} | {wall:.1f} | {part['environment']:.1f} | {part['gradient']:.2f} | {part['forward']:.2f} | {rest:.2f} | {share:.0f} % | {loop:.1f} | {loop_share:.0f} % |")
    figure.note(f"{task}, a run of {STEPS} steps", "s", wall, limit=part["environment"])
