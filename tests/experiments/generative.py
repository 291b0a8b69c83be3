#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policies that make an action from noise, on Pendulum, from recorded episodes and beyond: docs/experiments/consistency.md and pi-ft.md.

generative.py run [--seeds N] [--only PATTERN]   the data set, and the trainings that are missing, seed by seed
generative.py table                              writes the tables into the pages
generative.py check                              fails if a page's tables are not those of the cells

A training is a line of docs/experiments/generative.csv as soon as it is done; a training that has a line is not repeated. Each is an example
with the changes of SETS. Data set, checkpoints and records lie in build/generative, and are made again if they are gone."""
import argparse, glob, json, os, re, subprocess
from intervals import interval, mean
from published import BUILD, ROOT
from trainings import enter, is_there, publish, read

CELLS = "generative.csv"
COLUMNS = ["row", "seed", "evaluation", "deviation", "cpu_s", "policy"]
STATE = os.path.join(BUILD, "generative")
DATA = os.path.join(STATE, "data")
CTL = os.path.join(BUILD, "actorctl")
EPISODES = 50
# The policy that plays the data set: one in the middle of its training.
TEACHER = ("Learner.HiddenLayers=64 64", "Learner.MinibatchSize=128", "Job.StopSteps=6000", "Evaluation.Episodes=0", "Learner.Threads=1")
RECORDED = 50
ACTING = ("Learner.Dataset=", "Learner.EpsilonStart=0.05", "Learner.EpsilonEnd=0.01", "Learner.EpsilonSteps=23000", "Job.StopSteps=23000")
# Row: the example, the settings that differ, and the row whose checkpoint it goes on from.
ROWS = {
    "bc": ("bc", (), None),
    "td3-bc": ("td3-bc", (), None),
    "consistency": ("consistency", (), None),
    "diffusion-ql": ("diffusion-ql", (), None),
    "consistency, acting": ("consistency", ACTING, "consistency"),
    "pi-ft": ("pi-ft", ACTING[1:], "diffusion-ql"),
    "diffusion-ql, acting": ("diffusion-ql", ACTING, "diffusion-ql"),
    "pi-ft, Eta=0.1": ("pi-ft", (*ACTING[1:], "Learner.Eta=0.1"), "diffusion-ql"),
    "pi-ft, Eta=10": ("pi-ft", (*ACTING[1:], "Learner.Eta=10"), "diffusion-ql"),
    # Controls
    "consistency, data alone": ("consistency", ("Learner.Eta=1e-9",), None),
    "consistency, one pass": ("consistency", ("Learner.Passes=1",), None),
}


def ctl(*words, with_errors=False):
    """What actorctl prints; with_errors: its remarks, too."""
    environment = {**os.environ, "XDG_STATE_HOME": STATE, "XDG_RUNTIME_DIR": STATE}
    os.makedirs(STATE, mode=0o700, exist_ok=True)
    r = subprocess.run([CTL, *words], capture_output=True, text=True, env=environment)
    if r.returncode != 0:
        raise RuntimeError(f"actorctl {' '.join(words)}: {r.stderr.strip()}")
    return r.stdout + (r.stderr if with_errors else "")


def job(example, sets, *words):
    found = json.loads(ctl("run", os.path.join(ROOT, "examples", f"pendulum-{example}.conf"), "--json", *words,
                           *(word for one in sets for word in ("--set", one))))
    checkpoints = glob.glob(os.path.join(found["state_directory"], "jobs", "1", "state", "checkpoint-*.safetensors"))
    newest = max(checkpoints, key=lambda path: int(re.search(r"-(\d+)\.", os.path.basename(path))[1]))
    return found, newest


def recorded():
    """The data set's file, and what the export prints about it when it is made."""
    path = os.path.join(DATA, "main_data.hdf5")
    if not os.path.exists(path):
        _, teacher = job("sac", TEACHER)
        print(ctl("export", teacher, "--rollouts", f"--episodes={RECORDED}", f"--output={DATA}").strip(), flush=True)
    return path


def keep(row, seed):
    return os.path.join(STATE, f"{row.replace(', ', '-').replace(' ', '-')}-{seed}")


def train(row, seed):
    """The result of a run; the path of its checkpoint is noted for the rows that go on from it."""
    example, sets, source = ROWS[row]
    words = [f"Job.Seed={seed}", "Learner.Threads=1", f"Evaluation.Episodes={EPISODES}", "Evaluation.EveryRounds=1000"]
    if example != "pi-ft":
        words.append(f"Learner.Dataset={recorded()}")
    begin = ["--from", checkpoint_of(source, seed)] if source else []
    found, checkpoint = job(example, (*words, *sets), *begin)
    with open(keep(row, seed), "w", encoding="utf-8") as f:
        f.write(checkpoint)
    return found


def checkpoint_of(row, seed):
    if not os.path.exists(keep(row, seed)):
        train(row, seed)
    with open(keep(row, seed), encoding="utf-8") as f:
        return f.read()


def cell_order(cell):
    return list(ROWS).index(cell["row"]), int(cell["seed"])


def run(n_seeds, pattern):
    for seed in range(1, n_seeds + 1):
        for row in ROWS:
            key = {"row": row, "seed": str(seed)}
            if not re.search(pattern, row) or is_there(CELLS, key):
                continue
            found = train(row, seed)
            print(row, seed, found["evaluation_mean"], found["cpu_s"]["scope"], flush=True)
            enter(CELLS, COLUMNS, {**key, "evaluation": f"{found['evaluation_mean']:.2f}", "deviation": f"{found['evaluation_sd']:.1f}",
                                   "cpu_s": f"{found['cpu_s']['scope']:.1f}", "policy": found["policy_sha256"][:16]}, cell_order)


def of(row):
    return {cell["seed"]: float(cell["evaluation"]) for cell in read(CELLS) if cell["row"] == row}


def spread(values):
    if not values:
        return "–"
    if len(values) < 3:
        return f"{mean(values):.0f}" + (f" ({', '.join(f'{value:.0f}' for value in values)})" if len(values) > 1 else "")
    low, high = interval(values)
    return f"{mean(values):.0f} ({low:.0f} to {high:.0f})"


def difference(row, other):
    """Seed by seed, over those that both have."""
    mine, theirs = of(row), of(other)
    return spread([mine[seed] - theirs[seed] for seed in mine if seed in theirs])


def returns():
    lines = ["| policy | seeds | return | least to most | less bc, by seeds | CPU, s |", "|---|--:|---|---|---|--:|"]
    for row in ROWS:
        values = list(of(row).values())
        if not values:
            continue
        seconds = mean([float(cell["cpu_s"]) for cell in read(CELLS) if cell["row"] == row])
        lines.append(f"| {row} | {len(values)} | {spread(values)} | {min(values):.0f} to {max(values):.0f} | "
                     f"{'' if row == 'bc' else difference(row, 'bc')} | {seconds:.1f} |")
    return "\n".join(lines)


CLAIMS = [("consistency less diffusion-ql", lambda: difference("consistency", "diffusion-ql")),
          ("consistency, acting, less offline", lambda: difference("consistency, acting", "consistency")),
          ("diffusion-ql, acting, less offline", lambda: difference("diffusion-ql, acting", "diffusion-ql")),
          ("consistency less td3-bc", lambda: difference("consistency", "td3-bc")),
          ("consistency less data alone", lambda: difference("consistency", "consistency, data alone")),
          ("consistency less one pass", lambda: difference("consistency", "consistency, one pass"))]
TUNED = [("pi-ft, Eta=0.1, less diffusion-ql", lambda: difference("pi-ft, Eta=0.1", "diffusion-ql")),
         ("pi-ft, Eta=10, less diffusion-ql", lambda: difference("pi-ft, Eta=10", "diffusion-ql")),
         ("pi-ft less diffusion-ql, acting", lambda: difference("pi-ft", "diffusion-ql, acting")),
         ("pi-ft less diffusion-ql", lambda: difference("pi-ft", "diffusion-ql"))]


def claims(rows):
    return "\n".join(["| compared | figure |", "|---|---|", *(f"| {name} | {figure()} |" for name, figure in rows)])


def tables(check):
    for page, shown in (("consistency.md", {"returns": returns(), "claims": claims(CLAIMS)}),
                        ("pi-ft.md", {"tuned": claims(TUNED)})):
        publish(page, shown, check)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if args.what == "run":
        run(args.seeds, args.only)
    else:
        tables(args.what == "check")


if __name__ == "__main__":
    main()
