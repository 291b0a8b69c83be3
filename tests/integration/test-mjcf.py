#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environment=mujoco:FILE: a model of a user's own, from its directory, in the sandbox."""
import json, os, shutil, subprocess
from story import ROOT, STATE, ctl, equal, run, set_words, story, tell

MODELS = os.path.join(STATE, "models")
HOPPER = ["--set", "FrameSkip=4", "--set", "ResetNoise=0.005", "--set", "SkipPositions=1", "--set", "VelocityClip=10"]
TERMS = ["--set", "Reward=velocity rootx 1, alive 1, control -0.001",
         "--set", "Terminate=position rootz <= 0.7, abs position rooty >= 0.2, largest >= 100"]
JUDGE = """
#include <actord/mujoco.h>
#include <math.h>
int actord_mujoco_judge(const ActordMujocoStep *s, double *reward, uint8_t *terminated) {
        double squares = 0;
        for (uint32_t i = 0; i < s->n_controls; i++)
                squares += s->controls[i] * s->controls[i];
        *reward = (s->positions[0] - s->positions_before[0]) / s->seconds + 1 - 1e-3 * squares;
        *terminated = !(s->positions[1] > 0.7) || !(fabs(s->positions[2]) < 0.2);
        return 0;
}
"""
BACKWARDS = """<mujoco><option timestep="-1"/><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
<actuator><motor joint="j" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"""


def write(name, text):
    os.makedirs(MODELS, exist_ok=True)
    path = os.path.join(MODELS, name)
    with open(path, "w") as f:
        f.write(text)
    return "mujoco:" + path


def hopper():
    os.makedirs(MODELS, exist_ok=True)
    return "mujoco:" + shutil.copy(os.path.join(ROOT, "actor/envs/mujoco/hopper.xml"), MODELS)


def reward_plugin(name, text):
    write(name + ".c", text)
    subprocess.run(["gcc", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-I", os.path.join(ROOT, "include"),
                    "-o", os.path.join(MODELS, name + ".so"), os.path.join(MODELS, name + ".c"), "-lm"], check=True)


@story("Hopper by terms, and by a function in C, is the built-in Hopper to the last digit, in the sandbox")
def same():
    built_in = ctl("env", "rollout", "Hopper-v4", "--seed", "4", "--steps", "600").out
    equal(ctl("env", "rollout", hopper(), *HOPPER, *TERMS, "--seed", "4", "--steps", "600").out, built_in, "terms")
    reward_plugin("judge", JUDGE)
    equal(ctl("env", "rollout", hopper(), *HOPPER, "--set", "RewardPlugin=judge.so", "--seed", "4", "--steps", "600").out,
          built_in, "plugin")


@story("a model passes the ABI's checks at each level of the sandbox")
def checked():
    for level in "userns", "process":
        r = ctl("env", "check", "mujoco:" + os.path.join(ROOT, "examples/balance.xml"), "--set", "Actor.Sandbox=" + level,
                "--set", "Reward=vx cart 1, upright long 1", "--set", "Terminate=z cart < 0.1, upright short < 0.5", "--json=short")
        equal((r.status, json.loads(r.out)["ok"]), (0, True), f"{level}: {r.out} {r.err}")


@story("a mistake in a model or a term is reported in one sentence")
def wrong():
    cases = [(write("bad.xml", "<mujoco><worldbody><bod/></worldbody></mujoco>"), "Reward=alive 1", "unrecognized element"),
             (write("cut.xml", "<mujoco"), "Reward=alive 1", "MuJoCo 2"),
             (write("steal.xml", '<mujoco><include file="/etc/passwd"/></mujoco>'), "Reward=alive 1", "Include error"),
             (write("still.xml", "<mujoco/>"), "Reward=alive 1", "no actuators"),
             (write("back.xml", BACKWARDS), "Reward=alive 1", "timestep is -1; it must be above 0"),
             (hopper(), "Reward=alive 1, velocity rootq 1", "term 2 (velocity): the model has no joint rootq"),
             (hopper(), "Reward=alive 1, velocty rootx 1", 'term 2 ("velocty rootx 1"): unknown quantity velocty'),
             (hopper(), "FrameSkip=2", "a model has no reward of its own"),
             (hopper(), "Reward=alive 1", "FrameSkip=1.5", "FrameSkip=1.5: it must be a whole number from 1 to 10000"),
             (hopper(), "RewardPlugin=absent.so", "does not load"),
             ("mujoco:" + os.path.join(MODELS, "absent.xml"), "Reward=alive 1", "cannot be read: No such file"),
             ("mujoco:" + os.path.join(MODELS, "absent.xml"), "FrameSkip=2", "absent.xml: the model cannot be read: No such file"),
             ("mujoco:/etc/passwd", "Reward=alive 1", "it lies in /etc: this directory belongs to the system, and actors could read everything in it"),
             ("mujoco:/proc/version", "Reward=alive 1", "it lies in /proc: this directory belongs to the kernel"),
             ("mujoco:", "Reward=alive 1", "write mujoco:FILE.xml"), ("mujoco:x/..", "Reward=alive 1", "write mujoco:FILE.xml")]
    for name, *options, want in cases:
        r = ctl("env", "show", name, *set_words(*options))
        assert r.status == 2 and want in r.err, (name, options, r.status, r.err)


@story("a reward plugin that misbehaves harms only its own job")
def hostile():
    for body, want in [("*r = 0.0 / 0.0; *t = 0; return 0;", "not finite"),
                       ("*r = 0; *t = 0; return -5;", "error 5"),
                       ("*(volatile int *) 0 = 1; return 0;", "signal 11"),
                       ("*r = fork(); *t = 0; return 0;", "sandbox forbids")]:
        reward_plugin("hostile", f"#include <unistd.h>\n#include <actord/mujoco.h>\n"
                                 f"int actord_mujoco_judge(const ActordMujocoStep *s, double *r, uint8_t *t) {{ {body} }}\n")
        r = ctl("env", "rollout", hopper(), "--set", "RewardPlugin=hostile.so", "--steps", "3")
        assert r.status == 1 and want in r.err, (body, r.status, r.err)


@story("a job on a model is a pure function: actors and processes that differ learn the same policy")
def pure():
    few = ["Job.StopSteps=4096", "Actor.RolloutSteps=128", "Learner.Epochs=2"]
    first = run("balance", *few)
    again = run("balance", *few, "Actor.Processes=1", "Learner.Threads=1", "Actor.Sandbox=process")
    equal(again.policy_sha256, first.policy_sha256, "policy")


@story("a model that changes while its job runs is found, and the job fails with the reason")
def changed():
    shutil.copy(os.path.join(ROOT, "examples/balance.xml"), MODELS)
    with open(os.path.join(ROOT, "examples/balance.conf")) as f:
        write("balance.conf", f.read())
    path = os.path.join(MODELS, "balance.xml")
    with open(path) as f:
        text = f.read()

    def edit(p):
        from story import Killer, descendants, wait_for
        wait_for("the actors", lambda: len(descendants(p.pid, "actord-actor")) >= 2)
        with open(path, "w") as f:
            f.write(text.replace('gear="150"', 'gear="140"'))
        Killer("actord-actor", most=1)(p)

    r = run(os.path.join(MODELS, "balance.conf"), "Job.StopSteps=10000000", during=edit, ok=False)
    assert r.status in (1, 2), r.status  # 2: no round had closed yet, so the job file counts as the cause
    assert "the spec has changed since the job began" in r.err, r.err[-600:]


@story("a queued job on a model survives its daemon if the directory is kept open meanwhile, and says so if it is not")
def restarted():
    from bus import ENDLESS, Bus, signal, wait_for
    few = ["--set", "Job.StopSteps=4096", "--set", "Actor.RolloutSteps=128", "--set", "Learner.Epochs=2"]
    model = os.path.join(ROOT, "examples/balance.conf")
    want = run("balance", *few[1::2]).policy_sha256
    for kept in True, False:
        with Bus("MaxJobs=1\n", kept=kept) as bus:
            first = bus.submit(overrides=ENDLESS)
            job = int(bus.ctl("submit", model, *few).out)
            if kept:
                wait_for("the directory is given away", lambda: bus.keeper.read() == [f"job-{job}-model"])
                stranger = os.open("/", os.O_RDONLY)
                bus.keeper.kept.append((f"job-{first}-model", stranger))
            # Twice: the second daemon can have the directory only from the first one.
            for how in signal.SIGTERM, signal.SIGKILL:
                bus.stop(how)
                bus.start()
                equal(bus.state(job), "queued", "state")
            bus.ctl("stop", first)
            if kept:
                equal(bus.ended(job), "finished", "result")
                equal(bus.get(job, "PolicySHA256"), want, "policy")
                wait_for("nothing is kept for jobs that have ended, or brought no directory", lambda: bus.keeper.read() == [])
            else:
                equal(bus.ended(job), "failed", "result")
                fault = bus.get(job, "Fault")
                assert "directory of Environment=" in fault and "mujoco:" not in fault and "submit the job again" in fault, fault


tell()
