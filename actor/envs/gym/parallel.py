# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments of PettingZoo's parallel kind, for Environment=pettingzoo:MODULE. Like bridge.py, it may be slow: steps do not call it."""
import difflib, importlib, importlib.util, pkgutil
import actord_bridge as bridge
from actord_bridge import Refusal

AGENTS_MAX = 64
FAMILIES = "atari", "butterfly", "classic", "magent", "mpe", "sisl"


class Parallel:
    """Looks like an environment of one agent, so that bridge.py can save it, check it and render it."""
    spec = None

    def __init__(self, world, observation_space, action_space):
        self.world, self.agents = world, tuple(world.possible_agents)
        self.observation_space, self.action_space = observation_space, action_space

    unwrapped = property(lambda self: getattr(self.world, "unwrapped", self.world))
    render_mode = property(lambda self: getattr(self.world, "render_mode", None))
    metadata = property(lambda self: getattr(self.world, "metadata", {}))

    def sample(self):
        return [self.action_space.sample() for _ in self.agents]

    def seen(self, *dictionaries):
        """Everything that the agents received, as numbers in a fixed order."""
        parts = [bridge.np.ravel(d[a]).astype(bridge.np.float64) for d in dictionaries for a in self.agents if a in d]
        strangers = [a for a in self.world.agents if a not in self.agents]
        if strangers:
            raise Refusal(f"agents has {strangers[0]!r}, which is not in possible_agents")
        live = [float(a in self.world.agents) for a in self.agents]
        return bridge.np.concatenate([*parts, live])

    def reset(self, seed=None):
        result = self.world.reset(seed=seed)
        if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], dict):
            raise Refusal("reset() did not return (observations, infos), each a dictionary by agent, as environments of PettingZoo's parallel kind do")
        return self.seen(result[0]), result[1]

    def step(self, actions):
        result = self.world.step({a: x for a, x in zip(self.agents, actions) if a in self.world.agents})
        if not isinstance(result, tuple) or len(result) != 5 or not all(isinstance(d, dict) for d in result[:4]):
            raise Refusal("step() did not return (observations, rewards, terminations, truncations, infos), each a dictionary by agent, as "
                          "environments of PettingZoo's parallel kind do")
        return self.seen(*result[:4]), 0.0, not self.world.agents, False, result[4]

    def render(self):
        return self.world.render()

    def close(self):
        self.world.close()


def there(name):
    """Whether a module of this dotted name is found. Its parent packages are imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def moved(name, family, rest):
    """The refusal for a family of PettingZoo that is a package of its own now. PettingZoo raises an ImportError for these."""
    package = family + "2"
    install = f"{bridge.venv}/bin/pip install {package}" if bridge.venv else f"pip install {package}, into the virtual environment of [Actor] Python="
    return Refusal(f"pettingzoo:{name}: {family} is no longer part of PettingZoo, but the package {package}: {install}, and write "
                   f"Environment=pettingzoo:{package}.{rest}")


def module_of(name):
    """Imports PettingZoo's module of that name; if there is none, any other module of that name."""
    family, _, rest = name.partition(".")
    try:
        if there("pettingzoo") and there("pettingzoo." + name):
            return importlib.import_module("pettingzoo." + name)
    except ModuleNotFoundError:
        raise
    except ImportError as e:
        if family not in ("mpe", "magent"):
            raise Refusal(f"pettingzoo:{name}: pettingzoo.{family} does not load: {e}")
        raise moved(name, family, rest or "MODULE")
    if there(name):
        return importlib.import_module(name)
    if family not in FAMILIES:
        if not there(family):
            raise bridge.missing(family)
        parent = family
    elif not there("pettingzoo"):
        raise bridge.missing("pettingzoo")
    else:
        parent = "pettingzoo." + family
    names = [m.name for m in pkgutil.iter_modules(getattr(importlib.import_module(parent), "__path__", []))]
    near = difflib.get_close_matches(rest, names, 1)
    raise Refusal(f"pettingzoo:{name}: {parent} has no module {rest}" + (f"; did you mean {name.removesuffix(rest)}{near[0]}?" if near else ""))


def spaces_of(name, world):
    """Returns the spaces of observations and of actions. They must be the same for all agents, since these share a policy."""
    agents = tuple(world.possible_agents)
    if not 1 <= len(agents) <= AGENTS_MAX:
        raise Refusal(f"pettingzoo:{name}: it has {len(agents)} possible_agents, but there must be from 1 to {AGENTS_MAX}")
    found = []
    for what, space in ("observation", world.observation_space), ("action", world.action_space):
        first = space(agents[0])
        for other in agents[1:]:
            if space(other) != first:
                raise Refusal(f"pettingzoo:{name}: agents {agents[0]} and {other} have different {what} spaces, {first} and {space(other)}; all agents "
                              f"share one policy, so pad them in a parallel_env() of your own, as SuperSuit's pad_{what}s_v0 does")
        found.append(first)
    return found


def make_parallel(name, options):
    module = module_of(name)
    if not callable(getattr(module, "parallel_env", None)):
        raise Refusal(f"pettingzoo:{name}: the module {module.__name__} has no parallel_env(), which makes an environment whose agents act at once")
    try:
        world = module.parallel_env(**{key: bridge.literal(value) for key, value in options})
    except TypeError as e:
        if "unexpected keyword argument" not in str(e) and "takes no arguments" not in str(e):
            raise
        raise Refusal(f"pettingzoo:{name}: [Environment]: {e}")
    for method in "possible_agents", "observation_space", "action_space", "reset", "step":
        if not hasattr(world, method):
            raise Refusal(f"pettingzoo:{name}: the environment of parallel_env() has no {method}, unlike those of PettingZoo's parallel kind")
    return Parallel(world, *spaces_of(name, world))


def state_of(env):
    """Returns how many numbers state() has (0: there is no state()), and their bounds."""
    env.reset(seed=bridge.SEED_CHECKED)
    try:
        n = int(bridge.np.size(env.world.state())) if hasattr(env.world, "state") else 0
    except NotImplementedError:  # the default of ParallelEnv
        n = 0
    bounds = getattr(env.world, "state_space", None)
    low, high = getattr(bounds, "low", -bridge.np.inf), getattr(bounds, "high", bridge.np.inf)
    return n, float(bridge.np.min(low)), float(bridge.np.max(high))


def describe_agents(env):
    """Returns the names of agents, their numbers, the observation of an agent that is absent, the function that turns a state into an array, and the
    state's size and bounds."""
    s = env.observation_space
    absent = bridge.np.clip(bridge.np.zeros(s.shape, s.dtype), s.low, s.high).tobytes() if hasattr(s, "low") else bytes(4)
    if bridge.is_flattened(s):
        absent = bytes(4 * int(bridge.gym.spaces.flatdim(s)))
    n, low, high = state_of(env)

    def convert(state):
        array = bridge.np.ascontiguousarray(state, dtype=bridge.np.float32).ravel()
        if array.size != n:
            raise Refusal(f"state() returned {array.size} numbers, but {n} at first")
        return array
    return env.agents, {a: k for k, a in enumerate(env.agents)}, absent, convert, n, low, high
