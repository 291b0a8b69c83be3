#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policy=auto of [Distribution] measures a job's first rounds and moves the job in the middle of its run, if that pays. The
policy stays the same, whichever process dies meanwhile."""
from bus import *

CPUS = len(os.sched_getaffinity(0))
JOB_SETS = ("Job.StopReturn=", "Scaling.Actors=4", "Actor.RolloutSteps=64", "Learner.Epochs=2", "Learner.Threads=1", "Billing.Clock=model",
            "Billing.ColdStartSec=0.01", "Job.StopSteps=25000")
LEARNER_BOUND, ACTOR_BOUND = "Billing.UpdateUSec=200", "Billing.UpdateUSec=0.1"
AUTO, COARSE = "Distribution.Policy=auto", "Distribution.Policy=single-learner-coarse"


def rows(r, sql):
    return sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True).execute(sql).fetchall()


def lives(r):
    """(life, first round, last round) of each."""
    return rows(r, "SELECT life, min(round), max(round) FROM records WHERE kind = 6 GROUP BY life ORDER BY life")


@story("a job that its learner holds up changes over to several learners after five rounds, and ends with the policy that one gives")
def learner_bound():
    if CPUS < 2:
        raise Skip("one CPU: there is nothing to change over to")
    want = run("cartpole", *JOB_SETS, LEARNER_BOUND, COARSE, seed=7)
    first = run("cartpole", *JOB_SETS, LEARNER_BOUND, AUTO, seed=7)
    equal((first.policy_sha256, first.env_steps, first.rounds), (want.policy_sha256, want.env_steps, want.rounds), "what was learned")
    equal(first.distribution, "multi-learner", "distribution")
    assert "learner-bound" in first.distribution_reason and "learners would take" in first.distribution_reason, first.distribution_reason
    equal(lives(first), [(1, 1, 5), (2, 6, first.rounds)], "lives")
    assert first.emulated_s < 0.75 * want.emulated_s, (first.emulated_s, want.emulated_s)
    assert not first.json["fault"], first.json["fault"]
    equal(rows(first, "SELECT wasted FROM invocations WHERE wasted"), [], "wasted invocations")
    again = run("cartpole", *JOB_SETS, LEARNER_BOUND, AUTO, seed=7)
    equal((again.emulated_s, again.cost["full"], lives(again)), (first.emulated_s, first.cost["full"], lives(first)), "time, cost, lives")


@story("a job that its actors hold up stays where it is, in one life, and says so")
def actor_bound():
    want = run("cartpole", *JOB_SETS, ACTOR_BOUND, COARSE, seed=7)
    r = run("cartpole", *JOB_SETS, ACTOR_BOUND, AUTO, seed=7)
    equal((r.policy_sha256, r.distribution, r.emulated_s, len(lives(r))), (want.policy_sha256, "single-learner-coarse", want.emulated_s, 1), "the job")
    assert "actor-bound" in r.distribution_reason and "restart" in r.distribution_reason, r.distribution_reason


@story("where one process may act for all actors the job begins in it, and still moves to several learners if they pay")
def from_fused():
    if CPUS < 2:
        raise Skip("one CPU: there is nothing to change over to")
    sets = (*JOB_SETS, "Scaling.Actors=1", "Actor.RolloutSteps=128", "Evaluation.Episodes=1", "Evaluation.EveryRounds=3")
    want = run("cartpole", *sets, LEARNER_BOUND, COARSE, seed=7)
    r = run("cartpole", *sets, LEARNER_BOUND, AUTO, seed=7)
    equal((r.policy_sha256, r.distribution, lives(r)[0]), (want.policy_sha256, "multi-learner", (1, 1, 5)), "the job")


@story("under metered times any choice is possible, with the same policy and a reason that names times")
def metered():
    # Rounds of 2,048 rows: on a fast host 64 of them are measured, on others as many as take 200 ms.
    sets = (*JOB_SETS[:-3], "Job.StopSteps=200000")
    want = run("cartpole", *sets, COARSE, seed=7)
    r = run("cartpole", *sets, AUTO, seed=7)
    equal((r.policy_sha256, r.env_steps), (want.policy_sha256, want.env_steps), "what was learned")
    assert "-bound (learning " in r.distribution_reason, (r.distribution, lives(r), r.distribution_reason)


@story("a scheduler that sees emulated times keeps them: nothing is measured, and that is the reason")
def schedulers():
    sets = (*JOB_SETS, "Scaling.Policy=random", "Scaling.MinActors=1", "Scaling.MaxActors=5", LEARNER_BOUND)
    want = run("cartpole", *sets, COARSE, seed=7)
    r = run("cartpole", *sets, AUTO, seed=7)
    equal((r.policy_sha256, r.distribution, len(lives(r))), (want.policy_sha256, "single-learner-coarse", 1), "the job")
    assert "scheduler" in r.distribution_reason, r.distribution_reason


@story("any process may be killed while the job is measured or moves: the policy is the same")
def killed():
    sets = (*JOB_SETS, LEARNER_BOUND, "Checkpoint.IntervalSec=0.1", "Actor.RolloutSteps=256", "Job.StopSteps=1200000")
    want = run("cartpole", *sets, COARSE, seed=7).policy_sha256
    for comm, low, high, most in ("actord-learner", 0.02, 0.1, 2), ("actord-invoker", 0.05, 0.15, 2), ("actord-actor", 0.02, 0.1, 8):
        killer = Killer(comm, low=low, high=high, most=most)
        r = run("cartpole", *sets, AUTO, seed=7, during=killer)
        assert killer.killed, comm
        equal(r.policy_sha256, want, f"policies, {len(killer.killed)} of {comm} killed")
        if CPUS > 1:
            equal(r.distribution, "multi-learner", f"what the job moved to, {comm} killed")


@story("a daemon that is killed around the change goes on with the choice, which is in the journal")
def daemon_killed():
    if CPUS < 2:
        raise Skip("one CPU: there is nothing to change over to")
    sets = [*(tuple(s.split("=", 1)) for s in (*JOB_SETS, LEARNER_BOUND)), ("Actor.RolloutSteps", "256"), ("Job.StopSteps", "120000")]
    with Bus() as bus:
        plain = bus.submit(overrides=[*sets, ("Distribution.Policy", "single-learner-coarse")])
        equal(bus.ended(plain), "finished", "result")
        want = bus.get(plain, "PolicySHA256")
        for after in 0.0, 0.1, 0.3:
            job = bus.submit(overrides=[*sets, ("Distribution.Policy", "auto")])
            wait_for("the job is about to be moved", lambda: bus.get(job, "Round") >= 4)
            time.sleep(after)
            bus.stop(signal.SIGKILL)
            bus.start()
            equal(bus.ended(job), "finished", "result")
            equal((bus.get(job, "PolicySHA256"), bus.get(job, "Distribution")), (want, "multi-learner"), f"policy and distribution, killed after {after} s")
            check_ledger(bus, job)
            said = [line for line in open(bus.dir + "/log") if f"Job {job} changes over to multi-learner, since a round is learner-bound" in line]
            assert said, f"job {job} says nothing of its choice"
            shown = bus.ctl("show", job).out
            assert "Policy=auto\n# multi-learner, since a round is learner-bound" in shown, shown[:600]
            status = bus.ctl("status", job).out
            assert "distribution: multi-learner, since a round is learner-bound" in status, status


@story("a job that is stopped while it moves is interrupted, and keeps its checkpoint")
def stopped():
    if CPUS < 2:
        raise Skip("one CPU: there is nothing to change over to")
    sets = [*(tuple(s.split("=", 1)) for s in (*JOB_SETS, LEARNER_BOUND)), ("Distribution.Policy", "auto"), *ENDLESS]
    with Bus() as bus:
        for _ in range(3):
            job = bus.submit(overrides=sets)
            wait_for("the job moves", lambda: bus.get(job, "Round") >= 5)
            bus.call(f"/org/actord1/job/{job}", JOB, "Stop")
            equal(bus.ended(job), "interrupted", "result")
            assert bus.call(f"/org/actord1/job/{job}", JOB, "GetRounds", "tu", 0, 100)[0], job
            assert bus.ledger().execute("SELECT count(*) FROM checkpoints WHERE job = ?", (job,)).fetchone()[0] >= 1


tell()
