#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Budgets under fire: jobs with random budgets and random numbers of actors, whose actors, learners, invokers and daemon are killed at random.

No round may begin once the money is gone, so a budget is passed by less than the cost of one round. This test adds up by itself what was spent and when,
from the ledger's records and the price sheet's three prices, without code of the daemon.

BUDGET_RUNS=200 BUDGET_SEED=1 tests/integration/test-budget.py is the long version; it prints what docs/experiments/minionsrl.md shows."""
import math

from bus import *

ENDS_A_LIFE, LIVES = ("actord-learner", "actord-invoker"), 4  # a fifth life without a checkpoint would end the job
RUNS, SEED, AT_ONCE, KILLS = int(os.environ.get("BUDGET_RUNS", "8")), int(os.environ.get("BUDGET_SEED", "1")), 4, 10
GB_SECOND, PROVISIONED, REQUEST = 0.0000166667, 0.0000041667, 0.0000002  # packaging/price/aws-lambda-x86.sheet
RESERVED = 1769 << 20


def job_of(rng):
    """Settings of a job that only its budget ends."""
    policy = rng.choice(["fixed", "schedule", "random", "max", "adapt", "auto", "hydrozoa"])
    most = rng.randint(2, 6)
    sets = {"Job.Seed": rng.randint(1, 10 ** 6), "Job.Budget": f"{math.exp(rng.uniform(math.log(2e-6), math.log(3e-4))):.9f}",
            "Job.StopReturn": "", "Job.StopSteps": 10 ** 9, "Scaling.Policy": policy, "Scaling.Actors": rng.randint(1, most), "Scaling.MaxActors": most,
            "Actor.EnvsPerActor": rng.randint(1, 3), "Actor.RolloutSteps": rng.choice([8, 32, 128]), "Learner.Epochs": rng.choice([1, 4]),
            "Learner.MinibatchSize": 8,
            "Billing.Clock": rng.choice(["model", "metered"]), "Billing.ColdStartSec": rng.choice(["0", "0.01", "0.3"]),
            "Checkpoint.IntervalSec": rng.choice(["0.1", "0.5", "5"]), "Distribution.Policy": rng.choice(["single-learner-coarse", "fused"])}
    if policy == "schedule":  # a boost: suddenly all actors
        sets["Scaling.Schedule"] = f"1*{rng.randint(1, 30)} {most}*{rng.randint(1, 5)} 1*{rng.randint(1, 30)} {most}*1000"
    if policy == "adapt":
        sets["Scaling.TargetReturn"] = "100"
    if rng.random() < 0.4:
        sets.update({"Evaluation.Episodes": rng.randint(1, 10), "Evaluation.EveryRounds": rng.randint(1, 25)})
    if rng.random() < 0.3:
        sets["Scaling.WarmActors"] = rng.randint(0, 2)
    return sets


def price(kind, emulated_nsec, reserved):
    """The cost of one record, rounded as the sheet says: milliseconds of execution, microseconds of provision, whole MiB."""
    gb = math.ceil((reserved or RESERVED) / (1 << 20)) / 1024
    if kind == "pool":
        return math.ceil(emulated_nsec / 1000) / 1e6 * gb * PROVISIONED
    if kind not in ("worker", "rollout", "evaluation", "update", "lost"):
        return 0.0
    return math.ceil(emulated_nsec / 1e6) / 1e3 * gb * GB_SECOND + (REQUEST if kind not in ("worker", "lost") else 0)


def spent(ledger, job):
    """The total, and what was spent when the last round began: at the end of the round before it, or when its life began."""
    total = boundary = began = 0.0
    for kind, emulated, reserved in ledger.execute(
            "SELECT k.word, emulated_nsec, memory_reserved_bytes FROM records r JOIN kinds k USING (kind)"
            " WHERE job = ? ORDER BY life, seq", (job,)):
        total += price(kind, emulated, reserved)
        if kind in ("round", "started"):
            boundary = total
        elif kind == "rollout":
            began = boundary
    return total, began


def disturb(bus, rng, jobs):
    """Kills a process now and then until all jobs have ended; returns how often each kind was killed."""
    killed, end = {}, time.monotonic() + 120 * PATIENCE
    while any(bus.state(j) != "ended" for j in jobs):
        assert time.monotonic() < end, [(j, bus.state(j)) for j in jobs]
        time.sleep(rng.uniform(0.01, 0.15))
        victim = rng.choice(["actord-actor"] * 3 + ["actord-learner", "actord-invoker", "actord", "actord"])
        if sum(killed.values()) >= KILLS or victim in ENDS_A_LIFE and sum(killed.get(v, 0) for v in ENDS_A_LIFE) >= LIVES:
            continue
        if victim == "actord":
            bus.stop(signal.SIGKILL)
            time.sleep(rng.choice([0, 0.1, 0.5]))
            bus.start()
        else:
            pids = bus.processes(victim)
            if not pids:
                continue
            try:
                os.kill(rng.choice(pids), signal.SIGKILL)
            except ProcessLookupError:
                continue
        killed[victim] = killed.get(victim, 0) + 1
    return killed


def check(bus, job, sets):
    """By how much the budget was exceeded, in units of the cost of the round that exceeded it."""
    total, began = spent(bus.ledger(), job)
    budget, result = float(sets["Job.Budget"]), bus.get(job, "Result")
    what = f"{sets}: {result}, {bus.get(job, 'Fault')}, {bus.get(job, 'Round')} rounds, {bus.get(job, 'Life')} lives, {began} and at last {total}"
    assert result == "budget-exhausted", what
    assert close(total, bus.get(job, "CostFull"), 1e-6), f"{bus.get(job, 'CostFull')} on the bill of {what}"
    assert total >= budget, f"it ended early: {what}"
    assert began < budget, f"a round began when nothing was left: {what}"
    return (total - budget) / (total - began)


@story(f"{RUNS} jobs with random budgets, boosts and kills: none passes its budget by as much as one round")
def budgets():
    rng, over, killed, done = random.Random(SEED), [], {}, 0
    with Bus(f"MaxJobs={AT_ONCE}\nMaxJobsPerUser=100\nKeepJobs=100\n") as bus:
        while done < RUNS:
            sets = [job_of(rng) for _ in range(min(AT_ONCE, RUNS - done))]
            jobs = [bus.submit(overrides=[(k, str(v)) for k, v in s.items()]) for s in sets]
            for what, n in disturb(bus, rng, jobs).items():
                killed[what] = killed.get(what, 0) + n
            over += [check(bus, j, s) for j, s in zip(jobs, sets)]
            done += len(jobs)
    over.sort()
    print(f"# {RUNS} runs, kills {killed}: passed by {over[0]:.2f} to {over[-1]:.2f} of a round, median {over[len(over) // 2]:.2f}", flush=True)



@story("idle actors are paid for in each round: they count against the budget, and under a model equal jobs end in the same round")
def idle():
    budget = 0.0001
    jobs = [run("cartpole", "Job.StopReturn=", "Job.StopSteps=1000000000", f"Job.Budget={budget}", "Scaling.Policy=schedule", "Scaling.MaxActors=16",
                "Scaling.Schedule=16*1 1*1", "Actor.EnvsPerActor=2", "Learner.Epochs=1", "Learner.MinibatchSize=", "Billing.Clock=model",
                "Billing.ColdStartSec=0", ok=False) for _ in range(2)]
    for r in jobs:
        equal(r.state, "budget-exhausted")
        assert r.rounds > 20, r.rounds
        assert budget <= r.cost["full"] < 1.1 * budget, r.cost
    equal(*[(r.rounds, r.policy_sha256, r.cost["full"]) for r in jobs])


tell()
