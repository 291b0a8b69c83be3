#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policy=auto in real jobs: the choices and reports of each Objective=, and what it cannot do. Clock=model, so that figures are the same on every host."""
import re

from bus import *

BASE = {"Job.StopReturn": "", "Job.StopSteps": "30000", "Scaling.Policy": "auto", "Scaling.MinActors": "1", "Scaling.MaxActors": "16",
        "Actor.RolloutSteps": "64",
        "Learner.Epochs": "2", "Learner.Threads": "1", "Billing.Clock": "model", "Billing.ColdStartSec": "0.01"}


def sets(**more):
    """More settings have a double underscore between section and key."""
    return list({**BASE, **{key.replace("__", "."): str(value) for key, value in more.items()}}.items())


def train(bus, **more):
    """(job, emulated seconds, full total, actors of each round)"""
    job = bus.submit(overrides=sets(**more))
    equal(bus.ended(job), "budget-exhausted" if "Job__Budget" in more else "finished", "result")
    assert "from their inputs" in bus.ctl("decisions", job, "--check").out
    return job, bus.get(job, "EmulatedNSec") / 1e9, bus.get(job, "CostFull"), [row["actors"] for row in decisions(bus, job)]


def words(bus, job):
    return " ".join(bus.ctl("decisions", job).out.split())


@story("the sooner the deadline, the more actors and money; each job with one that can be met ends by it")
def deadlines():
    with Bus() as bus:
        _, slow_s, cheap, few = train(bus, Scaling__Objective="deadline", Scaling__Deadline="1h")
        _, fast_s, dear, many = train(bus, Scaling__Objective="deadline", Scaling__Deadline=f"{slow_s * 3 / 4:.3f}s")
        assert fast_s <= slow_s * 3 / 4, (fast_s, slow_s)
        assert cheap < dear and sum(few) / len(few) < sum(many) / len(many), (cheap, dear, few, many)


@story("a deadline that cannot be met gets the fastest number of actors, and an expected end that is about right")
def late():
    with Bus() as bus:
        job, took_s, _, actors = train(bus, Scaling__Objective="deadline", Scaling__Deadline="50ms")
        said = re.findall(r"Deadline= cannot be met: the fastest number of actors ends training after ([0-9.]+) s", words(bus, job))
        assert said and took_s > 0.05, (said, took_s)
        expected = [row["expected_s"] for row in decisions(bus, job) if row["expected_s"]]
        assert 0.7 * took_s < expected[0] < 1.4 * took_s, (expected[0], took_s)
        _, even_s, _, _ = train(bus)
        assert took_s < even_s, (took_s, even_s)


@story("Objective=budget takes longer with fewer actors than a job that hurries, and both stop when the budget is spent")
def budgets():
    with Bus() as bus:
        budget = {"Job__Budget": "0.0004", "Job__StopSteps": 10 ** 9}
        _, slow_s, spent, few = train(bus, Scaling__Objective="budget", **budget)
        _, fast_s, also, many = train(bus, Scaling__TimePrice=50, **budget)
        assert 0.0004 <= spent < 0.0005 and 0.0004 <= also < 0.0005, (spent, also)
        assert sum(few) / len(few) < sum(many) / len(many) and fast_s < slow_s, (few, many, slow_s, fast_s)


@story("cost-time: a higher price of a second makes the job shorter and more expensive")
def cost_time():
    with Bus() as bus:
        _, slow_s, cheap, few = train(bus, Scaling__TimePrice=0)
        _, fast_s, dear, many = train(bus, Scaling__TimePrice=100)
        assert fast_s < slow_s and cheap < dear and max(few) < max(many), (slow_s, fast_s, cheap, dear)


@story("servers cost the same with any number of actors: all act in each round, and actorctl says that there is nothing to decide")
def servers():
    with Bus() as bus:
        for sheet in "ec2-nitro", "slurm-tres":
            job, _, _, actors = train(bus, Billing__PriceSheet=sheet, Billing__Convention="server")
            equal(set(actors), {16}, sheet)
            assert "16 actors: there is nothing to decide: a round costs the same with any number of actors" in words(bus, job), words(bus, job)[:300]


@story("a sheet without a price that the job needs is refused, with its name, the price and the setting")
def sheets():
    with Bus() as bus:
        text = refused(bus, overrides=sets(Billing__PriceSheet="ec2-nitro", Billing__Convention="server", Distribution__Policy="multi-learner",
                                           Distribution__Learners=2))
        assert "test.conf: [Distribution] Policy=multi-learner with Learners=2: the price sheet ec2-nitro has a price for 1 learners" in text, text
        text = refused(bus, overrides=sets(Billing__PriceSheet="aws-lambda-x86", Billing__Convention="server"))
        assert "test.conf: [Billing] Convention=server: the price sheet aws-lambda-x86 names no servers" in text, text
        text = refused(bus, overrides=sets(Billing__PriceSheet="ec2-minionsrl", Billing__Convention="server", Scaling__MaxActors=33))
        assert "test.conf: [Billing] Convention=server: the fleet ec2-minionsrl has places for 32 actors, and this job may have 33; use fewer actors" in text, text


tell()
