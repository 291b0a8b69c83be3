#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much actors that end with their rounds save over actors that are kept, and paid for, while the learner learns
(MinionsRL's case for functions): predicted from the trace, measured on the wall. Prints a table; never fails.
idle.py [SEEDS], on an idle host.

Predicted: let P_l and P_a be the CPU times of the update and of an actor. On the emulated clock a kept fleet of I actors
costs I (P_l + max P_a) a round, and one that ends with the round costs the sum of P_a. The learner costs P_l in both cases.
Measured: the same sums, of the times at which rounds, rollouts and updates began and ended. The prediction holds only where
no process waits for a core: one core for the learner and one for each actor."""
import os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
ACTORS = max(1, len(os.sched_getaffinity(0)) - 1)
WORKLOADS = (  # from actors that are mostly idle to actors that are mostly busy
    ("cartpole", "CartPole-v1, 256 steps, ten epochs", ("Job.StopSteps=60000", "Job.StopReturn=", "Actor.EnvsPerActor=1", "Actor.RolloutSteps=256")),
    ("cartpole", "CartPole-v1, 65,536 steps, one epoch", ("Job.StopSteps=2000000", "Job.StopReturn=", "Actor.RolloutSteps=16384", "Learner.Epochs=1",
                                                         "Learner.MinibatchSize=4096")),
    ("hopper", "Hopper-v4, 2,048 steps, ten epochs", ("Job.StopSteps=60000",)),
)


def saved(rounds):
    """The share of a kept fleet's cost that is idle time; rounds: [(time, actors, of each actor, of the learner)]. Memory is the same for all."""
    kept = sum(time * n for time, n, _, _ in rounds)
    return (kept - sum(sum(a) for _, _, a, _ in rounds)) / (kept + sum(l for _, _, _, l in rounds))


def trace(r, emulated):
    """The rounds of a finished run, in seconds of one clock or the other."""
    ledger = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
    rounds, actors, learner = [], [], 0.0
    for kind, start, end, emulated_nsec, round_nsec in ledger.execute(
            "SELECT k.word, start_nsec, end_nsec, emulated_nsec, emulated_round_nsec FROM records JOIN kinds k USING (kind) "
            "WHERE round > 1 ORDER BY life, seq"):
        seconds = (emulated_nsec if emulated else end - start) / 1e9
        if kind == "rollout":
            actors.append(seconds)
        elif kind == "update":
            learner = seconds
        elif kind == "round":
            rounds.append((round_nsec / 1e9 if emulated else seconds, len(actors), actors, learner))
            actors = []
    return rounds


print(f"{ACTORS} actor{'s' if ACTORS > 1 else ''}, {SEEDS} seeds, medians; the first round, in which everything starts, is left out")
print(f"{'':<40}{'predicted':>12}{'measured':>12}{'measured / predicted':>24}")
for example, what, sets in WORKLOADS:
    runs = [run(example, f"Scaling.Actors={ACTORS}", "Learner.Threads=1", "Billing.ColdStartSec=0", *sets, seed=s, timeout=600) for s in range(1, SEEDS + 1)]
    pairs = [(saved(trace(r, True)), saved(trace(r, False))) for r in runs]
    ratios = sorted(m / p for p, m in pairs)
    print(f"{what:<40}{statistics.median(p for p, _ in pairs):>12.3f}{statistics.median(m for _, m in pairs):>12.3f}"
          f"{statistics.median(ratios):>10.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)
