#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that users freeze: they wait in the queue, cost nothing, and then go on and reach the same policy."""
from bus import *

WORKERS = "actord-invoker", "actord-learner", "actord-actor"


def call(bus, job, method):
    bus.call(f"/org/actord1/job/{job}", JOB, method)


def error_of(bus, job, method):
    try:
        call(bus, job, method)
    except BusError as e:
        return e.text
    raise AssertionError(f"{method} of job {job} was taken")


def frozen(bus, job):
    wait_for("the job is frozen", lambda: bus.state(job) == "frozen", 60)


def costs(bus, job):
    return [bus.get(job, name) for name in ("CostFull", "WallNSec", "EmulatedNSec", "EnvSteps", "Round")]


SHORTER = [*LONG[:1], ("Job.StopSteps", "480000"), LONG[2]]


def calm_policy():
    with Bus() as bus:
        job = bus.submit(overrides=SHORTER)
        assert bus.ended(job) == "finished"
        return bus.get(job, "PolicySHA256")


@story("a frozen job has no process and no costs, also after the daemon was killed; thawed it comes to the same policy, and each record counts once")
def same_policy():
    policy = calm_policy()
    with Bus() as bus:
        job = bus.submit(overrides=SHORTER)
        for n in 1, 2:
            wait_for("a round", lambda: bus.get(job, "Round") > 0 and bus.state(job) == "running")
            bus.ctl("freeze", job)
            frozen(bus, job)
            equal(bus.processes(*WORKERS), [], "processes")
            equal((bus.get(job, "Preempted"), bus.get(job, "Waiting")), (n, f"it is frozen: `actorctl thaw {job}` lets it go on"), "what is told")
            assert 0 <= time.time() - bus.get(job, "FrozenUSec") / 1e6 < 100 * PATIENCE, bus.get(job, "FrozenUSec")
            before = costs(bus, job)
            bus.stop(signal.SIGKILL)
            bus.start()
            time.sleep(0.5)
            equal((bus.state(job), bus.get(job, "Preempted"), bus.processes(*WORKERS)), ("frozen", n, []), "after a restart")
            equal(costs(bus, job)[0], before[0], "what it costs")
            bus.ctl("freeze", job)  # changes nothing
            bus.ctl("thaw", job)
        equal(bus.ended(job, 120), "finished", "result")
        other = bus.submit(overrides=ENDLESS)
        bus.ctl("thaw", other)  # that is not frozen
        bus.ctl("stop", other)
        equal((bus.get(job, "PolicySHA256"), bus.get(job, "FrozenUSec"), bus.get(job, "Life")), (policy, 0, 3), "the policy")
        check_ledger(bus, job)
        (currency, nano), = bus.ledger().execute("SELECT currency, full_nano FROM totals LIMIT 1").fetchall()
        assert currency == "USD" and nano >= round(bus.get(job, "CostFull") * 1e9) - 1, (nano, bus.get(job, "CostFull"))


@story("a daemon that is killed before the job is back in the queue freezes it when it is back")
def killed_while_freezing():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        wait_for("a round", lambda: bus.get(job, "Round") > 0)
        pids = bus.processes("actord-invoker")
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        call(bus, job, "Freeze")
        assert bus.get(job, "Waiting").startswith("it is being frozen"), bus.get(job, "Waiting")
        equal(bus.state(job), "running", "until its checkpoint is written")
        bus.stop(signal.SIGKILL)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        bus.start()
        frozen(bus, job)
        equal((bus.get(job, "Life"), bus.processes(*WORKERS)), (1, []), "its life")


@story("others pass a frozen job; lists, top and filters say frozen; it can be stopped, and keeps its bill")
def others_pass():
    with Bus("MaxJobs=1\n") as bus:
        first, second, third = (bus.submit(overrides=ENDLESS) for _ in range(3))
        wait_for("the first runs", lambda: bus.state(first) == "running" and bus.get(first, "Round") > 0)
        call(bus, second, "Freeze")  # in the queue
        equal((bus.state(second), bus.get(second, "Preempted")), ("frozen", 0), "a job that has not run")
        call(bus, first, "Freeze")
        frozen(bus, first)
        wait_for("the third runs", lambda: bus.state(third) == "running")
        equal([bus.state(job) for job in (first, second)], ["frozen"] * 2, "states")
        rows = {row["job"]: row["state"] for row in json.loads(bus.ctl("list", "--json").out)}
        equal([rows[job] for job in (first, second, third)], ["frozen", "frozen", "running"], "list")
        chosen = json.loads(bus.ctl("list", "--job-state=frozen", "--json").out)
        equal(sorted(row["job"] for row in chosen), [first, second], "a filter")
        equal(json.loads(bus.ctl("status", first, "--json").out)["state"], "frozen", "status")
        r = bus.ctl("top", first, "--once")
        assert f"job {first} is frozen, and has no processes now" in r.out + r.err, (r.out, r.err)
        assert re.search(rf'(?m)^actord_job_state\{{.*job="{first}".*="frozen"\}} 1$', bus.ctl("metrics", first).out), bus.ctl("metrics", first).out
        cost = bus.get(first, "CostFull")
        bus.ctl("stop", first)
        equal((bus.ended(first), bus.get(first, "CostFull"), bus.get(first, "FrozenUSec")), ("interrupted", cost, 0), "stopped")
        assert cost > 0, cost
        call(bus, second, "Thaw")
        equal(bus.state(second), "queued", "it waits for its turn again")


def give_lives(bus, job, n):
    """As if the job's only life had come after n - 1 others."""
    bus.stop()
    with sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite") as db:
        for table in "records", "statistics", "decisions", "checkpoints":
            db.execute(f"UPDATE {table} SET life = ? WHERE job = ?", (n, job))
        db.execute("UPDATE jobs SET life = ? WHERE id = ?", (n, job))
    db.close()
    bus.start()


@story("a job of more than four thousand lives is billed for all its work; one that may have no other life ends with its bill")
def many_lives():
    with Bus() as bus:
        for n, result in (5000, "finished"), (1 << 20, "failed"):
            job = bus.submit(overrides=SHORTER)
            wait_for("a round", lambda: bus.get(job, "Round") > 0 and bus.state(job) == "running")
            bus.ctl("freeze", job)
            frozen(bus, job)
            before, rounds = costs(bus, job), bus.get(job, "Round")
            give_lives(bus, job, n)
            equal(costs(bus, job), before, "what it costs")
            bus.ctl("thaw", job)
            equal(bus.ended(job, 120), result, "result")
            if result == "finished":
                equal(bus.get(job, "InvocationsTotal"), bus.get(job, "Round"), "invocations, those of the first life included")
                assert bus.get(job, "CostFull") > before[0], before
            else:
                assert "as many lives as a job may have" in bus.get(job, "Fault"), bus.get(job, "Fault")
                equal((costs(bus, job), bus.get(job, "Round")), (before, rounds), "the bill that it had")


def rename_table(bus, old, new):
    db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite", isolation_level=None, timeout=20)
    db.execute(f"ALTER TABLE {old} RENAME TO {new}")
    db.close()


@story("while a job's records cannot be read, its cost is unknown and not zero, and the reason is told")
def unreadable():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        wait_for("a round", lambda: bus.get(job, "Round") > 0 and bus.state(job) == "running")
        equal(bus.get(job, "RecordsFault"), "", "a job that runs")
        bus.ctl("freeze", job)
        frozen(bus, job)
        before = costs(bus, job)
        bus.stop()
        bus.start()
        rename_table(bus, "records", "away")
        status = bus.ctl("status", job, "--json").json
        equal((status["state"], status["cost_full"], status["cost_paper"], status["return_mean"]), ("frozen", None, None, None), "status --json")
        assert "its records cannot be read from the ledger" in status["records_fault"], status["records_fault"]
        assert re.search(r"figures: unknown: its\s+records", bus.ctl("status", job).out), bus.ctl("status", job).out
        equal([row["cost_full"] for row in bus.ctl("list", "--json").json], [None], "list --json")
        assert " unknown " in bus.ctl("list").out, bus.ctl("list").out
        rename_table(bus, "away", "records")
        equal((costs(bus, job), bus.get(job, "RecordsFault")), (before, ""), "when they can be read again")
        equal([row["cost_full"] for row in bus.ctl("list", "--json").json], before[:1], "list --json")


@story("RuntimeMaxSec= does not run while a job is frozen")
def runtime():
    with Bus() as bus:
        job = bus.submit(overrides=[*ENDLESS, ("Job.RuntimeMaxSec", "3")])
        wait_for("it runs", lambda: bus.state(job) == "running")
        call(bus, job, "Freeze")
        wait_for("it is frozen, or over", lambda: bus.state(job) in ("frozen", "ended"))
        if bus.state(job) == "ended":
            raise Skip("this machine took three seconds for a round")
        time.sleep(3.5)
        equal(bus.state(job), "frozen", "after its time")
        before = bus.get(job, "Round")
        call(bus, job, "Thaw")
        equal(bus.ended(job, 30), "runtime-exceeded", "result")
        assert bus.get(job, "Round") > before, "no time was left after it was frozen"


@story("an evaluation, and a job that has ended, cannot be frozen, and the sentence says why")
def refusals():
    with Bus("MaxJobs=1\n") as bus:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "512")])
        assert bus.ended(job) == "finished"
        for method in "Freeze", "Thaw":
            assert error_of(bus, job, method).endswith(f"Job {job} has ended already.\n"), error_of(bus, job, method)
        r = bus.ctl("freeze", job, 99, ok=False)
        equal((r.status, r.err), (2, f"actorctl: Job {job} has ended already.\nactorctl: There is no job 99.\n"), "actorctl")
        bus.submit(overrides=ENDLESS)
        verification = bus.submit(options=[("purpose", "s", "verify")])
        assert f"Job {verification} cannot be frozen: it does not train" in error_of(bus, verification, "Freeze"), error_of(bus, verification, "Freeze")


tell()
