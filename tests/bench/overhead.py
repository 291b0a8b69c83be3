#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The share of a boosted round that is neither acting nor learning (Nitro claims 5 % at most): the detector, starting the
actors, and collecting their rollouts. Prints a table; never fails. overhead.py [ROUNDS], on an idle host.

Hopper, 64 actors with a core each on the emulated clock, of CPU times as metered:
  the detector           the time of the update beyond that of the same job without it
  a start                the time of the round beyond the CPU time of its slowest actor and its update, which is
                         ColdStartSec= for new actors
  sending, collecting    the CPU time of the process that does it, which is not on the emulated clock"""
import os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
USUAL, BOOSTED, STEPS = 8, 64, 512
JOB = (f"Actor.RolloutSteps={STEPS}", "Learner.MinibatchSize=256", "Learner.LearningRateSchedule=constant", "Learner.Threads=1")
WARM = (f"Scaling.Actors={BOOSTED}", f"Job.StopSteps={ROUNDS * BOOSTED * STEPS}")
COLD = ("Scaling.Policy=schedule", f"Scaling.Schedule={f'{USUAL}*1 {BOOSTED}*1 ' * ROUNDS}", f"Scaling.MaxActors={BOOSTED}", f"Scaling.WarmActors={USUAL}",
        f"Job.StopSteps={ROUNDS * (USUAL + BOOSTED) * STEPS}")


def medians(r):
    """Times of boosted rounds without the job's first one, in ms: the whole round, its slowest actor, its update, and the process that sends and collects."""
    ledger = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
    rounds, acted, update = [], [], 0
    for kind, cpu, emulated, whole in ledger.execute(
            "SELECT k.word, cpu_nsec, emulated_nsec, emulated_round_nsec FROM records JOIN kinds k USING (kind) WHERE round > 1 ORDER BY life, seq"):
        if kind == "rollout":
            acted.append(cpu)
        elif kind == "update":
            update = emulated
        elif kind == "round":
            if len(acted) == BOOSTED:
                rounds.append((whole, max(acted), update, cpu))
            acted = []
    return [statistics.median(column) / 1e6 for column in zip(*rounds)]


print(f"{BOOSTED} actors of {STEPS} steps, {ROUNDS} such rounds, medians in ms")
print(f"{'':<28}{'round':>8}{'acting':>8}{'update':>8}{'detector':>10}{'start':>8}{'collection':>12}{'these three / round':>21}")
for word, sets, rows in ((f"{BOOSTED} kept warm", WARM, 512), ("the same, CurvatureRows=256", WARM, 256),
                         (f"{BOOSTED - USUAL} of {BOOSTED} started cold", COLD, 512)):
    _, _, plain, _ = medians(run("hopper", *JOB, *sets, seed=1, timeout=600))
    whole, acting, update, collection = medians(run("hopper", *JOB, *sets, "Learner.Curvature=objective", f"Learner.CurvatureRows={rows}", seed=1, timeout=600))
    detector, start = update - plain, whole - acting - update
    overhead = (detector + start + collection) / (whole + collection)
    print(f"{word:<28}{whole:>8.1f}{acting:>8.1f}{plain:>8.1f}{detector:>10.1f}{start:>8.1f}{collection:>12.1f}{100 * overhead:>20.1f}%", flush=True)
