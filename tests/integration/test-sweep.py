#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sweeps: successive halving with a budget gives the same result in one go, with one job at a time, and when it is interrupted and killed in the
middle."""
import csv, glob, json, os, signal, tempfile
import xml.etree.ElementTree as ElementTree
from story import EXAMPLES, ROOT, STATE, ctl, equal, run, story, tell, wait_for

TEXT = """
[Experiment]
Title=Small
Job={job}
Seeds=3

[Set]
Job.StopReturn=
Learner.Threads=1
Learner.LearningRateSchedule=constant
Billing.Clock=model
Billing.PriceSheet=aws-lambda-x86

[Sweep]
Method=halving
Trials=4
Eta=2
MinSteps=1024
MaxSteps=4096
Metric=return_last5
Budget={budget}

[Range]
Learner.LearningRate=log 1e-4 1e-2
Learner.Epochs=int 1 4
Learner.Activation=choice tanh relu
"""


def write(budget):
    path = os.path.join(tempfile.mkdtemp(dir=STATE), "small.exp")
    with open(path, "w") as f:
        f.write(TEXT.format(job=os.path.join(EXAMPLES, "cartpole.conf"), budget=budget))
    return path


def results(path, name="summary.json"):
    return os.path.join(path[:-len(".exp")] + ".results", name)


def summary(path):
    with open(results(path)) as f:
        return json.load(f)


def cells(path):
    return sorted(os.path.basename(x)[:-len(".json")] for x in glob.glob(results(path, "cells/*.json")))


_whole = []


def whole():
    """A sweep that ran in one go."""
    if not _whole:
        path = write("0.01USD")
        r = ctl("experiment", path)
        equal(r.status, 0, r.err)
        _whole.append((path, r.out))
    return _whole[0]


@story("half of the trials go on from each rung, and each cell is the job that run would run")
def halves():
    path, out = whole()
    found, trials = summary(path), {x["trial"]: x for x in summary(path)["trials"]}
    equal([x["rungs"] for x in found["trials"]], [3, 2, 1, 1])
    equal([x["stop_steps"] for x in found["trials"]], [4096, 2048, 1024, 1024])
    equal((found["best"], found["finished"], found["budget"]), (found["trials"][0]["trial"], True, 0.01))
    best = trials[found["best"]]
    with open(results(path, "cells.csv")) as f:
        rows = list(csv.DictReader(f))
    equal(len(rows), 7)
    last = next(x for x in rows if (x["arm"], x["rung"]) == (found["best"], "r3"))
    equal({key: last[key] for key in best["settings"]}, best["settings"])
    equal(float(last["return_last5"]), best["value"])
    alone = run("cartpole", "Job.StopReturn=", "Learner.Threads=1", "Learner.LearningRateSchedule=constant", "Job.StopSteps=4096",
                *(f"{key}={value}" for key, value in best["settings"].items()), seed=3)
    equal(last["policy_sha256"], alone.policy_sha256, "policies")
    ElementTree.parse(results(path, "sweep.svg"))
    text = open(results(path, "summary.md")).read()
    for key, value in best["settings"].items():
        assert f"{key}={value}" in out and f"--set {key}={value}" in text, (out, text)


@story("the summary follows its JSON Schema")
def described():
    try:
        import jsonschema
    except ImportError:
        from story import Skip
        raise Skip("python3-jsonschema is not installed")
    schema = json.load(open(os.path.join(ROOT, "packaging/schemas/actorctl.json")))
    jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/sweep"}).validate(summary(whole()[0]))


@story("Ctrl-C, a kill and one job at a time change nothing: the same command goes on to the same result")
def interrupted():
    path = write("0.01USD")

    def after(n, number):
        def send(p):
            wait_for(f"{n} cells", lambda: len(cells(path)) >= n, 60)
            p.send_signal(number)
        return send

    # A slow observer may find the sweep finished, each time.
    r = ctl("experiment", path, "--jobs=1", during=after(2, signal.SIGINT))
    kept = cells(path)
    equal((r.status, summary(path)["finished"]), (0, True) if len(kept) == 7 else (130, False))
    ctl("experiment", path, "--jobs=1", during=after(min(len(kept) + 2, 7), signal.SIGKILL))
    r = ctl("experiment", path, "--jobs=1")
    equal(r.status, 0, r.err)
    equal(summary(path), summary(whole()[0]))
    equal(cells(path), cells(whole()[0]))
    listed = ctl("experiment", path, "--dry-run").out
    equal(listed.count(" done"), 7, listed)


@story("a budget is never passed: trials that would go beyond it are not started, and that is said")
def paid():
    enough = summary(whole()[0])["cost"]
    path = write(f"{enough * 0.4:.9f}")
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    found = summary(path)
    assert 0 < found["cost"] <= enough * 0.4, (found, enough)
    n = [x["state"] for x in found["trials"]].count("not started")
    assert n > 0 and f"{n} trial" in r.out and "not started" in r.out, r.out
    # With more money the same file goes on from there.
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace(f"Budget={enough * 0.4:.9f}", "Budget=0.01USD"))
    equal(ctl("experiment", path).status, 0)
    equal(summary(path), summary(whole()[0]))


@story("a report shows the trials and the picture, for a browser and as text, and so it does of arms that are compared")
def reported():
    path, _ = whole()
    page = ctl("report", path)
    equal(page.status, 0, page.err)
    equal((page.out.count("<svg"), page.out.count("<tr>"), page.out.count("<script")), (1, 5, 0), page.out)
    text = ctl("report", path, "--md").out
    for trial in summary(path)["trials"]:
        row = next(line for line in text.splitlines() if line.startswith(f"| {trial['trial']} |"))
        assert all(value in row for value in trial["settings"].values()) and trial["state"] in row, row
    r = ctl("report", path, "r1")
    assert (r.status, r.out) == (2, "") and "name it alone" in r.err, r.err

    with open(path) as f:
        head = f.read().split("[Sweep]")[0]
    compared = os.path.join(os.path.dirname(path), "compared.exp")
    with open(compared, "w") as f:
        f.write(head + "Job.StopSteps=1024\n[Arm one]\n[Arm two]\nLearner.Epochs=2\n")
    equal(ctl("experiment", compared).status, 0)
    page = ctl("report", compared)
    assert page.status == 0 and page.out.count("<svg") >= 4 and "Training return, last 5 rounds" in page.out, page.err


@story("the example finds settings in seconds")
def example():
    results = tempfile.mkdtemp(dir=STATE)
    r = ctl("experiment", os.path.join(EXAMPLES, "experiments", "cartpole-sweep.exp"), f"--output={results}")
    equal(r.status, 0, r.err)
    with open(os.path.join(results, "summary.json")) as f:
        trials = json.load(f)["trials"]
    equal([x["rungs"] for x in trials], [3, 2, 2] + [1] * 6)
    # The longest of all, and better than any shorter one.
    assert trials[0]["value"] > 200 > trials[3]["value"], trials


tell()
