#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The number of actors: each decision is recorded with its inputs, follows from them, and can be repeated."""
import csv
import glob
import resource
import shutil

from bus import *

ELASTIC = [("Job.StopReturn", ""), ("Job.StopSteps", "20000"), ("Scaling.Policy", "adapt"), ("Scaling.MinActors", "1"),
           ("Scaling.MaxActors", "6"), ("Scaling.TargetReturn", "60"), ("Billing.Clock", "model"), ("Actor.RolloutSteps", "64")]

LONG = 110000


def prolong(db, table, row, n, values):
    """The row again for each round after n, but for some values."""
    columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})")]
    db.execute(f"WITH RECURSIVE more(n) AS (SELECT {n + 1} UNION ALL SELECT n + 1 FROM more WHERE n < {LONG}) "
               f"INSERT OR REPLACE INTO {table} SELECT {', '.join(values.get(c, c) for c in columns)} "
               f"FROM {table}, more WHERE {row}")


@story("each decision with what the scheduler saw, on the bus, as a table, in the ledger; and whether it follows from that")
def decided():
    with Bus() as bus:
        job = bus.submit(overrides=ELASTIC)
        assert bus.ended(job) == "finished"
        n, rows, rounds = bus.get(job, "Round"), decisions(bus, job), series(bus, job)
        equal([d["round"] for d in rows], list(range(1, n + 1)), "rounds")
        equal([d["actors"] for d in rows], [r["actors"] for r in rounds], "actors decided and actors of the round")
        assert min(d["actors"] for d in rows) == 1 and max(d["actors"] for d in rows) > 3, rows
        assert rows[0]["return_round"] is None and rows[0]["round_s"] is None, rows[0]
        for before, d in zip(rounds, rows[1:]):
            for name in "return_round", "kl", "noise_scale":
                equal(d[name], before[name], name)
            equal(d["before_actors"], before["actors"], "actors of the round before")
            assert 0 < d["actor_mean_s"] <= d["actor_slowest_s"] <= d["round_s"] and d["learner_s"] > 0 and d["round_cost"] > 0, d
            assert d["budget_left"] is None, d
        equal(decisions(bus, job, 5, 3), rows[5:8], "a part")
        status, want = bus.ctl("status", job).out, bus.get(job, "ScalingPolicy")
        assert f"scheduler: {want}, {bus.get(job, 'ActorsMin')} to {bus.get(job, 'ActorsMax')} actors a round\n" in status, status
        lines = bus.ctl("decisions", job).out.splitlines()
        assert len(lines) == n + 3 and max(map(len, lines)) <= 80, lines
        equal(bus.ctl("decisions", job, "--json").json, rows, "JSON")
        assert bus.ctl("decisions", job, "--check").out == f"{n} decisions of job {job} follow from their inputs\n"

        bus.stop()
        with sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite") as db:
            assert db.execute("SELECT count(*) FROM decisions WHERE job = ?", (job,)).fetchone()[0] >= n
            db.execute("UPDATE decisions SET decided = decided + 1 WHERE job = ? AND round = 7", (job,))
            # Its list becomes longer than one answer of the daemon.
            last = db.execute("SELECT max(seq) FROM records WHERE job = ?", (job,)).fetchone()[0]
            prolong(db, "records", f"job = {job} AND kind = 6 AND round = {n}", n,
                    {"round": "n", "seq": f"{last} + n"})
            prolong(db, "decisions", f"job = {job} AND round = {n}", n, {"round": "n", "decided": "1 + n % 5"})
        db.close()
        bus.start()
        long = list(csv.DictReader(bus.ctl("decisions", job, "--csv").out.splitlines()))
        equal((len(long), long[-1]["round"]), (LONG, str(LONG)), "a list of several answers: its length and its last round")
        wrong = [d["round"] for k, d in enumerate(long[n:], n + 1) if (d["round"], d["actors"]) != (str(k), str(1 + k % 5))]
        equal(wrong, [], "rounds that are not as they were written")
        p = bus.ctl("decisions", job, "--check", ok=False)
        assert p.status == 1 and "round 7: " in p.err, p.err


@story("an elastic job is the same again, and is when its daemon is killed in the middle")
def elastic():
    with Bus() as bus:
        sets = [*ELASTIC, ("Job.StopSteps", "60000"), ("Checkpoint.IntervalSec", "0.3")]
        first, second = (bus.submit(overrides=sets) for _ in range(2))
        assert bus.ended(first) == "finished"
        wait_for("a round", lambda: bus.get(second, "Round") > 0)
        for _ in range(3):
            bus.stop(signal.SIGKILL)
            time.sleep(0.1)
            bus.start()
            time.sleep(0.3)
        assert bus.ended(second) == "finished"
        equal(bus.get(second, "PolicySHA256"), bus.get(first, "PolicySHA256"), "policies")
        mine = ["round", "actors", "decision", "life", "round_s", "return_round", "before_actors"]
        equal(*([[d[k] for k in mine] for d in decisions(bus, job)] for job in (second, first)), "decisions")
        equal(bus.call(f"/org/actord1/job/{second}", JOB, "CheckDecisions")[:2], [bus.get(second, "Round"), 0], "the check")
        check_ledger(bus, second)


@story("a job whose checkpoint is damaged begins anew and is the same, also when its daemon is killed before the next one")
def damaged():
    with Bus() as bus:
        sets = [*ELASTIC, ("Job.StopSteps", "900000"), ("Checkpoint.IntervalSec", "0.3")]
        first = bus.submit(overrides=sets)
        assert bus.ended(first) == "finished"
        second = bus.submit(overrides=sets)
        wait_for("a checkpoint", lambda: bus.ledger().execute("SELECT count(*) FROM checkpoints WHERE job = ?", (second,)).fetchone()[0])
        bus.stop(signal.SIGKILL)
        for path in glob.glob(f"{bus.dir}/state/actord/jobs/{second}/state/*.safetensors"):
            os.truncate(path, 100)
        for p in bus.processes("actord-invoker"):
            os.kill(p, signal.SIGKILL)
        bus.start()
        wait_for("rounds of a second life", lambda: bus.get(second, "Life") == 2 and bus.get(second, "Round") > 3)
        bus.stop(signal.SIGKILL)
        bus.start()
        assert bus.ended(second) == "finished", bus.get(second, "Fault")
        assert "all of its checkpoints are missing or damaged; the job begins anew" in open(bus.dir + "/log").read()
        equal(bus.get(second, "PolicySHA256"), bus.get(first, "PolicySHA256"), "policies")
        equal(*([(d["round"], d["actors"], d["return_round"]) for d in decisions(bus, job)] for job in (second, first)), "decisions")


@story("a life that cannot begin since the daemon has no descriptor left begins when it has one, and the policy is the same")
def starved():
    with Bus() as bus:
        sets = [*ELASTIC, ("Job.StopSteps", "180000"), ("Checkpoint.IntervalSec", "1000000")]
        first = bus.submit(overrides=sets)
        equal(bus.ended(first), "finished", "result")
        second = bus.submit(overrides=sets)
        # Each life without a checkpoint is followed by a longer pause.
        for life in 1, 2, 3, 4:
            wait_for("rounds", lambda: bus.get(second, "Life") == life and bus.state(second) == "running" and bus.get(second, "Round") > 1)
            os.kill(bus.processes("actord-invoker")[0], signal.SIGKILL)
        wait_for("the life is over", lambda: f"Job {second} goes on in life 5" in open(bus.dir + "/log").read())
        before = resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        wait_for("it cannot begin, or has begun", lambda: "is not available" in bus.get(second, "Fault") or bus.get(second, "Life") == 5)
        fault, state, life = bus.get(second, "Fault"), bus.state(second), bus.get(second, "Life")
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
        if life == 5:
            raise Skip("the next life began before the limit was set")
        equal((state, life), ("starting", 4), "state and life")
        assert "its checkpoint is not available: Too many open files" in fault and fault.endswith("; actord tries again"), fault
        equal((bus.ended(second), bus.get(second, "Life")), ("finished", 5), "result and life")
        equal(bus.get(second, "PolicySHA256"), bus.get(first, "PolicySHA256"), "policies")
        check_ledger(bus, second)


@story("a job whose newest checkpoint has one wrong bit goes on from the one before it, and is the same")
def older():
    with Bus() as bus:
        sets = [*ELASTIC, ("Job.StopSteps", "600000"), ("Checkpoint.IntervalSec", "0.05"), ("Checkpoint.Keep", "8")]
        first = bus.submit(overrides=sets)
        assert bus.ended(first) == "finished"
        second = bus.submit(overrides=sets)

        def rows():
            return bus.ledger().execute("SELECT round, name FROM checkpoints WHERE job = ? ORDER BY life, seq", (second,)).fetchall()
        wait_for("three checkpoints", lambda: len(rows()) >= 3)
        bus.stop(signal.SIGKILL)
        for p in bus.processes("actord-invoker"):
            os.kill(p, signal.SIGKILL)
        wait_for("its end", lambda: not bus.processes("actord-invoker"))
        *_, (kept, _), (_, missing), (_, wrong) = rows()
        folder = f"{bus.dir}/state/actord/jobs/{second}/state/"
        os.unlink(folder + missing)
        with open(folder + wrong, "r+b") as f:
            f.seek(-500, os.SEEK_END)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        bus.start()
        wait_for("rounds of a second life", lambda: bus.get(second, "Life") == 2 and bus.get(second, "Round") > kept + 1)
        bus.stop(signal.SIGKILL)
        bus.start()
        assert bus.ended(second) == "finished", bus.get(second, "Fault")
        log = open(bus.dir + "/log").read()
        for words in ("is damaged: its bytes are not those that were written; actord tries the one before it", "is missing; actord tries the one before it",
                      f"is missing or damaged; the job goes on from that of round {kept}."):
            assert words in log, words
        equal(bus.get(second, "PolicySHA256"), bus.get(first, "PolicySHA256"), "policies")
        equal(*([(d["round"], d["actors"], d["return_round"]) for d in decisions(bus, job)] for job in (second, first)), "decisions")
        ledger = bus.ledger()
        again, = ledger.execute("SELECT min(round) FROM records WHERE job = ? AND life = 2 AND kind = 6", (second,)).fetchone()
        equal(again, kept + 1, "the first round of the second life")
        counted = [r for r, in ledger.execute("SELECT round FROM rounds WHERE job = ? ORDER BY life, seq", (second,))]
        equal(counted, list(range(1, len(counted) + 1)), "rounds that count, each once")


@story("a job with the decisions of another one is that one again; permuted they are the same numbers; a file of them is as good as the job")
def replayed():
    with Bus() as bus:
        conf = bus.dir + "/job.conf"
        open(conf, "w").write(JOB_TEXT)
        sets = [("Job.StopReturn", ""), ("Job.StopSteps", "9000"), ("Scaling.MaxActors", "6"), ("Actor.RolloutSteps", "16"), ("Learner.MinibatchSize", "")]
        words = set_words(*(f"{k}={v}" for k, v in sets))
        job = bus.submit(overrides=[*sets, ("Scaling.Policy", "random")])
        assert bus.ended(job) == "finished"

        def submit(policy):
            again = int(bus.ctl("submit", conf, *words, "--set", f"Scaling.Policy={policy}").out)
            assert bus.ended(again) == "finished"
            return again
        again = submit(f"replay:{job}")
        equal(bus.get(again, "PolicySHA256"), bus.get(job, "PolicySHA256"), "policies")
        permuted = submit(f"permuted:{job}")
        counts, other = ([d["actors"] for d in decisions(bus, j)] for j in (job, permuted))
        assert counts[:len(other)] != other and not set(other) - set(counts), other

        open(bus.dir + "/decisions.json", "w").write(bus.ctl("decisions", again, "--json").out)
        p = bus.ctl("run", conf, "--json", *words, "--set", f"Scaling.Policy=replay:{bus.dir}/decisions.json")
        equal(p.policy_sha256, bus.get(job, "PolicySHA256"), "policies")

        for policy, sentence in (("replay:77", "no job"), ("replay:none.json", "none.json"), (f"replay:{conf}", "cannot be read")):
            p = bus.ctl("submit", conf, *words, "--set", f"Scaling.Policy={policy}", ok=False)
            assert p.status != 0 and sentence in p.err, (policy, p.err)
        p = bus.ctl("submit", conf, *words, "--set", "Scaling.MaxActors=5", "--set", f"Scaling.Policy=replay:{job}", ok=False)
        assert p.status == 2 and "had 6 actors, and this job allows 1 to 5" in p.err, p.err
        refused(bus, text=JOB_TEXT, overrides=[*sets, ("Scaling.Policy", f"replay:{job}")])


AUTO = [("Job.StopReturn", ""), ("Job.StopSteps", "20000"), ("Scaling.Policy", "auto"), ("Scaling.MaxActors", "12"), ("Scaling.TimePrice", "20"),
        ("Actor.RolloutSteps", "16"), ("Learner.ValueWeight", "0"),
        ("Billing.ColdStartSec", "0.03"), ("Billing.WarmStartSec", "0.02")]


@story("auto measures noise and moves; by a model's times it is the same again, by metered ones it is when its decisions are repeated")
def automatic():
    with Bus() as bus:
        conf = bus.dir + "/job.conf"
        open(conf, "w").write(JOB_TEXT)

        def submit(*more):
            sets = set_words(*(f"{k}={v}" for k, v in dict([*AUTO, *more]).items()))
            job = int(bus.ctl("submit", conf, *sets).out)
            assert bus.ended(job) == "finished", job
            return job
        model, again = submit(("Billing.Clock", "model")), submit(("Billing.Clock", "model"))
        rows = decisions(bus, model)
        assert rows[0]["actors"] == 1 and len({d["actors"] for d in rows}) > 1 and rows[1]["noise_scale"] is not None, rows
        equal([d["actors"] for d in decisions(bus, again)], [d["actors"] for d in rows], "actors")
        equal(bus.get(again, "PolicySHA256"), bus.get(model, "PolicySHA256"), "policies")

        metered = submit(("Billing.Clock", "metered"))
        assert len({d["actors"] for d in decisions(bus, metered)}) > 1, decisions(bus, metered)
        equal(bus.call(f"/org/actord1/job/{metered}", JOB, "CheckDecisions")[1], 0, "decisions that do not follow")
        replayed = submit(("Billing.Clock", "metered"), ("Scaling.Policy", f"replay:{metered}"))
        equal([d["actors"] for d in decisions(bus, replayed)], [d["actors"] for d in decisions(bus, metered)], "actors")
        equal(bus.get(replayed, "PolicySHA256"), bus.get(metered, "PolicySHA256"), "policies")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
