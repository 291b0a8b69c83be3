#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Evaluations while a job trains: the policy does not depend on them, and they depend on the policy alone."""
import glob, sqlite3
from story import *

SMALL = ("Scaling.Actors=2", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=64", "Job.StopSteps=4096", "Job.StopReturn=")
EPISODES = "Evaluation.Episodes=8"


def train(*sets, **kw):
    return run("cartpole", *SMALL, *sets, seed=7, **kw)


def ledger(r, query):
    return sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True).execute(query).fetchall()


def means(r):
    return ledger(r, "SELECT round, evaluation_mean, evaluation_sd FROM rounds ORDER BY round")


calm = {}


def undisturbed(*sets):
    if sets not in calm:
        calm[sets] = train(*sets)
    return calm[sets]


@story("with and without evaluations, by one or by many, often or seldom: the same policy, and the same means where there are any")
def same_policy():
    plain, r = undisturbed(), undisturbed(EPISODES)
    equal(r.policy_sha256, plain.policy_sha256, "policies with and without")
    assert (plain.evaluation_mean, plain.evaluation_episodes) == (None, 0) and all(m is None for _, m, _ in means(plain)), means(plain)
    assert len(means(r)) == r.rounds == 16 and all(m > 0 for _, m, _ in means(r)), means(r)
    equal((r.evaluation_mean, r.evaluation_sd, r.evaluation_episodes), (*means(r)[-1][1:], 8), "the newest evaluation")
    assert len({m for _, m, _ in means(r)}) > 3, "policies change, and so do their means"
    many = train(EPISODES, "Evaluation.Actors=5", "Actor.Processes=1")
    equal((many.policy_sha256, means(many)), (plain.policy_sha256, means(r)), "what five played and what one did")
    seldom = train(EPISODES, "Evaluation.EveryRounds=5", "Scaling.WarmActors=0")
    equal(seldom.policy_sha256, plain.policy_sha256, "policies")
    equal(means(seldom), [(n, m, d) if n % 5 == 0 or n == 16 else (n, None, None) for n, m, d in means(r)], "every fifth and the last")
    wide = train(EPISODES, "Scaling.MaxActors=9")
    equal(means(wide), means(r), "episodes under another MaxActors=")


@story("evaluating actors that are killed play again, and the means are the same")
def killed():
    sets = ("Job.StopSteps=8192", "Evaluation.Episodes=800", "Evaluation.Actors=3")
    calm, killer = train(*sets), Killer("actord-actor", low=0.02, high=0.1)
    r = train(*sets, during=killer)
    assert len(killer.killed) >= 3, killer.killed
    assert ledger(r, "SELECT count(*) FROM records WHERE kind = 3 AND wasted")[0][0] > 0, "an episode was cut off"
    equal((r.policy_sha256, means(r)), (calm.policy_sha256, means(calm)), "what was learnt and measured")


@story("evaluations are billed apart: the paper total, the emulated clock and every other line are the same without them")
def billed():
    model = ("Billing.Clock=model", "Evaluation.Actors=2")
    plain, r = train(*model), train(*model, EPISODES)
    equal((r.cost["paper"], r.emulated_s), (plain.cost["paper"], plain.emulated_s), "paper total and emulated time")
    lines = {kind: [l for l in r.cost["lines"] if (l["kind"] == "evaluation") == kind] for kind in (True, False)}
    equal(lines[False], plain.cost["lines"], "lines of training")
    assert {l["unit"] for l in lines[True]} == {"GB-s", "idle GB-s", "requests"} and not any(l["paper"] for l in lines[True]), lines
    assert close(r.cost["full"], plain.cost["full"] + sum(l["amount"] for l in lines[True]), 1e-9), r.cost
    equal(r.invocations, plain.invocations, "invocations that train")
    who = {a for a, in ledger(r, "SELECT DISTINCT actor FROM records WHERE kind IN (3, 5) AND actor IS NOT NULL")}
    equal(who, {2, 3}, "actors that evaluate")
    if "scope" in r.cpu_s:
        used = sum(r.cpu_s[k] for k in ("actors", "learner", "control", "startup"))
        assert abs(used - r.cpu_s["scope"]) <= 0.03 * r.cpu_s["scope"], r.cpu_s


@story("eval plays the episodes that the last evaluation played; actions that are drawn give others, and the same again")
def same_episodes():
    found = {}
    for drawn in ("no", "yes"):
        r = undisturbed(EPISODES) if drawn == "no" else train(EPISODES, "Evaluation.Stochastic=yes")
        newest = max(glob.glob(r.state_directory + "/jobs/*/state/*.safetensors"), key=os.path.getmtime)
        again = ctl("eval", newest, "--episodes=8", "--json=short").json
        equal((again["return_mean"], again["return_sd"]), (r.evaluation_mean, r.evaluation_sd), f"what eval says, drawn: {drawn}")
        found[drawn] = r.evaluation_mean
        equal(r.policy_sha256, undisturbed().policy_sha256, "policies")
    assert found["yes"] != found["no"], found


@story("eval says the same to the last bit, however many play and whichever episode ends first")
def same_sums():
    r = run("pendulum", "Job.StopSteps=4096", "Actor.RolloutSteps=256", "Scaling.Actors=4", "Evaluation.Episodes=60", seed=7)
    newest = max(glob.glob(r.state_directory + "/jobs/*/state/*.safetensors"), key=os.path.getmtime)
    for n in 1, 4, 3, 4:
        said = ctl("eval", newest, "--episodes=60", "--set", f"Actor.Processes={n}", "--json=short").json
        equal((said["return_mean"], said["return_sd"]), (r.evaluation_mean, r.evaluation_sd), f"what {n} processes played, and what training did")


@story("a job ends when an evaluation reaches its target, and the round's record says so")
def target():
    want = sorted(m for _, m, _ in means(undisturbed(EPISODES)))[-3]
    first = next(n for n, m, _ in means(undisturbed(EPISODES)) if m >= want)
    r = train(EPISODES, f"Evaluation.StopReturn={want}")
    equal((r.state, r.rounds, r.target_reached), ("target-reached", first, True), "the end")
    equal(r.target_env_steps, r.env_steps, "steps")
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Evaluation.StopReturn=1")
    assert r.status == 2 and "Episodes=" in r.err, (r.status, r.err)


@story("a learner or an invoker that dies after an evaluation or in one changes neither policy nor means")
def next_life():
    sets = ("Evaluation.Episodes=20", "Job.StopSteps=120000", "Checkpoint.IntervalSec=0.1")
    calm = train(*sets)
    for comm in "actord-learner", "actord-invoker":
        killer = within(calm, comm)
        r = train(*sets, during=killer)
        killer.hit(r)
        equal((r.policy_sha256, means(r)), (calm.policy_sha256, means(calm)), f"what was learnt and measured, {comm} killed")


@story("the next round begins beside an evaluation unless something depends on its result, and only the order changes")
def beside():
    model = ("Billing.Clock=model", "Evaluation.Episodes=20")
    waits, r = train(*model, "Evaluation.StopReturn=1e9"), train(*model)
    equal((r.policy_sha256, means(r), r.emulated_s, r.cost["paper"]), (waits.policy_sha256, means(waits), waits.emulated_s, waits.cost["paper"]),
          "what both did")
    late = "SELECT count(*) FROM records WHERE kind = (SELECT kind FROM kinds WHERE word = 'evaluated')"
    equal((ledger(waits, late), ledger(r, late)), ([(0,)], [(r.rounds - 1,)]), "rounds that closed before their evaluation, all but the last")
    # An actor that trains had its next order before the last episode was over.
    overlaps = ("SELECT count(*) FROM rounds n WHERE EXISTS (SELECT * FROM records a, records e WHERE a.kind = 2 AND a.round = n.round + 1 "
                "AND e.kind = 3 AND e.round = n.round AND a.start_nsec < e.end_nsec)")
    assert ledger(waits, overlaps) == [(0,)] and ledger(r, overlaps)[0][0] > r.rounds // 2, (ledger(waits, overlaps), ledger(r, overlaps))
    auto = ("Scaling.Policy=auto", "Scaling.MaxActors=4", "Scaling.Actors=2")
    chosen = train(*model, *auto), train(*model, *auto, "Evaluation.StopReturn=1e9")
    counts = [ledger(c, "SELECT round, n_actors FROM rounds ORDER BY round") for c in chosen]
    equal((chosen[0].policy_sha256, counts[0], means(chosen[0])), (chosen[1].policy_sha256, counts[1], means(chosen[1])), "what auto decided")
    assert ledger(chosen[0], late)[0][0] > 0, "auto does not wait"


tell()
