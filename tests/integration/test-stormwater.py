#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stormwater tasks on EPA SWMM: it runs in the sandbox without a file, the policy is the same whatever happens to an actor and however many
episodes share an engine, and a missing or broken engine is reported."""
import glob, shutil
from story import *

VENV = os.path.join(BUILD, "venv-parity-swmm")

JOB = """[Job]
Environment=stormwater:{task}
StopSteps={steps}
Seed=4
[Environment]
{keys}
[Scaling]
Actors=3
[Actor]
Python={python}
EnvsPerActor=2
RolloutSteps=96
[Learner]
Epochs=2
LogStdInit=-1
"""


def venv():
    """The virtual environment with the package that the parity test uses, too; the first test that needs it fetches it."""
    subprocess.run(["sh", "-c", 'PARITY_REQUIREMENTS=requirements-swmm.txt; . "$0"', ROOT + "/tests/parity/venv.sh"],
                   env={**os.environ, "ACTORD_BUILD": BUILD}, stdout=subprocess.DEVNULL, check=True)
    if not os.path.exists(VENV + "/installed"):
        raise Skip("pip cannot install swmm-toolkit")
    return VENV


def job(task="theta", keys="", python=None, steps=1152):
    path = os.path.join(STATE, "stormwater.conf")
    with open(path, "w") as f:
        f.write(JOB.format(task=task, keys=keys, python=python or venv(), steps=steps))
    return path


def empty(name="empty"):
    path = os.path.join(STATE, name)
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    return path


def refused(python):
    r = run(job(python=python), ok=False)
    assert r.status != 0, (r.status, r.err)
    return r.err


@story("a missing or broken engine is reported with the package that brings it")
def missing():
    shown = ctl("env", "show", "stormwater:theta")
    assert shown.status == 0 and "312 steps" in shown.out, (shown.out, shown.err)
    r = ctl("env", "rollout", "stormwater:theta", "--steps", "1")
    assert r.status != 0 and "pip install swmm-toolkit" in r.err and "Python=DIRECTORY" in r.err, r.err
    python = empty()
    assert f"Python={python}: this virtual environment has no package swmm-toolkit" in refused(python)
    package = glob.glob(python + "/lib/python3*/site-packages")[0] + "/swmm/toolkit"
    os.makedirs(package)
    with open(package + "/libswmm5.so", "wb") as f:
        f.write(b"\x7fELF" + bytes(60))
    text = refused(python)
    assert f"Python={python}: EPA SWMM does not load" in text and f"{python}/bin/pip install --force-reinstall swmm-toolkit" in text, text
    assert "it has no pyvenv.cfg" in refused(STATE)

    text = run(job("gamma", python=python), ok=False).err
    assert f"Python={python}: this virtual environment has no package pystorms" in text and f"{python}/bin/pip install pystorms" in text, text
    networks = os.path.dirname(os.path.dirname(package)) + "/pystorms/networks"
    os.makedirs(networks)
    with open(networks + "/gamma.inp", "w") as f:
        f.write("[TIMESERIES]\nA 0:05:00 1\n")
    text = run(job("gamma", python=python), ok=False).err
    assert "is not the network of stormwater:gamma" in text and "pip install pystorms==1.0.0" in text, text


@story("only an environment that loads packages takes Python=, and one that must not share the learner's memory is refused")
def settings():
    text = run(job(), "Job.Environment=CartPole-v1", ok=False).err
    assert "only Environment=gym:ID, pettingzoo:MODULE and stormwater" in text, text
    text = run(job(), "Distribution.Policy=fused", ok=False).err
    assert "EPA SWMM" in text and "the learner's memory" in text, text
    assert "Controller=lazy: it must be agent, passive or rules" in run(job("theta", "Controller=lazy"), ok=False).err
    for task, key in (("tidal", "FloodWeight=3"), ("theta", "LeftWeight=3")):
        assert "does not take this key" in run(job(task, key), ok=False).err


@story("a job gives the same policy, however its actors die, however they share containers, and in every sandbox")
def pure():
    for task, steps in (("theta", 1152), ("tidal", 1152), ("gamma", 576)):
        calm = run(job(task, steps=steps))
        killer = Killer("actord-actor", low=0.01, high=0.04, most=2)

        def later(p):
            wait_for("actors", lambda: len(descendants(p.pid, "actord-actor")) >= 3, 30)
            killer(p)
        again = run(job(task, steps=steps), during=later)
        assert killer.killed, again.json
        equal(again.policy_sha256, calm.policy_sha256, f"{task}: policies")
        for differently in ("Actor.Processes=1", "Actor.Sandbox=userns", "Actor.Sandbox=process"):
            equal(run(job(task, steps=steps), differently).policy_sha256, calm.policy_sha256, f"{task}: policies with {differently}")


@story("a storm is played as its number says, by the controller that is asked for")
def storms():
    def costs(*sets):
        sets = set_words("Actor.Python=" + venv(), *sets)
        r = ctl("env", "rollout", "stormwater:theta", *sets, "--steps", "312", "--actions", "zero")
        equal(r.status, 0, f"{r.err}: status")
        rows = [json.loads(line) for line in r.out.splitlines()]
        return sum(rows[0]["state"]["rain"]), -sum(row.get("reward", 0) for row in rows)
    for storm, scale in ((1, 0.5), (20, 2)):
        rain, passive = costs(f"Environment.Storm={storm}", "Environment.Controller=passive")
        assert abs(rain - 16.2 * scale) < 1e-9, rain
    assert passive > 20000, passive
    rain, ruled = costs("Environment.Storms=published", "Environment.Controller=rules")
    rain, passive = costs("Environment.Storms=published", "Environment.Controller=passive")
    assert abs(rain - 16.2) < 1e-9 and abs(passive - 1630.34) < 0.01 and ruled < passive, (rain, passive, ruled)


tell()
