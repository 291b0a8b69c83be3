# SPDX-License-Identifier: LGPL-2.1-or-later
"""The half of the bridge that may be slow: it makes an environment, reads its spaces, and finds out whether it can be saved.

Part of env-gym.so, and run in an actor's sandbox; steps never come by here. What a user has to hear is a Refusal: one sentence."""
import ast, difflib, importlib, importlib.util, io, os, pickle, random, sys, traceback, types

TELL_BYTES = 8192
STEPS_BEFORE, STEPS_CHECKED, SEED_CHECKED = 10, 50, 20
HORIZON_MAX = 1 << 24  # that can be told
STACK_MAX = 16
SNAPSHOT_UNIT = 4096  # processes should agree on a size, though they may disagree by some bytes of it
SNAPSHOT_BYTES_MAX = (64 << 20) - SNAPSHOT_UNIT


class Refusal(Exception):
    pass


# What packages that environments commonly need are called in the package index; pictures need no window here. Any other module may be the user's
# own, or a word that a stranger chose: anyone may upload a package of that name, so no message says to install it from there.
DISTRIBUTIONS = {"Box2D": "'gymnasium[box2d]'", "PIL": "pillow", "ale_py": "ale-py", "cv2": "opencv-python-headless", "gymnasium": "gymnasium",
                 "mpe2": "mpe2", "mujoco": "mujoco", "numpy": "numpy", "pettingzoo": "pettingzoo", "pygame": "pygame", "scipy": "scipy",
                 "moviepy": "moviepy", "imageio": "imageio"}
venv = modules = ""  # Python= and PythonPath= of the job
absent = ""  # the module that was missing last


def missing(name):
    """A package that is not there, told by its name and by where it was looked for."""
    global absent
    absent = name
    wanted = DISTRIBUTIONS.get(name)
    if not wanted:
        places = [f"PythonPath={modules}"] if modules else []
        places += [f"the virtual environment Python={venv}" if venv else "the system's python3"]
        other = f"install it into {venv} as its authors say" if venv else "write [Actor] Python=DIR with a virtual environment that has it"
        return Refusal(f"there is no module {name} in {' or in '.join(places)}: if it is yours, write [Actor] PythonPath=DIR with the directory that it "
                       f"lies in; if it is not, {other}; what `pip install -e` leaves elsewhere is not seen")
    if not venv:
        return Refusal(f"the system's python3 has no package {name}: install it, or name by [Actor] Python= a virtual environment "
                       f"that has it (pip install {wanted})")
    return Refusal(f"Python={venv}: this virtual environment has no package {name}: install it by {venv}/bin/pip install {wanted}, and not "
                   f"with -e, since what lies elsewhere is not seen")


def missed():
    """For the job's record, which has no room for a sentence."""
    return absent


def explain(error):
    """One sentence for a missing package, wherever that was found out; any other error as it is."""
    if isinstance(error, Refusal):
        return error
    dependency = "gym" in globals() and isinstance(error, gym.error.DependencyNotInstalled)
    if not dependency and not isinstance(error, ModuleNotFoundError):
        return error
    cause = error if getattr(error, "name", None) else error.__cause__ or error.__context__
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        top = cause.name.split(".")[0]
        # A part of a package that is there is no package.
        return error if top in sys.modules else missing(top)
    place = f"Python={venv}: in this virtual environment" if venv else "in the system's python3"
    return Refusal(f"{place} a package is missing or does not load: {error}" + (f" ({type(cause).__name__}: {cause})" if cause else ""))


def tell(error):
    """A traceback for people: bounded, and without anything that moves a terminal's cursor."""
    error = explain(error)
    text = str(error) if isinstance(error, Refusal) else "".join(traceback.format_exception(error)).rstrip()
    if len(text) > TELL_BYTES:
        text = text[:TELL_BYTES // 2] + "\n  [...]\n" + text[-TELL_BYTES // 2:]
    text = "".join(c if c == "\n" or c.isprintable() else "?" for c in text)
    os.write(2, (text + "\n").encode("utf-8", "replace"))


class Windows(types.ModuleType):
    """In place of glfw, which Gymnasium's MuJoCo tasks import whether or not they open a window. The import of the real one starts a process and writes
    code into memory; a sandbox allows neither, and has no screen."""
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refusal(f"glfw.{name}: an actor has no screen to open a window on: use render_mode=rgb_array with MUJOCO_GL=egl or osmesa")


class Mended:
    """Mends a package that starts threads, as an actor may have only one: when the package is imported, whenever that is."""
    def __init__(self, name, mend):
        self.name, self.mend = name, mend

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:  # a directory that is no package has none
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), self.mend(module))
        return spec


def mend_mujoco(mujoco):
    """Newer compilers start threads unless a model forbids it."""
    if not hasattr(mujoco, "MjSpec"):
        return  # older than the threads

    def one_thread(read):
        def load(source, assets=None):
            spec = read(source, assets=assets or {})
            getattr(spec, "compiler", spec).usethread = False
            return spec.compile()
        return staticmethod(load)
    mujoco.MjModel.from_xml_path = one_thread(mujoco.MjSpec.from_file)
    mujoco.MjModel.from_xml_string = one_thread(mujoco.MjSpec.from_string)


class Clock:
    """For pygame's. No step waits for pictures that are not shown."""

    def tick(self, framerate=0):
        return 0

    tick_busy_loop = tick

    def get_time(self):
        return 0

    get_rawtime = get_fps = get_time


def mend_pygame(pygame):
    """Some environments see what they draw, and have a clock whether or not anybody else looks."""
    for home in pygame, pygame.time:
        if hasattr(home, "Clock"):
            home.Clock = Clock


def prepare(python, root, path, path_root):
    """The packages of the virtual environment `python`, which lies at `root`, or of the system where both are empty; the user's own modules of `path`,
    which lies at `path_root`, stand before them and behind the interpreter's, so that a file of theirs called random.py does no harm."""
    import site
    global venv, modules, np, gym
    venv, modules = python, path
    if path:
        try:
            os.listdir(path_root)
        except OSError as e:
            raise Refusal(f"PythonPath={path}: the job cannot read this directory: {e.strerror}; it must be readable for all users")
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
            raise Refusal(f"Python={python}: this is no virtual environment that the job can read: {e.strerror}: "
                          f"{(e.filename or '').removeprefix(root)}")
        if version not in there:
            others = [name for name in there if name.startswith("python")]
            raise Refusal(f"Python={python}: this virtual environment is of {' and '.join(others) or 'no Python'}, and this actord "
                          f"has {version}: make it with {version} -m venv")
        site.addsitedir(packages)
        system = {k.strip(): v.strip() for k, v in settings.items()}.get("include-system-site-packages") == "true"
    if system:
        for path in (f"/usr/local/lib/{version}/dist-packages", "/usr/lib/python3/dist-packages"):
            if os.path.isdir(path):
                site.addsitedir(path)
    sys.modules["glfw"] = Windows("glfw")
    sys.meta_path[:0] = Mended("mujoco", mend_mujoco), Mended("pygame", mend_pygame)
    import numpy as np
    import gymnasium as gym
    for package in np, gym:
        if not getattr(package, "__file__", None):  # a directory whose files are not there, or are links to where nothing is seen
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
            raise Refusal(f"Wrappers={word}: this is no Name or Name(arguments), where arguments are literals")
        env = wrapped(wrapper_of(call.func, word), env, arguments, keywords, word)
    return env


def wrapped(wrapper, env, arguments, keywords, word):
    """One sentence for arguments that a wrapper does not take; an error of the user's own wrapper is told with its traceback."""
    try:
        new = wrapper(env, *arguments, **keywords)
    except (Refusal, ImportError, gym.error.DependencyNotInstalled):
        raise
    except Exception as e:
        if e.__traceback__.tb_next and not getattr(wrapper, "__module__", "").startswith("gymnasium."):
            raise
        raise Refusal(f"Wrappers={word}: {str(e) or type(e).__name__}")
    if not isinstance(new, gym.Env):
        raise Refusal(f"Wrappers={word}: this makes no environment of one")
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
            raise Refusal(f"gym:{name}: what ale_py registers is gym:ale_py:{name}")
        raise Refusal(f"gym:{name}: {e} What a module registers is gym:MODULE:ID")
    except gym.error.Error as e:
        raise Refusal(f"gym:{name}: {e}")


BOX, DISCRETE, MULTI_DISCRETE = 3, 1, 2
CHOICES_MAX = 64  # numbers of an action that are choices
ELEMENTS = {"float32": 1, "float64": 2, "uint8": 4}


def is_flattened(s):
    """Whether an observation becomes the numbers that FlattenObservation makes of it: a 1 among zeros for each choice, or the bits."""
    return type(s) in (gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)


def space(env, name, action):
    """(kind, element, shape, n, start, low, high) of a space that the core knows."""
    s = env.action_space if action else env.observation_space
    what = "action" if action else "observation"
    if type(s) is gym.spaces.Discrete:
        return DISCRETE, 3, (), int(s.n), int(s.start), 0.0, 0.0
    if action and type(s) is gym.spaces.MultiDiscrete:
        if not 1 <= s.nvec.size <= CHOICES_MAX or s.dtype.name not in ("int32", "int64"):
            raise Refusal(f"{name}: its action space is {s}, and a MultiDiscrete may have {CHOICES_MAX} numbers of int32 or int64")
        return MULTI_DISCRETE, 3, (int(s.nvec.size),), 0, 0, 0.0, 0.0
    if not action and is_flattened(s):
        return BOX, ELEMENTS["float32"], (int(gym.spaces.flatdim(s)),), 0, 0, 0.0, 1.0
    if not isinstance(s, gym.spaces.Box):
        wanted = "Box, a Discrete or a MultiDiscrete" if action else "Box, a Discrete, a MultiDiscrete or a MultiBinary"
        hint = "" if action else "; Wrappers=FlattenObservation may make a Box of it"
        raise Refusal(f"{name}: its {what} space is {s}, and there must be a {wanted}{hint}")
    kinds = ("float32", "float64") if action else tuple(ELEMENTS)
    if s.dtype.name not in kinds:
        hint = "" if action else "; Wrappers=DtypeObservation(float32) makes one of it"
        raise Refusal(f"{name}: its {what} space is {s}, and a Box must be of {', '.join(kinds)}{hint}")
    if len(s.shape) > 4:
        raise Refusal(f"{name}: its {what} space is {s}, and four dimensions are the most")
    if 0 in s.shape:
        raise Refusal(f"{name}: its {what} space is {s}, which holds no number")
    return BOX, ELEMENTS[s.dtype.name], tuple(map(int, s.shape)) or (1,), 0, 0, float(s.low.min()), float(s.high.max())


def horizon(env):
    """The least of its time limits; 0: it has none. They truncate by themselves, this is told to people."""
    limits = []
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            limits.append(int(env._max_episode_steps))
        env = env.env
    least = min(limits, default=0)
    return least if least <= HORIZON_MAX else 0


def stack(env):
    """How many frames an observation is made of, where it is a stack as actord/env.h has them; 0: it is none."""
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
    """An action of a Box or a MultiDiscrete as memory that the next one is written into, the call that makes an array of it, its bounds; of choices the
    first and the last of each."""
    s = env.action_space
    array = np.zeros(s.shape, s.dtype)
    if isinstance(s, gym.spaces.Box):
        low, high = s.low, s.high
    else:
        low = np.broadcast_to(getattr(s, "start", 0), s.shape)
        high = low + s.nvec - 1
    return array, array.copy, low.astype(np.float64).tobytes(), high.astype(np.float64).tobytes()


def as_array(env):
    """What makes an observation of any other kind an array of the space's, or fails."""
    s = env.observation_space

    def flattened(observation):
        array = np.asarray(observation, dtype=s.dtype)
        if not s.contains(array):
            raise Refusal(f"an observation is {array.tolist()}, and the observation space is {s}")
        return np.ascontiguousarray(gym.spaces.flatten(s, array), dtype=np.float32)

    def convert(observation):
        array = np.ascontiguousarray(observation, dtype=s.dtype)
        if array.shape != (s.shape or (1,)):
            raise Refusal(f"an observation has the shape {array.shape}, and the observation space is {s}")
        return array
    return flattened if is_flattened(s) else convert


def frame(env, side_max):
    """What it renders: (width, height, bytes of red, green and blue from the top left, seconds of a step)."""
    image = env.render()
    if isinstance(image, list) and image:
        image = image[-1]
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] < 3:
        raise Refusal("render() gives no picture: it needs render_mode='rgb_array', and there is " +
                      (f"an array of {image.dtype} with the shape {image.shape}" if image.ndim else str(env.render_mode)))
    thin = -(-max(image.shape[:2]) // side_max)
    image = np.ascontiguousarray(image[::thin, ::thin, :3])
    rate = float(env.metadata.get("render_fps") or 0)
    return image.shape[1], image.shape[0], image.tobytes(), 1 / rate if rate > 0 else 0.0


def seed_globals(seed):
    """For environments that draw from the one stream that all of a process share."""
    random.seed(seed)
    np.random.seed(seed & 0xffffffff)


def globals_state():
    state = np.random.get_state(legacy=True)
    return random.getstate(), state[1].tobytes(), state[2:]


# Emulators save themselves, and what pickle would take of them is only how they were made.
def has_own_state(base):
    return hasattr(base, "clone_state") and hasattr(base, "restore_state")


class Freezer:
    base = None

    def persistent_id(self, thing):
        return "base" if self.base is not None and thing is self.base else None


class PlainFreezer(Freezer, pickle.Pickler):
    pass


def function_freezer():
    """Slower, and takes the functions that some wrappers hold; Gymnasium comes with it."""
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
    """All that the next step depends on, as bytes."""
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
        raise Refusal("reset() returned no (observation, info), as Gymnasium's environments do; those of the older gym need a wrapper")
    return np.asarray(result[0]).tobytes()


def step(env, action):
    result = env.step(action)
    if not isinstance(result, tuple) or len(result) != 5:
        raise Refusal("step() returned no (observation, reward, terminated, truncated, info), as Gymnasium's environments do; those of the "
                      "older gym need a wrapper")
    observation, reward, terminated, truncated, _ = result
    try:
        number = np.float64(float(reward)).tobytes()  # one that is not finite is found later, and equals itself here
    except (TypeError, ValueError):
        raise Refusal(f"step() returned the reward {reward!r}, which is no number")
    return np.asarray(observation).tobytes(), number, bool(terminated), bool(truncated)


def trace(env, actions, seeded):
    """What an environment shows under these actions, and whether its steps draw from shared streams. seeded: these are set before each
    step, as the bridge does it then."""
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


def named(error):
    """Assertions often say no more than what they are."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def check(env):
    """Steps a copy that was saved and restored beside the original. (bytes of a snapshot, 0: none that could be trusted; whether
    steps draw from shared streams; whether episodes show what was before their reset; why there is no snapshot)."""
    env.action_space.seed(SEED_CHECKED)
    sample = getattr(env, "sample", env.action_space.sample)  # all agents of several
    actions = [sample() for _ in range(STEPS_BEFORE + STEPS_CHECKED)]
    try:
        new, reason = choose_freezer(env), ""
    except Exception as e:
        new, reason = None, f"it cannot be pickled ({named(e)})"
    _, (_, draws) = episode(env, actions, False)
    env.reset(seed=SEED_CHECKED)
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
