#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The estimates beside a bill. Those for other distributions are compared with jobs that ran under them; others are for the
fleet of servers that would have done the same work."""
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


@story("on metered clocks the estimates come near, and figures that the records do not give are left out")
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
            # A loose bound: on a busy machine one run takes twice as long as another.
            estimate, ran = coarse[run], as_it_ran(real[run])
            assert all(ran[k] / 3 <= estimate[k] <= ran[k] * 3 for k in NUMBERS), (run, estimate, ran)
        for row in coarse["single-learner-fine", 1], coarse["environments", 1], fine["single-learner-coarse", 1], fine["fused", 1]:
            assert row["full"] is None and "records do not divide" in row["unknown"], row
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


@story("a fleet of servers costs its hours on both clocks, and breaks even at the busy share where functions cost as much")
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
        assert abs(f["cost_per_hour"] - hour) < 1e-9, (f, hour)
        for clock, cost, even in ("emulated", "cost_emulated", "even_emulated"), ("wall", "cost_wall", "even_wall"):
            seconds = b[clock + "_s"]
            assert abs(f[cost] - hour * (seconds + 60) / 3600) < 1e-9 * f[cost], (f, seconds)
            assert abs(f[even] - hour * seconds / 3600 / b["serverless"]) < 1e-6 * f[even], (f, even)
        out = bus.ctl("bill", job).out
        assert max(map(len, out.splitlines())) <= 80, out
        assert "by estimate" in out and "EVEN AT" in out and "never" in out and "as it ran" in out, out
        equal([f["price_sheet"] for f in bill(bus, job, "--fleet", "ec2-nitro")["fleets"]], ["ec2-nitro"], "one fleet")
        for name, word in ("aws-lambda-x86", "no servers"), ("gold", "price list"):
            r = bus.ctl("bill", job, "--fleet", name, ok=False)
            assert r.status == 2 and word in r.err and len(r.err.splitlines()) == 1, r.err
        local = bus.submit(overrides=[*SETS, ("Billing.PriceSheet", "local"), ("Job.StopSteps", "1000")])
        equal(bus.ended(local), "finished", "result")
        equal(bill(bus, local)["fleets"], [], "fleets in another currency")
        r = bus.ctl("bill", local, "--fleet", "ec2-nitro", ok=False)
        assert r.status == 2 and "USD" in r.err and "EUR" in r.err, r.err
        small = bus.submit(overrides=[*SETS, *MODEL, ("Scaling.Actors", "1"), ("Scaling.MaxActors", "40"), ("Job.StopSteps", "1000")])
        equal(bus.ended(small), "finished", "result")
        assert "ec2-minionsrl" not in {f["price_sheet"] for f in bill(bus, small)["fleets"]}
        r = bus.ctl("bill", small, "--fleet", "ec2-minionsrl", ok=False)
        assert "32 actors" in r.err and "40" in r.err, r.err


def money(b):
    return b["currency"], b["paper"], b["full"], [(line["kind"], line["unit"], line["quantity"], line["amount"]) for line in b["lines"]]


@story("a bill by another price sheet is the bill of the same job that was submitted under it, and takes the same emulated time")
def other_prices():
    with Bus("MaxJobs=2\nMaxJobsPerUser=10\n") as bus:
        # Parked actors, evaluations and short rounds, which each sheet rounds up in its own way
        sets = [*SETS, *MODEL, ("Scaling.Policy", "schedule"), ("Scaling.Schedule", "4*3 1*2 3"), ("Scaling.MaxActors", "4"), ("Job.StopSteps", "6000"),
                ("Evaluation.Episodes", "3"), ("Evaluation.EveryRounds", "4")]
        sheets = "aws-lambda-x86", "azure-aci", "ec2-nitro", "slurm-tres"
        jobs = {s: bus.submit(overrides=[*sets, ("Billing.PriceSheet", s)]) for s in sheets}
        bills = {}
        for s, job in jobs.items():
            equal(bus.ended(job), "finished", "result")
            bills[s] = bill(bus, job)
        assert len({b["full"] for b in bills.values()}) == len(sheets), bills
        for own, job in jobs.items():
            for s in sheets:
                other = bill(bus, job, "--prices", s)
                equal(money(other), money(bills[s]), f"the bill of {own}'s job by {s}")
                equal((other["price_sheet"], other["emulated_s"]), (s, bills[s]["emulated_s"]), "sheet and time")
                equal(other["own"]["full"], bills[own]["full"], "its own total")
                assert other["learner_second"] > 0 < other["actor_second"] and "estimates" not in other, other
        out = bus.ctl("bill", jobs["azure-aci"], "--prices=slurm-tres").out
        assert "prices: slurm-tres" in out and "as billed: " in out and "prices: azure-aci" in out, out
        for words, word in (["--prices=gold"], "price list"), (["--prices=slurm-tres", "--fleet=ec2-nitro"], "leave one out"):
            r = bus.ctl("bill", jobs["azure-aci"], *words, ok=False)
            assert r.status > 0 and word in r.err and len(r.err.splitlines()) == 1, r.err
        budget = bus.submit(overrides=[*sets, ("Job.Budget", "1 USD")])
        equal(bus.ended(budget), "finished", "result")
        equal(money(bill(bus, budget, "--prices=slurm-tres")), money(bills["slurm-tres"]), "a job with a budget in another currency")
        server = bus.submit(overrides=[*sets, ("Billing.PriceSheet", "ec2-nitro"), ("Billing.Convention", "server")])
        equal(bus.ended(server), "finished", "result")
        equal([line["kind"] for line in bill(bus, server, "--prices=ec2-minionsrl")["lines"]], ["fleet", "fleet"], "as servers, which need no start-up there")
        r = bus.ctl("bill", server, "--prices=azure-aci", ok=False)
        assert r.status == 2 and "names no servers" in r.err, r.err


def ways(bus, job, *words):
    return {w["as"]: w for w in bus.ctl("bill", job, "--beside", "--json", *words).json["ways"]}


@story("the rounds of a job as functions and on servers cost what jobs cost that are billed so; what a sheet lacks is said in its row")
def beside():
    with Bus("MaxJobs=2\nMaxJobsPerUser=10\n") as bus:
        sets = [*SETS, *MODEL, ("Job.StopSteps", "6000"), ("Evaluation.Episodes", "3"), ("Evaluation.EveryRounds", "4")]
        runs = [(sheet, convention) for sheet in ("slurm-tres", "ec2-nitro") for convention in ("serverless", "server")]
        runs.append(("aws-lambda-x86", "serverless"))
        jobs = {(s, c): bus.submit(overrides=[*sets, ("Billing.PriceSheet", s), ("Billing.Convention", c)]) for s, c in runs}
        bills = {}
        for run, job in jobs.items():
            equal(bus.ended(job), "finished", "result")
            bills[run] = bill(bus, job)
        assert len({b["full"] for b in bills.values()}) == len(runs), bills
        total = lambda b: (b["paper"], b["full"])
        for (sheet, _), job in jobs.items():
            w = ways(bus, job) if sheet != "aws-lambda-x86" else ways(bus, job, "--fleet=ec2-nitro")
            equal(total(w["functions"]), total(bills[sheet, "serverless"]), f"as functions by {sheet}")
            servers = "ec2-nitro" if sheet == "aws-lambda-x86" else sheet
            equal((w["servers"]["price_sheet"], total(w["servers"])), (servers, total(bills[servers, "server"])), f"on servers by {servers}")
            equal({w[k]["time_s"] for k in ("functions", "servers")}, {bills[sheet, "serverless"]["emulated_s"]}, "the time of both")
            assert w["nodes"]["full"] is None and "ran on no nodes" in w["nodes"]["unknown"], w
        job = jobs["aws-lambda-x86", "serverless"]
        equal(ways(bus, job, "--prices=slurm-tres"), ways(bus, jobs["slurm-tres", "server"]), "by another sheet")
        out = bus.ctl("bill", job, "--beside").out
        assert max(map(len, out.splitlines())) <= 80 and "servers: unknown: the price sheet aws-lambda-x86 names no servers" in out, out
        assert "and this bill is in billing-min" in ways(bus, job, "--prices=slurm-tres", "--fleet=ec2-nitro")["servers"]["unknown"]
        for words, word in (["--prices=gold"], "price list"), (["--fleet=gold"], "price list"), (["--format=focus"], "leave out --beside"):
            r = bus.ctl("bill", job, "--beside", *words, ok=False)
            assert r.status == 2 and word in r.err and len(r.err.splitlines()) == 1, r.err
        r = bus.ctl("bill", "--beside", ok=False)
        assert r.status == 2 and "one job" in r.err, r.err


@story("a bill by another sheet that would lack records which the ledger does not take is refused in words; one of a job that has ended is made")
def other_prices_blocked():
    with Bus("MaxJobs=2\n") as bus:
        ended, running = bus.submit(overrides=[*SETS, ("Job.StopSteps", "2000")]), bus.submit(overrides=ENDLESS)
        equal(bus.ended(ended), "finished", "result")
        wait_for("rounds", lambda: bus.get(running, "Round") > 2)
        path = bus.dir + "/state/actord/ledger.sqlite"
        os.rename(path, path + ".away")
        try:
            wait_for("the daemon says so", lambda: "cannot be written" in open(bus.dir + "/log").read())
            r = bus.ctl("bill", running, "--prices=azure-aci", ok=False)
            assert r.status == 1 and f"newest records of job {running} cannot be written" in r.err, r.err
            assert bill(bus, ended, "--prices=azure-aci")["full"] > 0
        finally:
            os.rename(path + ".away", path)
        wait_for("the ledger can be written again", lambda: "can be written again" in open(bus.dir + "/log").read())
        assert bill(bus, running, "--prices=azure-aci")["full"] > 0


@story("the waste of a killed life is in a bill by another sheet as in the job's own, also after the daemon was killed")
def other_prices_killed():
    with Bus() as bus:
        job = bus.submit(overrides=[*SETS, *ENDLESS, ("Checkpoint.IntervalSec", "0.2")])
        newest = lambda: bus.ledger().execute("SELECT max(round) FROM checkpoints WHERE job = ?", (job,)).fetchone()[0]
        wait_for("rounds beyond a checkpoint", lambda: newest() and bus.get(job, "Round") > newest() + 3)
        running = bill(bus, job, "--prices=azure-aci")
        assert running["full"] > 0, running
        os.kill(bus.processes("actord-learner")[0], signal.SIGKILL)
        wait_for("the next life", lambda: bus.get(job, "Life") == 2)
        bus.ctl("stop", job)
        bus.ended(job)
        own = bill(bus, job)
        assert any(line["kind"] == "retries" for line in own["lines"]), own
        for how in None, signal.SIGKILL:
            if how:
                bus.stop(how)
                bus.start()
            equal(money(bill(bus, job, "--prices", own["price_sheet"])), money(own), "its own sheet, anew")


@story("a price sheet of one's own needs no root: a run and a user's own daemon bill by the file that the client read, also after it is gone")
def own_sheet():
    text = open(os.path.join(ROOT, "packaging/price/local.sheet")).read().replace("Currency=EUR", "Currency=CHF")
    assert "CHF" in text
    with tempfile.TemporaryDirectory() as d, Bus() as bus:
        open(d + "/mine.sheet", "w").write(text)
        open(d + "/job.conf", "w").write(re.sub("(?m)^PriceSheet=.*$", "PriceSheet=./mine.sheet", JOB_TEXT))
        assert "./mine.sheet" in open(d + "/job.conf").read()
        run = ctl("run", d + "/job.conf", "--set", "Job.StopReturn=", "--set", "Job.StopSteps=1000", "--json")
        equal((run.status, run.json["cost"]["currency"]), (0, "CHF"), run.err)
        job = bus.ctl("submit", d + "/job.conf", "--set", "Job.StopReturn=", "--set", "Job.StopSteps=1000").out.strip()
        equal(bus.ended(int(job)), "finished", "result")
        os.unlink(d + "/mine.sheet")
        bus.stop()
        bus.start()
        equal(bill(bus, job)["currency"], "CHF", "the sheet is the job's")
        gone = bus.ctl("submit", d + "/job.conf", ok=False)
        assert gone.status == 2 and "mine.sheet cannot be read" in gone.err and "price list" in gone.err, gone
        for content, reason in ((b"[Sheet]\nName=\xff\n", "UTF-8"), (b"x" * 70000, "large"), (b"[Sheet]\nPrice=1\n", "Price"), (b"", "mine.sheet")):
            open(d + "/mine.sheet", "wb").write(content)
            refused = bus.ctl("submit", d + "/job.conf", ok=False)
            assert refused.status == 2 and reason in refused.err and len(refused.err.splitlines()) <= 3, (content[:20], refused)
        os.unlink(d + "/mine.sheet")
        os.mkfifo(d + "/mine.sheet")
        missing = [("Billing.PriceSheet", "./mine.sheet")]
        try:
            bus.submit(overrides=missing)
            raise AssertionError("a sheet that did not come")
        except BusError as e:
            assert "was not sent along" in e.text, e.text


tell()
