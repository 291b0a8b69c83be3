#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments without a job: reports for the author of a plugin, and rollouts to compare with other implementations."""
import json, os, re, select, subprocess, time
from story import CTL, HOSTILE, PATIENCE, ROOT, STATE, ctl, environment, equal, shared_library, story, tell


def lines(r):
    equal(r.status, 0, f"status: {r.err}")
    return [json.loads(line) for line in r.out.splitlines()]


def points(*words):
    """{point: finding} of all rules that are not kept, and the exit status."""
    r = ctl("env", "check", *words, "--json=short")
    found = json.loads(r.out)
    equal(found["ok"], not any(not p["ok"] for p in found["points"]), "ok")
    equal(len(found["points"]), 10, "points")
    return {p["point"]: p["finding"] for p in found["points"] if not p["ok"]}, r.status


@story("a good plugin passes every check, and so do our environments")
def good():
    line = shared_library("examples/env-template/line.c")
    r = ctl("env", "show", line, "--set", "Squares=x")
    assert r.status == 2 and "Squares=x: it must be a whole number from 3 to 1000" in r.err, r.err
    for words in [line], [line, "--set", "Squares=50"], ["CartPole-v1"], ["Pendulum-v1"]:
        broken, status = points(*words)
        equal((broken, status), ({}, 0), f"{words}")
    shown = ctl("env", "show", "CartPole-v1").out
    assert "4 numbers (float32), unbounded" in shown and "reward:       1 a step" in shown, shown
    r = ctl("env", "check", "CartPole-v1")
    equal([w.split(" - ")[0] for w in r.out.splitlines()], ["1..10"] + [f"ok {i}" for i in range(1, 11)], "TAP")


@story("each fault is found by its check and named, and the other checks still run")
def misbehaviour():
    for how, point, finding in [("beyond", "outside its memory", r"outside the observation of 8 bytes"),
                                ("before", "outside its memory", r"outside the observation of 8 bytes"),
                                ("longer", "outside its memory", r"outside the snapshot of 24 bytes"),
                                ("part", "the whole observation", r"step\(\) left byte 4 of the observation"),
                                ("result", "the whole observation and result", r"step\(\) left byte 8 of its result"),
                                ("paid", "as its spec says", r"the reward of step 19 is .* outside the range"),
                                ("flag", "as its spec says", r"neither 0 nor 1 after step 19"),
                                ("cut", "as its spec says", r"step 19 is truncated, but the spec lacks ACTORD_ENV_TRUNCATES"),
                                ("remember", "begins afresh", r"a used instance differs from a new one at step \d+"),
                                ("lose", "from a snapshot", r"differs from the original \d+ steps after restore"),
                                ("static", "equal seeds", r"two runs with one seed differ at step \d+"),
                                ("leak", "leave its memory", r"grew by \d+ bytes"),
                                ("range", "as its spec says", r"number 0 of an observation is outside"),
                                ("nan", "as its spec says", r"number 0 of an observation is not finite"),
                                ("crash", "outside its memory", r"signal 11"),
                                ("abort", "outside its memory", r"signal 6"),
                                ("exit", "outside its memory", r"ended by itself"),
                                ("error", "outside its memory", r"error 5"),
                                ("fork", "outside its memory", r"sandbox forbids"),
                                ("file", "outside its memory", r"error 2|error 13")]:
        broken, status = points(shared_library(HOSTILE), "--set", "How=" + how)
        found = [f for p, f in broken.items() if point in p]
        assert found and re.search(finding, found[0]), (how, broken)
        equal(status, 1, f"status of {how}")
        assert not any("it loads" in p for p in broken), (how, broken)


@story("a call that never returns is ended after its time, and nothing is tried after it")
def hang():
    broken, status = points(shared_library(HOSTILE), "--set", "How=hang", "--set", "Actor.TimeoutSec=1")
    assert status == 1 and any("did not answer" in f for f in broken.values()), broken
    assert any("not tried" in f for f in broken.values()), broken
    for words in ["check"], ["show"], ["rollout"]:
        r = ctl("env", *words, shared_library(HOSTILE), "--set", "How=stall", "--set", "Actor.TimeoutSec=1", timeout=20)
        assert r.status != 0 and "did not answer" in r.err + r.out, (words, r.out, r.err)


@story("a rollout waits for a reader who reads page by page: that time is not the environment's")
def slow_reader():
    r = ctl("env", "rollout", "CartPole-v1", "--steps=20000", "--set", "Actor.TimeoutSec=1", before=("sh", "-c", '"$@" | (sleep 3; cat)', "sh"))
    assert r.err == "" and len([line for line in lines(r) if "reward" in line]) == 20000, (r.err, len(lines(r)))


@story("a plugin that no job could run is refused with status 2 and its reason")
def unusable():
    older = os.path.join(STATE, "include", "actord")
    os.makedirs(older)
    with open(os.path.join(ROOT, "include", "actord", "env.h")) as f, open(os.path.join(older, "env.h"), "w") as g:
        g.write(f.read().replace("#define ACTORD_ENV_ABI 2u", "#define ACTORD_ENV_ABI 99u"))
    other = shared_library(HOSTILE, "-I", os.path.dirname(older), name="other.so")
    empty = os.path.join(STATE, "empty.so")
    subprocess.run(["gcc", "-shared", "-o", empty, "-x", "c", "/dev/null"], check=True)
    cut = shared_library(HOSTILE, "-DTABLE_BYTES=8", name="cut.so")
    for words, want in [([cut], "lacks a function"), ([shared_library(HOSTILE), "--set", "How=spec"], "impossible"),
                        ([shared_library(HOSTILE), "--set", "How=load"], "could not load"),
                        ([shared_library(HOSTILE), "--set", "How=loader"], "signal 6"), ([empty], "actord_env"), ([other], "ABI 99")]:
        r = ctl("env", "check", *words)
        assert r.status == 2 and want in r.out + r.err, (words, r.status, r.out, r.err)
        assert "not ok 1" in r.out and "not ok 2" in r.out, r.out
        equal(r.out.count(" # SKIP not tried, because point 1 failed"), 9, "points that are skipped")
    equal(ctl("env", "show", os.path.join(STATE, "absent.so")).status, 2, "a file that is not there")
    r = ctl("env", "check", os.path.join(ROOT, "examples", "env-template", "line.c"))
    assert r.status == 2 and "line.c: the plugin is not a shared library" in r.err and not r.out, (r.status, r.out, r.err)


@story("a rollout that is given its own first state and its own actions back repeats itself, digit for digit")
def repeats():
    for name in "CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Hopper-v4", "Ant-v4":
        path = os.path.join(STATE, name + ".jsonl")
        first = ctl("env", "rollout", name, "--seed", "5", "--steps", "9", "--states")
        with open(path, "w") as f:
            f.write(first.out)
        equal(len(lines(first)), 10, f"lines of {name}")
        again = ctl("env", "rollout", name, "--state", path, "--actions", path, "--states")
        equal(again.out, first.out, name)
        other = ctl("env", "rollout", name, "--seed", "6", "--steps", "9")
        assert other.out != first.out, name


@story("a rollout's lines say what happened: resets at ends, actions as given, truncation at the horizon")
def rows():
    r = lines(ctl("env", "rollout", "CartPole-v0", "--steps", "500"))
    resets = [k for k, x in enumerate(r) if "state" in x]
    equal([x["episode"] for x in r if "state" in x], list(range(1, len(resets) + 1)), "episodes")
    equal([x["step"] for x in r if "step" in x], list(range(500)), "steps")
    for k in resets[1:]:
        assert r[k - 1]["terminated"] or r[k - 1]["truncated"], r[k - 1]
    assert not any(x.get("terminated") for k, x in enumerate(r[:-1]) if "step" in x and k + 1 not in resets)
    assert all(set(x) == {"step", "action", "observation", "reward", "terminated", "truncated"} for x in r if "step" in x)

    zero = lines(ctl("env", "rollout", "Pendulum-v1", "--steps", "401", "--actions", "zero"))
    equal([x["step"] for x in zero if x.get("truncated")], [199, 399], "truncations")
    assert all(x["action"] == [0] for x in zero if "step" in x)

    actions = os.path.join(STATE, "actions")
    with open(actions, "w") as f:
        f.write('1\n[0]\n{"action": 1}\n{"note": 2}\n\n0\n')
    equal([x["action"] for x in lines(ctl("env", "rollout", "CartPole-v1", "--actions", actions)) if "step" in x], [1, 0, 1, 0], "actions")
    state = os.path.join(STATE, "state")
    with open(state, "w") as f:
        f.write('{"qpos": [0, 1.25, 0, 0, 0, 0], "qvel": [0, 0, 0, 0, 0, 0.5]}')
    hopper = lines(ctl("env", "rollout", "Hopper-v4", "--state", state, "--steps", "1"))
    equal(hopper[0]["state"], {"qpos": [0, 1.25, 0, 0, 0, 0], "qvel": [0, 0, 0, 0, 0, 0.5]}, "state")


@story("wrong input for a rollout gets one sentence that says what to do")
def wrong_input():
    def file(text):
        path = os.path.join(STATE, "wrong")
        with open(path, "w") as f:
            f.write(text)
        return path

    for words, want in [(["rollout", "CartPole-v1", "--state", EXAMPLE], "4 numbers"),
                        (["rollout", "CartPole-v1", "--actions", "/no/such"], "/no/such"), (["rollout", "CartPole-v1", "--steps", "0"], "steps"),
                        (["rollout", "CartPole-v1", "--set", "Gravity=3"], "Gravity"), (["rollout", "cartpol-v1"], "CartPole-v1"),
                        (["show", "Nothing-v5"], "gym:ID"), (["show", "ALE/Pong-v5"], "gym:ale_py:ALE/Pong-v5"),
                        (["list", "--steps", "3"], "--steps"), (["show", "CartPole-v1", "--actions", "zero"], "--actions"), (["bench"], "env takes")]:
        r = ctl("env", *words)
        assert r.status == 2 and want in r.err and not r.out, (words, r.status, r.out, r.err)
    for name, option, want in [("faas", "Neighbours=2.5", "Neighbours=2.5: it must be a whole number from 0 to 15"),
                               ("Pendulum-v1", "Gravity=x", "Gravity=x: it must be a number from -1000 to 1000"),
                               ("LunarLander-v3", "EnableWind=maybe", "EnableWind=maybe: it must be yes or no"),
                               ("Hopper-v4", "Engine=../other", "Engine=../other is no release of MuJoCo"),
                               ("Catch-v0", "ImageSize=5", "ImageSize=5: it must be 0, or at least 10")]:
        r = ctl("env", "show", name, "--set", option)
        assert r.status == 2 and want in r.err and not r.out, (name, option, r.status, r.out, r.err)
    r = ctl("env", "rollout", "Pendulum-v1", "--actions", file("[1, 2]\n"))
    assert r.status == 2 and "is 1" in r.err, r.err
    r = ctl("env", "rollout", "CartPole-v1", "--actions", file("1\n7\n"))
    assert r.status == 2 and "action 1" in r.err and len(r.out.splitlines()) == 2, (r.out, r.err)
    r = ctl("env", "rollout", shared_library(HOSTILE), "--state", file("[1]"))
    assert r.status == 2 and "does not show its physical state" in r.err, r.err


EXAMPLE = os.path.join(ROOT, "examples", "cartpole.conf")


@story("a rollout that dies says so after the lines that came before")
def dies():
    r = ctl("env", "rollout", shared_library(HOSTILE), "--set", "How=crash")
    rows = [json.loads(line) for line in r.out.splitlines()]
    equal((r.status, rows[-1]["step"]), (1, 18), r.err)
    assert "signal 11" in r.err, r.err


@story("an environment's output arrives sanitised, its first and last lines and ours; a file gets all of it")
def talks():
    r = ctl("env", "rollout", shared_library(HOSTILE), "--set", "How=talk")
    lines = r.err.splitlines()
    equal((r.status, lines[0]), (0, r"\x1b]0;taken over\x07\x1b[2J"), "status and first line")
    equal(lines[1], "x" * 1024 + " [and 1047552 bytes]", "the line of a megabyte")
    assert len(lines) < 430 and "79583 lines of the environment's output are left out" in r.err, (len(lines), lines[-22:])
    equal((lines[-1], "actord-learner: a sentence that counts" in lines), ("the last word", True), "the end")
    path = os.path.join(STATE, "words")
    r = ctl("env", "rollout", shared_library(HOSTILE), "--set", "How=talk", before=("sh", "-c", f'exec "$@" 2>{path}', "sh"))
    written = open(path).read()
    equal((r.status, len(written.splitlines()), "\033" in written), (0, 80004, False), "a file: status, lines, escape sequences")
    r = ctl("env", "rollout", shared_library(HOSTILE), "--set", "How=talk", before=("sh", "-c", 'exec "$@" 2>&-', "sh"))
    equal((r.status, len(r.out.splitlines()) > 20), (0, True), "a closed descriptor")


@story("records that a plugin forges are refused, and do no harm")
def forges():
    r = ctl("env", "rollout", shared_library(HOSTILE), "--set", "How=rows", timeout=20)
    assert r.status == 1 and "sent an invalid answer" in r.err, (r.status, r.err)
    equal(json.loads(r.out.splitlines()[-1])["step"], 18, "the last row before")


@story("a plugin that writes the rows of a check itself is judged by what it does")
def forges_points():
    plugin = shared_library(HOSTILE)
    honest = ctl("env", "check", plugin, "--set", "How=static", "--json")
    forged = ctl("env", "check", plugin, "--set", "How=points", "--json", timeout=60)
    equal((honest.status, forged.status), (1, 1), honest.err + forged.err)
    equal(len(forged.points), len(honest.points), "points")
    assert not forged.ok, forged.out


@story("bench compares a sandboxed loop with a bare one, and never runs a plugin bare")
def bench():
    r = ctl("env", "bench", "CartPole-v1", "--steps", "20000", "--json")
    assert r.inside_steps_per_s > 1 and r.outside_steps_per_s > 1 and r.share_lost < 1, r.json
    r = ctl("env", "bench", shared_library(HOSTILE), "--steps", "20000", "--json")
    assert r.inside_steps_per_s > 1 and r.outside_steps_per_s is None and r.share_lost is None, r.json


@story("a trial ends when its caller ends, whatever it was about to do")
def left_alone():
    # Hours of steps without a row. The relay holds standard error until no invoker and no actor writes any more.
    p = subprocess.Popen([CTL, "env", "bench", "CartPole-v1", "--steps=1099511627776"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    time.sleep(2)
    assert p.poll() is None, p.stderr.read()
    p.kill()
    p.wait()
    assert select.select([p.stderr], [], [], 10 * PATIENCE)[0], "it goes on"
    equal(p.stderr.read(), b"", "its words")


@story("list and show say what each environment is, within 80 columns")
def shown():
    r = ctl("env", "list", "--json")
    equal({x["environment"]: x["action"] for x in r.json}["CartPole-v1"], "of 2", "action")
    assert max(map(len, ctl("env", "list").out.splitlines())) <= 80, "the table is wider than a screen"
    for row in r.json:
        if row["installed"]:
            text, json_ = ctl("env", "show", row["environment"]), ctl("env", "show", row["environment"], "--json")
            assert max(map(len, text.out.splitlines())) <= 80, text.out
            assert row["description"] in text.out, text.out
            equal(json_.options, (row["options"] or "").split(), "keys")
            for key in json_.options:
                words = [key, json_.option_defaults[key], *json_.option_helps[key].split()]
                assert words in [line.split() for line in text.out.splitlines()], (words, text.out)
            equal(json_.snapshots, row["snapshots"], "snapshots")
    equal(ctl("env", "show", "Hopper-v4", "--json").state, {"qpos": 6, "qvel": 6}, "state")
    equal(ctl("env", "show", "HalfCheetah-v5", "--json").option_defaults["CtrlCostWeight"], "0.1", "a default")
    equal(ctl("env", "show", "CartPole-v1", "--json").action["choices"], 2, "choices")


tell()
