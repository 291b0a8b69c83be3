#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that have ended are rows of the ledger: they are no longer enumerated, but answer every call and appear in lists."""
import csv, datetime, decimal, io, math, pwd

from bus import *
from rows import fill

MANAGER_PATH, SHORT = "/org/actord1", [("Job.StopReturn", ""), ("Job.StopSteps", "2000")]


def configure(bus, text):
    """Writes the configuration for the next start; it may have each key only once."""
    open(bus.dir + "/config/actord/actord.conf", "w").write("[Daemon]\n" + text)


def path(job):
    return f"/org/actord1/job/{job}"


def everything(bus, job):
    """All properties, and the answers of the methods that only read."""
    properties = {k: v["data"] for k, v in bus.call(path(job), "org.freedesktop.DBus.Properties", "GetAll", "s", JOB)[0].items()}
    asked = (["GetSettings"], ["GetText"], ["GetBill"], ["GetBillUnder", "s", "azure-aci"], ["GetBeside", "ss", "", ""], ["GetEstimates"], ["GetRounds", "tu", 0, 100],
             ["GetSeries", "tu", 0, 100],
             ["GetDecisions", "tu", 0, 100], ["CheckDecisions"], ["GetFaults", "u", 10], ["GetSchedulerBill"])
    answers = [bus.call(path(job), JOB, *words) for words in asked]
    return {**properties, **{method[0]: answer for method, answer in zip(asked, answers)}}


def differences(a, b):
    """NaN becomes null, so that an unknown figure equals itself."""
    return {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}


def objects(bus):
    tree = bus.call(MANAGER_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]
    return sorted(int(p.rsplit("/", 1)[1]) for p in tree if p.startswith("/org/actord1/job/"))


@story("an ended job is no object of the tree, but its path answers everything as it did, also for the next daemon")
def rows():
    with Bus() as bus:
        first = bus.submit(overrides=SHORT)
        assert bus.ended(first) == "finished"
        second = bus.submit(overrides=ENDLESS)
        wait_for("the first one leaves the tree", lambda: objects(bus) == [second])
        before = everything(bus, first)
        equal((before["Environment"], before["State"]), ("CartPole-v1", "ended"), "the job")
        equal(bus.call(MANAGER_PATH, MANAGER, "GetJob", "t", first), [path(first)], "its path")
        tree = bus.call(path(first), "org.freedesktop.DBus.Introspectable", "Introspect")[0]
        assert JOB in tree, tree
        listed = bus.jobs()
        equal([row[0] for row in listed], [first, second], "jobs in the list")
        bus.stop()
        bus.start()
        equal(differences(everything(bus, first), before), {}, "after a restart")
        equal(bus.jobs()[0], listed[0], "the list after a restart")
        equal(objects(bus), [second], "objects after a restart")
        row = page(bus, second, 1)[0][0]
        equal(row[:6], [first, before["UserId"], "ended", "finished", "CartPole-v1", before["Description"]], "its row")
        equal(row[7:15], [before[k] for k in ("SubmittedUSec", "StartedUSec", "EndedUSec", "Round", "EnvSteps", "ReturnMean", "CostFull", "Currency")],
              "numbers of its row")


@story("properties and bill of an ended job come out of its row, without a look at its records")
def summary():
    with Bus() as bus:
        job = bus.submit(overrides=SHORT)
        bus.ended(job)
        asked = lambda: [bus.call(path(job), "org.freedesktop.DBus.Properties", "GetAll", "s", JOB), bus.call(path(job), JOB, "GetBill")]
        before = asked()
        bus.stop()
        db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite")
        assert db.execute("DELETE FROM statistics").rowcount > 0 and db.execute("DELETE FROM records").rowcount > 0
        db.commit()
        db.close()
        bus.start()
        equal(asked(), before, "without records")


@story("jobs are listed by their tags, and added up by them")
def tags():
    with Bus() as bus:
        jobs = [bus.submit(overrides=[*SHORT, ("Job.Tag", tag)]) for tag in ("thesis/ch-4", "", "thesis/ch-4")]
        for job in jobs:
            equal(bus.ended(job), "finished", "result")
        equal([r["job"] for r in json.loads(bus.ctl("list", "--tag=thesis/ch-4", "--json").out)], [jobs[0], jobs[2]], "jobs with the tag")
        totals = json.loads(bus.ctl("totals", "--json").out)
        equal(sorted((r["tag"] or "", r["jobs"]) for r in totals), [("", 1), ("thesis/ch-4", 2)], "totals by tag")
        name = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip() or str(os.geteuid())
        equal({(r["user"], r["uid"]) for r in totals}, {(name, os.geteuid())}, "whose totals")


FOCUS_MANDATORY = {"BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargeCategory",
                   "ChargeClass", "ChargeDescription", "ChargePeriodStart", "ChargePeriodEnd", "ContractedCost", "EffectiveCost", "InvoiceIssuerName",
                   "ListCost", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName"}


@story("a bill as FOCUS 1.2 has the mandatory columns, a row for each charge, and costs that are quantity times unit price")
def focus():
    instant = lambda text: datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    account = f"{os.uname().nodename}/{os.geteuid()}"
    with Bus() as bus:
        job = bus.submit(overrides=[*SHORT, ("Job.Tag", "thesis/ch-4")])
        equal(bus.ended(job), "finished", "result")
        bill = json.loads(bus.ctl("bill", str(job), "--json").out)
        rows = list(csv.DictReader(io.StringIO(bus.ctl("bill", str(job), "--format=focus").out)))
        equal(len(rows), len(bill["lines"]), "a row for each charge")
        assert rows, "the job was charged"
        billing = datetime.datetime.fromtimestamp(bus.get(job, "EndedUSec") / 1e6, datetime.timezone.utc).replace(tzinfo=None)
        for row, line in zip(rows, bill["lines"]):
            equal(FOCUS_MANDATORY - row.keys(), set(), "mandatory columns that it lacks")
            equal({k for k in FOCUS_MANDATORY if not row[k]}, {"ChargeClass"}, "null only where FOCUS wants it: it is no correction")
            cost = decimal.Decimal(row["BilledCost"])
            equal({row[k] for k in ("BilledCost", "ContractedCost", "EffectiveCost", "ListCost")}, {row["BilledCost"]}, "one cost: there is no discount")
            equal(float(row["BilledCost"]), line["amount"], "cost, with every digit")
            for price in ("ListUnitPrice", "ContractedUnitPrice"):
                product = decimal.Decimal(row["PricingQuantity"]) * decimal.Decimal(row[price])
                assert abs(product - cost) <= abs(cost) * decimal.Decimal("1e-15"), (price, product, cost)
            unit = {"GB-s": "GB-Seconds", "requests": "Requests"}[line["unit"]]
            equal((float(row["PricingQuantity"]), row["PricingUnit"]), (line["quantity"], unit), "quantity")
            equal((row["ConsumedQuantity"], row["ConsumedUnit"]), (row["PricingQuantity"], row["PricingUnit"]), "what was consumed")
            equal((row["BillingCurrency"], row["x_PriceSheet"]), (bill["currency"], bill["price_sheet"]), "currency and sheet")
            equal((row["BillingAccountId"], row["ResourceId"]), (account, f"{account}/{job}"), "identifiers, unique among hosts")
            equal(row["BillingAccountName"], pwd.getpwuid(os.geteuid()).pw_name, "its name")
            equal((row["ChargeCategory"], row["ChargeFrequency"], row["ServiceCategory"]), ("Usage", "Usage-Based", "AI and Machine Learning"), "words of FOCUS")
            equal({row[k] for k in ("InvoiceIssuerName", "ProviderName", "PublisherName", "ServiceName")}, {"actord"}, "who charges")
            equal(row["ChargeDescription"], f"{line['kind']} of job {job}", "description")
            equal((row["ResourceName"], row["ResourceType"]), (f"job {job}", "Job"), "resource")
            equal((row["SkuId"], row["SkuPriceId"]), (line["kind"], f"{bill['price_sheet']}/{line['kind']}/{line['unit']}"), "what is sold, at which price")
            equal(json.loads(row["Tags"]), {"tag": "thesis/ch-4"}, "tags")
            first, next_month = instant(row["BillingPeriodStart"]), instant(row["BillingPeriodEnd"])
            equal((first.day, next_month.day, (next_month - first).days > 27, first <= billing < next_month), (1, 1, True, True), "the month of its end")
            start, end = instant(row["ChargePeriodStart"]), instant(row["ChargePeriodEnd"])
            assert start <= billing < end and (end - start).total_seconds() < 600, (start, end, billing)
        total = math.fsum(float(r["BilledCost"]) for r in rows)
        assert math.isclose(total, bill["full"], rel_tol=1e-12), ("the sum is the full total", total, bill["full"])

        euro = list(csv.DictReader(io.StringIO(bus.ctl("bill", str(job), "--format=focus", "--prices=local").out)))
        equal({(r["BillingCurrency"], r["x_PriceSheet"]) for r in euro}, {("EUR", "local")}, "by another sheet")
        for words, reason in ((["--prices=slurm-tres"], "name another sheet with --prices="), (["--json"], "leave out --json"), (["--fleet=ec2-nitro"], "--fleet=")):
            refused = bus.ctl("bill", str(job), "--format=focus", *words, ok=False)
            assert refused.status == 2 and reason in refused.err and not refused.out, refused
        refused = bus.ctl("bill", str(job), "--format=onnx", ok=False)
        assert refused.status == 2 and "it must be focus" in refused.err, refused
        untagged = bus.submit(overrides=SHORT)
        bus.ended(untagged)
        equal({r["Tags"] for r in csv.DictReader(io.StringIO(bus.ctl("bill", str(untagged), "--format=focus").out))}, {"{}"}, "without a tag")


@story("a bill of many jobs adds them up by owner, tag, month and job, those that run included, and equals the bills of the jobs")
def many():
    with Bus() as bus:
        jobs = {tag: bus.submit(overrides=[*SHORT, ("Job.Tag", tag)]) for tag in ("lab-a", "lab-b")}
        jobs["euro"] = bus.submit(overrides=[*SHORT, ("Job.Tag", "lab-a"), ("Billing.PriceSheet", "local")])
        for job in jobs.values():
            equal(bus.ended(job), "finished", "result")
        bills = {name: json.loads(bus.ctl("bill", job, "--json").out) for name, job in jobs.items()}
        rows = lambda *words: json.loads(bus.ctl("bill", *words, "--json").out)
        me, month = pwd.getpwuid(os.geteuid()).pw_name, datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m")
        by_owner = {row["currency"]: row for row in rows()}
        equal({(r["owner"], r["uid"]) for r in by_owner.values()}, {(me, os.geteuid())}, "whose jobs they are")
        assert math.isclose(by_owner["USD"]["cost_full"], bills["lab-a"]["full"] + bills["lab-b"]["full"], rel_tol=1e-9), by_owner
        equal((by_owner["USD"]["jobs"], by_owner["EUR"]["jobs"], by_owner["USD"]["not_ended"]), (2, 1, 0), "jobs")
        equal([(r["tag"], r["currency"], r["jobs"]) for r in rows("--by=tag")], [("lab-a", "EUR", 1), ("lab-a", "USD", 1), ("lab-b", "USD", 1)], "by tag")
        equal([(r["month"], r["tag"]) for r in rows("--by=tag,month", "--tag=lab-b")], [(month, "lab-b")], "by month and tag")
        equal([r["job"] for r in rows("--by=job")], sorted(jobs.values()), "by job")
        equal(rows("--owner=4294967"), [], "another owner")
        running = bus.submit(overrides=ENDLESS)
        wait_for("it costs something", lambda: rows("--since=0.001s", "--by=job")[0]["cost_full"] > 0)
        equal([(r["job"], r["not_ended"]) for r in rows("--since=0.001s", "--by=job")], [(running, 1)], "what did not end before counts")
        equal(len(rows(f"--since={month}", "--by=job")), 4, "since a month")
        text = bus.ctl("bill", "--by=tag").out
        assert "full total: " in text and " and " in text and "lab-b" in text, text
        bus.ctl("stop", running)
        bus.ended(running)
        focus = list(csv.DictReader(io.StringIO(bus.ctl("bill", "--format=focus", "--tag=lab-a", "--prices=aws-lambda-x86").out)))
        equal({r["ResourceName"] for r in focus}, {f"job {jobs[name]}" for name in ("lab-a", "euro")}, "FOCUS rows of both jobs")
        for words, reason in ((["--by=week"], "owner, tag, month or job"), (["--fleet=ec2-nitro"], "name it"), ([running, "--tag=x"], "leave out the job"),
                              (["--since=2026-13"], "a month (2026-11)"), (["--owner=no-such-user"], "no such user"), (["--by="], "owner, tag, month or job")):
            refused = bus.ctl("bill", *words, ok=False)
            assert refused.status == 2 and reason in refused.err and not refused.out, refused


@story("records of an ended job go by KeepRecordsSec=: its bill, properties and totals stay the same, and what needs the records says so")
def trimmed():
    with Bus("KeepRecordsSec=infinity\nLedgerMax=0\n") as bus:
        job = bus.submit(overrides=SHORT)
        bus.ended(job)
        asked = lambda: [bus.call(path(job), "org.freedesktop.DBus.Properties", "GetAll", "s", JOB), bus.call(path(job), JOB, "GetBill"),
                         bus.ctl("totals", "--json").out]
        before = asked()
        bus.stop()
        configure(bus, "KeepRecordsSec=1s\nLedgerMax=0\n")
        time.sleep(1.1)
        bus.start()
        running = bus.submit(overrides=ENDLESS)
        db = sqlite3.connect(f"file:{bus.dir}/state/actord/ledger.sqlite?mode=ro", uri=True)
        rows = lambda j: sum(db.execute(f"SELECT count(*) FROM {t} WHERE job = ?", (j,)).fetchone()[0] for t in ("records", "statistics", "decisions"))
        wait_for("the rows go", lambda: rows(job) == 0)
        wait_for("those of the other come", lambda: rows(running) > 10)
        equal(asked(), before, "properties, bill and totals")
        for words in (["GetRounds", "tu", 0, 100], ["GetSeries", "tu", 0, 100], ["GetDecisions", "tu", 0, 100], ["CheckDecisions"],
                      ["GetBillUnder", "s", "azure-aci"], ["GetBeside", "ss", "", ""], ["GetFaults", "u", 10]):
            try:
                assert False, bus.call(path(job), JOB, *words)
            except BusError as e:
                assert f"The records of job {job} were removed on 20" in e.text and "its bill and totals remain" in e.text, e.text
        said = bus.ctl("bill", job)
        assert "the job's records were removed" in " ".join(said.out.split()), said.out
        refused = bus.ctl("rounds", job, ok=False)
        assert refused.status != 0 and "were removed on" in refused.err, refused
        kept = os.path.join(bus.dir, "kept.csv")
        open(kept, "w").write("old\n")
        for verb in "watch", "metrics":
            r = bus.ctl(verb, job, f"--metrics=csv:{kept}", ok=False)
            assert "were removed on" in r.err and open(kept).read() == "old\n", r
            assert verb == "metrics" or f"nothing was written to {kept}" in r.err and "actorctl metrics JOB|RUN --metrics=csv:PATH" in r.err, r.err
        assert db.execute("SELECT count(*) FROM checkpoints WHERE job = ?", (job,)).fetchone()[0] > 0
        equal(db.execute("SELECT state, trimmed_usec > 0, trimmable FROM jobs WHERE id = ?", (job,)).fetchone(), ("ended", 1, 0), "its row")


def make_older(bus):
    """A ledger as an older actord wrote it, which kept no summaries."""
    db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite")
    db.execute("UPDATE jobs SET summary = NULL, environment = NULL, description = NULL, currency = NULL, rounds = 0, env_steps = 0, return_mean = NULL, "
               "cost_full = 0")
    db.execute("DELETE FROM totals")
    db.commit()
    return db


@story("lists, totals and bills are right for jobs that an older actord ended, once the daemon has had time; an unreadable row keeps its records")
def older():
    with Bus("KeepRecordsSec=infinity\nLedgerMax=0\n") as bus:
        # More records than the daemon reads at a time.
        jobs = [bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "6000"), ("Actor.RolloutSteps", "4"), ("Learner.MinibatchSize", "32"),
                                      ("Learner.Epochs", "1")])]
        jobs += [bus.submit(overrides=SHORT) for _ in range(2)]
        for job in jobs:
            equal(bus.ended(job, 120), "finished", "result")
        assert n_rows(bus, jobs[0]) > 512, n_rows(bus, jobs[0])
        told = lambda: [page(bus, 0, 0)[0], bus.ctl("totals", "--json").out, [bus.call(path(job), JOB, "GetBill") for job in jobs],
                        [bus.call(path(job), "org.freedesktop.DBus.Properties", "GetAll", "s", JOB) for job in jobs]]
        before = told()
        bus.stop()
        db = make_older(bus)
        db.execute("INSERT INTO jobs (life, uid, purpose, n_episodes, submitted_usec, started_usec, ended_usec, state, result, text, "
                   "file_name, overrides, sheet, files) VALUES (1, 5, 0, 0, 1, 2, 3, 'ended', 'finished', 'nonsense', 'a.conf', '', '', '')")
        db.commit()
        db.close()
        bus.start()
        lacking = lambda: bus.ledger().execute("SELECT count(*) FROM jobs WHERE summary IS NULL AND trimmable").fetchone()[0]
        wait_for("all have a summary", lambda: lacking() == 0, 60)
        rows = page(bus, 0, 0)[0]
        equal((rows[0][0], rows[0][4]), (jobs[-1] + 1, ""), "the row that says nothing")
        after = told()
        equal([rows[1:], *after[1:]], before, "what is told")
        # Only once: no later daemon counts them again.
        bus.stop()
        bus.start()
        equal(told()[1:], before[1:], "after another start")


@story("a ledger of schema 3 is taken over: its jobs are listed, and their records stay")
def schema_3():
    with Bus() as bus:
        bus.stop()
        ledger = f"{bus.dir}/state/actord/ledger.sqlite"
        for suffix in "", "-wal", "-shm":
            if os.path.exists(ledger + suffix):
                os.unlink(ledger + suffix)
        db = sqlite3.connect(ledger)
        db.executescript(open(os.path.join(ROOT, "tests", "data", "ledger-3.sql")).read())
        assert db.execute("PRAGMA user_version").fetchone()[0] == 3
        sheet = open(os.path.join(ROOT, "packaging", "price", "aws-lambda-x86.sheet")).read()
        db.execute("UPDATE jobs SET text = ?, sheet = ?, uid = ?", (JOB_TEXT, sheet, os.getuid()))
        db.commit()
        n_records, rounds, steps = (db.execute(sql).fetchone()[0] for sql in ("SELECT count(*) FROM records", "SELECT count(*) FROM rounds",
                                                                              "SELECT max(n_env_steps) FROM statistics"))
        db.close()
        bus.start()
        wait_for("its job has a summary", lambda: bus.ledger().execute("SELECT summary FROM jobs").fetchone()[0], 60)
        row = page(bus, 0, 0)[0][0]
        equal((row[0], row[2], row[4], row[10], row[11]), (1, "ended", "CartPole-v1", rounds, steps), "its row")
        equal([t["jobs"] for t in json.loads(bus.ctl("totals", "--json").out)], [1], "jobs in the totals")
        assert n_records > 0 and rounds > 0


def used(bus):
    """The number of used pages of the ledger, which LedgerMax= limits."""
    ask = lambda what: bus.ledger().execute(f"PRAGMA {what}").fetchone()[0]
    return (ask("page_count") - ask("freelist_count")) * ask("page_size")


def n_rows(bus, job):
    return sum(bus.ledger().execute(f"SELECT count(*) FROM {t} WHERE job = ?", (job,)).fetchone()[0] for t in ("records", "statistics", "decisions"))


@story("beyond LedgerMax= the records of the jobs that ended first go, also while the daemon runs; totals, bills and the younger jobs' records stay")
def oversized():
    with Bus("KeepRecordsSec=infinity\nLedgerMax=0\n") as bus:
        # Some sixty rounds, of which each was decided.
        small = [("Job.StopReturn", ""), ("Job.StopSteps", "6000"), ("Actor.RolloutSteps", "8"), ("Learner.MinibatchSize", "64"), ("Learner.Epochs", "1"),
                 ("Scaling.Actors", ""), ("Scaling.MaxActors", "2"), ("Scaling.Policy", "random")]
        jobs = []
        for _ in range(3):
            jobs.append(bus.submit(overrides=small))
            equal(bus.ended(jobs[-1], 120), "finished", "result")
        kept = lambda: [bus.ctl("totals", "--json").out] + [bus.call(path(job), JOB, "GetBill") for job in jobs]
        before, rows, size = kept(), {job: n_rows(bus, job) for job in jobs}, used(bus)
        bus.stop()
        # Room for all but a half of the first job's.
        limit = size - size // 12
        configure(bus, f"KeepRecordsSec=infinity\nLedgerMax={limit}\n")
        bus.start()
        wait_for("the oldest job's records go", lambda: n_rows(bus, jobs[0]) == 0, 60)
        assert used(bus) <= limit, (used(bus), limit)
        equal([n_rows(bus, job) for job in jobs[1:]], [rows[job] for job in jobs[1:]], "records of the younger ones")
        equal(kept(), before, "totals and bills")
        refused = [("rounds", jobs[0]), ("decisions", jobs[0])]
        for words in refused:
            r = bus.ctl(*words, ok=False)
            assert r.status != 0 and f"The records of job {jobs[0]} were removed on 20" in r.err and "its bill and totals remain" in r.err, (words, r)
        job_file = os.path.join(EXAMPLES, "cartpole.conf")
        replay = lambda job: bus.ctl("submit", job_file, *[f"--set={key}={value}" for key, value in small[:-1]], f"--set=Scaling.Policy=replay:{job}", ok=False)
        r = replay(jobs[0])
        assert r.status != 0 and f"The records of job {jobs[0]} were removed on 20" in r.err, r
        assert len(bus.ctl("rounds", jobs[1], "--json").json) > 20

        # The next jobs fill it again, and the second one makes room.
        while n_rows(bus, jobs[1]):
            jobs.append(bus.submit(overrides=small))
            equal(bus.ended(jobs[-1], 120), "finished", "result")
            wait_for("there is room", lambda: used(bus) <= limit, 60)
            assert len(jobs) < 8, (used(bus), limit)
        assert n_rows(bus, jobs[-1]) > 0
        totals = json.loads(bus.ctl("totals", "--json").out)
        equal([row["jobs"] for row in totals], [len(jobs)], "jobs in the totals")


@story("an ended job that KeepJobs= has forgotten is not listed, and its path still answers")
def forgotten():
    with Bus("KeepJobs=1\n") as bus:
        jobs = [bus.submit(overrides=SHORT) for _ in range(2)]
        wait_for("both end", lambda: [(row[0], row[2]) for row in bus.jobs()] == [(jobs[1], "ended")])
        equal(bus.get(jobs[0], "Result"), "finished", "the forgotten one")
        equal(bus.get(jobs[0], "Unit"), "", "its unit, which is gone")


def page(bus, after, most, **wishes):
    kinds = {"states": "as", "user": "u", "environment": "s", "tag": "s", "since": "t", "until": "t"}
    words = [w for k, v in wishes.items() for w in (k, kinds[k], *([len(v), *v] if kinds[k] == "as" else [v]))]
    return bus.call(MANAGER_PATH, MANAGER, "ListJobsFiltered", "a{sv}tu", len(wishes), *words, after, most)


def pages(bus, most, between=lambda: None, **wishes):
    found, after = [], 0
    while True:
        rows, after = page(bus, after, most, **wishes)
        assert len(rows) <= (most or 1000), len(rows)
        found += rows
        if not after:
            return found
        between()


@story("thousands of ended jobs are listed page by page, each once, also while jobs are submitted and end; none of them is an object")
def listing():
    with Bus("KeepJobs=50\n") as bus:
        first = bus.submit(overrides=SHORT)
        bus.ended(first)
        bus.stop()
        fill(bus, first, 2500)
        bus.start()
        running = bus.submit(overrides=ENDLESS)
        equal(objects(bus), [running], "objects")
        equal([row[0] for row in bus.jobs()], [*range(running - 50, running), running], "ListJobs")

        more = []

        def between():
            """One more job is submitted, and one ends."""
            if not more:
                bus.call(MANAGER_PATH, MANAGER, "StopJob", "t", running)
            if len(more) < 3:
                more.append(bus.submit(overrides=SHORT))
        for most in 400, 0:
            newest = max([running, *more])
            equal([row[0] for row in pages(bus, most, between)], list(range(newest, 0, -1)), f"pages of {most}")
        for job in more:
            bus.ended(job)
        rows = pages(bus, 0, user=2, states=["ended"])
        assert len(rows) == 833 and {(row[1], row[2]) for row in rows} == {(2, "ended")}, len(rows)
        equal(pages(bus, 0, user=77), [], "of a user without jobs")
        equal(pages(bus, 0, states=["queued", "running"]), [], "of none")
        equal(pages(bus, 0, environment="Pendulum-v1"), [], "of another environment")
        equal(len(pages(bus, 0, environment="CartPole-v1")), max(more), "of this one")
        old = page(bus, 2, 1)[0][0]
        equal(old[0], 1, "the oldest")
        equal([row[0] for row in pages(bus, 10, until=old[7] + 1)], list(range(2501, 0, -1)), "of that time")
        equal([row[0] for row in pages(bus, 10, since=old[7] + 1)], [*more[::-1], running], "after it")
        try:
            page(bus, 0, 1, states=["asleep"])
            raise AssertionError("a state that does not exist was taken")
        except BusError as e:
            assert "asleep" in e.text and "queued" in e.text, e.text

        equal(len(bus.ctl("list", "--json").json), 50, "list")
        equal([row["job"] for row in bus.ctl("list", "--json", "-n", "2").json], more[-2:], "the newest two")
        equal(len(bus.ctl("list", "--all", "--json").json), max(more), "list --all")
        equal(len(bus.ctl("list", "--owner=2", "--job-state=ended", "--json").json), 833, "list of an owner")
        equal(bus.ctl("list", "--since=1d", "--job-state=running", "--json").json, [], "list of running ones")
        r = bus.ctl("list", "--state=asleep", ok=False)
        assert r.status == 2 and "asleep" in r.err, r.err
        for since, n in (("2001-01-01", 1), ("2001-01-01 14:30", 1), ("2001-01-01 14:30:59", 1), ("2001-01", 1), ("2999-01-01 00:00", 0)):
            equal(len(bus.ctl("list", f"--since={since}", "-n1", "--json").json), n, f"jobs since {since}")
        r = bus.ctl("list", "--since=noon", ok=False)
        assert r.status == 2 and "--since=noon" in r.err, r.err


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
