#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rounds that overlap: the learner takes the actor that is ready. Under Clock=model that order is the same in each run, whichever
process is killed; under metered times it is recorded, and can be repeated."""
import shutil
from bus import *

SETS = ("Distribution.Policy=async", "Scaling.Actors=4", "Job.StopReturn=")
MODEL = (*SETS, "Billing.Clock=model", "Billing.UpdateUSec=3")
SHORT = ("Job.StopSteps=16000",)
# Rollouts that take long enough to be killed in.
LONG = ("Job.Environment=Hopper-v5", "Actor.EnvsPerActor=1", "Actor.RolloutSteps=512", "Job.StopSteps=30000", "Learner.NormalizeObservations=yes",
        "Learner.NormalizeRewards=yes", "Learner.HiddenLayers=64 64", "Checkpoint.IntervalSec=0.2")
IMPALA = os.path.join(EXAMPLES, "cartpole-impala.conf")
known = {}


def policy(*sets, job="cartpole-impala", **kw):
    return run(job, *sets, seed=7, **kw)


def calm(*sets, job="cartpole-impala"):
    if (job, sets) not in known:
        known[job, sets] = policy(*sets, job=job)
    return known[job, sets]


def stands(r):
    """For each round, as it was closed last: the actor that it took, how many acted, and the model's time."""
    return sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True).execute(
        "SELECT actor, decision_n_actors, emulated_round_nsec FROM records WHERE kind = 6 GROUP BY round HAVING seq = max(seq) ORDER BY round").fetchall()


def took(r):
    rows = stands(r)
    return [actor for actor, _, _ in rows], [n for _, n, _ in rows]


@story("under Clock=model a run and its times are the same again, with 1, 2 and 4 processes and any number of threads")
def repeated():
    want = calm(*MODEL, *SHORT)
    actors, counts = took(want)
    equal((want.env_steps, want.rounds, set(actors), set(counts)), (16000, 64, {0, 1, 2, 3}, {4}), "steps, rounds, actors, counts")
    assert want.invocations["total"] > want.rounds, want.invocations  # the actors that still acted at the end
    for sets in ((), ("Actor.Processes=1",), ("Actor.Processes=2",), ("Learner.Threads=3",), ("Evaluation.Episodes=2", "Evaluation.EveryRounds=9")):
        r = policy(*MODEL, *SHORT, *sets)
        equal((r.policy_sha256, r.emulated_s, took(r)[0]), (want.policy_sha256, want.emulated_s, actors), f"policy, times and order with {sets}")
    assert policy("Scaling.Actors=4", "Job.StopReturn=", *SHORT).policy_sha256 != want.policy_sha256
    # An actor that acts at the end is on the bill, whether or not a process was free for it.
    want = calm(*MODEL, *LONG)
    for n in 1, 2:
        r = policy(*MODEL, *LONG, f"Actor.Processes={n}")
        equal((r.policy_sha256, r.invocations, r.cost["full"]), (want.policy_sha256, want.invocations, want.cost["full"]), f"bills with {n} processes")
    assert abs(sum(l["amount"] for l in want.cost["lines"]) - want.cost["full"]) < 1e-9, want.json


@story("a single actor under async gives the policy, and by the model the times, of rounds that wait for all actors")
def alone():
    for clock in "model", "metered":
        sets = ("Scaling.Actors=1", "Job.StopReturn=", f"Billing.Clock={clock}", *SHORT)
        one, all_ = policy(*sets, "Distribution.Policy=async"), policy(*sets)
        equal((one.policy_sha256, one.rounds, one.env_steps), (all_.policy_sha256, all_.rounds, all_.env_steps), "policies")
        if clock == "model":
            equal(one.emulated_s, all_.emulated_s, "emulated times")


@story("every algorithm that may learn from stale rollouts is repeatable, and a slow learner makes them stale")
def algorithms():
    for job in "cartpole-a2c", "cartpole-impact", "cartpole-dqn":
        sets = (*MODEL, "Job.StopSteps=6000", "Actor.RolloutSteps=20", "Learner.MinibatchSize=20")
        sets = tuple(s for s in sets if job != "cartpole-a2c" or "Minibatch" not in s)
        if job == "cartpole-dqn":
            sets += ("Learner.ReplayMin=500",)
        equal(policy(*sets, "Actor.Processes=2", job=job).policy_sha256, calm(*sets, job=job).policy_sha256, f"policies of {job}")


@story("actors that are killed, while others are learned from or not, change nothing; the bill shows the waste")
def killed_actors():
    want = calm(*MODEL, *LONG)
    killer = Killer("actord-actor", low=0.02, high=0.15)
    r = policy(*MODEL, *LONG, during=killer)
    assert len(killer.killed) >= 2 and r.invocations["retried"] >= 1, (killer.killed, r.invocations)
    equal((r.policy_sha256, r.env_steps, r.emulated_s), (want.policy_sha256, want.env_steps, want.emulated_s), "policies and times")


@story("a learner or an invoker that is killed, or a daemon, starts the next life with the actors that acted when the checkpoint was written")
def lives():
    want = calm(*MODEL, *LONG)
    for comm in "actord-learner", "actord-invoker":
        killer = within(want, comm)
        r = policy(*MODEL, *LONG, during=killer)
        killer.hit(r)
        equal((r.policy_sha256, stands(r)), (want.policy_sha256, stands(want)), f"policies and rounds after {comm} was killed")
    with Bus() as bus:
        text = open(os.path.join(EXAMPLES, "cartpole-impala.conf")).read()
        job = bus.submit(text, overrides=[s.split("=", 1) for s in (*MODEL, *LONG, "Job.Seed=7")])
        wait_for("some rounds", lambda: bus.get(job, "Round") > 5)
        bus.stop(signal.SIGKILL)
        bus.start()
        equal((bus.ended(job), bus.get(job, "PolicySHA256")), ("finished", want.policy_sha256), "result and policy")
        check_ledger(bus, job)


@story("when the number of actors changes, new ones begin at once and surplus ones finish, whatever is killed")
def elastic():
    sets = (*MODEL, *LONG, "Scaling.Policy=random", "Scaling.MaxActors=6", "Billing.ColdStartSec=0.02")
    want = calm(*sets)
    assert len(set(took(want)[1])) > 2, took(want)
    equal(policy(*sets, "Actor.Processes=2").policy_sha256, want.policy_sha256, "policies with two processes")
    killer = within(want, "actord-learner")
    r = policy(*sets, during=killer)
    killer.hit(r)
    # Repeated work took time as well, and is on the bill.
    equal((r.policy_sha256, stands(r)), (want.policy_sha256, stands(want)), "policies, orders and times")
    assert r.emulated_s >= want.emulated_s and r.cost["full"] >= want.cost["full"], (r.json, want.json)


@story("under metered times the order of actors is recorded, and a job with these decisions repeats the run")
def replayed():
    r = policy(*SETS, *SHORT)
    file = f"{r.state_directory}/decisions.json"
    rows = json.load(open(file))
    equal(([d["taken"] for d in rows], [d["actors"] for d in rows]), took(r), "decisions and records")
    again = policy(*SETS, "Scaling.MaxActors=4", *SHORT, f"Scaling.Policy=replay:{file}", "Actor.Processes=2")
    equal((again.policy_sha256, took(again)), (r.policy_sha256, took(r)), "policies and orders")

    # An order that would not occur in a real run.
    for i, d in enumerate(rows):
        d["taken"] = (3 - i) % 4 if i % 8 < 4 else i % 4
    json.dump(rows, open(file, "w"))
    other = [policy(*SETS, "Scaling.MaxActors=4", *SHORT, f"Scaling.Policy=replay:{file}", *sets) for sets in ((), ("Billing.Clock=model",))]
    equal(took(other[0])[0], [d["taken"] for d in rows], "orders")
    equal(other[0].policy_sha256, other[1].policy_sha256, "policies")
    assert other[0].policy_sha256 != r.policy_sha256

    rows[9].update(actors=1, taken=rows[8]["taken"])
    json.dump(rows, open(file, "w"))
    p = policy(*SETS, "Scaling.MaxActors=4", *SHORT, f"Scaling.Policy=replay:{file}", ok=False)
    assert p.status != 0 and f"round 10 took actor {rows[8]['taken']}, which did not act then" in p.err and p.err.splitlines()[-1].startswith("--set"), p.err
    for wrong in {"taken": "x"}, {"taken": 1.5}, {"taken": -1}, {"actors": 2.5}, {"actors": None}:
        json.dump([{**rows[0], **wrong}], open(file, "w"))
        p = policy(*SETS, "Scaling.MaxActors=4", *SHORT, f"Scaling.Policy=replay:{file}", ok=False)
        assert p.status != 0 and "not the decisions of a job" in p.err, (wrong, p.err)


@story("a daemon's job of metered times is repeated by its number, and shows on the bus and as a table whom each round took")
def on_the_bus():
    with Bus() as bus:
        conf = bus.dir + "/job.conf"
        shutil.copy(os.path.join(EXAMPLES, "cartpole-impala.conf"), conf)
        words = set_words(*SETS, *SHORT, "Scaling.MaxActors=4")
        job = int(bus.ctl("submit", conf, *words).out)
        assert bus.ended(job) == "finished"
        taken = [d["taken"] for d in decisions(bus, job)]
        equal((len(taken), set(taken)), (64, {0, 1, 2, 3}), "rounds, and whom they took")
        assert "TAKEN" in bus.ctl("decisions", job).out.splitlines()[0]
        assert "1 decision of" in bus.ctl("decisions", job, "--check").out
        again = int(bus.ctl("submit", conf, *words, "--set", f"Scaling.Policy=replay:{job}").out)
        assert bus.ended(again) == "finished"
        equal(bus.get(again, "PolicySHA256"), bus.get(job, "PolicySHA256"), "policies")
        assert "64 decisions" in bus.ctl("decisions", again, "--check").out


@story("an environment that hangs, dies or lies fails the job with its reason, whatever the learner does meanwhile")
def hostile():
    so, conf = shared_library(HOSTILE), os.path.join(STATE, "hostile.conf")
    open(conf, "w").write(f"[Job]\nEnvironment={so}\nStopSteps=2000\nAlgorithm=impala\n[Distribution]\nPolicy=async\n[Scaling]\nActors=3\n"
                          "[Actor]\nRolloutSteps=64\nRetries=1\nTimeoutSec=60\n")
    equal(run(conf).state, "finished", "state")
    for how, word in ("hang", "TimeoutSec"), ("crash", "signal"), ("nan", "not finite"):
        r = run(conf, f"Environment.How={how}", *in_time(how), ok=False)
        equal((r.status, r.state), (1, "failed"), f"status and state of {how}: {r.err}")
        assert word in r.json["fault"] and r.invocations["retried"] >= 1, (how, r.json["fault"], r.invocations)


@story("a budget ends the job, passed by one round and the actors that still act; Ctrl-C ends it, too; both print the bill")
def ends():
    r = policy(*MODEL, *LONG, "Job.StopSteps=100000000", "Job.Budget=0.0001", ok=False)
    equal((r.status, r.state), (3, "budget-exhausted"), "status and state")
    assert 0.0001 <= r.cost["full"] < 0.0001 * (1 + 6 / r.rounds), (r.cost, r.rounds)
    r = policy(*MODEL, *LONG, "Job.StopSteps=100000000", ok=False, timeout=30, during=lambda p: (time.sleep(1.5), p.send_signal(signal.SIGINT)))
    equal((r.status, r.state), (130, "interrupted"), "status and state")
    assert abs(sum(l["amount"] for l in r.cost["lines"]) - r.cost["full"]) < 1e-9, r.json


@story("another ObservationClip= than the checkpoint's is refused by name: unfinished rollouts go on with the clip of before")
def clipped():
    sets = (*MODEL, *SHORT, "Learner.NormalizeObservations=yes")
    file = re.search(r"^checkpoint (.*)$", ctl("run", IMPALA, *set_words(*sets)).out, re.MULTILINE)[1]
    for key, status, words in (("ObservationClip=5", 1, "has [Learner] ObservationClip=10, but the job has 5:"), ("Gamma=0.98", 0, "")):
        r = ctl("run", IMPALA, "--from", file, *set_words(*sets, "Job.StopSteps=32000", f"Learner.{key}"))
        assert r.status == status and words in " ".join(r.err.split()), (key, r.status, r.err)


@story("settings that async cannot keep are refused, with the reason and what would work")
def refused_():
    impala, ppo = (os.path.join(EXAMPLES, f"{name}.conf") for name in ("cartpole-impala", "cartpole"))
    for conf, sets, want in ((ppo, (), ("newest policy", "impala", "a2c")), (impala, ("Distribution.Learners=2",), ("multi-learner",)),
                             (impala, ("Learner.NoiseScale=yes",), ("noise scale", "single-learner-coarse")),
                             (impala, ("Learner.MinibatchSize=500",), ("250 rows", "one actor"))):
        r = ctl("verify", conf, *set_words("Distribution.Policy=async", *sets))
        assert r.status == 2 and all(w in r.err for w in want) and len(r.err.splitlines()) == 1, r.err
    r = ctl("graph", impala, "--policy", "async")
    assert r.status == 0 and "the actors that are ready" in r.out, r.out
    for word in "async", "central", "auto":
        r = ctl("graph", impala, "--policy", word)
        assert r.status == 0 and max(map(len, r.out.splitlines())) <= 80, r.out


tell()
