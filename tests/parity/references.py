#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes what Gymnasium's MuJoCo environments do in their first steps, on the engine that is installed beside it, as one JSON object:
tests/data/mujoco-ENGINE.json, with which tests/unit/actor/test-mujoco-engines.c compares our environments."""
import json, sys, warnings
import gymnasium, mujoco
import numpy as np

warnings.filterwarnings("ignore")
gymnasium.logger.min_level = 50
NAMES = [f"{task}-v5" for task in ("Hopper", "Walker2d", "HalfCheetah", "Swimmer", "InvertedPendulum", "InvertedDoublePendulum", "Reacher",
                                   "Pusher", "Ant", "Humanoid", "HumanoidStandup")]
# Not a default, hence not seen by the others: (name, key and value of ours, Gymnasium's argument).
VARIED = [("Ant-v4", "UseContactForces=yes", {"use_contact_forces": True}),
          ("Ant-v5", "IncludeCfrcExt=no", {"include_cfrc_ext_in_observation": False}),
          ("Humanoid-v5", "ContactCostWeight=1e-3", {"contact_cost_weight": 1e-3}),
          ("Humanoid-v5", "IncludeCinert=no", {"include_cinert_in_observation": False}),
          ("Humanoid-v5", "IncludeCvel=no", {"include_cvel_in_observation": False}),
          ("HumanoidStandup-v5", "IncludeQfrcActuator=no", {"include_qfrc_actuator_in_observation": False})]
if mujoco.__version__ < "3":
    NAMES.append("Pusher-v4")  # which Gymnasium offers on no newer engine


def plain(x):
    """Few digits that binary holds exactly."""
    return [float(v) for v in np.round(np.asarray(x) * 4096) / 4096]


def digits(x):
    return float(f"{float(x):.9g}")


def reference(name, option, arguments, seed):
    env = gymnasium.make(name, **arguments).unwrapped
    env.reset(seed=seed)
    qpos, qvel = plain(env.data.qpos), plain(env.data.qvel)
    if name.startswith("Humanoid-"):
        qpos[2:7] = [0.125, 1.0, 0.0, 0.0, 0.0]  # on the floor, where there are contacts
    mujoco.mj_resetData(env.model, env.data)
    env.set_state(np.array(qpos), np.array(qvel))
    env.action_space.seed(seed)
    steps = []
    for _ in range(2 if env.model.nq > 20 else 4):
        high = env.action_space.high
        action = [float(v) for v in np.round(env.action_space.sample() / high * 8) / 8 * high]
        observation, reward, terminated, _, _ = env.step(np.array(action, dtype=np.float32).astype(np.float64))
        large = len(observation) > 30
        steps.append({"action": [digits(v) for v in action], "reward": digits(reward), "terminated": bool(terminated),
                      "n": len(observation), "observation": [digits(v) for v in observation[:: 7 if large else 1]]})
    return {"environment": name, "option": option, "qpos": qpos, "qvel": qvel, "steps": steps}


cases = [(name, "", {}) for name in NAMES] + VARIED
rows = [json.dumps(reference(*case, seed=1)) for case in cases]
sys.stdout.write('{"gymnasium": "%s", "mujoco": "%s", "references": [\n%s\n]}\n' % (gymnasium.__version__, mujoco.__version__, ",\n".join(rows)))
