#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""[Scaling] Shares=: a policy is trained, exported and installed; a file that is no such policy is refused by name; and a job that trades learns the
same. tests/vm/vm-shares.py has the trade itself, which needs the cgroup controller cpu."""
import glob, os
from bus import *
import trading

SMALL = [("Job.StopSteps", "20480"), ("Job.StopReturn", "")]


def put(bus, name, data):
    folder = bus.dir + "/config/actord/shares"
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/{name}.safetensors"
    if data is None:
        os.mkfifo(path)
    else:
        with open(path, "wb") as f:
            f.write(data)
    return path


def shares(name):
    return [("Scaling.Shares", f"simppo:{name}")]


@story("a policy that is missing, of another shape, broken or no file at all is refused by its name, with what to do")
def refusals():
    good = trading.policy()
    with Bus() as bus:
        folder = bus.dir + "/config/actord/shares"
        said = refused(bus, overrides=shares("hand"))
        assert "simppo:hand: no policy of this name is installed (installed: none); put the file" in said and folder in said, said
        put(bus, "hand", good)
        said = refused(bus, overrides=shares("hnad"))
        assert "(installed: hand)" in said, said
        said = refused(bus, JOB_TEXT.replace("[Scaling]\n", "[Scaling]\nShares=simppo:hnad\n", 1))
        assert re.search(r"test.conf:\d+: \[Scaling\] Shares=simppo:hnad: no policy", said), said
        for name, data, words in (
                ("narrow", trading.policy(n_inputs=trading.N_INPUTS - 1), "in the shape"), ("faas", trading.policy(environment="faas"), "Environment=shares:N"),
                ("blind", trading.policy(**{"Job.Algorithm": "ppo"}), "Algorithm=simppo"), ("cut", good[:-40], "cut short"),
                ("flipped", good[:-80] + bytes([good[-80] ^ 1]) + good[-79:], "damaged"), ("empty", b"", "too short"),
                ("big", good + b"0" * (4 << 20), "such a policy has at most 4194304"), ("pipe", None, "not a regular file"),
                ("wide", trading.policy(**{"Learner.HiddenLayers": "100000"}), "at most 512 units")):
            path = put(bus, name, data)
            said = refused(bus, overrides=shares(name))
            assert f"Scaling.Shares=simppo:{name}: {path} cannot be used: " in said and words in said, (name, said)
        equal(bus.jobs(), [], "jobs")


@story("names that lead out of the folder, and other words, are refused before any file is looked for")
def names():
    with Bus() as bus:
        for value, words in (("simppo:../hand", "with no dot first"), ("simppo:.hand", "with no dot first"), ("simppo:a/b", "ASCII letters"),
                             ("simppo:" + "x" * 65, "at most 64 characters"), ("simppo:", "simppo:NAME"), ("simppo", "simppo:NAME"),
                             ("equal:x", "takes nothing after a colon"), ("simpo:x", "did you mean simppo?")):
            said = refused(bus, overrides=[("Scaling.Shares", value)])
            assert words in said, (value, said)


@story("verify says the same as a submission does; Deadline= may stand beside Shares=simppo:NAME")
def verified():
    with Bus() as bus:
        put(bus, "hand", trading.policy())
        conf = os.path.join(EXAMPLES, "cartpole.conf")
        env = dict(environment(), XDG_CONFIG_HOME=bus.dir + "/config")
        r = ctl("verify", conf, "--set", "Scaling.Shares=simppo:hand", "--set", "Scaling.Deadline=5min", env=env)
        equal(r.status, 0, r.err)
        r = ctl("verify", conf, "--set", "Scaling.Shares=simppo:hnad", env=env)
        assert r.status != 0 and "installed: hand" in r.err, r.err
        r = ctl("verify", conf, "--set", "Scaling.Deadline=5min", env=env)
        assert r.status != 0 and "Shares=simppo:NAME" in r.err, r.err


@story("jobs with Shares= learn what they learn without; where no weight can be set, that is said once and they go on as equals")
def same():
    with Bus("MaxJobs=3\n") as bus:
        put(bus, "hand", trading.policy())
        long = bus.submit(overrides=shares("hand") + ENDLESS)
        one = bus.submit(overrides=shares("hand") + SMALL + [("Job.RuntimeMaxSec", "1h")])
        equal(bus.ended(one), "finished", "the job that trades")
        plain = bus.submit(overrides=SMALL)
        equal(bus.ended(plain), "finished", "the job that does not")
        equal(bus.get(one, "PolicySHA256"), bus.get(plain, "PolicySHA256"), "policies")
        equal((bus.get(one, "Shares"), bus.get(plain, "Shares"), bus.get(plain, "CPUWeight")), ("simppo:hand", "equal", 0), "what status says")
        equal("cpu-weight" in bus.get(plain, "LimitsNotEnforced"), False, "a limit of a job that asks for none")
        if "cpu-weight" not in bus.get(long, "LimitsNotEnforced"):
            raise Skip("this host's cgroups have the cpu controller; the rest is tests/vm/vm-shares.py")
        other = bus.submit(overrides=shares("hand") + ENDLESS)

        def said(job):
            with open(bus.dir + "/log", errors="replace") as f:
                return f.read().count(f"Job {job} does not trade CPU weight: ")

        wait_for("both say so", lambda: said(long) > 0 and said(other) > 0, 30)
        time.sleep(5) # two more turns
        equal((said(long), said(other)), (1, 1), "how often it was said")
        equal((bus.get(long, "CPUWeight"), bus.state(long), bus.state(other)), (0, "running", "running"), "the jobs")


@story("the example trains a policy, and its export is one that the daemon takes")
def trained():
    r = run("shares-simppo", "Job.StopSteps=8192", "Evaluation.Episodes=0")
    with Bus() as bus:
        path = put(bus, "mine", b"")
        os.unlink(path)
        checkpoint = glob.glob(os.path.join(r.state_directory, "jobs", "*", "state", "checkpoint-*.safetensors"))[-1]
        e = ctl("export", checkpoint, "--weights-only", "--output=" + path)
        equal(e.status, 0, e.err)
        job = bus.submit(overrides=shares("mine") + SMALL)
        equal(bus.ended(job), "finished", "the job")
        put(bus, "whole", open(checkpoint, "rb").read())
        said = refused(bus, overrides=shares("whole"))
        assert "it is a whole checkpoint" in said and "--weights-only" in said, said


tell()
