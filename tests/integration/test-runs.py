#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs of `actorctl run` are listed, and verbs take their names as they take jobs'; every name without a job or run is refused in the same way."""
import fcntl, json, os, re, signal, time
from bus import *
from story import CTL, EXAMPLES, STATE, ctl, descendants, environment, equal, run, set_words, story, tell, wait_for

SHORT = ["Job.StopReturn=", "Job.StopSteps=2000"]
CARTPOLE = os.path.join(EXAMPLES, "cartpole.conf")


def rows(*words):
    return {row["run"]: row for row in ctl("runs", *words, "--json").json}


def run_name(r):
    return "r" + os.path.basename(r.state_directory)


@story("runs are listed with their job file, how they ended, return, steps, cost and age; one that goes on, and one that was killed, too")
def listed():
    first = run("cartpole", *SHORT)
    seen = {}

    def look_and_kill(p):
        wait_for("a round of the run that goes on", lambda: [seen.update(row) for row in rows().values() if row["state"] == "running" and row["rounds"] > 0])
        os.kill(descendants(p.pid, "actord")[0], signal.SIGKILL)

    run("hopper", during=look_and_kill, ok=False)
    found = rows()
    row = found[run_name(first)]
    equal({k: row[k] for k in ("state", "result", "job_file", "environment", "algorithm", "env_steps", "rounds", "return_mean", "cost_full", "currency", "state_directory")},
          {"state": "ended", "result": "finished", "job_file": CARTPOLE, "environment": "CartPole-v1", "algorithm": "ppo", "env_steps": first.env_steps,
           "rounds": first.rounds, "return_mean": first.return_mean, "cost_full": first.cost["full"], "currency": "USD", "state_directory": first.state_directory}, "its row")
    assert 0 <= row["age_s"] < 600 and row["ended_usec"] > row["submitted_usec"], row
    equal((seen["environment"], seen["ended_usec"], seen["result"]), ("Hopper-v4", None, None), "the one that went on")
    equal((found[seen["run"]]["state"], list(found)[-1]), ("left", seen["run"]), "the one that was killed")
    equal(list(rows("-n1")), [seen["run"]], "the newest")
    text = ctl("runs").out
    assert re.search(rf"(?m)^{run_name(first)} +finished +cartpole\.conf +CartPole-v1 +ppo .*2,0\d\d +0\.\d+ USD +\d+ s$", text), text
    equal(ctl("recover", seen["run"]).status, 0, "recover")
    after = rows()[seen["run"]]
    equal((after["state"], after["job_file"]), ("ended", seen["job_file"]), "the one that was recovered")
    assert after["ended_usec"] and after["rounds"] > 0, after


@story("a run whose actorctl was killed has ended as cleanly, and the list says so")
def actorctl_killed():
    def kill(p):
        wait_for("a round", lambda: any(row["state"] == "running" and row["rounds"] > 0 for row in rows().values()))
        p.kill()

    run("hopper", during=kill, ok=False)
    newest = list(rows())[-1]
    wait_for("the end of the run", lambda: rows()[newest]["state"] == "ended")
    equal(rows()[newest]["result"], "interrupted", "how it ended")


@story("a run has its number although a list of runs holds its new directory before it does")
def new_directory():
    def look(p):
        place = os.path.join(STATE, "actord", "runs")
        before = set(os.listdir(place))
        new, = wait_for("its directory", lambda: set(os.listdir(place)) - before)
        fd = os.open(os.path.join(place, new), os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_SH)
        time.sleep(0.6)
        os.close(fd)

    r = ctl("run", CARTPOLE, *set_words(*SHORT), during=look,
            env=dict(environment(), LD_PRELOAD=shared_library("tests/integration/slow-mkdir.c", "-ldl")))
    assert r.status == 0 and re.search(r"(?m)^run r\d+: CartPole", r.err), r.err


@story("a run in which no episode has ended shows the mean of its newest evaluation")
def evaluated():
    r = run("pendulum-sac", "Job.StopSteps=150", "Evaluation.Episodes=2", "Evaluation.EveryRounds=5")
    row = rows()[run_name(r)]
    equal((r.return_mean, row["return_mean"], row["evaluation_mean"]), (None, None, r.evaluation_mean), "means")
    text = ctl("runs").out
    assert re.search(rf"(?m)^{run_name(r)} .* {r.evaluation_mean:.2f} +150 ", text), text


@story("a run without a note, as an older actorctl left it, is read from its ledger; a note that is no note changes nothing")
def older():
    r = run("cartpole", *SHORT)
    note = os.path.join(r.state_directory, "run.json")
    before = rows()[run_name(r)]
    os.unlink(note)
    for text in None, "", "[]", '{"state": 7, "rounds": "x", "cost": []}':
        if text is not None:
            open(note, "w").write(text)
        after = rows()[run_name(r)]
        if text is None:
            equal({**after, "age_s": 0}, {**before, "job_file": None, "age_s": 0}, "without a note")
        assert after["run"] == before["run"], after


@story("each verb that shows a job takes a run; a bare number, of a run or of no job at all, is refused with 2 and a hint")
def names():
    r = run("cartpole", *SHORT)
    name, number = run_name(r), run_name(r)[1:]
    fields = lambda *words: ctl(*words, "--json").json
    equal(fields("graph", name)["policy"], "single-learner-coarse", "graph of a run")
    equal(fields("graph", name, "--set", "Distribution.Policy=fused")["policy"], "fused", "graph of a run, another policy")
    for wrong in "Foo=1", "Foo=1.5", ".Foo=1", "Foo.=1":
        p = ctl("graph", name, "--set", wrong)
        assert p.status == 2 and f"--set {wrong}: a section is missing: write Section.Key=VALUE" in p.err, (wrong, p.err)
    for words in ("status", name), ("bill", name), ("rounds", name), ("decisions", name), ("show", name), ("cat", name), ("eval", name, "--episodes=1"):
        equal(ctl(*words).status, 0, words)
    first = ctl("bill", name, "--format=focus").out.splitlines()[1].split(",")
    assert f"{os.uname().nodename}/{os.geteuid()}/{name}" in first and f"run {name}" in first, first
    with Bus() as bus:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "2000")])
        bus.ended(job)
        equal(json.loads(bus.ctl("graph", job, "--json").out)["policy"], "single-learner-coarse", "graph of a job")
        os.makedirs(f"{bus.dir}/state/actord/runs/77", exist_ok=True)
        for verb in "status", "bill", "rounds", "decisions", "show", "cat", "graph", "eval", "export", "watch":
            p = bus.ctl(verb, 77, ok=False)
            equal((p.status, p.out), (2, ""), (verb, p.err))
            assert "There is no job 77" in p.err and "write r77" in p.err, (verb, p.err)
        for words in (["stop", 78], ["remove", 78], ["bill", job, "--prices=nix"], ["price", "show", "nix"], ["submit", CARTPOLE, "--from=78"],
                      ["list", "--owner=no-such-user"], ["quota", "no-such-user"], ["scheduler", "show", "nix"], ["env", "show", "nix"], ["help", "nix"]):
            p = bus.ctl(*words, ok=False)
            equal((p.status, p.out), (2, ""), (words, p.err))
    for words in (["bill", "r77777"], ["run", CARTPOLE, "--from=r77777"], ["recover", "r77777"], ["bill", name, "--prices=nix"]):
        p = ctl(*words)
        equal((p.status, p.out), (2, ""), (words, p.err))


@story("a fault that a job recovered from is told as that, and not as a failure; a run that has nothing left to train says so")
def recovered():
    def note():
        row, = (row for row in rows().values() if row["state"] == "running")
        return json.load(open(os.path.join(row["state_directory"], "run.json")))

    # The job does not end by itself: the kill of an actor that is no longer needed would have no effect.
    def kill_actors(p):
        wait_for("a round", lambda: any(row["state"] == "running" and row["rounds"] > 0 for row in rows().values()))
        while p.poll() is None and "killed" not in note()["fault"]:
            for pid in descendants(p.pid, "actord-actor")[:1]:
                os.kill(pid, signal.SIGKILL)
            time.sleep(2)  # the note is written each second
        p.send_signal(signal.SIGINT)

    r = run("cartpole", "Job.StopReturn=", "Job.StopSteps=1000000000", during=kill_actors, ok=False)
    equal((r.state, r.fault, r.status), ("interrupted", None, 130), "the run")
    assert "killed" in r.recovered, r.recovered
    # an actor may be killed while it waits
    assert r.recovered.startswith("1 invocation was repeated; ") == (r.invocations["retried"] == 1), (r.recovered, r.invocations)
    said = ctl("status", run_name(r)).out
    assert "recovered: " in said and "killed" in said and "fault:" not in said and "reason:" not in said, said
    assert "not enforced:" not in said, said
    done = run("cartpole")
    again = ctl("run", CARTPOLE, "--from=" + run_name(done))
    assert again.status == 0 and again.out.startswith("CartPole-v1: nothing was left to train: "), again.out
    assert "0 rounds" not in again.out, again.out


@story("list tells progress, return, cost and age, chooses by state, and sorts by any column")
def list_columns():
    with Bus() as bus:
        short = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "4000")])
        equal(bus.ended(short), "finished", "the short one")
        long = bus.submit(overrides=ENDLESS)
        wait_for("rounds", lambda: bus.get(long, "Round") > 0)
        listed = lambda *words: [row["job"] for row in bus.ctl("list", *words, "--json").json]
        a, b = bus.ctl("list", "--json").json
        equal((a["job"], a["progress"], a["env_steps"], a["cost_full"], a["currency"], a["result"], a["tag"]),
              (short, 1, bus.get(short, "EnvSteps"), bus.get(short, "CostFull"), "USD", "finished", None), "one that has ended")
        assert b["job"] == long and 0 < b["progress"] < 0.01 and b["result"] is None and b["ended_usec"] is None and b["age_s"] < 600, b
        text = bus.ctl("list").out
        assert re.search(r"(?m)^JOB .* DONE RETURN +STEPS +COST +AGE DESCRIPTION$", text) and re.search(r" 100 % .* 4,096 +0\.\d+ USD +\d+ s ", text), text
        equal((listed("--job-state=running"), listed("--job-state=ended"), listed("--state=ended")), ([long], [short], [short]), "by state")
        equal((listed("--sort=progress"), listed("--sort=age"), listed("--sort=job"), listed("-n1")), ([long, short], [long, short], [short, long], [long]), "sorted")
        r = bus.ctl("list", "--sort=size", ok=False)
        assert r.status == 2 and "--sort=size: it must be one of job, user," in r.err, r.err


@story("top tells what jobs use now, and the processes of one; what cannot be metered is null")
def top():
    with Bus() as bus:
        job = bus.submit(overrides=[*ENDLESS, ("Scaling.Actors", "2")])
        wait_for("rounds", lambda: bus.get(job, "Round") > 3)
        row, = bus.ctl("top", "--json").json
        equal((row["job"], row["environment"], row["state"], row["currency"], row["actors"]), (job, "CartPole-v1", "running", "USD", 2), "its row")
        assert row["env_steps_per_s"] > 0 and row["cost_per_hour"] > 0, row
        parts = bus.ctl("top", job, "--json").json
        if bus.get(job, "ControlGroup"):
            assert 0 < row["cpu_cores"] < 64 and row["memory_bytes"] > 1 << 20, row
            equal(sorted(p["part"] for p in parts), ["actor-0", "actor-1", "invoker", "learner"], "parts")
            assert all(p["memory_bytes"] > 0 and p["pid"] > 1 for p in parts), parts
        else:
            equal((row["cpu_cores"], row["memory_bytes"], parts), (None, None, []), "without a cgroup")
            r = bus.ctl("top", job)
            assert f"job {job} has no cgroup, so the usage of its processes is unknown" in r.err, r.err
        ended = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "2000")])
        bus.ended(ended)
        r = bus.ctl("top", ended, "--json")
        assert r.json == [] and f"job {ended} has ended (finished)" in r.err, (r.out, r.err)
        text = bus.ctl("top", "--once").out
        assert re.search(r"(?m)^JOB USER .*CPU +MEMORY +STEPS/S +COST/H +ACTORS$", text) and "2 of 2" in text, text
        r = bus.ctl("top", "--sort=size", ok=False)
        assert r.status == 2 and "--sort=size: it must be one of cpu, memory" in r.err, r.err


tell()
