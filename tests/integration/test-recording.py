#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings: the episodes that an evaluation plays, as pictures. Where a recording is impossible, no file is left behind."""
import glob, os, shutil, signal, struct, time
from story import HOSTILE, STATE, ctl, equal, run, shared_library, story, tell

kept = {}


def trained(example, *sets):
    """A checkpoint of a little training."""
    if example not in kept:
        r = run(example, "Job.StopSteps=6000", "Job.StopReturn=", *sets, seed=3)
        kept[example] = sorted(glob.glob(os.path.join(r.state_directory, "jobs", "*", "state", "*.safetensors")))[-1]
    return kept[example]


def at(name):
    return os.path.join(STATE, name)


def eval_json(*words, **kw):
    r = ctl("eval", *words, "--json=short", **kw)
    equal(r.status, 0, f"status: {r.err}")
    return r


def nothing_but(before):
    equal(set(os.listdir(STATE)) - {"actord"}, before - {"actord"}, "files left")


@story("a recording shows what an evaluation plays: equal returns to the last digit, modes or samples, scaled observations or raw ones")
def same_episodes():
    for example, sets in ("cartpole", ["Learner.NormalizeObservations=yes"]), ("pendulum", []), ("cartpole-dqn", []), ("catch", []):
        checkpoint = trained(example, *sets)
        for how in [], ["--set", "Evaluation.Stochastic=yes", "--seed", "9"]:
            played = eval_json(checkpoint, "--episodes=3", *how)
            seen = eval_json(checkpoint, "--episodes=3", "--gif", at("a.gif"), *how)
            equal(seen.episodes, 3, f"{example} {how}: episodes")
            equal(seen.return_mean, played.return_mean, f"{example} {how}: means")
            assert len(set(seen.returns)) > 1 or example in ("cartpole-dqn", "catch"), seen.returns
            # CartPole shows 50 pictures a second, Pendulum 20 and Catch 5, which is each of their states.
            equal(seen.pictures, sum(seen.steps) + 3, "pictures")


@story("a GIF, a directory of PNGs, a video: whole files in their formats, one episode unless more are asked for")
def formats():
    checkpoint = trained("cartpole")
    r = ctl("eval", checkpoint, "--episodes=1")
    assert "(1 episode)" in r.out and "nan" not in r.out, r.out
    seen = eval_json(checkpoint, "--gif", at("b.gif"))
    with open(at("b.gif"), "rb") as f:
        data = f.read()
    equal((data[:6], struct.unpack("<HH", data[6:10]), data[-1:]), (b"GIF89a", (seen.width, seen.height), b";"), "a GIF")
    equal((seen.episodes, seen.pictures, seen.pictures_per_s), (1, seen.steps[0] + 1, 50), "one episode")
    assert len(data) < 2000 * seen.pictures, len(data)

    seen = eval_json(checkpoint, "--frames", at("frames/"))
    names = sorted(os.listdir(at("frames")))
    equal(names, [f"frame-{k:05}.png" for k in range(1, seen.pictures + 1)], "frames")
    for name in names:
        with open(os.path.join(at("frames"), name), "rb") as f:
            equal(f.read()[:8], b"\x89PNG\r\n\x1a\n", name)

    if shutil.which("ffmpeg"):
        eval_json(checkpoint, "--video", at("b.mp4"))
        with open(at("b.mp4"), "rb") as f:
            equal(f.read()[4:8], b"ftyp", "an MP4")
    before = set(os.listdir(STATE))
    r = ctl("eval", checkpoint, "--video", at("c.mp4"), before=["/usr/bin/env", "PATH=/nowhere"])
    assert r.status == 1 and "ffmpeg" in r.err and "--gif" in r.err, r.err
    nothing_but(before)


@story("a rollout can be recorded, too: its lines are the same, and MuJoCo's many steps a second are thinned")
def rollouts():
    for name, steps, pictures in ("Acrobot-v1", 20, 21), ("Hopper-v4", 7, 4), ("LunarLander-v3", 10, 11):
        plain = ctl("env", "rollout", name, "--seed=4", f"--steps={steps}")
        r = ctl("env", "rollout", name, "--seed=4", f"--steps={steps}", "--gif", at("c.gif"))
        equal((r.status, r.out), (0, plain.out), f"{name}: {r.err}")
        assert f"c.gif: {pictures} pictures of " in r.err, r.err
        os.unlink(at("c.gif"))
    r = ctl("env", "rollout", shared_library("examples/env-template/line.c"), "--steps=5", "--gif", at("c.gif"), "-q")
    equal((r.status, r.err, os.path.exists(at("c.gif"))), (0, "", True), "a plugin that draws")


@story("a plugin whose pictures are none, or that fails in between, is named, and leaves no file")
def hostile():
    so = shared_library(HOSTILE)
    before = set(os.listdir(STATE))
    for how, want in ("shapes", "picture of its draw() is invalid"), ("nowhere", "picture of its draw() is invalid"), ("blind", "Input/output error"), ("crash", "signal 11"):
        for option in ["--gif", at("d.gif")], ["--frames", at("d")]:
            r = ctl("env", "rollout", so, "--steps=30", "--set", "How=" + how, *option)
            assert r.status != 0 and want in r.err, (how, r.status, r.err)
            nothing_but(before)


@story("a job that cannot be recorded is refused in a sentence before anything is played")
def refusals():
    checkpoint = trained("cartpole")
    before = set(os.listdir(STATE))
    os.makedirs(at("there"), exist_ok=True)
    with open(at("broken.safetensors"), "wb") as f, open(checkpoint, "rb") as g:
        f.write(g.read()[:-100])
    for words, want in [(["--gif", at("x.gif"), "--frames", at("x")], "only one of --video, --gif and --frames"), (["--video", at("x.avi")], "must end in .mp4"),
                        (["--gif", at("there")], "is a directory"), (["--frames", at("there")], "exists already"),
                        (["--gif", at("none/x.gif")], "No such file"), (["--gif", at("x.gif"), "--episodes=101"], "at most 100"),
                        (["--gif", at("x.gif"), "--grid=0:0.01:101,0,0,0"], "it has 101 states, and a recording holds at most 100 episodes"),
                        (["--gif", at("x.gif"), "--user"], "is a file, and no daemon has it: leave out --system, --user and --host"),
                        (["--gif", ""], "must not be empty"), (["--gif", at("x.gif"), "--set", "Job.Environment=Pendulum-v1"], "does not hold"),
                        (["--gif", at("x.gif"), "--set", "Learner.HiddenLayers=8"], "does not hold")]:
        r = ctl("eval", checkpoint, *words)
        assert r.status != 0 and want in r.err and not r.out, (words, r.status, r.out, r.err)
    r = ctl("eval", at("broken.safetensors"), "--gif", at("x.gif"))
    assert r.status == 2 and "cut short" in r.err, r.err
    equal(ctl("env", "show", "CartPole-v1", "--gif", at("x.gif")).status, 2, "show takes no --gif")
    nothing_but(before | {"there", "broken.safetensors"})


@story("only ordinary files are replaced; a full disk is reported and leaves no file")
def places():
    checkpoint = trained("cartpole")
    os.mkfifo(at("pipe.gif"))
    os.mkfifo(at("pipe.mp4"))
    os.symlink("nowhere", at("link.gif"))
    before = set(os.listdir(STATE))
    for option, name in ("--gif", "pipe.gif"), ("--gif", "link.gif"), ("--video", "pipe.mp4"):
        if option == "--video" and not shutil.which("ffmpeg"):
            continue
        kind = os.lstat(at(name)).st_mode
        r = ctl("eval", checkpoint, option, at(name))
        assert r.status == 2 and "is not a regular file" in r.err, (name, r.status, r.err)
        equal(os.lstat(at(name)).st_mode, kind, name)
    # A limit that is reported as an error stands for a full disk.
    def small(blocks):
        return ["/bin/sh", "-c", f'trap "" XFSZ; ulimit -f {blocks}; exec "$@"', "sh"]

    for option, name in ("--gif", "full.gif"), ("--video", "full.mp4"):
        if option == "--video" and not shutil.which("ffmpeg"):
            continue
        r = ctl("env", "rollout", "LunarLander-v3", "--steps=400", option, at(name), before=small(256))
        assert r.status == 1 and "full" in r.err and "cannot be written" in r.err, (name, r.status, r.err)
    r = ctl("env", "show", "CartPole-v1", before=small(8))
    assert r.status == 1 and "raise the limit of a file's size" in r.err, (r.status, r.err)
    nothing_but(before)


@story("Ctrl-C ends a recording, and leaves no part of it behind")
def interrupted():
    checkpoint = trained("cartpole")
    before = set(os.listdir(STATE))

    def stop(p):
        while not glob.glob(at("long.*")) and p.poll() is None:
            time.sleep(0.02)
        p.send_signal(signal.SIGINT)

    for words in (["eval", checkpoint, "--episodes=100", "--gif", at("long.gif")], ["eval", checkpoint, "--episodes=100", "--frames", at("long")],
                  ["env", "rollout", "LunarLander-v3", "--steps=100000", "--gif", at("long.gif")]):
        r = ctl(*words, during=stop)
        equal((r.status, r.err.count("interrupted: no result is kept")), (130, 1), f"{words}: {r.err}")
        nothing_but(before)


tell()
