#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trained schedulers: a training is a job with a bill, its result is a file, and a file that is not a scheduler is refused."""
import fcntl, json, os, pty, select, shutil, struct, termios, time
from story import *

INNER = """[Job]
Environment=CartPole-v1
StopSteps=4096
StopReturn=400
Budget=0.001
[Scaling]
MaxActors=4
[Actor]
RolloutSteps=64
[Learner]
Epochs=2
"""
OWN = os.path.join(STATE, "data", "actord", "schedulers")


def conf_with(before="", after=""):
    path = os.path.join(STATE, "small.conf")
    with open(path, "w") as f:
        f.write(INNER.replace(before, after))
    return path


def conf():
    return conf_with()


def train(*args):
    r = ctl("scheduler", "train", conf(), "--episodes=3", "--rounds=6", "--json=short", *args)
    equal(r.status, 0, "status: " + r.err)
    return r


@story("a training of three runs leaves a scheduler with its bill; it can be listed, shown and exported")
def training():
    one = train()
    equal((one.json["name"], one.json["job"], one.json["environment"]), ("small", "small.conf", "CartPole-v1"), "names")
    equal((one.json["actors_max"], one.json["target"]), (4, 400), "choices and target")
    t = one.json["training"]
    assert t["episodes"] >= 3 and t["rounds"] >= 18 and 0 < t["paper"] <= t["full"] and t["wall_s"] > 0, t
    assert [s for s in ctl("scheduler", "list", "--json").json if s["name"] == "small" and s["file"].startswith(OWN)]
    equal(ctl("scheduler", "show", "small", "--json").json, one.json, "what show says")
    shown = ctl("scheduler", "show", "small").out
    assert "\ntarget        a return of 400\nreward        less 0.1 for each second" in shown, shown
    file = os.path.join(STATE, "copy.minions")
    equal(ctl("scheduler", "export", "small", file).status, 0, "export")
    os.mkfifo(file + ".pipe")
    r = ctl("scheduler", "export", "small", file + ".pipe")
    assert r.status == 2 and "not a regular file" in r.err and not os.path.isfile(file + ".pipe"), r.err
    equal(open(file, "rb").read(), open(os.path.join(OWN, "small.minions"), "rb").read(), "files")
    equal(ctl("scheduler", "show", file, "--json").json["training"], t, "training of the copy")


@story("the user's own scheduler hides a shipped one of that name: list shows both, train warns beforehand, remove undoes it")
def replaced():
    def origins():
        return [(s["origin"], s["file"].startswith(OWN)) for s in ctl("scheduler", "list", "--json").json if s["name"] == "cartpole"]
    equal(origins(), [("shipped", False)], "before")
    shipped = ctl("scheduler", "show", "cartpole", "--json").json
    r = ctl("scheduler", "remove", "cartpole")
    assert r.status == 2 and "came with actord" in r.err and os.path.exists(shipped["file"]), (r.status, r.err)
    r = train("--name=cartpole")
    assert "will then mean this scheduler" in r.err.split("job 1")[0] and shipped["file"] in r.err and "--name=" in r.err, r.err
    equal(origins(), [("own", True), ("shipped, replaced", False)], "after")
    assert "will then" not in train("--name=cartpole", "--quiet").err
    r = train("--name=cartpole")
    assert "this replaces your scheduler cartpole" in r.err.split("job 1")[0], r.err
    r = ctl("scheduler", "remove", "cartpole")
    assert r.status == 0 and shipped["file"] in r.err and not r.out, (r.status, r.err)
    equal((origins(), ctl("scheduler", "show", "cartpole", "--json").json), ([("shipped", False)], shipped), "afterwards")
    for name in "cartpole", "nobody", "./x", "../x":
        r = ctl("scheduler", "remove", name)
        assert r.status == 2 and name in r.err and not r.out, (name, r.status, r.err)


def until_left(process, screen, seconds=180):
    """Reads a training's display until it shows the time that is left: then the first runs have ended."""
    text, told, end = "", False, time.monotonic() + seconds
    while True:
        if not select.select([screen], [], [], max(0, end - time.monotonic()))[0]:
            process.kill()
            raise AssertionError(f"waited {seconds} s in vain for {'its end' if told else 'the time that is left'}: {text[-600:]!r}")
        try:
            text += os.read(screen, 65536).decode()
        except OSError:  # no process has it open any more
            return text
        if not told and " left, " in text:
            process.send_signal(signal.SIGINT)
            told = True


@story("Ctrl-C keeps what a training has learned so far, under a name of its own, and says so; where there is nothing, it says that")
def interrupted():
    train("--seed=9")  # of another seed, so that as many runs do not come to the same
    before = network("small")
    screen, terminal = pty.openpty()
    # Wide enough for whatever a slow machine has to say: 80 columns cut "about 22 min left" off.
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 50, 200, 0, 0))
    p = subprocess.Popen([CTL, "scheduler", "train", conf(), "--episodes=100000", "--rounds=6", "--json=short"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=terminal, text=True, env={**environment(), "TERM": "xterm"})
    os.close(terminal)
    text = until_left(p, screen)
    one = json.loads(p.communicate()[0])
    equal((p.returncode, one["name"], one["training"]["finished"]), (130, "small.unfinished", False), "status, name: " + text)
    t = one["training"]
    assert 2 <= t["episodes"] < 1000 and t["episodes_asked"] == 100000 and "of at least 100,000" in text, (t, text)
    assert f"interrupted after {t['episodes']} of at least" in text and "--from=small.unfinished" in text, text
    equal(ctl("scheduler", "show", "small.unfinished", "--json").json, one, "what show says")
    assert "unfinished: interrupted, of at least 100,000 runs" in ctl("scheduler", "show", "small.unfinished").out
    equal(network("small"), before, "the finished one")
    assert network("small.unfinished") != before
    whole = train("--name=goes-on", "--from=small.unfinished")
    assert "at least 3)" in whole.err and whole.json["training"]["finished"] and whole.json["from"]["name"] == "small.unfinished", whole.err
    equal(run("cartpole", *MODEL, "Scaling.Policy=minions:small.unfinished", "Job.StopSteps=512", "Job.StopReturn=").state, "finished", "states")

    endless = ["scheduler", "train", conf(), "--name=none", "--rounds=100000", "--target=1000", "--set", "Job.StopSteps=1000000000"]
    # Two different signals: if two equal ones are pending, one is lost.
    for signals, want in ([signal.SIGINT], "nothing was learned or kept"), ([signal.SIGINT, signal.SIGTERM], "nothing of this training is kept"):
        def interrupt(p):
            wait_for("the job's learner", lambda: descendants(p.pid, "actord-learner"))
            for s in signals:
                p.send_signal(s)
        r = ctl(*endless, during=interrupt)
        assert r.status == 130 and want in r.err and not r.out, (r.status, r.err)
    equal([f for f in os.listdir(OWN) if "none" in f], [])


def network(name):
    return open(os.path.join(OWN, name + ".minions"), "rb").read()[600:]


@story("equal seeds train equal schedulers, another seed another one")
def seeds():
    for name, seed in [("a", "5"), ("b", "5"), ("c", "6")]:
        train(f"--name={name}", f"--seed={seed}")
    equal(network("a"), network("b"), "networks")
    assert network("a") != network("c")


@story("a training may begin with another task's scheduler: that network is where it starts, and both bills are the new one's")
def fine_tuned():
    old = train("--name=old", "--seed=5").json
    task = os.path.join(STATE, "other.conf")
    with open(task, "w") as f:
        f.write(INNER.replace("CartPole-v1", "Acrobot-v1").replace("StopReturn=400", "StopReturn=-100"))

    def tune(name, *args):
        r = ctl("scheduler", "train", task, f"--name={name}", "--episodes=1", "--rounds=4", "--json=short", *args)
        equal(r.status, 0, "status: " + r.err)
        return r.json
    new, same, fresh = tune("new", "--from=old"), tune("same", "--from=" + os.path.join(OWN, "old.minions")), tune("fresh")
    equal((new["environment"], new["from"]["name"], new["from"]["environment"]), ("Acrobot-v1", "old", "CartPole-v1"), "tasks")
    for key in "episodes", "wall_s", "paper", "full":
        equal(new["from"][key], old["training"][key], key)
    assert "from" not in fresh and network("new") == network("same") != network("fresh"), "the start decides"
    # Adam's first step moves each parameter by about the learning rate; a new network lies much further away.
    def distance(a, b):
        x, y = (struct.unpack(f"<{len(network(n)) // 4}f", network(n)) for n in (a, b))
        return max(abs(p - q) for p, q in zip(x, y))
    assert 0 < distance("old", "new") < 0.05 < distance("old", "fresh"), (distance("old", "new"), distance("old", "fresh"))
    third = tune("third", "--from=new")
    assert close(third["from"]["full"], old["training"]["full"] + new["training"]["full"]), "all that went before"
    cost = run("cartpole", *MODEL, "Scaling.Policy=minions:third", "Job.StopSteps=512", "Job.StopReturn=").cost["scheduler_training"]
    assert close(cost["full"], third["from"]["full"] + third["training"]["full"]), cost
    equal(cost["episodes"], third["from"]["episodes"] + third["training"]["episodes"], "runs")
    for words, want in [(["--from=nobody"], "nobody"), (["--from=./none"], "no such file"), (["--from=" + task], task),
                        (["--from=old", "--set", "Scaling.MaxActors=3"], "Scaling.MaxActors=4"),
                        (["--from=old", "--set", "Billing.PriceSheet=slurm-tres"], "PriceSheet"),
                        (["--from=old", "--set", "Billing.PriceSheet=" + os.path.join(ROOT, "packaging", "price", "slurm-tres.sheet")], "paid for in USD")]:
        r = ctl("scheduler", "train", task, *words)
        assert r.status == 2 and want in r.err and not r.out, (words, r.status, r.err)


@story("a price sheet that is a file is found beside the job's file, wherever the training is started")
def sheet_beside():
    folder = os.path.join(STATE, "beside")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(ROOT, "packaging", "price", "local.sheet"), os.path.join(folder, "mine.sheet"))
    with open(os.path.join(folder, "job.conf"), "w") as f:
        f.write(INNER + "[Billing]\nPriceSheet=./mine.sheet\n")
    r = ctl("scheduler", "train", os.path.join(folder, "job.conf"), "--from=nobody")
    assert r.status == 2 and "there is no trained scheduler nobody" in r.err, (r.status, r.err)


@story("a scheduler's file that is cut short, or not a scheduler's, is refused with a sentence")
def refused():
    whole = open(os.path.join(OWN, "small.minions"), "rb").read()
    for name, data, word in [("short", whole[:-4], "cut short"), ("long", whole + b"1234", "added"), ("empty", b"", "too short"),
                             ("other", b"x" * len(whole), "not a trained scheduler")]:
        path = os.path.join(OWN, name + ".minions")
        with open(path, "wb") as f:
            f.write(data)
        r = ctl("scheduler", "show", name)
        assert r.status == 2 and word in r.err and path in r.err and not r.out, (name, r.status, r.err)
        r = ctl("scheduler", "list", "--json")
        assert r.status == 0 and word in r.err and name not in [s["name"] for s in r.json], (name, r.err)
        os.unlink(path)
    for words, want in [(["show", "nobody"], "nobody"), (["show", "./none.minions"], "none.minions"), (["show", "../x"], "../x"),
                        (["show", "a b"], "letters"), (["train", conf(), "--name=a/b"], "--name"), (["train", "none.conf"], "none.conf"),
                        (["train", conf(), "--set", "Scaling.MaxActors=1"], "MaxActors"), (["trein"], "train FILE")]:
        r = ctl("scheduler", *words)
        assert r.status == 2 and want in r.err and not r.out, (words, r.status, r.err)


@story("a training that is not possible is refused at the line of the user's file, and before it begins if its result could not be kept")
def hopeless():
    foreign = os.path.join(STATE, "foreign.conf")
    with open(foreign, "w") as f:
        f.write("# one\n# two\n" + INNER.replace("CartPole-v1", "gym:CartPole-v1"))
    r = ctl("scheduler", "train", foreign, "--target=1")
    assert r.status == 2 and "foreign.conf:4: [Job] Environment" in r.err, (r.status, r.err)
    aimless = os.path.join(STATE, "aimless.conf")
    with open(aimless, "w") as f:
        f.write(INNER.replace("CartPole-v1", "Pendulum-v1").replace("StopReturn=400\n", ""))
    r = ctl("scheduler", "train", aimless)
    assert r.status == 2 and "--target=" in r.err, (r.status, r.err)

    os.makedirs(os.path.join(OWN, "taken.minions"))
    r = ctl("scheduler", "train", conf(), "--name=taken")
    assert r.status == 1 and "taken.minions" in r.err and "job 1" not in r.err, (r.status, r.err)
    os.rmdir(os.path.join(OWN, "taken.minions"))
    equal([f for f in os.listdir(OWN) if "taken" in f], [])


def decisions(r):
    return [int(d["actors"]) for d in json.load(open(os.path.join(r.state_directory, "decisions.json")))]


MODEL = ("Billing.Clock=model", "Scaling.MaxActors=8")


@story("a trained scheduler decides by what it sees, equal jobs decide alike, and its training's bill stands beside theirs")
def used():
    own = ("Scaling.Policy=minions:small", "Job.StopSteps=2000", "Job.StopReturn=")
    a, b = run("cartpole", *MODEL, *own, seed=3), run("cartpole", *MODEL, *own, seed=3)
    equal((a.policy_sha256, decisions(a)), (b.policy_sha256, decisions(b)), "policies and decisions")
    assert all(1 <= n <= 4 for n in decisions(a)), decisions(a)
    trained = ctl("scheduler", "show", "small", "--json").json["training"]
    cost = a.cost["scheduler_training"]
    equal((cost["job"], cost["full"], cost["paper"], cost["episodes"]), ("small.conf", trained["full"], trained["paper"], trained["episodes"]),
          "training")
    bill_lines = sum(l["amount"] for l in a.cost["lines"])
    assert close(bill_lines, a.cost["full"]), "the training is no line of the job's own bill"
    assert "scheduler_training" not in run("cartpole", "Job.StopSteps=256", "Job.StopReturn=").cost


@story("the scheduler that came with actord starts a CartPole with other numbers than it goes on with")
def installed():
    r = run("cartpole", *MODEL, "Scaling.Policy=minions:cartpole", seed=3)
    equal(r.state, "target-reached", "states")
    n = decisions(r)
    equal(len(n), r.rounds, "decisions")
    assert len(set(n)) >= 2 and n[0] != n[-1], n


@story("a job without its scheduler, or with a damaged one, is refused before it starts")
def needed():
    for policy, word in [("minions", "minions:NAME"), ("minions:", "minions:NAME"), ("minions:nobody", "nobody"), ("minions:./none", "none"),
                         ("fixed:x", "colon")]:
        r = run("cartpole", *MODEL, f"Scaling.Policy={policy}", ok=False)
        assert r.status == 2 and word in r.err, (policy, r.status, r.err)
    r = run(conf_with("[Scaling]\n", "[Scaling]\nPolicy=minions:./none\n"), ok=False)
    assert r.status == 2 and r.err.startswith(f"{STATE}/small.conf:7: [Scaling] Policy=minions:./none: {STATE}/none: "), r.err
    path = os.path.join(OWN, "small.minions")
    data = bytearray(open(path, "rb").read())
    data[700:704] = b"\x00\x00\xc0\x7f"  # a NaN among the parameters
    open(os.path.join(OWN, "nan.minions"), "wb").write(data)
    r = run("cartpole", *MODEL, "Scaling.Policy=minions:nan", ok=False)
    assert r.status == 2 and "not finite" in r.err, (r.status, r.err)


tell()
