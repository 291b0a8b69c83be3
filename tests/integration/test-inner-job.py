#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job as the environment of another: it runs inside a sandboxed actor, is as pure as any other, and is refused with a sentence."""
import os, sqlite3
from story import *

INNER = """[Job]
Environment={environment}
StopSteps=2048
StopReturn={target}
[Scaling]
Actors=1
MaxActors=4
[Actor]
RolloutSteps=64
[Learner]
Epochs=2
"""
OUTER = """[Job]
Environment=job:{inner}
StopSteps=32
Seed=3
[Environment]
Rounds=8
Episodes=1
[Scaling]
Actors=2
[Actor]
RolloutSteps=8
Carry=reset
"""


def write(name, text):
    path = os.path.join(STATE, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def outer(environment="CartPole-v1", target=400, name="outer.conf"):
    write("inner.conf", INNER.format(environment=environment, target=target))
    return write(name, OUTER.format(inner="inner.conf"))


@story("an inner job runs in the strongest sandbox there is; the same job gives the same policy, however its actors die")
def pure():
    conf = outer()
    long = "Job.StopSteps=960"
    calm = run(conf, long)
    equal((calm.rounds, calm.env_steps, calm.state), (60, 960, "finished"), "rounds, steps and state")
    assert calm.episodes >= 120, calm.json
    killer = within(calm, "actord-actor")
    again = run(conf, long, during=killer)
    killer.hit(again)
    equal(again.policy_sha256, calm.policy_sha256, "policies")
    for level in ("process", "none"):
        equal(run(conf, long, f"Actor.Sandbox={level}").policy_sha256, calm.policy_sha256, f"the policy under Sandbox={level}")


@story("a submission is complete: the inner job stands in the text, and its file is not needed any more")
def whole():
    conf = outer()
    one = run(conf)
    ledger = os.path.join(one.state_directory, "ledger.sqlite")
    text = sqlite3.connect(ledger).execute("SELECT text FROM jobs ORDER BY id DESC LIMIT 1").fetchone()[0]
    assert "[Inner.Job]" in text and "[Inner.Learner]" in text, text
    os.unlink(os.path.join(STATE, "inner.conf"))
    equal(run(write("whole.conf", text)).policy_sha256, one.policy_sha256, "policies")


@story("an inner job on the physics engine loads before the fork, like any other")
def physics():
    if not os.path.exists(os.path.join(BUILD, "env-mujoco.so")):
        raise Skip("env-mujoco.so is not built")
    r = run(outer("InvertedPendulum-v4", 900))
    equal(r.state, "finished", "states")


@story("an impossible inner job is refused at its own line")
def refused():
    conf = outer()
    for sets, words in [(["Actor.Carry=slots"], ["Carry", "reset"]), (["Actor.RolloutSteps=7"], ["RolloutSteps", "Rounds=8"])]:
        r = run(conf, *sets, ok=False)
        assert r.status == 2 and all(w in r.err for w in words), (r.status, r.err)
    write("inner.conf", INNER.format(environment="CartPole-v1", target=400).replace("MaxActors=4", "MaxActors=1"))
    r = run(conf, ok=False)
    assert r.status == 2 and "inner.conf:7: [Scaling] MaxActors" in r.err, (r.status, r.err)
    os.unlink(os.path.join(STATE, "inner.conf"))
    r = run(conf, ok=False)
    assert r.status == 2 and "inner.conf" in r.err, (r.status, r.err)


tell()
