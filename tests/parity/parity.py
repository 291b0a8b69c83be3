#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our environments against Gymnasium's: the same states and actions, number by number. Prints TAP, with the figures as comments.

Run by tests/parity/run.sh in a virtual environment that has what requirements.txt names. PARITY_EPISODES= says how many episodes (1,000).
ACTORD_BUILD= is a build that has, besides the default MuJoCo module, one for the engine of that virtual environment."""
import itertools, json, math, os, subprocess, sys, warnings
import gymnasium, mujoco
import numpy as np

warnings.filterwarnings("ignore")
gymnasium.logger.min_level = 50
BUILD = os.environ["ACTORD_BUILD"]
EPISODES = int(os.environ.get("PARITY_EPISODES", "1000"))
MUJOCO = ("Hopper", "Walker2d", "HalfCheetah", "Swimmer", "InvertedPendulum", "InvertedDoublePendulum", "Reacher", "Pusher", "Ant", "Humanoid",
          "HumanoidStandup")
VERSIONS = ("v4", "v5")
# Then nothing is compared with the engine of the default build: too much lies between the two.
NEWER = int(mujoco.__version__.split(".")[0]) > 2
CLASSIC = {"CartPole-v0": 200, "CartPole-v1": 500, "Pendulum-v1": 200, "Acrobot-v1": 500, "MountainCar-v0": 200, "MountainCarContinuous-v0": 999}
MOTION, SHAPE = ("body_", "jnt_", "dof_", "actuator_", "qpos0", "qpos_spring"), ("geom_",)
# Looks, and where in other arrays something begins; a quaternion of a body or shape that is round about that axis says nothing.
IRRELEVANT = ("geom_rgba", "geom_matid", "geom_group", "geom_user", "body_user", "jnt_user", "jnt_group", "actuator_user", "actuator_group",
              "body_geomadr", "body_geomnum", "body_bvhadr", "body_bvhnum", "geom_aabb", "geom_rbound", "geom_quat", "body_iquat",
              "body_plugin", "geom_plugin", "actuator_plugin", "dof_Madr")

OF_SHAPES = ("body_contype", "body_conaffinity")  # what a body's shapes have between them


def rollout(name, steps, engine="", seed=1):
    """(episode's first state and observation, its steps), episode by episode."""
    command = [os.path.join(BUILD, "actorctl"), "env", "rollout", name, "--states", "--seed", str(seed), "--steps", str(steps)]
    if engine:
        command += ["--set", f"Environment.Engine={engine}"]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begin, rows = None, []
    for line in p.stdout:
        row = json.loads(line)
        if "episode" in row:
            if rows:
                yield begin, rows
            begin, rows = row, []
        else:
            rows.append(row)
    if rows:
        yield begin, rows
    assert p.wait() == 0, name


def numbers(state):
    return list(itertools.chain(*state.values())) if isinstance(state, dict) else state


class Tally:
    """How two lists of numbers agree, step by step."""

    def __init__(self):
        self.steps = self.equal = 0
        self.worst = 0.0

    def add(self, ours, theirs):
        self.steps += 1
        self.equal += all(x == y for x, y in zip(ours, theirs))
        for x, y in zip(ours, theirs):
            self.worst = max(self.worst, abs(x - y) / max(1, abs(x), abs(y)))

    def __str__(self):
        return f"{self.equal:,} of {self.steps:,} steps equal in every bit, the others to {self.worst:.1e}"


def set_classic(env, name, state):
    u = env.unwrapped
    u.state = np.array(state)
    u.steps_beyond_terminated = None
    u.last_u = None


def classic(name):
    """State and reward in double precision; observations are their float32 roundings, where a last bit can tip over."""
    env = gymnasium.make(name).unwrapped
    tally, seen, ends, episodes = Tally(), Tally(), 0, 0
    for begin, rows in rollout(name, EPISODES * CLASSIC[name]):
        if episodes == EPISODES:
            continue  # random actions end some episodes early: there are more than asked for
        episodes += 1
        set_classic(env, name, begin["state"])
        before = begin["state"]
        for row in rows:
            action = row["action"] if isinstance(row["action"], int) else np.array(row["action"], dtype=np.float32)
            if not np.array_equal(env.state, before):
                set_classic(env, name, before)
            observation, reward, terminated, _, _ = env.step(action)
            tally.add(row["state"] + [row["reward"]], [*map(float, env.state), float(reward)])
            seen.add(row["observation"], [*map(float, observation)])
            ends += bool(terminated) != row["terminated"]
            before = row["state"]
    return (tally.worst < 1e-12 and seen.worst < 1.2e-7 and ends == 0,
            f"{episodes:,} episodes; states and rewards: {tally}; observations: {seen.equal:,} equal; {ends} ends differ")


def set_mujoco(env, state):
    u = env.unwrapped
    mujoco.mj_resetData(u.model, u.data)
    u.set_state(np.array(state["qpos"]), np.array(state["qvel"]))


def step_mujoco(env, row):
    observation, reward, terminated, _, _ = env.unwrapped.step(np.array(row["action"], dtype=np.float64))
    d = env.unwrapped.data
    return [*map(float, d.qpos), *map(float, d.qvel), *map(float, np.float32(observation)), float(reward)], bool(terminated)


def ours_of(row):
    return numbers(row["state"]) + row["observation"] + [row["reward"]]


def same_engine(name):
    """Whole episodes that run freely from one state: equal arithmetic stays equal."""
    env, tally, ends = gymnasium.make(name), Tally(), 0
    for begin, rows in rollout(name, max(2 * EPISODES, 200), mujoco.__version__):
        set_mujoco(env, begin["state"])
        for row in rows:
            theirs, terminated = step_mujoco(env, row)
            tally.add(ours_of(row), theirs)
            ends += terminated != row["terminated"]
    return tally.worst < 1e-9 and ends == 0, f"MuJoCo {mujoco.__version__}; {tally}; {ends} ends differ"


def one_step(name):
    """Compares one step of both from each state that the engine of the build reached. The other engine does not know what an engine keeps
    besides the state: its warm start, on which contacts depend, and positions that lag behind. So positions and velocities are compared."""
    env, tally = gymnasium.make(name), Tally()
    margin = float(env.unwrapped.model.geom_margin.max())
    for begin, rows in rollout(name, max(EPISODES, 50)):
        for before, row in zip([begin, *rows], rows):
            set_mujoco(env, before["state"])
            n = len(numbers(row["state"]))
            tally.add(numbers(row["state"]), step_mujoco(env, row)[0][:n])
    return tally.worst < 1e-4 or margin > 0, f"contact margin {margin:g}; {tally}"


def ks(a, b):
    """Two samples of Kolmogorov and Smirnov: the statistic, and its bound at 1 %."""
    a, b = np.sort(a), np.sort(b)
    at = np.concatenate([a, b])
    d = np.max(np.abs(np.searchsorted(a, at, side="right") / len(a) - np.searchsorted(b, at, side="right") / len(b)))
    return d, 1.628 * math.sqrt((len(a) + len(b)) / (len(a) * len(b)))


def distribution(name):
    """Returns and lengths of episodes under random actions, from each side's own resets."""
    env = gymnasium.make(name)
    horizon, wanted = env.spec.max_episode_steps, max(EPISODES // 10, 20)
    ours, theirs = [], []
    for _, rows in rollout(name, wanted * horizon // (10 if name[:-3] in ("Hopper", "Walker2d", "Ant", "Humanoid") else 1)):
        if rows[-1]["terminated"] or rows[-1]["truncated"]:
            ours.append((sum(r["reward"] for r in rows), len(rows)))
    ours = ours[:wanted]
    env.action_space.seed(2)
    for k in range(len(ours)):
        env.reset(seed=k)
        total, n, done = 0.0, 0, False
        while not done:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, n, done = total + reward, n + 1, terminated or truncated
        theirs.append((total, n))
    said, good = [], True
    for what, k in ("returns", 0), ("lengths", 1):
        d, bound = ks([x[k] for x in ours], [x[k] for x in theirs])
        good &= d < bound
        said.append(f"{what} {np.mean([x[k] for x in ours]):.2f} and {np.mean([x[k] for x in theirs]):.2f}, KS {d:.3f} of {bound:.3f}")
    return good, f"{len(ours)} episodes each; " + "; ".join(said)


def model(name):
    """Our MJCF and Gymnasium's, compiled by one engine: masses, joints, motors, options; and shapes, where none is left out."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    task, version = name.lower().split("-")
    own = os.path.join(root, "actor/envs/mujoco", f"{task}_{version}.xml")  # where the versions' models differ
    ours = mujoco.MjModel.from_xml_path(own if os.path.exists(own) else os.path.join(root, "actor/envs/mujoco", task + ".xml"))
    theirs = gymnasium.make(name).unwrapped.model
    whole = ours.ngeom == theirs.ngeom
    fields = [f for f in dir(ours) if f.startswith(MOTION + (SHAPE if whole else ())) and f not in IRRELEVANT + (() if whole else OF_SHAPES)]
    pairs = [(f, getattr(ours, f), getattr(theirs, f)) for f in fields]
    pairs += [("opt." + f, getattr(ours.opt, f), getattr(theirs.opt, f)) for f in dir(ours.opt) if not f.startswith("_")]
    worst, differ, n = 0.0, [], 0
    for f, a, b in pairs:
        if not isinstance(a, (int, float, np.ndarray)):
            continue
        n += 1
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if a.shape != b.shape:
            worst = math.inf
            differ.append(f)
        elif not np.array_equal(a, b):
            # Near zero, a sum's rounding error is relative to the largest number of the field.
            worst = max(worst, float(np.max(np.abs(a - b)) / max(1e-300, np.max(np.abs(b)))))
            differ.append(f)
    left_out = theirs.ngeom - ours.ngeom
    return worst < 1e-12, (f"{n} fields, {n - len(differ)} equal in every bit" + (f", the others to {worst:.1e}: {', '.join(differ)}" if differ else "") +
                           (f"; {left_out} geoms are left out" if left_out else ""))


def tell():
    tests = [] if NEWER else [(f"{name}: step for step as Gymnasium {gymnasium.__version__}", classic, name) for name in CLASSIC]
    for task, version in itertools.product(MUJOCO, VERSIONS):
        name = f"{task}-{version}"
        if name == "Pusher-v4" and NEWER:
            continue  # Gymnasium offers it on no engine from 3 on
        tests.append((f"{name}: the compiled model is Gymnasium's", model, name))
        tests.append((f"{name}: step for step on one engine", same_engine, name))
        if not NEWER:
            tests.append((f"{name}: one step from equal states", one_step, name))
            tests.append((f"{name}: returns and lengths are distributed alike", distribution, name))
    only = sys.argv[1:]
    tests = [t for t in tests if not only or any(word in t[0] for word in only)]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for i, (title, f, name) in enumerate(tests, 1):
        good, said = f(name)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {i} - {title}\n# {said}", flush=True)
    sys.exit(failed > 0)


tell()
