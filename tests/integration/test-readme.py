#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""README's lines of "From the tree", as they stand there, in a folder with build/ and examples/ and with a home of its own. A line that trains is
interrupted after some seconds, as by Ctrl-C, once it has something to keep. "As a service" is fresh-install.py's, and the tutorial test-tutorial.py's."""
import csv, html, io, shutil, statistics

from pages import *

PLACE, HOME = os.path.join(STATE, "tree"), os.path.join(STATE, "home")


def newest_checkpoint():
    found = glob.glob(HOME + "/.local/state/actord/runs/1/jobs/1/state/checkpoint-*.safetensors")
    return shlex.quote(max(found, key=lambda path: int(path.rsplit("-", 1)[1].split(".")[0]))) if found else "missing.safetensors"


@story("every line of README's \"From the tree\" does what it says")
def every_line():
    os.makedirs(HOME)
    os.makedirs(PLACE)
    os.symlink(BUILD, os.path.join(PLACE, "build"))
    shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(PLACE, "examples"))
    lines = section("README.md", "From the tree")
    equal(lines[0], "make", "the first line")
    assert len(lines) >= 9 and all(line.startswith("build/actorctl ") for line in lines[1:]), lines
    for line in lines[1:]:
        status, out, trains = type_in(line.replace("CHECKPOINT.safetensors", newest_checkpoint()), PLACE, HOME)
        assert status in (INTERRUPTED if trains else (0,)), (line, status, out[-800:])
        assert "Traceback" not in out and "unknown" not in out, (line, out[-800:])
        if "--json" in line:
            equal(json.loads(out[out.index("{"):])["environment"], "Hopper-v4", line)
    assert os.path.getsize(os.path.join(PLACE, "hopper.gif")) > 10000


def in_general(lines):
    """What these lines say, without their times and what follows from them."""
    time = r"(?:\d+ (?:h|min) )*\d+(?:\.\d+)?(?= s\b)|\d+\.\d+(?= GB-s| USD)|\b0\.\d{9}\b"
    return [re.sub(r"\s+", " ", re.sub(time, "T", re.sub(r"(?<=checkpoint )\S*/(?=jobs/)", "", line.strip()))) for line in lines if line.strip()]


@story("README's example and its picture of a terminal are what a run prints: all lines, and each number that no host changes")
def figures():
    text = read("README.md")
    shown = re.search(r"^`make demo` prints this[^\n]*\n\n((?:    [^\n]*\n|\n)+)", text, re.M).group(1).splitlines()
    place = tempfile.mkdtemp(dir=STATE)
    status, out, _ = type_in("actorctl run examples/cartpole.conf 2>/dev/null", ROOT, place, seconds=60 * PATIENCE)
    equal(status, 0, out)
    equal(in_general(shown), in_general(out.splitlines()), "README's example")
    picture = [html.unescape(line).replace("\xa0", " ") for line in re.findall(r"<text[^>]*>(.*?)</text>", read("docs/pictures/terminal.svg"))]
    missing = [line for line in in_general(out.splitlines()) if line not in in_general(picture)]
    equal(missing, [], "lines that the picture lacks")


@story("the times that README compares are the medians of docs/experiments/peers.csv, and figures.md has the same")
def compared():
    rows = [row for row in csv.DictReader(io.StringIO(read("docs/experiments/peers.csv"))) if row["task"] == "cartpole"]
    equal(len({row["seed"] for row in rows}), 10, "seeds")
    equal(len(rows), 20, "trainings")
    ours, whole, training = (statistics.median(float(row[key]) for row in rows) for key in ("actord_wall_s", "peer_wall_s", "peer_train_s"))
    said = " ".join(read("README.md").split())
    for words in (f"took {ours:.2f} s in the median of twenty trainings", f"Stable-Baselines3 took {whole:.1f} s", f"{training:.1f} of these were training"):
        assert words in said, words
    row = re.search(r"^\| PPO on CartPole-v1, 65,536 steps \|.*$", read("docs/experiments/figures.md"), re.M)[0]
    for words in (f"| {whole:.1f} ({training:.1f});", f"| {ours:.2f};", f"| {whole / ours:.1f} ({training / ours:.1f}) |"):
        assert words in row, (words, row)


@story("the paragraph below README's bill explains the words that the bill has first")
def explained():
    before, bill, below = re.fullmatch(r"(.*?\n)(    CartPole-v1: .*?\n)\n(?! )(.*?)\n\n.*", read("README.md"), re.S).groups()
    for word in "emulated fleet", "paper total", "full total":
        assert word not in before and word in bill and f"*{word}*" in below, word


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
    page = "docs/coming-from.md"
    place, home = os.path.join(STATE, "coming"), os.path.join(STATE, "coming-home")
    os.makedirs(home)
    files = dict(THEIRS, **{block.rest: block.text for block in blocks(page) if block.kind == "ini"})
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        open(os.path.join(place, name), "w").write(text)
    lines = [command.text for command in commands(page) if command.alone]
    assert len(lines) >= 9 and all(line.startswith("actorctl ") for line in lines), lines
    for line in lines:
        status, out, trains = type_in(line, place, home)
        assert status in (INTERRUPTED if trains else (0,)), (line, status, out[-800:])
        assert "Traceback" not in out, (line, out[-800:])
    assert os.listdir(os.path.join(place, "runs", "ppo")), "TensorBoard's files"


tell()
