#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Box2D tasks against Gymnasium's, which run on Box2D 2.3.10; ours run on 2.4.1.

usage: box2d.py MODULE.so [EPISODES]         needs Gymnasium with Box2D, and a C compiler

Both sides draw from one stream in the same order, so each episode begins alike. The first observation and the steps in free flight must agree to 1e-4
(the walkers have none: they begin with both feet on the ground); once bodies touch, rounding makes the paths differ. So the Kolmogorov-Smirnov test,
at 1 %, compares the distributions of returns and lengths of episodes under Gymnasium's own controllers."""
import ctypes, os, subprocess, sys, tempfile

import Box2D
import gymnasium
import numpy as np
from gymnasium.envs.box2d import bipedal_walker, lunar_lander

STREAM = r"""
#include <stdint.h>
static uint64_t next(uint64_t *s) {
        uint64_t z = *s += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
}
double actord_random_uniform(void *s, double low, double high) { return low + (high - low) * (double) (next(s) >> 11) * 0x1p-53; }
uint32_t actord_random_u32(void *s) { return (uint32_t) (next(s) >> 32); }
double actord_random_normal(void *s) { return 0; }
/* ground.c calls these to build bodies; no test here builds any. */
void world_ground(void) {}
void world_block(void) {}
"""


class Stream:
    """Gymnasium's np_random, drawing from the stream that ours draws from."""

    def __init__(self, library, seed):
        self.library, self.state = library, ctypes.c_uint64(seed)

    def one(self, low, high):
        return self.library.actord_random_uniform(ctypes.byref(self.state), ctypes.c_double(low), ctypes.c_double(high))

    def uniform(self, low, high, size=None):
        return self.one(low, high) if size is None else np.array([self.one(low, high) for _ in range(size[0])])

    def random(self):
        return self.one(0, 1)

    def integers(self, low, high):
        return int(low) + int(self.one(0, 1) * (int(high) - int(low)))


class Spec(ctypes.Structure):
    _fields_ = [("head", ctypes.c_char * 64), ("observation", ctypes.c_char * 48), ("action", ctypes.c_char * 48),
                ("horizon_steps", ctypes.c_uint32), ("n_agents", ctypes.c_uint32), ("rewards", ctypes.c_double * 3),
                ("instance_bytes", ctypes.c_uint64), ("snapshot_bytes", ctypes.c_uint64), ("flags", ctypes.c_uint32 * 2)]


class Step(ctypes.Structure):
    _fields_ = [("reward", ctypes.c_double), ("terminated", ctypes.c_uint8), ("truncated", ctypes.c_uint8),
                ("reserved", ctypes.c_uint8 * 6)]


P = ctypes.c_void_p
Call = lambda *types: ctypes.CFUNCTYPE(ctypes.c_int, *types)


class Abi(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("struct_bytes", ctypes.c_uint32), ("spec", Call(P, ctypes.c_uint32, P)),
                ("init", Call(P, P, ctypes.c_uint32)), ("reset", Call(P, P, P)), ("step", Call(P, P, P, P, P)),
                ("snapshot", Call(P, P)), ("restore", Call(P, P)), ("close", Call(P))]


class Ours:
    def __init__(self, module, name, size):
        self.env = ctypes.cast(module.actord_env_find(name.encode()), ctypes.POINTER(Abi)).contents
        spec = Spec()
        assert self.env.spec(None, 0, ctypes.byref(spec)) == 0
        self.memory = ctypes.create_string_buffer(spec.instance_bytes)
        self.horizon = spec.horizon_steps
        self.observation = np.zeros(size, np.float32)
        assert self.env.init(self.memory, None, 0) == 0

    def reset(self, stream):
        assert self.env.reset(self.memory, ctypes.byref(stream.state), self.observation.ctypes.data) == 0
        return self.observation.copy()

    def step(self, action, stream):
        result = Step()
        action = np.ascontiguousarray(action, np.int32 if np.ndim(action) == 0 else np.float32)
        assert self.env.step(self.memory, action.ctypes.data, ctypes.byref(stream.state),
                             self.observation.ctypes.data, ctypes.byref(result)) == 0
        return self.observation.copy(), result.reward, bool(result.terminated)


class Theirs:
    fresh = True

    def __init__(self, name):
        self.env = gymnasium.make(name).unwrapped
        self.env._generate_clouds = lambda: None  # they draw numbers, and touch nothing

    def reset(self, stream):
        """In a world of its own, as the lander's always is. The walker's is used again, and then the order in which contacts are
        solved, hence the gait, depends on all the episodes before."""
        self.env._np_random = stream
        if isinstance(self.env, bipedal_walker.BipedalWalker) and self.fresh:
            self.env.terrain, self.env.world = [], Box2D.b2World()
        return self.env.reset()[0]

    def step(self, action, stream):
        return self.env.step(action)[:3]


def controller(name, env):
    if name.startswith("Lunar"):
        return lambda s: lunar_lander.heuristic(env, s)
    walker = bipedal_walker.BipedalWalkerHeuristics()
    return lambda s: walker.step_heuristic(s)


def episode(side, stream, act, horizon):
    observation, total, n = side.reset(stream), 0.0, 0
    for n in range(1, horizon + 1):
        observation, reward, terminated = side.step(act(observation), stream)
        total += reward
        if terminated:
            break
    return total, n


def flight(name, ours, theirs, library, n_episodes, n_steps):
    """The greatest difference at the reset, and over the first steps with the engines off."""
    worst = [0.0, 0.0]
    idle = 0 if name == "LunarLander-v3" else np.zeros(2 if "Lunar" in name else 4, np.float32)
    for seed in range(n_episodes):
        a, b = Stream(library, seed), Stream(library, seed)
        worst[0] = max(worst[0], np.abs(ours.reset(a) - theirs.reset(b)).max())
        for _ in range(n_steps):
            worst[1] = max(worst[1], np.abs(ours.step(idle, a)[0] - theirs.step(idle, b)[0]).max())
    return worst


class Ground(ctypes.Structure):
    _fields_ = [("points", ctypes.c_double * 2 * 200), ("n_blocks", ctypes.c_uint), ("blocks", ctypes.c_double * 2 * 4 * 64)]


def corners(shape):
    return sorted((round(x, 4), round(y, 4)) for x, y in shape)


def crossing(theirs, library, n_episodes):
    """The greatest difference of the ground's height, which is what a walker crosses; obstacles must have equal corners."""
    worst, n_blocks = 0.0, 0
    for seed in range(n_episodes):
        a, b, ground = Stream(library, seed), Stream(library, seed), Ground()
        slope, obstacle = (ctypes.c_double * 200)(), (ctypes.c_double * 200)()
        hardcore = theirs.env.hardcore
        library.ground_draw(ctypes.byref(a.state), slope, obstacle if hardcore else None)
        library.ground_make(slope, obstacle if hardcore else None, ctypes.byref(ground))
        theirs.reset(b)
        worst = max(worst, np.abs(np.array(ground.points)[:, 1] - theirs.env.terrain_y).max())
        blocks = [corners(t.fixtures[0].shape.vertices) for t in reversed(theirs.env.terrain)
                  if isinstance(t.fixtures[0].shape, Box2D.b2PolygonShape)]
        mine = [corners(ground.blocks[i]) for i in range(ground.n_blocks)]
        if len(blocks) != len(mine) or any(np.abs(np.array(x) - y).max() > 2e-4 for x, y in zip(mine, blocks)):
            return np.inf, n_blocks
        n_blocks += len(mine)
    return worst, n_blocks


def ks(a, b):
    """The two-sample test of Kolmogorov and Smirnov: the distance, and what it stays below at 1 %."""
    a, b = np.sort(a), np.sort(b)
    every = np.concatenate((a, b))
    distance = np.abs(np.searchsorted(a, every, "right") / len(a) - np.searchsorted(b, every, "right") / len(b)).max()
    return distance, 1.628 * ((len(a) + len(b)) / (len(a) * len(b))) ** 0.5


def main():
    n_episodes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        source, path = os.path.join(folder, "stream.c"), os.path.join(folder, "stream.so")
        with open(source, "w") as file:
            file.write(STREAM)
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        subprocess.run(["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-I", root, "-o", path, source,
                        os.path.join(root, "actor", "envs", "box2d", "ground.c")], check=True)
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    library.actord_random_uniform.restype = ctypes.c_double
    module = ctypes.CDLL(os.path.abspath(sys.argv[1]))
    module.actord_env_find.restype = P

    tasks = (("LunarLander-v3", 8, 20), ("LunarLanderContinuous-v3", 8, 20), ("BipedalWalker-v3", 24, 0),
             ("BipedalWalkerHardcore-v3", 24, 0))
    for number, (name, size, n_flight) in enumerate(tasks, 1):
        ours = Ours(module, name, size)
        theirs = Theirs(name)
        first, free = flight(name, ours, theirs, library, min(n_episodes, 200), n_flight)
        height, n_blocks = crossing(theirs, library, min(n_episodes, 200)) if "Walker" in name else (0.0, 0)
        results = []
        for side, base in (ours, 1000000), (theirs, 2000000):
            results.append([episode(side, Stream(library, base + i), controller(name, theirs.env), ours.horizon)
                            for i in range(n_episodes)])
        mine, other = (np.array(r) for r in results)
        distances = [ks(mine[:, k], other[:, k]) for k in range(2)]
        ok = first < 1e-4 and free < 1e-4 and height < 1e-9 and all(d <= bound for d, bound in distances)
        failed |= not ok
        print(f"{'' if ok else 'not '}ok {number} - {name}")
        ground = f" ground {height:.1e} with {n_blocks} obstacles' blocks;" if "Walker" in name else ""
        print(f"# {name}: reset {first:.1e}, {n_flight} free steps {free:.1e};{ground} {n_episodes} episodes each; " + "; ".join(
            f"{what} {mine[:, k].mean():.1f} ± {mine[:, k].std():.1f} and {other[:, k].mean():.1f} ± {other[:, k].std():.1f}, "
            f"KS {distances[k][0]:.3f} of {distances[k][1]:.3f}" for k, what in enumerate(("returns", "lengths"))), flush=True)
    print(f"1..{len(tasks)}")
    sys.exit(failed)


main()
