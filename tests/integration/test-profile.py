#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actorctl run --profile: how the time of rounds is spent; the profile changes neither policy nor bill."""
import os, sqlite3
from story import *

STEPS = 65536  # so long that times at the begin and the end are below the 3 % by which sums may differ
SHORT = (f"Job.StopSteps={STEPS}", "Job.StopReturn=")
# CartPole's two networks of 64 x 64: multiplications and additions of one row.
ACTING = 2 * (4 * 64 + 64 * 64 + 64 * 2)
FORWARD = ACTING + 2 * (4 * 64 + 64 * 64 + 64)
GRADIENT = 2 * (2 * 2 * 4 * 64 + 3 * (2 * 64 * 64 + 64 * 2 + 64))


def profiled(example, *sets):
    args = ["run", os.path.join(EXAMPLES, example + ".conf"), "--json", "--profile"]
    for s in sets:
        args += ["--set", s]
    r = ctl(*args)
    assert r.status == 0, r.err
    return r


def near(a, b, share, what):
    assert abs(a - b) <= share * max(a, b), f"{what}: {a} and {b}"


def rounds_wall_s(r):
    """The time from the first round's beginning to the last one's end, by the records."""
    with sqlite3.connect(os.path.join(r.state_directory, "ledger.sqlite")) as ledger:
        begin, end = ledger.execute("SELECT min(start_nsec), max(end_nsec) FROM records WHERE kind = 6").fetchone()
    return (end - begin) / 1e9


def check_sums(r):
    profile = r.profile
    equal(profile["rounds"], r.rounds, "rounds of the profile and of the job")
    near(sum(profile["parts_s"].values()), profile["wall_s"], 0.001, "the parts' sum and the profile's wall time")
    near(profile["wall_s"], rounds_wall_s(r), 0.03, "the profile's wall time and that of the rounds' records")


@story("the parts of a profile add up to the wall time of the rounds, and operations are counted from shapes")
def parts():
    r = profiled("cartpole", *SHORT)
    check_sums(r)
    parts, products = r.profile["parts_s"], r.profile["products"]
    for name in ("environment", "forward", "validation", "advantage", "gradient", "apply", "publish", "control", "metering"):
        assert parts[name] > 0, f"{name} took no time: {parts}"
    equal(products["forward"]["operations"], STEPS * ACTING, "operations of acting")
    equal(products["gradient"]["operations"], STEPS * 20 * GRADIENT, "operations of twenty epochs")
    assert products["advantage"]["operations"] >= STEPS * FORWARD, products
    for product in products.values():
        near(product["gflops"], product["operations"] / product["core_s"] / 1e9, 0.001, "operations in a second")
        near(product["limit_share"], product["gflops"] / r.profile["limit_gflops"], 0.001, "share of the limit")


@story("a profile changes neither policy nor bill; without --profile there is none")
def nothing_else():
    sets = (*SHORT, "Billing.Clock=model")
    plain, asked = run("cartpole", *sets), profiled("cartpole", *sets)
    assert "profile" not in plain.json, plain.json
    assert not os.path.exists(os.path.join(plain.state_directory, "jobs", "1", "state", "profile"))
    for key in ("policy_sha256", "env_steps", "rounds"):
        equal(getattr(asked, key), getattr(plain, key), key)
    for total in ("paper", "full"):
        equal(asked.cost[total], plain.cost[total], f"the {total} total")


@story("a profile works wherever fragments run")
def distributions():
    for distribution in ("fused", "central", "environments", "async", "multi-learner"):
        example = "cartpole-impala" if distribution == "async" else "cartpole"
        r = profiled(example, *SHORT, f"Distribution.Policy={distribution}", "Learner.Threads=1", "Scaling.Actors=2")
        check_sums(r)
        parts = r.profile["parts_s"]
        assert parts["gradient"] > 0 and parts["environment"] > 0, f"{distribution}: {parts}"
        if distribution in ("central", "environments"):
            assert parts["wait"] > 0 and parts["forward"] == 0, f"actors ask the learner for actions: {parts}"


@story("people read a table; a verb that runs no job of its own refuses --profile, and a failed job has no profile")
def words():
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--profile", *set_words(*SHORT))
    equal(r.status, 0, "status")
    for word in ("PART", "gradient", "rest", "GFLOP/S", "limit:"):
        assert word in r.out, f"no {word} in {r.out}"
    r = ctl("submit", os.path.join(EXAMPLES, "cartpole.conf"), "--profile")
    equal(r.status, 2, "status of submit --profile")
    assert "--profile" in r.err, r.err
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--profile", "--set", "Actor.TimeoutSec=1ms", "--set",
            "Actor.Retries=0", "--set", "Actor.RolloutSteps=100000")
    assert r.status == 1 and "no profile" in r.err, (r.status, r.err)


tell()
