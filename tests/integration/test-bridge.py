#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments in Python: they give the same numbers as without actord, the policy is the same whatever happens to an actor, and they reach nothing outside the sandbox."""
import glob, shutil, struct, zlib
from story import *

VENV = os.path.join(BUILD, "venv")
PYTHON = "/usr/bin/python3"
PACKAGES = ("gymnasium[mujoco]>=1.0", "numpy")

# Environments written for these tests; each is awkward in a way that a user's environment may be.
MODULE = '''
import os, random, socket
import gymnasium, numpy as np


class Counter(gymnasium.Env):
    """Pictures, actions that begin at 3, and numbers from streams that the whole process shares."""
    observation_space = gymnasium.spaces.Box(0, 255, (2, 3, 4), np.uint8)
    action_space = gymnasium.spaces.Discrete(3, start=3)

    def picture(self):
        return (np.arange(24) * self.k + random.randrange(100) + np.random.randint(100)).astype(np.uint8).reshape(2, 3, 4)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.k, self.noise = 0, float(self.np_random.random())
        return self.picture(), {}

    def step(self, action):
        assert action in (3, 4, 5), action
        self.k += 1
        return self.picture(), action + self.noise, self.np_random.random() < 0.02, self.k >= 70, {}


class Transposed(gymnasium.Env):
    """Observations that are no contiguous arrays of the space's type, bounds that differ, and an action that is kept."""
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 3), np.float64)
    action_space = gymnasium.spaces.Box(np.array([-1, 0]), np.array([1, 2]), dtype=np.float64)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.before, self.k = np.zeros(2), 0
        return np.zeros((3, 2)).T, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        kept, self.before, self.k = self.before, action, self.k + 1
        seen = [[float(kept[0]), float(kept[1]), 1 / 3], [float(action[0]), float(action[1]), float(self.np_random.random())]]
        return seen if self.k % 2 else np.array(seen).T.copy().T, float(kept.sum()), False, self.k % 50 == 0, {}


class Held(Counter):
    """It cannot be saved."""
    def __init__(self):
        self.generator = (k for k in range(10 ** 9))


class Painted(Counter):
    """It renders: a strip whose first pixel says the step."""
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        picture = np.full((3, 5, 3), 200, np.uint8)
        picture[0, 0] = self.k, 7, 9
        return picture


class Ticking(Counter):
    """Like an environment that draws with pygame and observes its own pictures: it holds a clock even without a window. Its copies fail without an error."""
    def reset(self, seed=None, options=None):
        from pygame.time import Clock
        self.clock = Clock()
        return super().reset(seed=seed)

    def step(self, action):
        assert hasattr(self, "clock")
        self.clock.tick(50)
        return super().step(action)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "clock"}


class Practised(Counter):
    """It keeps something over its episodes."""
    episodes = 0

    def reset(self, seed=None, options=None):
        self.episodes += 1
        return super().reset(seed=seed)

    def step(self, action):
        observation, reward, *ends = super().step(action)
        return observation, reward + self.episodes % 7, *ends


class Failing(Counter):
    def step(self, action):
        if self.k == 60:
            raise RuntimeError("the valve\\x1b[31m is stuck")
        return super().step(action)


class Calling(Counter):
    """Rewards come from C, which calls back into Python."""
    def reset(self, seed=None, options=None):
        import ctypes
        less = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
        ctypes.CDLL("libc.so.6").qsort(numbers, 5, ctypes.sizeof(ctypes.c_int), less(lambda a, b: a[0] - b[0]))
        assert list(numbers) == [1, 2, 3, 4, 5], list(numbers)
        os.write(2, b"sorted by a callback\\n")
        return super().reset(seed=seed)


class Hostile(Counter):
    def reset(self, seed=None, options=None):
        for name, attempt in (("passwd", lambda: open("/etc/passwd").read()), ("write", lambda: open("/usr/lib/x", "w")),
                              ("home", lambda: os.listdir("/root")), ("socket", socket.socket), ("fork", os.fork),
                              ("exec", lambda: os.execv("/bin/true", ["true"])), ("thread", self.thread),
                              ("kill", lambda: os.kill(1, 9)), ("venv", lambda: open(__file__, "r+"))):
            try:
                attempt()
                os.write(2, f"SUCCEEDED {name}\\n".encode())
            except (OSError, RuntimeError) as e:
                os.write(2, f"refused {name}: {e}\\n".encode())
        return super().reset(seed=seed)

    def thread(self):
        import threading
        threading.Thread(target=print).start()


class Dying(Counter):
    def __init__(self):
        os.abort()


class Older(Counter):
    """As environments of gym were."""
    def step(self, action):
        observation, reward, *_ = super().step(action)
        return observation, reward, False, {}


class Unpaid(Counter):
    def step(self, action):
        observation, reward, *ends = super().step(action)
        return observation, None, *ends


class Strange(Counter):
    action_space = gymnasium.spaces.MultiBinary(3)


class Dials(Counter):
    """Several choices at once that begin at other numbers than 0; an action is kept. The second dial pays where the first one stood a step before."""
    action_space = gymnasium.spaces.MultiDiscrete([[2], [3]], start=[[1], [-1]])

    def reset(self, seed=None, options=None):
        self.before = np.array([[1], [0]])
        return super().reset(seed=seed)

    def step(self, action):
        assert self.action_space.contains(action), action
        kept, self.before, self.k = self.before, action, self.k + 1
        return self.picture(), float(action[1, 0] == kept[0, 0] - 1) + action[0, 0] / 4, False, self.k >= 40, {}


class Switches(Dials):
    """What it shows is choices too, which begin at other numbers; after `wrong` steps one of them is none."""
    observation_space = gymnasium.spaces.MultiDiscrete([[2], [3]], start=[[1], [-1]])

    def __init__(self, wrong=99):
        self.wrong = wrong

    def picture(self):
        return np.array([[1 + self.k % 2], [self.k % 3 - 1 + 3 * (self.k == self.wrong)]])


class Bits(Counter):
    observation_space = gymnasium.spaces.MultiBinary((2, 3))

    def picture(self):
        return np.array([[self.k >> i & 1 for i in range(3)], [1, 0, 1]], np.int8)


class Hollow(Counter):
    observation_space = gymnasium.spaces.Box(0, 1, (2, 0))


for kind in (Hollow, Counter, Calling, Transposed, Held, Painted, Ticking, Practised, Failing, Hostile, Strange, Dials, Switches, Bits, Dying, Older, Unpaid):
    gymnasium.register(f"{kind.__name__}-v0", kind, disable_env_checker=kind is Older)
gymnasium.register("Needy-v0", "package_that_is_not:Needy")
'''

# Replays the steps that `env rollout` printed, in plain Python and with the seeds of its streams.
REFERENCE = '''
import json, random, sys
import gymnasium, numpy as np
from streams import first


def seed_globals(n):
    random.seed(n)
    np.random.seed(n)


name, seed, draws = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "draws"
env, n = gymnasium.make(name), 0
space, actions = env.observation_space, env.action_space
flatten = (lambda o: gymnasium.spaces.flatten(space, o)) if type(space) in (gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary) else np.asarray
flat = lambda o: [float(x) for x in np.asarray(flatten(o), getattr(space, "dtype", None)).ravel()]
for line in sys.stdin:
    row = json.loads(line)
    if "episode" in row:
        start = first(seed, 2, row["episode"], 0) >> 1
        seed_globals(start)
        assert flat(env.reset(seed=start)[0]) == [float(x) for x in np.ravel(row["observation"])], row
        continue
    if draws:
        seed_globals(first(seed, 3, row["step"] >> 24, row["step"] & 0xffffff))
    action = row["action"]
    if isinstance(actions, gymnasium.spaces.Discrete):
        action = int(actions.start) + int(np.ravel(action)[0])
    elif isinstance(actions, gymnasium.spaces.MultiDiscrete):
        action = np.array(action, actions.dtype).reshape(actions.shape) + actions.start
    else:
        action = np.clip(np.array(action, np.float32).astype(actions.dtype).reshape(actions.shape), actions.low, actions.high)
    observation, reward, terminated, truncated, _ = env.step(action)
    assert flat(observation) == [float(x) for x in np.ravel(row["observation"])], (row, observation)
    assert (float(reward), bool(terminated)) == (row["reward"], row["terminated"]), (row, reward)
    assert bool(truncated and not terminated) == row["truncated"], row
    n += 1
print(n)
'''

JOB = """[Job]
Environment={environment}
StopSteps={steps}
Seed=4
[Scaling]
Actors=3
[Actor]
Python={python}
EnvsPerActor=2
RolloutSteps=64
[Learner]
Epochs=2
"""


def venv():
    """The virtual environment of all stories: made once, and kept in the build tree."""
    if not os.path.exists(os.path.join(BUILD, "env-gym.so")):
        raise Skip("env-gym.so is not built: there was no python3-dev")
    if not os.path.exists(os.path.join(VENV, "ready")):
        shutil.rmtree(VENV, ignore_errors=True)
        if subprocess.run([PYTHON, "-m", "venv", VENV], capture_output=True).returncode != 0:
            raise Skip("python3 -m venv makes no virtual environment here")
        r = subprocess.run([VENV + "/bin/pip", "install", "-q", "--timeout=10", "--retries=1", *PACKAGES], capture_output=True, text=True)
        if r.returncode != 0:
            raise Skip("pip cannot install gymnasium: " + (r.stderr.strip().splitlines() or ["no reason"])[-1])
        open(os.path.join(VENV, "ready"), "w").close()
    for name, text in ("awkward", MODULE), ("asleep", "import time\ntime.sleep(11)\n"):
        with open(glob.glob(VENV + "/lib/python3*/site-packages")[0] + f"/actord_{name}.py", "w") as f:
            f.write(text)
    return VENV


def job(environment, steps=3072, python=None):
    path = os.path.join(STATE, "bridge.conf")
    with open(path, "w") as f:
        f.write(JOB.format(environment=environment, steps=steps, python=python or venv()))
    return path


def refused(environment, *sets, python=None):
    r = run(job(environment, python=python), *sets, ok=False)
    assert r.status == 2, (r.status, r.err)
    return r.err


@story("10,000 steps are those of the same environment in plain Python, bit for bit")
def equal_to_python():
    for name, draws in (("CartPole-v1", ""), ("Pendulum-v1", ""), ("FrozenLake-v1", ""), ("actord_awkward:Counter-v0", "draws"),
                        ("actord_awkward:Transposed-v0", ""), ("actord_awkward:Dials-v0", "draws"), ("actord_awkward:Switches-v0", ""),
                        ("actord_awkward:Bits-v0", ""), ("HalfCheetah-v5", "")):
        r = ctl("env", "rollout", "gym:" + name, "--set", "Actor.Python=" + venv(), "--seed", "12", "--steps", "10000")
        equal(r.status, 0, f"{r.err}: status")
        # MuJoCo writes a log where it runs
        p = subprocess.run([VENV + "/bin/python", "-c", REFERENCE, name, "12", draws], input=r.out, capture_output=True, text=True, cwd=STATE,
                           env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tests", "parity")))
        equal((p.returncode, p.stdout), (0, "10000\n"), f"{name}: {p.stderr[-1500:]}: what plain Python does")


@story("snapshots hold the whole environment, wrappers and functions included; an object that cannot be saved is reported")
def snapshots():
    sets = ["--set", "Actor.Python=" + venv()]
    shown = ctl("env", "show", "gym:actord_awkward:Counter-v0", *sets)
    assert "snapshots:    yes" in shown.out, (shown.out, shown.err)
    checked = ctl("env", "check", "gym:CartPole-v1", *sets, "--set", "Wrappers=FlattenObservation TimeLimit(30)")
    assert checked.status == 0 and "ok 8 - an instance restored from a snapshot continues" in checked.out, checked.out
    assert "Nonsense" not in checked.err, checked.err
    assert "not ok" not in checked.out and "ok 8 - an instance restored from a snapshot continues as the original #" not in checked.out
    shown = ctl("env", "show", "gym:actord_awkward:Held-v0", *sets)
    assert "snapshots:    none" in shown.out and "episodes cannot be saved: it cannot be pickled" in shown.err, (shown.out, shown.err)


@story("a job gives the same policy, however its actors die, however they share containers, and in every sandbox")
def pure():
    for name in ("gym:CartPole-v1", "gym:actord_awkward:Counter-v0"):
        calm = run(job(name, 18432))
        killer = Killer("actord-actor", low=0.01, high=0.05, most=2)

        def later(p):
            """Waits until they have loaded: the process that describes the environment comes first and alone, all three follow."""
            wait_for("actors", lambda: len(descendants(p.pid, "actord-actor")) >= 3, 30)
            killer(p)
        again = run(job(name, 18432), during=later)
        assert killer.killed, again.json
        equal(again.policy_sha256, calm.policy_sha256, f"{name}: policies")
    for differently in ("Actor.Processes=1", "Actor.Sandbox=userns", "Actor.Sandbox=process"):
        equal(run(job(name, 18432), differently).policy_sha256, calm.policy_sha256, f"policies with {differently}")


@story("what an environment keeps over its episodes does not depend on who shares it")
def forgets():
    for name, *sets in (("gym:actord_awkward:Practised-v0",), ("gym:CartPole-v1", "Environment.Wrappers=NormalizeObservation"),
                        ("gym:actord_awkward:Practised-v0", "Actor.Carry=reset")):
        apart, shared = run(job(name), *sets), run(job(name), "Actor.Processes=1", *sets)
        equal(shared.policy_sha256, apart.policy_sha256, f"{name} {sets}: policies")
        assert "each reset clears the data" in apart.err, apart.err
    assert "each reset clears" not in run(job("gym:CartPole-v1")).err


@story("wrappers stand in the job file with their arguments; an unknown one is reported")
def wrappers():
    sets = ["--set", "Actor.Python=" + venv()]
    r = ctl("env", "show", "gym:CartPole-v1", *sets, "--set", "Wrappers=TimeLimit(20) FrameStackObservation(stack_size=4)")
    assert "4x4 numbers (float32)" in r.out and "frames:       the last 4, each stored once" in r.out, r.out
    for other in "FrameStackObservation(4, padding_type='zero')", "FrameStackObservation(4) FlattenObservation":
        r = ctl("env", "show", "gym:CartPole-v1", *sets, "--set", "Wrappers=" + other)
        assert r.status == 0 and "frames:" not in r.out, r.out
    r = ctl("env", "rollout", "gym:CartPole-v1", *sets, "--set", "Wrappers=TimeLimit(7)", "--steps", "50")
    assert '"step": 6,' in r.out and [json.loads(x)["truncated"] for x in r.out.splitlines() if '"step": 6,' in x] == [True], r.out
    r = ctl("env", "rollout", "gym:Pendulum-v1", *sets, "--set", "max_episode_steps=4294967299", "--steps", "5")
    assert r.status == 0 and '"truncated": true' not in r.out, (r.out, r.err)
    assert "did you mean TimeLimit?" in refused("gym:CartPole-v1", "Environment.Wrappers=TimeLimits(3)")
    assert "a bracket or a quote is not closed" in refused("gym:CartPole-v1", "Environment.Wrappers=TimeLimit(3")
    for wrapper, want in (("TimeLimit", "missing 1 required positional argument"), ("TimeLimit(-1)", "to be positive, actually: -1"),
                          ("TimeLimit(most=3)", "unexpected keyword argument 'most'"), ("math.sqrt", "must be real number"),
                          ("builtins.repr", "it did not return an environment")):
        text = refused("gym:CartPole-v1", "Environment.Wrappers=" + wrapper)
        assert f"Wrappers={wrapper}: " in text and want in text and "Traceback" not in text, text
    assert "unexpected keyword argument 'gravity'" in refused("gym:CartPole-v1", "Environment.gravity=3")


@story("ctypes works in every sandbox, callbacks from C included")
def ctypes_calls_back():
    for level in "auto", "userns", "process":
        try:
            r = run(job("gym:actord_awkward:Calling-v0", 1536), "Actor.Sandbox=" + level)
        except AssertionError as e:
            if level != "userns" or "sandbox" not in str(e):
                raise
            continue  # this host has no user namespaces, and the story of levels says so
        assert "sorted by a callback" in r.err, (level, r.err)
    r = ctl("env", "rollout", "gym:actord_awkward:Calling-v0", "--steps=3", "--set", "Actor.Python=" + venv())
    assert r.status == 0 and "sorted by a callback" in r.err, (r.status, r.err)


OWN = """
import gymnasium, os, numpy as np
from helper import REWARD


class Own(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        for name, attempt in (("file", lambda: open(__file__, "r+")), ("new file", lambda: open(os.path.dirname(__file__) + "/new", "w")),
                              ("removal", lambda: os.unlink(__file__)), ("other files", lambda: os.listdir("/root"))):
            try:
                attempt()
                os.write(2, f"SUCCEEDED {name}\\n".encode())
            except OSError as e:
                os.write(2, f"refused {name}\\n".encode())
        self.k = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.k += 1
        return np.array([self.np_random.random()], np.float32), REWARD * action, False, self.k == 20, {}


gymnasium.register("Own-v0", Own)
"""


def own_modules():
    """A directory of modules that no package index knows; one of them has the name of a module of the interpreter."""
    folder = os.path.join(STATE, "own")
    os.makedirs(folder, exist_ok=True)
    for name, text in (("mine", OWN), ("helper", "REWARD = 0.5\n"), ("random", "raise ImportError('not this one')\n"),
                       ("needy", "import package_that_is_not\n")):
        with open(f"{folder}/{name}.py", "w") as f:
            f.write(text)
    return folder


@story("modules of one's own need no package: PythonPath= is a directory that actors read and cannot write, in every sandbox")
def own():
    folder = own_modules()
    before = sorted(os.listdir(folder))
    policies = []
    for level in "auto", "userns", "process":
        try:
            r = run(job("gym:mine:Own-v0", 1536), "Actor.PythonPath=" + folder, "Actor.Sandbox=" + level)
        except AssertionError as e:
            if level != "userns" or "sandbox" not in str(e):
                raise
            continue  # this host has no user namespaces
        for what in "file", "new file", "removal":
            assert f"refused {what}\n" in r.err and f"SUCCEEDED {what}\n" not in r.err, (level, r.err)
        policies.append(r.policy_sha256)
    assert len(policies) >= 2 and len(set(policies)) == 1, policies
    equal(sorted(os.listdir(folder)), before, "files in the directory")
    r = ctl("env", "rollout", "gym:mine:Own-v0", "--steps=5", "--set", "Actor.Python=" + venv(), "--set", "Actor.PythonPath=" + folder)
    assert r.status == 0, r.err
    r = run(os.path.join(EXAMPLES, "corridor.conf"), "Actor.Python=" + venv(), "Job.StopSteps=2048")
    equal(r.state, "finished", r.err)


@story("a directory of PythonPath= that is not to be read by actors, or not there, and a module that is nowhere are refused in words")
def own_refused():
    folder = own_modules()
    for place, words in (("/", "belongs to the"), ("/etc", "belongs to the"), ("/proc", "belongs to the"), ("/root", "a home directory"),
                         (STATE + "/none", "cannot be opened: No such file"), (folder + "/mine.py", "Not a directory")):
        text = refused("gym:mine:Own-v0", "Actor.PythonPath=" + place)
        assert f"[Actor] PythonPath={place}: " in text or f"Actor.PythonPath={place}: " in text, text
        assert words in text or (place == "/root" and "Permission denied" in text), text
    for name, module in (("gym:nowhere:X-v0", "nowhere"), ("gym:needy:X-v0", "package_that_is_not")):
        text = refused(name, "Actor.PythonPath=" + folder)
        assert f"no module {module} in PythonPath={folder} or in the virtual environment Python={venv()}: " in text, text
        assert "PythonPath=DIR" in text and "pip install " + module not in text and "Traceback" not in text, text
    r = run("cartpole", "Actor.PythonPath=" + folder, ok=False)
    assert r.status == 2 and "PythonPath=" in r.err and "only Environment=gym:ID and pettingzoo:MODULE read this key" in r.err, r.err


@story("both directories of a job in Python are kept over restarts of its daemon, each under its name, or the job says which one is lost")
def own_kept():
    from bus import Bus
    folder = own_modules()
    sets = ["--set", "Actor.PythonPath=" + folder]
    want = run(job("gym:mine:Own-v0", 1536), *sets[1:]).policy_sha256
    for kept in True, False:
        with Bus("MaxJobs=1\n", kept=kept) as bus:
            first = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "1000000000")])
            number = int(bus.ctl("submit", job("gym:mine:Own-v0", 1536), *sets).out)
            if kept:
                names = sorted(f"job-{number}-{what}" for what in ("python", "python-path"))
                wait_for("the directories are given away", lambda: sorted(bus.keeper.read()) == names)
            bus.stop()
            bus.start()
            bus.ctl("stop", first)
            if not kept:
                equal(bus.ended(number), "failed", "result")
                assert "directory of Python= was not kept" in bus.get(number, "Fault"), bus.get(number, "Fault")
                continue
            equal(bus.ended(number), "finished", bus.get(number, "Fault"))
            equal(bus.get(number, "PolicySHA256"), want, "policy")
            wait_for("nothing is kept", lambda: bus.keeper.read() == [])


@story("an exception fails the job with its reason and with a traceback that is bounded and printable")
def exception():
    r = run(job("gym:actord_awkward:Failing-v0"), "Actor.Retries=1", ok=False)
    assert r.status not in (0, 2) and r.state == "failed", (r.status, r.out)
    assert "RuntimeError: the valve?[31m is stuck" in r.err and "in step" in r.err, r.err
    assert "environment" in r.fault, r.fault


@story("an environment that ends or hangs before the job begins is an actor's fault, and is not tried again and again")
def dying():
    for name, want, *sets in (("Dying", "actor 0 was killed by signal 6"), ("Asleep", "actor 0 did not answer", "Actor.TimeoutSec=2")):
        r = run(job(f"gym:actord_{'asleep' if name == 'Asleep' else 'awkward'}:{name}-v0"), *sets, ok=False)
        equal((r.status, r.state), (1, "failed"), f"{name}: {r.err}")
        assert r.fault.startswith(want), r.fault
        equal(r.invocations["retried"], 0, "retries")
        assert r.seconds < 20 * PATIENCE, r.seconds


@story("imports may take as long as the job's deadline allows")
def slow():
    r = ctl("env", "show", "gym:actord_asleep:Counter-v0", "--set", "Actor.Python=" + venv())
    assert r.status == 2 and "`Counter` doesn't exist" in r.err and r.seconds > 11, (r.status, r.err, r.seconds)


@story("anything that is missing is named: a package and where it was looked for, Gymnasium itself, a virtual environment")
def missing():
    text = refused("gym:actord_awkward:Needy-v0")
    assert "no module package_that_is_not" in text and venv() in text, text
    # Any stranger may own such a name in the index, so the message must not advise installing it.
    text = refused("gym:nowhere:X-v0")
    assert "no module nowhere" in text and "install nowhere" not in text and "write [Actor] PythonPath=DIR with the directory" in text, text
    # A missing module is found when the environment is imported, made, wrapped or shown; its name for pip may differ.
    install = f"install it by {venv()}/bin/pip install "
    assert "no package Box2D: " + install + "'gymnasium[box2d]'" in refused("gym:LunarLander-v3")
    assert "no package cv2: " + install + "opencv-python" in refused("gym:CartPole-v1", "Environment.Wrappers=AtariPreprocessing()")
    for name in "gym:ALE/Pong-v5", "gym:ale_py:ALE/Pong-v5":
        assert "no package ale_py: " + install + "ale-py (not with" in refused(name)
    for name in "CartPole-v1", "FrozenLake-v1":
        gif = os.path.join(STATE, "missing.gif")
        r = ctl("env", "rollout", "gym:" + name, "--set", "Actor.Python=" + venv(), "--steps", "3", "--gif", gif)
        assert r.status != 0 and not os.path.exists(gif), r.err
        assert f"Python={venv()}: this virtual environment has no package pygame: {install}pygame (not with" in r.err, r.err
        assert "Traceback" not in r.err, r.err
    empty = os.path.join(STATE, "empty")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", empty], check=True)
    text = refused("gym:CartPole-v1", python=empty)
    assert f"Python={empty}: this virtual environment has no package numpy" in text, text
    assert "it has no pyvenv.cfg" in refused("gym:CartPole-v1", python=STATE)
    for place in "/", "/etc", "/proc":
        assert f"Python={place}: this directory belongs to the" in refused("gym:CartPole-v1", python=place)
    assert f"cannot be opened: {STATE}/none: No such file" in refused("gym:CartPole-v1", python=STATE + "/none")
    os.rename(glob.glob(empty + "/lib/python3*")[0], empty + "/lib/python3.1")
    text = refused("gym:CartPole-v1", python=empty)
    assert "is for python3.1, but this actord uses python3." in text, text
    assert "MultiBinary(3), but it must be a Box, a Discrete or a MultiDiscrete" in refused("gym:actord_awkward:Strange-v0")
    assert "which holds no number" in refused("gym:actord_awkward:Hollow-v0")
    assert "step() did not return (observation, reward, terminated" in refused("gym:actord_awkward:Older-v0")
    r = ctl("env", "rollout", "gym:actord_awkward:Switches-v0", "--set", "Actor.Python=" + venv(), "--set", "wrong=4", "--steps=9")
    assert r.status != 0 and "an observation is [[1], [3]], but the observation space is" in r.err, r.err
    assert "the reward None, which is not a number" in refused("gym:actord_awkward:Unpaid-v0")
    hollow = os.path.join(STATE, "hollow")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", hollow], check=True)
    for package in "numpy", "gymnasium":
        os.mkdir(glob.glob(hollow + "/lib/python3*/site-packages")[0] + "/" + package)
    assert f"Python={hollow}: this virtual environment has no package numpy" in refused("gym:CartPole-v1", python=hollow)


def first_pixel(path):
    """The first pixel of a PNG with 8 bits for each colour."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += n + 12
    return tuple(zlib.decompress(packed)[1:4])


@story("what an environment renders is recorded, pixel for pixel, and its episodes are those of a job without recording")
def recorded():
    words = ["env", "rollout", "gym:actord_awkward:Painted-v0", "--set", "Actor.Python=" + venv(), "--seed", "3", "--steps", "8"]
    plain = ctl(*words)
    r = ctl(*words, "--frames", os.path.join(STATE, "painted"))
    equal((r.status, r.out), (0, plain.out), f"rollout: {r.err}")
    assert "9 pictures of 630x378, 10 a second" in r.err, r.err
    names = sorted(os.listdir(os.path.join(STATE, "painted")))
    equal([first_pixel(os.path.join(STATE, "painted", name)) for name in names], [(k, 7, 9) for k in range(9)], "pixels")
    words[2] = "gym:actord_awkward:Counter-v0"
    r = ctl(*words, "--gif", os.path.join(STATE, "none.gif"))
    assert r.status != 0 and not os.path.exists(os.path.join(STATE, "none.gif")), r.err


@story("pygame's clock starts no thread, so that an environment with one runs, recorded or not")
def clocks():
    package = glob.glob(venv() + "/lib/python3*/site-packages")[0] + "/pygame"
    os.makedirs(package)
    try:
        with open(package + "/__init__.py", "w") as f:
            f.write("import pygame.time\n")
        with open(package + "/time.py", "w") as f:
            f.write("import threading\nclass Clock:\n    def __init__(self):\n        threading.Thread(target=print).start()\n")
        r = ctl("env", "rollout", "gym:actord_awkward:Ticking-v0", "--set", "Actor.Python=" + venv(), "--steps", "20")
    finally:
        shutil.rmtree(package)
    equal((r.status, len(r.out.splitlines())), (0, 21), r.err)
    assert "a copy that was saved does not step (AssertionError);" in r.err, r.err


@story("a call that the sandbox forbids fails in the script with an error")
def hostile():
    for level in ("auto", "process"):
        r = run(job("gym:actord_awkward:Hostile-v0", 768), "Actor.Sandbox=" + level)
        equal(r.state, "finished", "states")
        tried = set(re.findall(r"refused (\w+):", r.err))
        assert "SUCCEEDED" not in r.err, [x for x in r.err.splitlines() if "SUCCEEDED" in x]
        equal(tried, {"passwd", "write", "home", "socket", "fork", "exec", "thread", "kill", "venv"}, "what was refused")


tell()
