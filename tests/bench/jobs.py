#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole jobs, measured from outside: learning, wall time, start-up, memory, what the sandbox costs. Medians; A and B alternate. Prints a table; never fails.

jobs.py [cartpole] [hopper] [sandbox] [start] [clock] [evaluation] [memory] [--seeds N]; all but hopper by default (hopper takes ten minutes)."""
import os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *
from figure import note


def line(what, value, bar=""):
    print(f"{what:<62} {value:>16}  {bar}", flush=True)


def figure(name, value, unit, limit=None):
    """Writes a figure for the table of make bench. A limit of 0 is none."""
    note(name, unit, value, **({"limit": limit} if limit else {}))


def median(values):
    return statistics.median(values)


def seeds(default):
    return int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else default


def cartpole():
    runs = [run("cartpole", seed=s, ok=False) for s in range(1, seeds(10) + 1)]
    good = [r for r in runs if r.target_reached and r.env_steps <= 100_000]
    line("CartPole-v1: seeds with mean return 475 within 100,000 steps", f"{len(good)} of {len(runs)}", "9 of 10")
    line("  steps to the target, median (least, most)",
         f"{median([r.env_steps for r in good]):.0f}", f"{min(r.env_steps for r in good)} .. {max(r.env_steps for r in good)}")
    line("  actorctl run, exec to exit, median", f"{median([r.seconds for r in runs]):.2f} s", "1.0 s")
    figure("CartPole-v1 to 475, exec to exit", median([r.seconds for r in runs]), "s")


def hopper():
    n = seeds(5)
    one = [run("hopper", seed=s, timeout=600) for s in range(1, n + 1)]
    line("Hopper-v4, 1 M steps, one actor: wall, median", f"{median([r.wall_s for r in one]):.1f} s", "60 s")
    figure("Hopper-v4, 1 M steps, one actor, wall", median([r.wall_s for r in one]), "s")
    means = [r.return_mean for r in one]
    line(f"  mean return over {n} seeds", f"{statistics.mean(means):.0f}", "2383 - 272 (CleanRL)")
    print("  by seed: " + " ".join(f"{m:.0f}" for m in means))
    two = [run("hopper", "Scaling.Actors=2", "Actor.RolloutSteps=1024", seed=s, timeout=600) for s in range(1, min(n, 3) + 1)]
    line("Hopper-v4, 1 M steps, two actors: wall, median", f"{median([r.wall_s for r in two]):.1f} s", "35 s")


def sandbox():
    """CPU time of an actor's step with and without the sandbox, alternated."""
    for name, sets in (("hopper", ("Job.StopSteps=60000",)),
                       ("cartpole", ("Job.StopSteps=400000", "Job.StopReturn=", "Actor.RolloutSteps=4096", "Learner.MinibatchSize=32768",
                                     "Learner.Epochs=1"))):
        ratios = []
        for i in range(5):
            cost = {}
            for level in ("full", "none") if i % 2 else ("none", "full"):
                r = run(name, f"Actor.Sandbox={level}", *sets, seed=1)
                cost[level] = r.cpu_s["actors"] / r.env_steps
            ratios.append(cost["none"] / cost["full"])
        line(f"{name}: actor steps per CPU second, full sandbox / none, median", f"{median(ratios):.3f}", "0.98")


def clock():
    """The emulated clock against the wall where cores suffice: one actor, one thread, no start-up of a fleet."""
    for name, sets in (("hopper", ("Job.StopSteps=100000",)), ("cartpole", ("Job.StopSteps=60000", "Job.StopReturn="))):
        runs = [run(name, "Learner.Threads=1", "Billing.ColdStartSec=0", *sets, seed=s) for s in range(1, 6)]
        line(f"{name}: emulated clock / wall clock, median", f"{median([r.emulated_s / r.wall_s for r in runs]):.3f}", "0.95 .. 1.05")


def evaluation():
    """What it saves to play an evaluation beside the next round. A target that no return reaches makes a job wait for each evaluation."""
    for name, pairs, sets in (("cartpole", 6, ("Actor.EnvsPerActor=8", "Actor.RolloutSteps=256", "Job.StopSteps=40960", "Evaluation.Episodes=60")),
                              ("hopper", 4, ("Actor.RolloutSteps=2048", "Job.StopSteps=24576", "Evaluation.Episodes=100"))):
        waits, beside = [], []
        for i in range(pairs):
            for arm, target in ((waits, "100000"), (beside, "")) if i % 2 else ((beside, ""), (waits, "100000")):
                arm.append(run(name, "Scaling.Actors=2", "Job.StopReturn=", f"Evaluation.StopReturn={target}", *sets, seed=1, ok=False))
        equal(len({r.policy_sha256 for r in waits + beside}), 1, "policies")
        line(f"{name}: an evaluation before the next round, wall, median", f"{median([r.wall_s for r in waits]):.2f} s")
        line("  beside the next round", f"{median([r.wall_s for r in beside]):.2f} s",
             f"faster in {sum(b.wall_s < w.wall_s for w, b in zip(waits, beside))} of {pairs} pairs")


def ledger(r):
    return sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)


def start():
    """The time from request to answer of the shortest invocation, one step of one environment. A cold one consists of the fork, the
sandbox and the environment's load (record kind 1), then of the invocation itself (kind 2)."""
    cold, warm = [], []
    for s in range(20):
        r = run("cartpole", "Actor.EnvsPerActor=1", "Actor.RolloutSteps=1", "Learner.MinibatchSize=1", "Learner.Epochs=1", "Job.StopSteps=20",
                "Job.StopReturn=", seed=s)
        rows = ledger(r).execute("SELECT cold, end_nsec - start_nsec FROM records WHERE kind = 2 ORDER BY seq").fetchall()
        born = ledger(r).execute("SELECT end_nsec - start_nsec FROM records WHERE kind = 1 AND actor = 0").fetchone()[0]
        cold += [born + d for c, d in rows if c]
        warm += [d for c, d in rows if not c]
    line("sandboxed actor, built-in environment: cold start to first step, p50", f"{median(cold) / 1e6:.3f} ms", "2 ms")
    line("  warm, p50", f"{median(warm) / 1e6:.3f} ms", "0.2 ms")
    figure("cold start to first step, p50", median(cold) / 1e6, "ms")
    figure("warm start to first step, p50", median(warm) / 1e6, "ms")


def memory():
    seen = {}

    def look(p):
        time.sleep(0.3)
        while p.poll() is None:
            for pid in descendants(p.pid):
                try:
                    text = open(f"/proc/{pid}/status").read()
                    comm = re.search(r"Name:\s+(\S+)", text).group(1)
                    own = sum(int(x) for x in re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", text))
                    seen[comm] = max(seen.get(comm, (0, 0)), (int(re.search(r"VmRSS:\s+(\d+)", text).group(1)), own))
                except (OSError, AttributeError):
                    pass
            time.sleep(0.05)

    run("cartpole", during=look)
    for comm, bar in (("actord-actor", "4 MiB + environment"), ("actord-invoker", "2 MiB"), ("actord", "16 MiB"), ("actord-learner", "")):
        rss, own = seen.get(comm, (0, 0))
        line(f"resident memory of {comm} (of it not backed by a file)", f"{rss / 1024:.1f} ({own / 1024:.1f}) MiB", bar)


wanted = [a for a in sys.argv[1:] if a in ("cartpole", "hopper", "sandbox", "start", "clock", "evaluation", "memory")] or [
    "cartpole", "start", "clock", "evaluation", "memory", "sandbox"]
for name in wanted:
    globals()[name]()
