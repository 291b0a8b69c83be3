#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Invocations a second as the number of actors grows, each in a process and a sandbox of its own: CartPole, four steps an invocation, a learner with
almost no work. The first round, which starts the actors, is left out. If the cost is linear, each row has the same number of invocations a second.

  ACTORS="64 256 1000 4000"   numbers of actors
  ACTORS_RUNS=3               runs of each, by turns; medians are printed"""
import json, os, resource, statistics, subprocess, tempfile

import figure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("B", os.path.join(ROOT, "build")))
NUMBERS = [int(n) for n in os.environ.get("ACTORS", "64 256 1000 4000").split()]
RUNS = int(os.environ.get("ACTORS_RUNS", 3))
INVOCATIONS = 40000  # of a run, so that each takes seconds
FILES_OF_AN_ACTOR, FILES_BESIDE = 9, 200


def run(n_actors, state):
    rounds = max(4, INVOCATIONS // n_actors)
    sets = ["Actor.EnvsPerActor=1", "Actor.RolloutSteps=4", "Learner.Epochs=1", "Learner.Threads=1", "Job.StopReturn=", f"Scaling.Actors={n_actors}",
            f"Learner.MinibatchSize={4 * n_actors}", f"Job.StopSteps={4 * n_actors * rounds}"]
    words = [os.path.join(BUILD, "actorctl"), "run", os.path.join(ROOT, "examples", "cartpole.conf"), "--quiet", "--json=short"]
    r = subprocess.run(words + [w for s in sets for w in ("--set", s)], capture_output=True, text=True, env={**os.environ, "XDG_STATE_HOME": state})
    if r.returncode != 0:
        raise SystemExit(f"{n_actors} actors ended with {r.returncode}: {r.stderr}")
    r = subprocess.run([words[0], "rounds", "r1", "--json=short"], capture_output=True, text=True, env={**os.environ, "XDG_STATE_HOME": state})
    rows = json.loads(r.stdout)
    return n_actors * (len(rows) - 1) / (rows[-1]["wall_s"] - rows[0]["wall_s"])


needed = FILES_BESIDE + FILES_OF_AN_ACTOR * max(NUMBERS)
allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if 0 <= allowed < needed:
    try: # root may, unless it lacks the capability
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, needed))
        allowed = needed
    except ValueError:
        pass
rates = {}
for _ in range(RUNS):
    for n in NUMBERS:
        if 0 <= allowed < FILES_BESIDE + FILES_OF_AN_ACTOR * n:
            print(f"{n} actors need {FILES_BESIDE + FILES_OF_AN_ACTOR * n} open files, {allowed} are allowed: left out")
            continue
        with tempfile.TemporaryDirectory(prefix="actord-bench-") as state:
            rates.setdefault(n, []).append(run(n, state))
print("| actors | invocations a second | of the fewest actors' |")
print("|--:|--:|--:|")
for n, values in rates.items():
    rate = statistics.median(values)
    print(f"| {n} | {rate:,.0f} | {rate / statistics.median(next(iter(rates.values()))):.2f} |")
    figure.note(f"invocations of {n} actors", "invocations/s", rate)
