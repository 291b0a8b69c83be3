#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Atari games through the bridge, in the sandbox, against the same games in plain Python, pixel by pixel.

usage: atari.py ACTORCTL VENV            VENV has ale-py, and this is its Python

A rollout's lines say what was done and what was seen. Here its actions are given to an environment that is made and reset under the seeds
that the rollout's streams have, and each frame, reward and end must be the same."""
import functools, json, subprocess, sys

import ale_py, gymnasium, numpy as np
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from streams import first

GAMES = "Pong", "Breakout", "SpaceInvaders", "Qbert", "Gravitar"
SEED = 12
# Name, steps, keyword arguments and Wrappers= of the job file, and what these make in Python. Sticky actions are what the v5 games have.
KINDS = (("raw frames, sticky actions", 100, {}, "", lambda env: env),
         ("preprocessed, with noop starts and the end of a life as an end", 1000, {"frameskip": 1, "repeat_action_probability": 0.0},
          "AtariPreprocessing(noop_max=30, terminal_on_life_loss=True)",
          functools.partial(AtariPreprocessing, noop_max=30, terminal_on_life_loss=True)),
         ("preprocessed and stacked, sticky actions", 100, {"frameskip": 1}, "AtariPreprocessing() FrameStackObservation(4)",
          lambda env: FrameStackObservation(AtariPreprocessing(env), 4)))


def rollout(name, steps, options, wrappers):
    sets = [f"--set={key}={value}" for key, value in options.items()] + ([f"--set=Wrappers={wrappers}"] if wrappers else [])
    return subprocess.Popen([sys.argv[1], "env", "rollout", "gym:ale_py:" + name, f"--set=Actor.Python={sys.argv[2]}",
                             f"--seed={SEED}", f"--steps={steps}", *sets], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def compare(name, steps, options, wrappers, wrap):
    """(how many steps, episodes and different frames there were, what differs first or "")."""
    env = wrap(gymnasium.make(name, **options))
    n = episodes = 0
    frames = set()
    process = rollout(name, steps, options, wrappers)
    for line in process.stdout:
        row = json.loads(line)
        seen = np.array(row["observation"], np.uint8)
        if "episode" in row:
            episodes += 1
            expected = env.reset(seed=first(SEED, 2, row["episode"], 0) >> 1)[0]
            ends, rewards = (), ()
        else:
            expected, reward, terminated, truncated, _ = env.step(row["action"])
            rewards = (row["reward"], float(reward))
            ends = (row["terminated"], row["truncated"]), (bool(terminated), bool(truncated and not terminated))
            n += 1
        if seen.tobytes() != expected.tobytes() or len(set(rewards)) > 1 or len(set(ends)) > 1:
            process.kill()
            return n, episodes, len(frames), f"line {n + episodes}: {int((seen != expected.ravel()).sum())} pixels, {rewards}, {ends}"
        frames.add(seen.tobytes())
    if process.wait() != 0 or n != steps:
        return n, episodes, len(frames), f"{n} of {steps} steps: {process.stderr.read()[-1500:]}"
    return n, episodes, len(frames), "" if len(frames) > 10 else "hardly anything moves"


point = 0
failed = False
print(f"1..{len(GAMES) * len(KINDS)}", flush=True)
gymnasium.register_envs(ale_py)
for game in GAMES:
    for what, *kind in KINDS:
        point += 1
        n, episodes, frames, wrong = compare(f"ALE/{game}-v5", *kind)
        failed = failed or bool(wrong)
        print(f"not ok {point} - {game}, {what}\n# {wrong}" if wrong else
              f"ok {point} - {game}, {what}: {n} steps in {episodes} episodes, {frames} different frames, all equal", flush=True)
sys.exit(failed)
