#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""README's lines of "From the tree", as they stand there, in a folder with build/ and examples/ and with a home of its own. A line that trains is
interrupted after some seconds, as by Ctrl-C, once it has something to keep. "As a service" is fresh-install.py's, and the tutorial test-tutorial.py's."""
import glob, shlex, shutil

from story import *

PLACE, HOME = os.path.join(STATE, "tree"), os.path.join(STATE, "home")
TRAINS = ("run", "experiment", "scheduler")
INTERRUPTED = (0, 130)


def lines():
    text = open(os.path.join(ROOT, "README.md")).read()
    block = re.search(r"^From the tree[^\n]*\n\n((?:    [^\n]*\n|\n)+)", text, re.M).group(1)
    return [line.split(" #")[0].strip() for line in block.splitlines() if line.strip()]


def type_in(line, place=PLACE, home=HOME):
    """(status, what was printed) of a line, whose CHECKPOINT is the one that the first run named."""
    line = line.replace("CHECKPOINT.safetensors", newest_checkpoint())
    trains = line.split()[0] in ("actorctl", "build/actorctl") and line.split()[1] in TRAINS
    env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    env["PATH"] = BUILD + ":" + env["PATH"]
    p = subprocess.Popen(["bash", "-c", "exec " + line], cwd=place, env=dict(env, HOME=home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = p.communicate(timeout=4 if trains else 100 * PATIENCE)
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=30 * PATIENCE)
    return p.returncode, out, trains


def newest_checkpoint():
    found = glob.glob(HOME + "/.local/state/actord/runs/1/jobs/1/state/checkpoint-*.safetensors")
    return shlex.quote(max(found, key=lambda path: int(path.rsplit("-", 1)[1].split(".")[0]))) if found else "missing.safetensors"


@story("every line of README's \"From the tree\" does what it says")
def every_line():
    os.makedirs(HOME)
    os.makedirs(PLACE)
    os.symlink(BUILD, os.path.join(PLACE, "build"))
    shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(PLACE, "examples"))
    read = lines()
    equal(read[0], "make", "the first line")
    assert len(read) >= 9 and all(line.startswith("build/actorctl ") for line in read[1:]), read
    for line in read[1:]:
        status, out, trains = type_in(line)
        assert status in (INTERRUPTED if trains else (0,)), (line, status, out[-800:])
        assert "Traceback" not in out and "unknown" not in out, (line, out[-800:])
        if "--json" in line:
            equal(json.loads(out[out.index("{"):])["environment"], "Hopper-v4", line)
    assert os.path.getsize(os.path.join(PLACE, "hopper.gif")) > 10000


# The files of other projects that docs/coming-from.md takes as there.
THEIRS = {"hyperparams/ppo.yml": "CartPole-v1:\n  n_envs: 8\n  n_timesteps: !!float 1e5\n  policy: 'MlpPolicy'\n  n_steps: 32\n  batch_size: 256\n",
          "cleanrl/ppo.py": """from dataclasses import dataclass

@dataclass
class Args:
    seed: int = 1
    env_id: str = "CartPole-v1"
    total_timesteps: int = 500000
    learning_rate: float = 2.5e-4
    num_envs: int = 4
    num_steps: int = 128
    anneal_lr: bool = True
    gamma: float = 0.99
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    norm_adv: bool = True
    clip_coef: float = 0.2
    clip_vloss: bool = True
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float = None
"""}


@story("every command of docs/coming-from.md does what it says, beside files as those projects have them")
def coming_from():
    page = open(os.path.join(ROOT, "docs", "coming-from.md")).read()
    place, home = os.path.join(STATE, "coming"), os.path.join(STATE, "coming-home")
    os.makedirs(home)
    files = dict(THEIRS, **{name: text for name, text in re.findall(r"^```ini (\S+)\n(.*?)^```$", page, re.M | re.S)})
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        open(os.path.join(place, name), "w").write(text)
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) for line in block.splitlines()]
    assert len(commands) >= 9 and all(line.startswith("actorctl ") for line in commands), commands
    for line in commands:
        status, out, trains = type_in(line, place, home)
        assert status in (INTERRUPTED if trains else (0,)), (line, status, out[-800:])
        assert "Traceback" not in out, (line, out[-800:])
    assert os.listdir(os.path.join(place, "runs", "ppo")), "TensorBoard's files"


tell()
