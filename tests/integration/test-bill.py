#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What stands beside a bill: the same rounds under other distributions, compared with jobs that did run so, and the fleet of servers that would have done it."""
from bus import *

SETS = [("Job.StopReturn", ""), ("Scaling.Actors", "4"), ("Actor.RolloutSteps", "64"), ("Learner.Epochs", "2"), ("Learner.Threads", "1"),
        ("Job.StopSteps", "20000"), ("Billing.ColdStartSec", "0.01"), ("Job.Seed", "7")]
MODEL = [("Billing.Clock", "model"), ("Billing.UpdateUSec", "7.3")]
RUNS = {("single-learner-coarse", 1): [], ("single-learner-fine", 1): [], ("environments", 1): [], ("fused", 1): [],
        ("multi-learner", 2): [], ("multi-learner", 4): []}
NUMBERS = ("emulated_s", "paper", "full")


def sets_of(distribution, n):
    return [("Distribution.Policy", distribution), ("Distribution.Learners", str(n))]


def bill(bus, job, *words):
    return bus.ctl("bill", job, "--json", *words).json


def rows(b):
    return {(e["distribution"], e["learners"]): e for e in b["estimates"]}


def as_it_ran(b):
    return b["estimates"][0]


def close(a, b, relative):
    return all(abs(a[k] - b[k]) <= relative * b[k] for k in NUMBERS)


@story("under a model the estimate of each distribution is what a job that runs under it costs and takes, to the last nanosecond of time")
def model():
    with Bus("MaxJobs=2\nMaxJobsPerUser=10\n") as bus:
        jobs = {run: bus.submit(overrides=[*SETS, *MODEL, *sets_of(*run)]) for run in RUNS}
        for job in jobs.values():
            equal(bus.ended(job), "finished", "result")
        bills = {run: bill(bus, job) for run, job in jobs.items()}
        for source, b in bills.items():
            equal(as_it_ran(b)["full"], b["full"], "full total as it ran")
            for run in RUNS:
                estimate, real = rows(b)[run], as_it_ran(bills[run])
                equal(round(estimate["emulated_s"] * 1e9), round(real["emulated_s"] * 1e9), f"emulated time of {run} by {source}")
                assert close(estimate, real, 1e-9), (source, run, estimate, real)
        assert rows(bills["single-learner-coarse", 1])["multi-learner", 8]["emulated_s"] < as_it_ran(bills["multi-learner", 4])["emulated_s"]


@story("on metered clocks it comes near, and what records cannot say is not said")
def metered():
    with Bus("MaxJobs=1\nMaxJobsPerUser=10\n") as bus:
        sets = [*SETS, ("Learner.HiddenLayers", "128 128"), ("Learner.MinibatchSize", "512")]
        real = {}
        for run in ("single-learner-coarse", 1), ("fused", 1), ("multi-learner", 2), ("single-learner-fine", 1):
            job = bus.submit(overrides=[*sets, *sets_of(*run)])
            equal(bus.ended(job, 120), "finished", "result")
            real[run] = bill(bus, job)
        coarse, fine = rows(real["single-learner-coarse", 1]), rows(real["single-learner-fine", 1])
        equal({k: coarse["single-learner-coarse", 1][k] for k in NUMBERS}, {k: as_it_ran(real["single-learner-coarse", 1])[k] for k in NUMBERS}, "its own")
        for run in ("fused", 1), ("multi-learner", 2):
            # Loose: a busy machine makes one run twice as long as another.
            estimate, ran = coarse[run], as_it_ran(real[run])
            assert all(ran[k] / 3 <= estimate[k] <= ran[k] * 3 for k in NUMBERS), (run, estimate, ran)
        for row in coarse["single-learner-fine", 1], coarse["environments", 1], fine["single-learner-coarse", 1], fine["fused", 1]:
            assert row["full"] is None and "records do not say" in row["unknown"], row
        assert fine["single-learner-fine", 1]["full"] == as_it_ran(real["single-learner-fine", 1])["full"]


@story("a job that moved has estimates of all its rounds, and one that may not be fused says why")
def lives():
    with Bus() as bus:
        sets = [*SETS, *MODEL, ("Job.StopSteps", "60000"), ("Billing.UpdateUSec", "200"), ("Actor.CPUQuota", "100%"), ("Distribution.Policy", "auto")]
        job = bus.submit(overrides=sets)
        equal(bus.ended(job), "finished", "result")
        b = bill(bus, job)
        assert "CPUQuota" in rows(b)["fused", 1]["unknown"], b
        if len(os.sched_getaffinity(0)) > 1:
            equal(bus.get(job, "Life"), 2, "lives")
            assert rows(b)["multi-learner", 2]["emulated_s"] < as_it_ran(b)["emulated_s"] < rows(b)["single-learner-coarse", 1]["emulated_s"], b
        before = b["estimates"]
        bus.stop(signal.SIGKILL)
        bus.start()
        equal(bill(bus, job)["estimates"], before, "estimates after a restart")


def sheet(name):
    values = {}
    section = None
    for line in open(os.path.join(ROOT, "packaging/price", name + ".sheet")):
        line = line.strip()
        if line.startswith("["):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values[section, key] = value
    return values


@story("a fleet of servers costs its hours on both clocks, and is even where it is busy for the share that its hour's price is of the functions'")
def fleets():
    with Bus() as bus:
        job = bus.submit(overrides=[*SETS, *MODEL, ("Scaling.Actors", "20")])
        equal(bus.ended(job), "finished", "result")
        b = bill(bus, job)
        fleets = {f["price_sheet"]: f for f in b["fleets"]}
        assert {"ec2-minionsrl", "ec2-nitro", "ec2-stellaris"} <= set(fleets) and "slurm-tres" not in fleets, list(fleets)
        equal(b["serverless"], b["full"], "what functions cost")
        f, s = fleets["ec2-nitro"], sheet("ec2-nitro")
        extra = float(s["Fleet", "ExtraPerHour"])
        hour = float(s["Learner", "PerHour"]) + extra + 2 * (float(s["Actors", "PerHour"]) + extra)  # 16 actors each
        equal(f["servers"], "1 p3.2xlarge, 2 c5.4xlarge", "servers")
        assert abs(f["hour"] - hour) < 1e-9, (f, hour)
        for clock, even in ("emulated", "even_emulated"), ("wall", "even_wall"):
            seconds = b[clock + "_s"]
            assert abs(f[clock] - hour * (seconds + 60) / 3600) < 1e-9 * f[clock], (f, seconds)
            assert abs(f[even] - hour * seconds / 3600 / b["serverless"]) < 1e-6 * f[even], (f, even)
        out = bus.ctl("bill", job).out
        assert max(map(len, out.splitlines())) <= 80, out
        assert "by estimate" in out and "EVEN AT" in out and "never" in out and "as it ran" in out, out
        equal([f["price_sheet"] for f in bill(bus, job, "--fleet", "ec2-nitro")["fleets"]], ["ec2-nitro"], "one fleet")
        for name, word in ("aws-lambda-x86", "no servers"), ("gold", "price list"):
            r = bus.ctl("bill", job, "--fleet", name, ok=False)
            assert r.status == 1 and word in r.err and len(r.err.splitlines()) == 1, r.err
        local = bus.submit(overrides=[*SETS, ("Billing.PriceSheet", "local"), ("Job.StopSteps", "1000")])
        equal(bus.ended(local), "finished", "result")
        equal(bill(bus, local)["fleets"], [], "fleets in another currency")
        r = bus.ctl("bill", local, "--fleet", "ec2-nitro", ok=False)
        assert r.status == 1 and "USD" in r.err and "EUR" in r.err, r.err
        small = bus.submit(overrides=[*SETS, *MODEL, ("Scaling.Actors", "1"), ("Scaling.MaxActors", "40"), ("Job.StopSteps", "1000")])
        equal(bus.ended(small), "finished", "result")
        assert "ec2-minionsrl" not in {f["price_sheet"] for f in bill(bus, small)["fleets"]}
        r = bus.ctl("bill", small, "--fleet", "ec2-minionsrl", ok=False)
        assert "32 actors" in r.err and "40" in r.err, r.err


tell()
