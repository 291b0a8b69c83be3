#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of every verb with --json follows packaging/schemas/actorctl.json, with one way of naming."""
from bus import *
from schema import *

FILE = os.path.join(EXAMPLES, "cartpole.conf")
SHORT = ("--set", "Job.StopReturn=", "--set", "Job.StopSteps=512")
PARTS = {"time_usec", "cost", "bill_lines", "bill_of_job", "scheduler_training", "profile", "metrics", "space", "numbers",  # of other definitions
         "sweep"}  # a file, which test-sweep.py reads
checked, verbs_checked = set(), set()
played = []  # the stories that ran to their ends


def is_valid(name, text, verb):
    value = follows(name, json.loads(text))
    assert isinstance(value, list) or name == "cell" or value["schema"] == 1, value
    checked.add(name)
    verbs_checked.add(verb)
    return value


def says(name, *words, ctl=ctl, status=0):
    r = ctl(*words, "--json=short")
    equal(r.status, status, f"{words}: {r.err}")
    return is_valid(name, r.out, words[0])


@story("runs, checkpoints and what needs no job")
def of_runs():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    run = says("run", "run", FILE, *SHORT, "--set", "Billing.PriceSheet=local", "--profile")
    assert run["fault"] is None and run["target_env_steps"] is None, run
    refused = says("run", "run", FILE, "--set", "Scaling.Actors=0", status=2)
    assert set(refused) == {"state", "result", "fault", "schema"}, refused
    name = "r" + os.path.basename(run["state_directory"])
    for verb in "status", "bill", "show", "rounds", "decisions":
        says(verb, verb, name)
    says("bill_beside", "bill", name, "--beside")
    other = says("bill", "bill", name, "--prices=aws-lambda-x86")
    assert other["own"]["price_sheet"] == "local" and other["learner_second"] > 0, other
    assert any(row["run"] == name for row in says("runs", "runs"))
    says("eval", "eval", name, "--episodes=2")
    with tempfile.TemporaryDirectory() as d:
        says("starts", "eval", name, "--state=0,0,0,0", "--steps=2")
        says("recording", "eval", name, f"--gif={d}/a.gif")
    says("status", "verify", FILE)
    for words in [FILE], [FILE, "--policy=central"], [FILE, "--policy=auto"]:
        says("graph", "graph", *words)
    says("calibrate", "calibrate", FILE)
    played.append("runs")


@story("environments, price sheets and trained schedulers")
def of_the_host():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    names = [row["environment"] for row in says("env_list", "env", "list") if row["installed"]]
    for name in names:
        says("env_show", "env", "show", name)
    says("env_check", "env", "check", "CartPole-v1")
    says("env_bench", "env", "bench", "CartPole-v1", "--steps", "2000")
    for row in says("keys", "keys"):
        equal(says("keys", "keys", row["key"]), [row], "one key")
    for row in says("price_list", "price", "list"):
        says("price_show", "price", "show", row["name"])
    for row in says("scheduler_list", "scheduler", "list"):
        says("scheduler", "scheduler", "show", row["name"])
    played.append("host")


def lines(*words):
    return json.dumps([json.loads(line) for line in ctl(*words).out.splitlines()])


@story("lines of rollouts, of one agent and of several; the training of a scheduler; the cells of an experiment")
def of_files():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    for environment, *more in ["CartPole-v1"], ["faas", "--set", "Agents=2"], ["Pendulum-v1", "--states"], ["Catch-v0", "--states"]:
        rows = is_valid("rollout", lines("env", "rollout", environment, "--steps=12", *more), "env")
        assert "episode" in rows[0] and sum("step" in row for row in rows) == 12, rows
    says("scheduler", "scheduler", "train", FILE, "--name=tried", "--episodes=2", "--rounds=3")
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/x.exp", "w") as f:
            f.write(f"[Experiment]\nJob={FILE}\nSeeds=1\nPrices=local\n[Set]\nJob.StopSteps=512\nJob.StopReturn=\n[Arm a]\n"
                    "[Factor rate]\nlow=Learner.LearningRate=0.001\nhigh=Learner.LearningRate=0.01\n")
        equal(ctl("experiment", d + "/x.exp").status, 0, "experiment")
        cells = [open(path.path).read() for path in os.scandir(d + "/x.results/cells")]
        equal(len(cells), 2, "cells")
        for text in cells:
            cell = is_valid("cell", text, "experiment")
            is_valid("run", json.dumps({**cell["result"], "schema": 1}), "experiment")
            assert cell["bills"]["local"] and len(cell["rounds"]["round"]) == cell["result"]["rounds"], cell
    played.append("files")


@story("the daemon and its jobs, in each state")
def of_the_daemon():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    with Bus("MaxJobs=1\n") as bus:
        here = {"ctl": lambda *words: bus.ctl(*words)}
        says("daemon", "status", **here)
        says("totals", "totals", **here)
        equal(says("bill_sums", "bill", **here), [], "no job yet")
        ended = says("submit", "submit", FILE, *SHORT, **here)["job"]
        bus.ended(ended)
        running, frozen, queued = (bus.submit(overrides=ENDLESS) for _ in range(3))
        bus.ctl("freeze", frozen)
        wait_for("a round", lambda: bus.get(running, "Round") > 0)
        states = [says("status", "status", job, **here)["state"] for job in (ended, running, frozen, queued)]
        equal(states, ["ended", "running", "frozen", "queued"], "states")
        equal([row["state"] for row in says("list", "list", **here)], states, "list")
        says("top", "top", **here)
        says("top_of_job", "top", running, **here)
        says("quota", "quota", **here)
        equal([row["jobs"] for row in says("totals", "totals", **here)], [1], "totals")
        says("bill_sums", "bill", "--by=owner,tag,month,job", **here)
        for verb in "bill", "show", "rounds", "decisions":
            for job in ended, running, frozen:
                says(verb, verb, job, **here)
        bus.ctl("stop", running, queued)
        says("run", "submit", FILE, *SHORT, "--wait", **here)
        with tempfile.TemporaryDirectory() as d:
            bus.ctl("metrics", ended, f"--metrics=jsonl:{d}/rounds.jsonl")
            rows = [json.loads(line) for line in open(f"{d}/rounds.jsonl")]
            assert is_valid("rounds", json.dumps(rows), "rounds"), "rows"
    played.append("daemon")


@story("names are in snake_case with units at their ends, every definition is tried, and so is every verb that prints JSON")
def complete():
    for name, definition in SCHEMA["$defs"].items():
        stack = [definition]
        while stack:
            part = stack.pop()
            for key, inner in part.get("properties", {}).items():
                assert re.fullmatch("[a-z][a-z0-9_]*", key), (name, key)
                assert not re.search("(nsec|msec|_sec|_ms|_us|_gb|_mb)$", key), (name, key)
                stack.append(inner)
            stack += [p for p in (part.get("items"), *part.get("anyOf", [])) if isinstance(p, dict)]
    if played != ["runs", "host", "files", "daemon"]:
        raise Skip("not every story before this one was played")
    equal(set(SCHEMA["$defs"]) - PARTS - checked, set(), "definitions that nothing prints")
    verbs = re.findall(r"(?m)^  (\w+) ", ctl("--help").out)
    printing = {verb for verb in verbs if "--json" in ctl(verb, "--help").out}
    equal(printing - verbs_checked, set(), "verbs whose JSON is not tried")
    assert len(printing) > 15, printing


tell()
