# SPDX-License-Identifier: LGPL-2.1-or-later
"""The part of the bridge to Gymnasium that may be slow: it makes an environment, reads its spaces, and finds out whether it can be saved.

It is part of env-gym.so and runs in an actor's sandbox. Steps of an episode do not call it. A Refusal is one sentence for the user."""
import ast, difflib, importlib, importlib.util, io, os, pickle, random, secrets, sys, traceback, types

TELL_BYTES = 8192
STEPS_BEFORE, STEPS_CHECKED, SEED_CHECKED = 10, 50, 20
HORIZON_MAX = 1 << 24  # the longest that a spec can state
STACK_MAX = 16
SNAPSHOT_UNIT = 4096  # processes should agree on a size, though they may disagree by some bytes of it
SNAPSHOT_BYTES_MAX = (64 << 20) - SNAPSHOT_UNIT


class Refusal(Exception):
    pass


# The names in the package index of modules that environments commonly need (the OpenCV without windows, since an actor has no screen). Any other
# module may be the user's own, or a name that a stranger chose: anyone may upload a package of that name, so no message advises to install it.
DISTRIBUTIONS = {"Box2D": "'gymnasium[box2d]'", "PIL": "pillow", "ale_py": "ale-py", "cv2": "opencv-python-headless", "gymnasium": "gymnasium",
                 "mpe2": "mpe2", "mujoco": "mujoco", "numpy": "numpy", "pettingzoo": "pettingzoo", "pygame": "pygame", "scipy": "scipy",
                 "moviepy": "moviepy", "imageio": "imageio"}
venv = modules = ""  # Python= and PythonPath= of the job
absent = ""  # the module that was missing last


def missing(name):
    """The refusal for a missing module: it says its name, where it was looked for, and what to do."""
    global absent
    absent = name
    wanted = DISTRIBUTIONS.get(name)
    if not wanted:
        places = [f"PythonPath={modules}"] if modules else []
        places += [f"the virtual environment Python={venv}" if venv else "the system's python3"]
        other = f"install it into {venv} as its authors describe" if venv else "write [Actor] Python=DIR with a virtual environment that has it"
        return Refusal(f"there is no module {name} in {' or in '.join(places)}: if it is your own, write [Actor] PythonPath=DIR with the directory in "
                       f"which it lies; if not, {other}. Files that `pip install -e` leaves elsewhere are not seen")
    if not venv:
        return Refusal(f"the system's python3 has no package {name}: install it, or write [Actor] Python=DIR with a virtual "
                       f"environment that has it (pip install {wanted})")
    return Refusal(f"Python={venv}: this virtual environment has no package {name}: install it by {venv}/bin/pip install {wanted} (not with "
                   f"-e: files outside of the virtual environment are not seen)")


def missed():
    """The name of the missing module, for the job's record, which has no room for a sentence."""
    return absent


def explain(error):
    """Turns the error of a missing package into one sentence, wherever it was raised; returns any other error as it is."""
    if isinstance(error, Refusal):
        return error
    dependency = "gym" in globals() and isinstance(error, gym.error.DependencyNotInstalled)
    if not dependency and not isinstance(error, ModuleNotFoundError):
        return error
    cause = error if getattr(error, "name", None) else error.__cause__ or error.__context__
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        top = cause.name.split(".")[0]
        # If the package is there, a part of it is missing: that is another error.
        return error if top in sys.modules else missing(top)
    place = f"Python={venv}: in this virtual environment" if venv else "in the system's python3"
    return Refusal(f"{place} a package is missing or does not load: {error}" + (f" ({type(cause).__name__}: {cause})" if cause else ""))


def tell(error):
    """Writes an error to standard error: bounded, and without characters that move a terminal's cursor."""
    error = explain(error)
    text = str(error) if isinstance(error, Refusal) else "".join(traceback.format_exception(error)).rstrip()
    if len(text) > TELL_BYTES:
        text = text[:TELL_BYTES // 2] + "\n  [...]\n" + text[-TELL_BYTES // 2:]
    text = "".join(c if c == "\n" or c.isprintable() else "?" for c in text)
    os.write(2, (text + "\n").encode("utf-8", "replace"))


class Windows(types.ModuleType):
    """Takes the place of glfw, which Gymnasium's MuJoCo tasks import even if they open no window. The import of the real module starts a process and writes
    code into memory; a sandbox allows neither, and has no screen."""
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refusal(f"glfw.{name}: an actor has no screen to open a window on: use render_mode=rgb_array with MUJOCO_GL=egl or osmesa")


class Mended:
    """Changes a package when it is imported, such as one that starts threads: an actor may have only one."""
    def __init__(self, name, mend):
        self.name, self.mend = name, mend

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:  # a directory without a package has no loader
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), self.mend(module))
        return spec


def mend_mujoco(mujoco):
    """Newer MuJoCo compiles models with threads, unless the model forbids it."""
    if not hasattr(mujoco, "MjSpec"):
        return  # an older MuJoCo, which starts no threads

    def one_thread(read):
        def load(source, assets=None):
            spec = read(source, assets=assets or {})
            getattr(spec, "compiler", spec).usethread = False
            return spec.compile()
        return staticmethod(load)
    mujoco.MjModel.from_xml_path = one_thread(mujoco.MjSpec.from_file)
    mujoco.MjModel.from_xml_string = one_thread(mujoco.MjSpec.from_string)


class Clock:
    """Takes the place of pygame's clock, so that no step waits for the time of a picture that is not shown."""

    def tick(self, framerate=0):
        return 0

    tick_busy_loop = tick

    def get_time(self):
        return 0

    get_rawtime = get_fps = get_time


def mend_pygame(pygame):
    """Some environments draw to make their observations, and wait for a clock in each step even if no window is open."""
    for home in pygame, pygame.time:
        if hasattr(home, "Clock"):
            home.Clock = Clock


def prepare(python, root, path, path_root):
    """Makes the packages of the virtual environment `python`, which is found at `root`, importable; if both are empty, those of the system. The user's own
    modules of `path`, found at `path_root`, come before them, but after the interpreter's, so that a file random.py of the user does no harm."""
    import site
    global venv, modules, np, gym
    venv, modules = python, path
    if path:
        try:
            os.listdir(path_root)
        except OSError as e:
            raise Refusal(f"PythonPath={path}: the job cannot read this directory: {e.strerror}; make it readable for all users")
        sys.path.append(path_root)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    system = not root
    if root:
        packages = f"{root}/lib/{version}/site-packages"
        try:
            there = sorted(os.listdir(f"{root}/lib"))
            with open(f"{root}/pyvenv.cfg", encoding="utf-8") as f:
                settings = dict(line.split("=", 1) for line in f if "=" in line)
        except OSError as e:
            raise Refusal(f"Python={python}: this is not a virtual environment that the job can read: {e.strerror}: "
                          f"{(e.filename or '').removeprefix(root)}")
        if version not in there:
            others = [name for name in there if name.startswith("python")]
            raise Refusal(f"Python={python}: this virtual environment is for {' and '.join(others) or 'no Python'}, but this actord "
                          f"uses {version}: make one with {version} -m venv")
        site.addsitedir(packages)
        system = {k.strip(): v.strip() for k, v in settings.items()}.get("include-system-site-packages") == "true"
    if system:
        for path in (f"/usr/local/lib/{version}/dist-packages", "/usr/lib/python3/dist-packages"):
            if os.path.isdir(path):
                site.addsitedir(path)
    sys.modules["glfw"] = Windows("glfw")
    secrets.randbits = random.getrandbits  # a generator of NumPy that is made without a seed takes its seed from here
    sys.meta_path[:0] = Mended("mujoco", mend_mujoco), Mended("pygame", mend_pygame)
    import numpy as np
    import gymnasium as gym
    for package in np, gym:
        if not getattr(package, "__file__", None):  # a directory whose files are missing, or are links to outside of it
            raise missing(package.__name__)


def literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def words(text):
    """Splits at blanks outside brackets and quotes."""
    depth, quote, word = 0, "", ""
    for c in text + " ":
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c.isspace() and depth == 0:
            if word:
                yield word
            word = ""
            continue
        depth += 0 if quote else (c in "([{") - (c in ")]}")
        word += c
    if word.strip():
        raise Refusal(f"Wrappers={text}: a bracket or a quote is not closed")


def argument(node):
    """A literal, or the name of one of NumPy's types."""
    kind = getattr(np, node.id, None) if isinstance(node, ast.Name) else None
    return kind if isinstance(kind, type) else ast.literal_eval(node)


def wrapper_of(node, word):
    path = ast.unparse(node)
    module, _, name = path.rpartition(".")
    home = importlib.import_module(module) if module else gym.wrappers
    if hasattr(home, name):
        return getattr(home, name)
    near = difflib.get_close_matches(name, dir(home), 1)
    raise Refusal(f"Wrappers={word}: {module or 'gymnasium.wrappers'} has no {name}" + (f"; did you mean {near[0]}?" if near else ""))


def wrap(env, text):
    for word in words(text):
        try:
            node = ast.parse(word, mode="eval").body
            call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
            if not isinstance(call.func, (ast.Name, ast.Attribute)):
                raise ValueError
            arguments = [argument(a) for a in call.args]
            keywords = {k.arg: argument(k.value) for k in call.keywords}
        except (SyntaxError, ValueError):
            raise Refusal(f"Wrappers={word}: write Name or Name(arguments), with literals as arguments")
        env = wrapped(wrapper_of(call.func, word), env, arguments, keywords, word)
    return env


def wrapped(wrapper, env, arguments, keywords, word):
    """Applies a wrapper. Arguments that it does not take are refused in one sentence; an error inside the user's own wrapper keeps its traceback."""
    try:
        new = wrapper(env, *arguments, **keywords)
    except (Refusal, ImportError, gym.error.DependencyNotInstalled):
        raise
    except Exception as e:
        if e.__traceback__.tb_next and not getattr(wrapper, "__module__", "").startswith("gymnasium."):
            raise
        raise Refusal(f"Wrappers={word}: {str(e) or type(e).__name__}")
    if not isinstance(new, gym.Env):
        raise Refusal(f"Wrappers={word}: it did not return an environment")
    return new


def make(name, options):
    options = dict(options)
    wrappers = options.pop("Wrappers", "")
    try:
        return wrap(gym.make(name, **{key: literal(value) for key, value in options.items()}), wrappers)
    except gym.error.DependencyNotInstalled:
        raise
    except TypeError as e:
        if "unexpected keyword argument" not in str(e) and "takes no arguments" not in str(e):
            raise
        raise Refusal(f"gym:{name}: [Environment]: {str(e.__cause__ or e)}")
    except gym.error.NamespaceNotFound as e:
        if name.startswith("ALE/"):
            if importlib.util.find_spec("ale_py") is None:
                raise missing("ale_py")
            raise Refusal(f"gym:{name}: write gym:ale_py:{name}, since the module ale_py registers it")
        raise Refusal(f"gym:{name}: {e} If a module registers it, write gym:MODULE:ID")
    except gym.error.Error as e:
        raise Refusal(f"gym:{name}: {e}")


BOX, DISCRETE, MULTI_DISCRETE = 3, 1, 2
CHOICES_MAX = 64  # how many choices an action may have
OPTIONS_MAX = (1 << 31) - 1  # of a choice
ELEMENTS = {"float32": 1, "float64": 2, "uint8": 4}


def is_flattened(s):
    """Whether observations are flattened as FlattenObservation does it: each choice becomes a 1 among zeros, and bits stay bits."""
    return type(s) in (gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)


def space(env, name, action):
    """Returns a space as the module in C reads it: (kind, element, shape, n, start, low, high)."""
    s = env.action_space if action else env.observation_space
    what = "action" if action else "observation"
    options = np.ravel(getattr(s, "nvec", getattr(s, "n", 0)))
    if options.max(initial=0) > OPTIONS_MAX:
        raise Refusal(f"{name}: its {what} space is {s}, but a choice may have at most {OPTIONS_MAX} options")
    if type(s) is gym.spaces.Discrete:
        return DISCRETE, 3, (), int(s.n), int(s.start), 0.0, 0.0
    if action and type(s) is gym.spaces.MultiDiscrete:
        if not 1 <= s.nvec.size <= CHOICES_MAX or s.dtype.name not in ("int32", "int64"):
            raise Refusal(f"{name}: its action space is {s}, but a MultiDiscrete may have at most {CHOICES_MAX} numbers, of int32 or int64")
        return MULTI_DISCRETE, 3, (int(s.nvec.size),), 0, 0, 0.0, 0.0
    if not action and is_flattened(s):
        return BOX, ELEMENTS["float32"], (int(gym.spaces.flatdim(s)),), 0, 0, 0.0, 1.0
    if not isinstance(s, gym.spaces.Box):
        wanted = "Box, a Discrete or a MultiDiscrete" if action else "Box, a Discrete, a MultiDiscrete or a MultiBinary"
        hint = "" if action else "; Wrappers=FlattenObservation may turn it into a Box"
        raise Refusal(f"{name}: its {what} space is {s}, but it must be a {wanted}{hint}")
    kinds = ("float32", "float64") if action else tuple(ELEMENTS)
    if s.dtype.name not in kinds:
        hint = "" if action else "; Wrappers=DtypeObservation(float32) converts it"
        raise Refusal(f"{name}: its {what} space is {s}, but a Box must be of {' or '.join(kinds)}{hint}")
    if len(s.shape) > 4:
        raise Refusal(f"{name}: its {what} space is {s}, but it may have at most four dimensions")
    if 0 in s.shape:
        raise Refusal(f"{name}: its {what} space is {s}, which holds no number")
    return BOX, ELEMENTS[s.dtype.name], tuple(map(int, s.shape)) or (1,), 0, 0, float(s.low.min()), float(s.high.max())


def horizon(env):
    """The shortest of its time limits, for people; 0: it has none. The environment ends episodes by itself."""
    limits = []
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            limits.append(int(env._max_episode_steps))
        env = env.env
    least = min(limits, default=0)
    return least if least <= HORIZON_MAX else 0


def stack(env):
    """How many frames an observation has, if it is a stack of frames as actord/env.h defines it; 0: it is not."""
    kind = gym.wrappers.FrameStackObservation
    if type(env) is not kind or getattr(env, "padding_type", "") != "reset" or not 2 <= env.stack_size <= STACK_MAX:
        return 0
    return int(env.stack_size) if type(env.observation_space) is gym.spaces.Box and len(env.observation_space.shape) >= 2 else 0


def describe(env, name):
    threshold = getattr(env.spec, "reward_threshold", None)
    choices = tuple(int(n) for n in getattr(env.action_space, "nvec", np.zeros(0)).flat)
    return (space(env, name, False), space(env, name, True), horizon(env), float("nan") if threshold is None else float(threshold), stack(env),
            choices)


def action_parts(env):
    """Returns the memory for an action of a Box or a MultiDiscrete, the call that makes an array from it, and its bounds (the first and the last option of
    each choice)."""
    s = env.action_space
    array = np.zeros(s.shape, s.dtype)
    if isinstance(s, gym.spaces.Box):
        low, high = s.low, s.high
    else:
        low = np.broadcast_to(getattr(s, "start", 0), s.shape)
        high = low + s.nvec - 1
    return array, array.copy, low.astype(np.float64).tobytes(), high.astype(np.float64).tobytes()


def as_array(env):
    """Returns a function that turns any observation into an array of the space, or raises a Refusal."""
    s = env.observation_space

    def flattened(observation):
        array = np.asarray(observation, dtype=s.dtype)
        if not s.contains(array):
            raise Refusal(f"an observation is {array.tolist()}, but the observation space is {s}")
        return np.ascontiguousarray(gym.spaces.flatten(s, array), dtype=np.float32)

    def convert(observation):
        array = np.ascontiguousarray(observation, dtype=s.dtype)
        if array.shape != (s.shape or (1,)):
            raise Refusal(f"an observation has the shape {array.shape}, but the observation space is {s}")
        return array
    return flattened if is_flattened(s) else convert


def frame(env, side_max):
    """Renders a picture: (width, height, bytes of red, green and blue from the top left, seconds of a step)."""
    image = env.render()
    if isinstance(image, list) and image:
        image = image[-1]
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] < 3:
        raise Refusal("render() returns no picture: it needs render_mode='rgb_array', but there is " +
                      (f"an array of {image.dtype} with the shape {image.shape}" if image.ndim else str(env.render_mode)))
    thin = -(-max(image.shape[:2]) // side_max)
    image = np.ascontiguousarray(image[::thin, ::thin, :3])
    rate = float(env.metadata.get("render_fps") or 0)
    return image.shape[1], image.shape[0], image.tobytes(), 1 / rate if rate > 0 else 0.0


def seed_globals(seed):
    """Seeds the random streams of the whole process, for environments that draw from these, or make generators without a seed."""
    random.seed(seed)
    np.random.seed(seed & 0xffffffff)


def globals_state():
    state = np.random.get_state(legacy=True)
    return random.getstate(), state[1].tobytes(), state[2:]


# Emulators have functions of their own for this. pickle would keep only how they were made.
def has_own_state(base):
    return hasattr(base, "clone_state") and hasattr(base, "restore_state")


class Freezer:
    base = None

    def persistent_id(self, thing):
        return "base" if self.base is not None and thing is self.base else None


class PlainFreezer(Freezer, pickle.Pickler):
    pass


def function_freezer():
    """A slower pickler, which also saves functions, as some wrappers hold them. Gymnasium requires its package."""
    import cloudpickle
    return type("FunctionFreezer", (Freezer, cloudpickle.Pickler), {})


def choose_freezer(env):
    global freezer_class
    for freezer_class in (PlainFreezer, function_freezer()):
        try:
            return freeze(env)
        except Exception as e:
            error = e
    raise error


class Thawer(pickle.Unpickler):
    def persistent_load(self, name):
        return self.base


def freeze(env):
    """Returns everything on which the next step depends, as bytes."""
    base = env.unwrapped
    out = io.BytesIO()
    freezer = freezer_class(out, protocol=5)
    freezer.base = base if has_own_state(base) else None
    freezer.dump((env, base.clone_state(include_rng=True) if has_own_state(base) else None))
    return out.getvalue()


def thaw(env, data):
    thawer = Thawer(io.BytesIO(data))
    thawer.base = env.unwrapped
    new, state = thawer.load()
    if state is not None:
        new.unwrapped.restore_state(state)
    return new


def reset(env, seed):
    """The first observation."""
    result = env.reset(seed=seed)
    if not isinstance(result, tuple) or len(result) != 2:
        raise Refusal("reset() did not return (observation, info), as Gymnasium's environments do; those of the older gym need a wrapper")
    return np.asarray(result[0]).tobytes()


def step(env, action):
    result = env.step(action)
    if not isinstance(result, tuple) or len(result) != 5:
        raise Refusal("step() did not return (observation, reward, terminated, truncated, info), as Gymnasium's environments do; those "
                      "of the older gym need a wrapper")
    observation, reward, terminated, truncated, _ = result
    try:
        number = np.float64(float(reward)).tobytes()  # a reward that is not finite is refused later; as bytes NaN equals itself
    except (TypeError, ValueError):
        raise Refusal(f"step() returned the reward {reward!r}, which is not a number")
    return np.asarray(observation).tobytes(), number, bool(terminated), bool(truncated)


def trace(env, actions, seeded):
    """Returns what an environment shows under these actions, and whether its steps draw from the process's random streams. seeded: these are
    seeded before each step, as the bridge does for such environments."""
    seen, draws = [], False
    for k, a in enumerate(actions):
        if seeded:
            seed_globals(k)
        before = globals_state()
        seen.append(step(env, a))
        draws = draws or globals_state() != before
        if seen[-1][2] or seen[-1][3]:
            seed_globals(k)
            seen.append(reset(env, k))
    return seen, draws


def episode(env, actions, draws):
    seed_globals(SEED_CHECKED)
    return reset(env, SEED_CHECKED), trace(env, actions, draws)


def reset_draws(env):
    """Whether a reset draws from the process's random streams."""
    seed_globals(SEED_CHECKED)
    before = globals_state()
    env.reset(seed=SEED_CHECKED)
    return globals_state() != before


def named(error):
    """The error with its type, since many assertions have no message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def check(env):
    """Compares the steps of a copy that was saved and restored with those of the original. Returns (the bytes of a snapshot, 0: there is none
    that can be trusted; whether steps may draw from the process's random streams; whether episodes depend on what was before their reset; why
    there is no snapshot)."""
    env.action_space.seed(SEED_CHECKED)
    sample = getattr(env, "sample", env.action_space.sample)  # of several agents: an action of each
    actions = [sample() for _ in range(STEPS_BEFORE + STEPS_CHECKED)]
    try:
        new, reason = choose_freezer(env), ""
    except Exception as e:
        new, reason = None, f"it cannot be pickled ({named(e)})"
    _, (_, draws) = episode(env, actions, False)
    draws = reset_draws(env) or draws  # such an environment may draw in later steps, too
    trace(env, actions[:STEPS_BEFORE], draws)
    try:
        data = choose_freezer(env)
    except Exception as e:
        return 0, draws, False, reason or f"it cannot be pickled ({named(e)})"
    original = trace(env, actions[STEPS_BEFORE:], draws)
    size = -(-2 * max(len(data), len(freeze(env))) // SNAPSHOT_UNIT) * SNAPSHOT_UNIT
    try:
        if trace(thaw(env, data), actions[STEPS_BEFORE:], draws) != original:
            return 0, draws, False, "a copy that was saved and restored does not step as the original does"
        used = episode(env, actions, draws)
        remembers = new is not None and episode(thaw(env, new), actions, draws) != used
    except Exception as e:
        return 0, draws, False, f"a copy that was saved does not step ({named(e)})"
    if size > SNAPSHOT_BYTES_MAX:
        return 0, draws, False, f"it takes {size // 2} bytes"
    return size, draws, remembers, ""
