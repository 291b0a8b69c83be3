#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rounds as files for other tools: the tool itself reads each file back."""
import csv, glob

from bus import *
from tools import foreign

SETS = ["Job.StopReturn=", "Job.StopSteps=4000"]
TENSORBOARD = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]).Reload()
print(json.dumps({tag: [[e.step, e.value, e.wall_time] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
"""
OPENMETRICS = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
print(json.dumps([[f.name, f.type, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] for f in families]))
"""
# The module alone: the package imports PyTorch.
MONITOR = """
import importlib, json, os, sys, sysconfig, types
for name in "stable_baselines3", "stable_baselines3.common":
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(sysconfig.get_path("purelib"), *name.split("."))]
table = importlib.import_module("stable_baselines3.common.monitor").load_results(sys.argv[1])
print(json.dumps({name: table[name].tolist() for name in "rlt"}))
"""
CLEANRL = {"charts/episodic_return": "return_round", "charts/episodic_length": "episode_steps", "charts/learning_rate": "learning_rate",
           "losses/policy_loss": "loss_policy", "losses/value_loss": "loss_value", "losses/entropy": "entropy", "losses/approx_kl": "kl",
           "losses/clipfrac": "clip_fraction", "losses/explained_variance": "explained_variance", "actord/cost_full": "cost_full"}


def path(name):
    return os.path.join(STATE, name)


def conf(name, **keys):
    """CartPole's example with more keys of [Job]."""
    text = open(os.path.join(EXAMPLES, "cartpole.conf")).read()
    extra = "".join(f"{k}={v}\n" for k, v in keys.items())
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    open(path(name), "w").write(text.replace("[Job]\n", "[Job]\n" + extra, 1))
    return path(name)


def put(name, text):
    open(path(name), "w").write(text)


def train(*words, file=None, ok=True):
    sets = set_words(*SETS)
    r = ctl("run", file or os.path.join(EXAMPLES, "cartpole.conf"), *sets, *words)
    assert not ok or r.status == 0, r.err
    return r


def rounds(run):
    """The ledger's rows, with None for what was not measured."""
    return ctl("rounds", run, "--json").json


def run_name(r):
    return re.search(r"`actorctl status (r\d+)`", r.out)[1]


@story("csv and jsonl have each round of the ledger with every column, as they come and afterwards alike")
def rows():
    r = train(f"--metrics=csv:{path('a.csv')}", f"--metrics=jsonl:{path('a.jsonl')}")
    want = rounds(run_name(r))
    assert len(want) > 10
    lines = [json.loads(line) for line in open(path("a.jsonl"))]
    equal(lines, want, "jsonl")
    table = list(csv.DictReader(open(path("a.csv"))))
    equal([{k: float(v) if v else None for k, v in row.items()} for row in table], want, "csv")
    equal(open(path("a.csv")).read(), ctl("rounds", run_name(r), "--csv").out, "csv beside rounds --csv")
    r = ctl("metrics", run_name(r), f"--metrics=csv:{path('b.csv')}")
    equal(r.status, 0, "status")
    equal(open(path("b.csv")).read(), open(path("a.csv")).read(), "what was written afterwards")


@story("TensorBoard reads the event files, under the names that CleanRL gives its scalars; scalars: has the same figures in lines of JSON")
def tensorboard():
    r = train(f"--metrics=tensorboard:{path('tb/of/cartpole')}", f"--metrics=scalars:{path('scalars.jsonl')}")
    equal(len(glob.glob(path("tb/of/cartpole/events.out.tfevents.*"))), 1, "event files")
    want, got = rounds(run_name(r)), foreign(TENSORBOARD, path("tb/of/cartpole"))
    for tag, column in CLEANRL.items():
        measured = [row for row in want if row[column] is not None]
        equal([step for step, _, _ in got[tag]], [row["env_steps"] for row in measured], f"steps of {tag}")
        assert all(abs(value - row[column]) <= 1e-6 * abs(row[column]) for (_, value, _), row in zip(got[tag], measured)), tag
    last = got["charts/SPS"][-1]
    assert abs(last[1] - want[-1]["env_steps"] / want[-1]["wall_s"]) < 1e-3 * last[1], last
    assert abs(last[2] - time.time()) < 600 * PATIENCE, last
    lines = [json.loads(line) for line in open(path("scalars.jsonl"))]
    equal({tag for line in lines for tag in line} - {"step", "time"}, set(got), "names")
    for tag, points in got.items():
        of_line = [(line["step"], line[tag], line["time"]) for line in lines if tag in line]
        equal([(step, time) for step, _, time in of_line], [(step, time) for step, _, time in points], tag)
        assert all(abs(a[1] - b[1]) <= 1e-6 * abs(a[1]) for a, b in zip(of_line, points)), tag


@story("load_results() of Stable-Baselines3 reads monitor.csv: a line for each episode, in order, and lengths that add up")
def monitor():
    os.makedirs(path("sb3"))
    r = train(f"--metrics=monitor:{path('sb3/0.monitor.csv')}")
    want = rounds(run_name(r))
    with open(path("sb3/0.monitor.csv")) as f:
        header = json.loads(f.readline()[1:])
    equal((set(header), header["env_id"]), ({"t_start", "env_id"}, "CartPole-v1"), "header")
    table = foreign(MONITOR, path("sb3"))
    equal(len(table["l"]), want[-1]["episodes"], "lines")
    equal(sum(table["l"]), want[-1]["env_steps"], "steps")
    # It adds the time of the header, subtracts it again, and sorts by what is left.
    assert table["t"] == sorted(table["t"]) and table["t"][-1] <= want[-1]["wall_s"] + 1e-5, table["t"][-3:]
    ended = [row["return_round"] for i, row in enumerate(want) for _ in range(row["episodes"] - (want[i - 1]["episodes"] if i else 0))]
    equal(len(table["r"]), len(ended), "returns")
    assert all(abs(a - b) < 1e-9 * b for a, b in zip(sorted(table["r"]), sorted(ended))), (sorted(table["r"]), sorted(ended))


@story("a full disk and a pipe whose reader leaves end the file with one warning, and not the job")
def broken():
    want = train("--json").policy_sha256
    r = train("--json", "--metrics=csv:/dev/full", f"--metrics=jsonl:{path('c.jsonl')}")
    equal(r.policy_sha256, want, "policy")
    equal(r.err.count("are not written to /dev/full any more"), 1, r.err)
    assert all(json.loads(line) for line in open(path("c.jsonl")))
    os.mkfifo(path("pipe"))
    reader = os.open(path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", "--set", "Job.StopReturn=", "--set", "Job.StopSteps=240000",
            f"--metrics=csv:{path('pipe')}", during=lambda p: leave(reader))
    equal(r.status, 0, r.err)
    equal(r.err.count("are not written to"), 1, r.err)


    slow = path("slow")
    os.mkfifo(slow)
    long = train("--quiet", "--json", "--set", "Job.StopSteps=120000")
    reader = os.open(slow, os.O_RDONLY | os.O_NONBLOCK)
    r = ctl("metrics", long.state_directory, f"--metrics=csv:{slow}", during=lambda p: sip(reader, p))
    assert r.status == 1 and "the program that reads it is too slow" in r.err and r.seconds < 12 * PATIENCE, (r.status, r.err, r.seconds)


def sip(reader, p):
    """Reads some bytes from a pipe now and then, so that a few always fit soon."""
    while p.poll() is None:
        try:
            os.read(reader, 4096)
        except BlockingIOError:
            pass
        time.sleep(0.5)
    os.close(reader)


def leave(reader):
    """Closes a pipe at the first bytes that come."""
    while True:
        try:
            if os.read(reader, 1):
                break
        except BlockingIOError:
            pass
        time.sleep(0.01)
    os.close(reader)


@story("a path or a format that cannot be is refused before the job begins, with what to write")
def refused():
    for word, reason in (("parquet:x", "it must be csv:FILE, jsonl:FILE, scalars:FILE, tensorboard:DIR or monitor:FILE"), ("csv:", "it must be csv:FILE"),
                         (f"csv:{path('none/x.csv')}", "No such file or directory"), (f"tensorboard:{__file__}", "Not a directory")):
        r = train(f"--metrics={word}", ok=False)
        equal(r.status, 2, r.err)
        assert reason in r.err and "job 1" not in r.err, r.err
    r = train(f"--metrics=csv:{path('x')}", f"--metrics=jsonl:{path('x')}", ok=False)
    assert r.status == 2 and "named twice" in r.err, r.err
    put("one.csv", "old\n")
    os.link(path("one.csv"), path("other.csv"))
    r = train(f"--metrics=csv:{path('one.csv')}", f"--metrics=jsonl:{path('other.csv')}", ok=False)
    assert r.status == 2 and "named twice" in r.err, r.err
    train(f"--metrics=csv:{path('one.csv')}", f"--metrics=csv:{path('new.csv')}", f"--metrics=tensorboard:{path('new')}",
          f"--metrics=csv:{path('none/x.csv')}", ok=False)
    r = train(f"--metrics=csv:{path('one.csv')}", "--set", "Job.Environment=Nowhere-v1", ok=False)
    assert r.status == 2 and "Nowhere-v1" in r.err, r.err
    equal(open(path("one.csv")).read(), "old\n", "a file that nothing was written to")
    equal([os.path.exists(path("x")), os.path.exists(path("new.csv")), os.listdir(path("new"))], [False, False, []], "new files")
    os.mkfifo(path("lonely"))
    r = train(f"--metrics=csv:{path('lonely')}", ok=False)
    assert r.status == 2 and "no program reads from this pipe" in r.err, r.err
    r = ctl("verify", conf("wrong.conf", Metrics="csv:a xml:b"))
    assert r.status == 2 and "wrong.conf:" in r.err and "[Job] Metrics=xml:b: it must be csv:FILE" in r.err, r.err
    r = ctl("metrics", "--metrics=csv:x")
    assert r.status == 2 and "name it" in r.err, r.err


@story("Metrics= of a job file counts from the file's directory, that of --set from the working directory, and --metrics goes before both")
def key():
    file = conf("folder/job.conf", Metrics="csv:rounds.csv")
    train(file=file)
    assert os.path.exists(path("folder/rounds.csv"))
    os.remove(path("folder/rounds.csv"))
    train("--set", f"Job.Metrics=csv:{path('set.csv')}", file=file)
    assert os.path.exists(path("set.csv")) and not os.path.exists(path("folder/rounds.csv"))
    train(f"--metrics=csv:{path('option.csv')}", file=file)
    assert os.path.exists(path("option.csv")) and not os.path.exists(path("folder/rounds.csv"))


@story("Metrics= of a job file makes new files and replaces those of its format; others, devices and links stay as they are")
def strange():
    for name, word in (("s.csv", "csv"), ("s.jsonl", "jsonl"), ("s.monitor.csv", "monitor")):
        put(name, "")
        for _ in range(2):
            train(file=conf("strange.conf", Metrics=f"{word}:{name}"))
        assert len(open(path(name)).readlines()) > 10, name
    put("bashrc", "alias ls=ls\n")
    os.symlink(path("s.csv"), path("link.csv"))
    os.symlink(path("nowhere"), path("nowhere.csv"))
    for word in "csv:bashrc", "jsonl:s.csv", "csv:link.csv", "csv:nowhere.csv", "csv:/dev/full":
        before = open(path("s.csv")).read()
        r = train(file=conf("strange.conf", Metrics=word), ok=False)
        assert r.status == 2 and "a job file may name a new file" in r.err and "[Job] Metrics=" + word.split(":")[0] in r.err, (word, r.err)
        equal((open(path("bashrc")).read(), open(path("s.csv")).read()), ("alias ls=ls\n", before), word)
    assert not os.path.exists(path("nowhere"))
    put("bashrc", "alias ls=ls\n" * 10000)
    r = train(f"--metrics=csv:{path('bashrc')}")
    equal(open(path("bashrc")).read(), ctl("rounds", run_name(r), "--csv").out, "what the option replaces")


@story("of more rounds than one answer holds, the lines of monitor.csv add up all the same")
def thinned():
    r = train("--quiet", "--json", "--set", "Job.StopSteps=660000", "--set", "Actor.RolloutSteps=8", "--set", "Learner.MinibatchSize=64", "--set",
              "Learner.Epochs=1")
    equal(ctl("metrics", r.state_directory, f"--metrics=monitor:{path('long.monitor.csv')}", f"--metrics=csv:{path('long.csv')}").status, 0, "status")
    want = list(csv.DictReader(open(path("long.csv"))))
    assert len(want) == 10000 and want[0]["round"] != "1", (len(want), want[0]["round"])
    table = list(csv.DictReader(open(path("long.monitor.csv")).readlines()[1:]))
    last = [row for row in want if row["return_round"]][-1]
    equal((len(table), sum(int(row["l"]) for row in table)), (int(last["episodes"]), int(last["env_steps"])), "lines and steps")


@story("submit writes files only where it waits for the job, and says so; watch writes a job's rounds from its first")
def daemon():
    with Bus("MaxJobs=1\nMaxJobsPerUser=10\n") as bus:
        file = conf("daemon.conf", Metrics="csv:daemon.csv")
        r = bus.ctl("submit", file, "--set", "Job.StopReturn=", "--set", "Job.StopSteps=4000", "--wait", "--json", f"--metrics=csv:{path('w.csv')}")
        equal(open(path("w.csv")).read(), bus.ctl("rounds", 1, "--csv").out, "what submit wrote")
        r = bus.ctl("submit", file, f"--metrics=csv:{path('n.csv')}", ok=False)
        assert r.status == 2 and "--metrics needs --wait" in r.err and not os.path.exists(path("n.csv")), r.err
        r = bus.ctl("submit", file, "--set", "Job.StopReturn=", "--set", "Job.StopSteps=40000")
        assert "without --wait nothing writes the files of Metrics=" in r.err, r.err
        job = r.out.strip()
        bus.ctl("watch", job, f"--metrics=csv:{path('watched.csv')}")
        equal(open(path("watched.csv")).read(), bus.ctl("rounds", job, "--csv").out, "what watch wrote")
        assert not os.path.exists(path("daemon.csv"))
        put("kept.csv", "old\n")
        r = bus.ctl("watch", 999, f"--metrics=csv:{path('kept.csv')}", f"--metrics=csv:{path('new.csv')}", ok=False)
        assert r.status != 0 and open(path("kept.csv")).read() == "old\n" and not os.path.exists(path("new.csv")), r.err
        running, queued = bus.submit(overrides=ENDLESS), bus.submit(overrides=ENDLESS)
        bus.ctl("stop", queued)
        bus.ended(queued)
        bus.ctl("metrics", queued, f"--metrics=csv:{path('none.csv')}", f"--metrics=jsonl:{path('none.jsonl')}")
        head = open(path("none.csv")).read()
        equal((head, os.path.getsize(path("none.jsonl"))), (open(path("w.csv")).readline(), 0), "files of a job without a round")
        bus.ctl("stop", running)


@story("Prometheus' own parser takes what `metrics` prints, and its numbers are those of the jobs")
def openmetrics():
    with Bus() as bus:
        odd = 'a "quoted" \\ back'
        jobs = [bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "2000"), ("Job.Description", text)]) for text in (odd, "plain")]
        for job in jobs:
            equal(bus.ended(job), "finished", "result")
        open(path("metrics.txt"), "w").write(bus.ctl("metrics").out)
        families = {name: (kind, samples) for name, kind, _, samples in foreign(OPENMETRICS, path("metrics.txt"))}
        equal(families["actord_job"][0], "info", "type")
        equal([s[1]["description"] for s in families["actord_job"][1]], [odd, "plain"], "descriptions")
        equal(families["actord_job_env_steps"][0], "counter", "type")
        for job in jobs:
            of = {(s[0], s[1].get("bill", "")): s[2] for _, samples in families.values() for s in samples if s[1]["job"] == str(job)}
            steps = of["actord_job_env_steps_total", ""]
            assert 2000 <= steps < 3000, steps
            bill = bus.ctl("bill", job, "--json").json
            assert abs(of["actord_job_cost_total", "full"] - bill["full"]) < 1e-12, (of, bill["full"])
        assert bus.ctl("metrics", jobs[0]).out.endswith("# EOF\n")


tell()
