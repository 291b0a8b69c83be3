#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Metrics of episodes, from an environment's metrics() to every program that shows a round or an evaluation."""
import csv, json, os, re
from story import *

SOURCE = "tests/integration/metric-env.c"
JOB = """[Job]
Environment=%s
Algorithm=ppo
StopSteps=3072
Seed=3
[Scaling]
Actors=2
[Actor]
EnvsPerActor=2
RolloutSteps=64
[Learner]
HiddenLayers=8
[Evaluation]
Episodes=5
"""
ABI_1 = os.path.join(ROOT, "tests", "data", "abi-1")


def conf(so, name="measured.conf"):
    path = os.path.join(STATE, name)
    with open(path, "w") as f:
        f.write(JOB % so)
    return path


def train(*sets, **kw):
    return run(conf(shared_library(SOURCE)), *sets, **kw)


def rounds_of(r, *words):
    return json.loads(ctl("rounds", run_of(r), "--json", *words).out)


def run_of(r):
    return "r" + os.path.basename(r.state_directory)


@story("each round has the mean of each metric over the episodes that ended in it and have the figure, and evaluations theirs")
def means():
    path = os.path.join(STATE, "metrics")
    r = train()
    rows = rounds_of(r)
    assert len(rows) >= 12, rows
    for row in rows:
        equal(row["metric_sum"], row["return_round"], f"sum of rewards, round {row['round']}")
        equal(row["metric_length"], row["episode_steps"], f"steps, round {row['round']}")
        equal((row["metric_never"], row["evaluation_metric_never"]), (None, None), "a figure that no episode has")
        assert row["metric_if_positive"] in (1, None), row
        equal(row["evaluation_metric_sum"], row["evaluation_mean"], f"evaluation, round {row['round']}")
    assert any(row["metric_if_positive"] for row in rows), rows
    assert r.metrics["length"] and r.metrics["never"] is None, r.metrics
    equal(r.evaluation_metrics["sum"], rows[-1]["evaluation_mean"], "the newest evaluation")
    text = ctl("rounds", run_of(r)).out
    assert re.search(r" SUM +LENGTH +NEVER +IF_POSITIVE", text), text
    ctl("metrics", run_of(r), f"--metrics=csv:{path}.csv", f"--metrics=jsonl:{path}.jsonl", f"--metrics=tensorboard:{path}")
    equal([json.loads(line) for line in open(path + ".jsonl")], rows, "jsonl")
    equal([float(row["metric_sum"]) for row in csv.DictReader(open(path + ".csv"))], [row["metric_sum"] for row in rows], "csv")
    assert any(b"actord/metric_length" in open(os.path.join(path, f), "rb").read() for f in os.listdir(path)), "tensorboard"


@story("an evaluation of its own says them, and so do OpenMetrics and an environment's description")
def evaluated():
    r = train("Job.StopSteps=1024")
    again = ctl("eval", run_of(r), "--episodes", "7", "--json")
    equal(again.status, 0, again.err)
    close(json.loads(again.out)["metrics"]["sum"], json.loads(again.out)["return_mean"])
    words = ctl("eval", run_of(r), "--episodes", "7").out
    assert re.search(r"(?m)^  length \d", words) and "never" not in words, words
    text = ctl("metrics", run_of(r)).out
    for family, means in ("actord_job_metric", r.metrics), ("actord_job_evaluation_metric", r.evaluation_metrics):
        said = dict(re.findall(family + r'\{job="\d+",metric="(\w+)"\} (\S+)', text))
        equal({k: float(v) for k, v in said.items()}, {k: v for k, v in means.items() if v is not None}, family)
    shown = ctl("env", "show", shared_library(SOURCE)).out
    assert "metrics:      sum, length, never, if_positive" in shown, shown
    assert "latency_p99" in ctl("env", "show", "faas").out


@story("kills, processes and evaluations change no metric, and the policy does not depend on them")
def pure():
    # Also the actor that is asked for the spec, before a round begins.
    calm, killer = train(), Killer("actord-actor", low=0.001, high=0.02)
    r = train(during=killer)
    equal((r.policy_sha256, [row["metric_sum"] for row in rounds_of(r)]), (calm.policy_sha256, [row["metric_sum"] for row in rounds_of(calm)]),
          f"with {len(killer.killed)} kills")
    one = train("Actor.Processes=1")
    equal([row["metric_if_positive"] for row in rounds_of(one)], [row["metric_if_positive"] for row in rounds_of(calm)], "by one process")


@story("a metric beyond 32 bits, an error, impossible names and a missing function are refused with words, and the check finds what a snapshot lacks")
def refused():
    so = shared_library(SOURCE)
    for sets, want in [(("Environment.How=infinite",), "a number beyond 3.4e38 as metric 2"), (("Environment.How=error",), "error 5"),
                       (("Environment.How=infinite", "Evaluation.Episodes=0"), "a number beyond 3.4e38 as metric 2"),
                       (("Environment.How=huge", "Evaluation.Episodes=0"), "a number beyond 3.4e38 as metric 2"),
                       (("Environment.How=huge", "Evaluation.EveryRounds=1"), "a number beyond 3.4e38 as metric 2"),
                       (("Environment.How=many",), "n_metrics or metrics"), (("Environment.How=capital",), "n_metrics or metrics"),
                       (("Environment.How=twice",), "n_metrics or metrics")]:
        r = train(*sets, ok=False)
        assert r.status != 0 and want in r.err + r.out, (sets, r.status, r.err)
    cut = shared_library(SOURCE, "-DTABLE_BYTES=104", name="cut-metrics.so")
    r = run(conf(cut, "cut.conf"), ok=False)
    assert r.status != 0 and "no function metrics()" in r.err + r.out, r.err
    assert ctl("env", "check", so).status == 0, ctl("env", "check", so).out
    for how, finding in ("infinite", "number 1 of an episode's metrics is beyond 3.4e38"), ("huge", "is beyond 3.4e38"), ("forget", "differs from the original"):
        r = ctl("env", "check", so, "--set", "How=" + how)
        assert r.status == 1 and finding in r.out, (how, r.out)


@story("a plugin that was compiled for the ABI before metrics still loads, is checked, and learns the same policy")
def older():
    source = "examples/env-template/line.c"
    new, old = shared_library(source), shared_library(source, "-I", ABI_1, name="line-abi-1.so")
    equal(ctl("env", "check", old).status, 0, "the check of an old plugin")
    hashes = [run(conf(so, f"line-{i}.conf")).policy_sha256 for i, so in enumerate((new, old))]
    equal(hashes[0], hashes[1], "policies")


tell()
