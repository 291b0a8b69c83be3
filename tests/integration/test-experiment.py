#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actorctl experiment: a matrix of small jobs that is interrupted, continued and redefined, and has a cell that fails."""
import csv, glob, json, os, shutil, signal, subprocess, tempfile
import xml.etree.ElementTree as ElementTree
from story import BUILD, CTL, EXAMPLES, STATE, ctl, descendants, environment, equal, run, story, tell, wait_for

TEXT = """
[Experiment]
Title=Two fleets
Job={job}
Seeds=1-2
Baseline=one
Metric=return_last5 cost actor_rounds

[Set]
Job.StopSteps=10240
Job.StopReturn=
Learner.Threads=1

[Arm one]
Scaling.Actors=1

[Arm two]
Scaling.Actors=2
"""


def write(text):
    """An experiment in a directory of its own."""
    path = os.path.join(tempfile.mkdtemp(dir=STATE), "fleets.exp")
    with open(path, "w") as f:
        f.write(text.format(job=os.path.join(EXAMPLES, "cartpole.conf")))
    return path


def results(path):
    return path[:-len(".exp")] + ".results"


def cells(path):
    """{name: (inode, content)} of the finished cells."""
    found = {}
    for name in glob.glob(os.path.join(results(path), "cells", "*.json")):
        with open(name) as f:
            found[os.path.basename(name)[:-len(".json")]] = (os.stat(name).st_ino, json.load(f))
    return found


def rows(path, name):
    with open(os.path.join(results(path), name)) as f:
        return list(csv.DictReader(f))


@story("every cell is the job that run would run, with tables and plots of it")
def matrix():
    path = write(TEXT)
    r = ctl("experiment", path, "--jobs=2")
    equal(r.status, 0, r.err)
    found = cells(path)
    equal(sorted(found), ["one.1", "one.2", "two.1", "two.2"])
    alone = run("cartpole", "Job.StopSteps=10240", "Job.StopReturn=", "Learner.Threads=1", "Scaling.Actors=2", seed=2)
    equal(found["two.2"][1]["result"]["policy_sha256"], alone.policy_sha256, "policies")
    equal(found["two.2"][1]["result"]["env_steps"], alone.env_steps)

    table = rows(path, "cells.csv")
    equal([(x["arm"], x["seed"], x["actor_rounds"]) for x in table],
          [("one", "1", "40"), ("two", "1", "40"), ("one", "2", "40"), ("two", "2", "40")])
    rounds = [x for x in rows(path, "rounds.csv") if (x["arm"], x["seed"]) == ("two", "2")]
    equal(len(rounds), alone.rounds)
    equal([x["actors"] for x in rounds], ["2"] * len(rounds))
    summary = open(os.path.join(results(path), "summary.md")).read()
    assert "Training of the schedulers" not in summary, summary
    assert "# Two fleets" in summary and "4 of 4 cells" in summary and "IQM − that of one" in summary, summary
    for name in "return.svg", "return-cost.svg", "return-time.svg", "actors.svg", "cost.svg", "pareto.svg":
        file = os.path.join(results(path), name)
        ElementTree.parse(file)
        assert os.path.getsize(file) <= 100000, name
    assert not os.path.exists(os.path.join(results(path), "state")), "the daemon's state stayed"

    before = {name: inode for name, (inode, _) in found.items()}
    again = ctl("experiment", path)
    equal(again.status, 0, again.err)
    equal({name: inode for name, (inode, _) in cells(path).items()}, before, "finished cells")
    equal(open(os.path.join(results(path), "summary.md")).read(), summary, "summaries of the same cells")


@story("Ctrl-C stops cleanly, the same command goes on, and only what was redefined is done again")
def resumed():
    path = write(TEXT)

    def interrupt(p):
        wait_for("the first cell", lambda: cells(path), 60)
        p.send_signal(signal.SIGINT)

    r = ctl("experiment", path, "--jobs=1", during=interrupt)
    equal(r.status, 130, r.err)
    first = cells(path)
    assert 0 < len(first) < 4, sorted(first)
    listed = ctl("experiment", path, "--dry-run").out
    equal(listed.count(" done"), len(first), listed)
    assert "160 actor-rounds" in listed, listed

    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    second = cells(path)
    equal(len(second), 4)
    for name, (inode, _) in first.items():
        equal(second[name][0], inode, f"file of {name}")

    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("Scaling.Actors=2", "Scaling.Actors=3"))
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    third = cells(path)
    for name in second:
        equal(third[name][0] == second[name][0], name.startswith("one"), f"whether {name} was kept")
    equal({x["actors"] for x in rows(path, "rounds.csv") if x["arm"] == "two"}, {"3"})


@story("decisions that lie in a file belong to what a cell is: with others it is done again, without the file nothing starts")
def decided_by_file():
    path = write(TEXT.replace("Scaling.Actors=2", "Scaling.MaxActors=4\nScaling.Policy=replay:DECISIONS").replace("1-2", "1"))
    decisions = path + ".json"
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("DECISIONS", decisions))

    def decide(n):
        with open(decisions, "w") as f:
            json.dump([{"round": 1, "actors": n}], f)
        r = ctl("experiment", path)
        equal(r.status, 0, r.err)
        equal({x["actors"] for x in rows(path, "rounds.csv") if x["arm"] == "two"}, {str(n)}, "actors")
        return cells(path)

    first, again, other = decide(2), decide(2), decide(3)
    equal({name: again[name][0] for name in again}, {name: first[name][0] for name in first}, "finished cells")
    equal(other["one.1"][0], first["one.1"][0], "the arm that has no such file")
    os.unlink(decisions)
    r = ctl("experiment", path)
    equal(r.status, 2, r.err)
    assert decisions in r.err, r.err


@story("the bytes of the price sheet belong to what a cell is: with others it is to be done again")
def priced():
    path = write(TEXT.replace("1-2", "1"))
    equal(ctl("experiment", path).status, 0)
    # A program reads the sheets that lie beside it.
    beside = tempfile.mkdtemp(dir=STATE)
    program = shutil.copy(CTL, beside)
    shutil.copytree(os.path.join(BUILD, "share"), os.path.join(beside, "share"))

    def listed():
        return subprocess.run([program, "experiment", path, "--dry-run"], env=environment(), capture_output=True, text=True).stdout

    equal(listed().count(" done"), 2, listed())
    sheets = glob.glob(os.path.join(beside, "share", "price", "*.sheet"))
    used = cells(path)["one.1"][1]["result"]["cost"]["price_sheet"]
    for sheet in sheets:
        if os.path.basename(sheet) != used + ".sheet":
            os.unlink(sheet)
    equal(listed().count(" done"), 2, "without the sheets that it does not name: " + listed())
    with open(os.path.join(beside, "share", "price", used + ".sheet"), "a") as f:
        f.write("# dearer\n")
    equal(listed().count(" missing"), 2, listed())


@story("a cell that fails is named, the others go on, and the next time it is tried again")
def failed():
    path = write(TEXT + "\n[Arm late]\nActor.TimeoutSec=1ms\nActor.Retries=0\nActor.RolloutSteps=1000000\nJob.StopSteps=8000000\n")
    r = ctl("experiment", path)
    equal(r.status, 1, r.err)
    assert "cell late.1 failed: " in r.err and "cell late.2 failed: " in r.err, r.err
    equal(sorted(cells(path)), ["one.1", "one.2", "two.1", "two.2"])
    summary = open(os.path.join(results(path), "summary.md")).read()
    assert "4 of 6 cells" in summary and "* late.1: " in summary, summary
    equal(ctl("experiment", path, "--dry-run").out.count(" missing"), 2)


@story("an arm that repeats another's decisions gets those of the same seed, also when they were made before an interruption")
def followed():
    text = TEXT + ("\n[Arm again]\nScaling.Policy=replay:@any\n[Arm mixed]\nScaling.Policy=permuted:@any\n"
                   "[Arm any]\nScaling.Policy=random\n").replace("Scaling.Policy", "Scaling.MaxActors=4\nScaling.Policy")
    path = write(text)

    def interrupt(p):
        wait_for("a cell that is followed", lambda: "any.1" in cells(path), 60)
        p.send_signal(signal.SIGINT)

    equal(ctl("experiment", path, "--jobs=1", during=interrupt).status, 130)
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    found = {name: content for name, (_, content) in cells(path).items()}
    for seed in "12":
        followed, again, mixed = (found[f"{arm}.{seed}"] for arm in ("any", "again", "mixed"))
        actors = followed["rounds"]["actors"]
        assert len(set(actors)) > 1, actors
        equal(again["rounds"]["actors"], actors, "decisions")
        equal(again["result"]["policy_sha256"], followed["result"]["policy_sha256"], "policies")
        n = min(len(actors), len(mixed["rounds"]["actors"]))
        assert mixed["rounds"]["actors"][:n] != actors[:n], actors
        assert set(mixed["rounds"]["actors"]) <= set(actors), (mixed["rounds"]["actors"], actors)


@story("an arm may be a trained scheduler, and what its training cost is told once, beside what it saves")
def trained():
    path = write(TEXT + "\n[Arm learned]\nScaling.MaxActors=8\nScaling.Policy=minions:cartpole\n")
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    learned = cells(path)["learned.1"][1]
    actors, training = learned["rounds"]["actors"], learned["result"]["cost"]["scheduler_training"]
    assert len(set(actors)) > 1, actors
    before, section = open(os.path.join(results(path), "summary.md")).read().split("## Training of the schedulers\n")
    assert "is not part of the costs above" in section and "cartpole" not in before, section
    told = [x for x in section.splitlines() if x.startswith("| learned |")]
    equal([x.strip() for x in told[0].split("|")[2:4]], ["cartpole", f"{training['episodes']} runs of {training['job']}"])
    equal([float(x) for x in told[0].split("|")[4:6]], [float(f"{training[k]:.4g}") for k in ("full", "paper")], "totals")
    equal((len(told), section.count("| one |")), (1, 0), section)
    equal([(float(x["cost_scheduler"] or 0), float(x["cost_scheduler_paper"] or 0)) for x in rows(path, "cells.csv")],
          [(training["full"], training["paper"]) if x["arm"] == "learned" else (0, 0) for x in rows(path, "cells.csv")])


@story("cells are billed by each sheet of Prices= as well, a sheet that is not there stops all before the first cell, and other sheets are another cell")
def rebilled():
    text = TEXT.replace("1-2", "1").replace("[Set]\n", "[Set]\nBilling.Clock=model\n")
    sheets = "aws-lambda-x86", "azure-aci", "slurm-tres"
    path = write(text.replace("Baseline", "Prices=" + " ".join(sheets) + "\nBaseline"))
    equal(ctl("experiment", path).status, 0)
    cell = cells(path)["two.1"][1]
    equal(sorted(cell["bills"]), sorted(sheets))
    equal((cell["bills"]["aws-lambda-x86"]["full"], cell["bills"]["aws-lambda-x86"]["lines"]),
          (cell["result"]["cost"]["full"], cell["result"]["cost"]["lines"]))
    other = write(text.replace("[Set]\n", "[Set]\nBilling.PriceSheet=slurm-tres\n"))
    equal(ctl("experiment", other).status, 0)
    own = cells(other)["two.1"][1]
    assert "bills" not in own, own
    for member in "currency", "full", "paper", "lines":
        equal(cell["bills"]["slurm-tres"][member], own["result"]["cost"][member], member)
    equal(cell["result"]["policy_sha256"], own["result"]["policy_sha256"], "policies")
    table = {x["arm"]: x for x in rows(path, "cells.csv")}
    for sheet in sheets:
        equal(float(table["two"]["full_" + sheet]), cell["bills"][sheet]["full"], sheet)

    before = cells(path)["two.1"][0]
    with open(path) as f:
        text = f.read()
    for value, status, again in (" ".join(sheets), 0, False), ("gold", 2, False), ("slurm-tres", 0, True):
        with open(path, "w") as f:
            f.write(text.replace(" ".join(sheets), value))
        r = ctl("experiment", path)
        equal(r.status, status, r.err)
        assert status == 0 or r.err.startswith(f"{path}:6: [Experiment] Prices=gold: there is no price sheet gold"), r.err
        equal(cells(path)["two.1"][0] != before, again, value)


@story("a path in an experiment counts from that file, and what is wrong with it is said at its line")
def placed():
    path = write(TEXT + "\n[Arm learned]\nScaling.MaxActors=8\nScaling.Policy=minions:./mine.minions\n")
    r = ctl("experiment", path, "--dry-run")
    line = open(path).read().split("\n").index("Scaling.Policy=minions:./mine.minions") + 1
    mine = os.path.join(os.path.dirname(path), "mine.minions")
    equal((r.status, r.err), (2, f"{path}:{line}: [Arm learned] Scaling.Policy=minions:./mine.minions: "
                                 f"{mine}: there is no such file\n"))
    equal(ctl("scheduler", "export", "cartpole", mine).status, 0)
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    assert len(set(cells(path)["learned.1"][1]["rounds"]["actors"])) > 1

    path = write(TEXT.replace("[Set]\n", "[Set]\nJob.Environment=./none.so\n"))
    r = ctl("experiment", path, "--dry-run")
    assert r.status == 2 and r.err.startswith(f"{path}:10: [Set] Job.Environment=./none.so: ") and os.path.dirname(path) in r.err[50:], r.err


@story("nothing stays behind when actorctl is killed, and its daemon's state does not confuse the next")
def killed():
    path = write(TEXT)

    def kill(p):
        wait_for("the first cell", lambda: cells(path), 60)
        kill.family = descendants(p.pid)
        p.kill()

    ctl("experiment", path, "--jobs=1", during=kill)
    wait_for("the daemon's end", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in kill.family), 20)
    r = ctl("experiment", path)
    equal(r.status, 0, r.err)
    equal(len(cells(path)), 4)


@story("a directory or file named state that is not a daemon's is not removed from the directory of the results")
def others_state():
    path = write(TEXT)
    place = tempfile.mkdtemp(dir=STATE)
    theirs = os.path.join(place, "state", "ledger", "thesis.tex")
    os.makedirs(os.path.dirname(theirs))
    open(theirs, "w").write("my life's work")
    r = ctl("experiment", path, f"--output={place}")
    assert r.status == 1 and os.path.join(place, "state") + " would be removed" in r.err and "--output" in r.err, r.err
    equal(open(theirs).read(), "my life's work", "their file")
    shutil.rmtree(os.path.join(place, "state"))
    os.symlink("/etc", os.path.join(place, "state"))
    equal(ctl("experiment", path, f"--output={place}").status, 1, "with a link")
    os.unlink(os.path.join(place, "state"))
    equal(ctl("experiment", path, f"--output={place}").status, 0, "without it")
    equal(os.path.exists(os.path.join(place, "state")), False, "the daemon's own, afterwards")


@story("results that another experiment wrote are kept, also where all of its cells have other names")
def foreign():
    path = write(TEXT.replace("1-2", "1"))
    other = os.path.join(os.path.dirname(path), "other.exp")
    with open(path) as f, open(other, "w") as g:
        g.write(f.read().replace("Arm one", "Arm three").replace("Arm two", "Arm four").replace("Baseline=one", "Baseline=three"))
    equal(ctl("experiment", path).status, 0, "the first one")
    summary, first = open(os.path.join(results(path), "summary.md")).read(), cells(path)
    r = ctl("experiment", other, f"--output={results(path)}")
    assert r.status == 1 and ".json is a cell of fleets.exp, whose results would be overwritten" in r.err, r
    equal((open(os.path.join(results(path), "summary.md")).read(), cells(path)), (summary, first), "the results")
    # After an edit, the cells of removed arms are the experiment's own
    shutil.copy(other, path)
    r = ctl("experiment", path)
    equal((r.status, sorted(cells(path))), (0, ["four.1", "one.1", "three.1", "two.1"]), r.err)


@story("two runs of one experiment at once are refused, and so is a file that is not an experiment")
def refused():
    path = write(TEXT)

    def second(p):
        wait_for("the first cell", lambda: cells(path), 60)
        second.result = ctl("experiment", path)

    r = ctl("experiment", path, "--jobs=1", during=second)
    equal(r.status, 0, r.err)
    assert second.result.status == 1 and "another experiment" in second.result.err, second.result.err
    equal(ctl("experiment", "no-such.exp").status, 2)
    wrong = ctl("experiment", write(TEXT.replace("Learner.Threads", "Learner.Treads")))
    equal((wrong.status, wrong.out), (2, ""))
    for text, line, said in ("A plain text\n\n# and more\n", 1, "neither a section nor KEY=VALUE"), ("Seeds=1\n", 1, "before the first section"), \
            ("[Experiment]\nSeeds=1\n\n[Arm x\n", 4, "not a section"), ("[Experiment]\nJ ob[=1\n[Arm x]\n", 2, "invalid key name: J ob["):
        r = ctl("experiment", write(text), "--dry-run")
        assert r.status == 2 and f"fleets.exp:{line}: {said}" in r.err, r.err
    assert "fleets.exp:12: [Set] Learner.Treads=1: unknown key; did you mean Threads?" in wrong.err, wrong.err


tell()
