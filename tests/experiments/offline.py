#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policies of recorded episodes on Hopper and HalfCheetah, from data of two kinds: docs/experiments/consistency.md.

offline.py run [--seeds N] [--only WORD,...]   the data sets, and the trainings that are missing, seed by seed; several may run at once
offline.py table                               writes the tables into the page
offline.py check                               fails if the page's tables are not those of the cells

A training is a line of docs/experiments/offline.csv as soon as it is done. Policies that are made of noise also play the same episodes as in
the authors' programs, where the critics choose one of 50 actions: these are lines of their own, and such a training is repeated if only its
second line is missing. The words of --only choose among tasks, kinds of data and
algorithms. Data sets lie in build/offline, and are made again if they are gone; offline-data.csv says how many steps they have."""
import argparse, fcntl, json, os, re
from typing import NamedTuple
from generative import ctl, job
from intervals import interval, mean
from published import BUILD
from trainings import enter, is_there, publish, read

CELLS, DATA = "offline.csv", "offline-data.csv"
COLUMNS = ["task", "data", "algorithm", "seed", "evaluation", "deviation", "cpu_s", "policy"]
DATA_COLUMNS = ["task", "data", "episodes", "steps", "return"]
STATE = os.path.join(BUILD, "offline")
EPISODES = 20
GRADIENT_STEPS = 200000
KINDS = ("medium", "medium-replay")
ALGORITHMS = ("bc", "td3-bc", "consistency", "diffusion-ql")
# The second line of a training, and what its evaluation sets: the papers' programs draw an action by the critics in evaluations, too.
CHOSEN = {one: f"{one}, 50 candidates" for one in ("consistency", "diffusion-ql")}
AS_CHOSEN = ("--set=Learner.Candidates=50", "--set=Evaluation.Stochastic=yes")
LINES = tuple(line for one in ALGORITHMS for line in (one, CHOSEN.get(one)) if line)


class Task(NamedTuple):
    """One SAC training makes both kinds of data: the first plays `episodes`, the second is what it had learned from."""

    steps: int  # of the training
    episodes: int


TASKS = {"Hopper-v4": Task(200000, 300), "HalfCheetah-v4": Task(100000, 100)}
# RL Zoo's SAC for MuJoCo, but for networks and minibatch, as in off_policy.py.
TEACHER = ("Learner.HiddenLayers=64 64", "Learner.MinibatchSize=128", "Learner.LearningRate=0.0003", "Learner.Gamma=0.99", "Learner.Tau=0.005",
           "Learner.ReplaySize=200000", "Learner.ReplayMin=10000", "Actor.RolloutSteps=1", "Evaluation.Episodes=0", "Learner.Threads=1")
# The papers' rates and weights for MuJoCo: TD3+BC's alpha is 2.5, and eta of both others is 1.
SETS = ("Learner.LearningRate=0.0003", "Learner.Tau=0.005", "Learner.Threads=1", f"Evaluation.Episodes={EPISODES}",
        "Evaluation.EveryRounds=1000000")
OWN = {"bc": (), "td3-bc": ("Learner.QWeight=2.5",), "consistency": ("Learner.Eta=1",), "diffusion-ql": ("Learner.Eta=1",)}
# Settings that bc does not read.
UNREAD = {"bc": ("Learner.Tau",)}


def made_of(task, kind):
    """The line of a data set; None: there is none."""
    return next((row for row in read(DATA) if (row["task"], row["data"]) == (task, kind)), None)


def make(task):
    """Both data sets of a task. Made again, they must be those of the cells."""
    how = TASKS[task]
    _, teacher = job("sac", (f"Job.Environment={task}", f"Job.StopSteps={how.steps}", *TEACHER))
    for kind, words in zip(KINDS, (["--rollouts", f"--episodes={how.episodes}", "--set=Evaluation.Stochastic=yes"], ["--replay"])):
        place = os.path.join(STATE, f"{task}-{kind}")
        said = ctl("export", teacher, *words, f"--output={place}", with_errors=True)
        n_episodes, n_steps, returned = re.search(r"(\d+) episodes, (\d+) steps, return (\S+)", said).groups()
        row = {"task": task, "data": kind, "episodes": n_episodes, "steps": n_steps, "return": returned}
        if not made_of(task, kind):
            enter(DATA, DATA_COLUMNS, row, data_order)
        elif made_of(task, kind) != row:
            raise RuntimeError(f"{place}: {row}, but {DATA} has {made_of(task, kind)}")


def recorded(task, kind):
    """The data file and how many steps it has."""
    path = os.path.join(STATE, f"{task}-{kind}", "main_data.hdf5")
    os.makedirs(STATE, mode=0o700, exist_ok=True)
    with open(os.path.join(STATE, f"{task}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path) or not made_of(task, kind):
            make(task)
    return path, int(made_of(task, kind)["steps"])


def train(task, kind, algorithm, seed):
    """What the job found, and its last checkpoint."""
    path, n_steps = recorded(task, kind)
    sets = [one for one in SETS if one.split("=")[0] not in UNREAD.get(algorithm, ())]
    # The whole data set is read before the first gradient step; then there is one for each step that is read
    words = [f"Job.Environment={task}", f"Job.Seed={seed}", f"Learner.Dataset={path}", f"Learner.ReplaySize={n_steps}",
             f"Learner.ReplayMin={n_steps}", f"Job.StopSteps={n_steps + GRADIENT_STEPS}"]
    return job(algorithm, (*words, *sets, *OWN[algorithm]))


def data_order(row):
    return list(TASKS).index(row["task"]), KINDS.index(row["data"])


def cell_order(cell):
    return *data_order(cell), LINES.index(cell["algorithm"]), int(cell["seed"])


def note(key, mean_, deviation, found):
    """Enters a line, unless it is there; then it must be of the same policy."""
    there = next((cell for cell in read(CELLS) if all(cell[word] == value for word, value in key.items())), None)
    policy = found["policy_sha256"][:16]
    if there and there["policy"] != policy:
        raise RuntimeError(f"{key}: the policy is {policy}, but {CELLS} has {there['policy']}")
    print(*key.values(), mean_, found["cpu_s"]["scope"], flush=True)
    if not there:
        enter(CELLS, COLUMNS, {**key, "evaluation": f"{mean_:.2f}", "deviation": f"{deviation:.1f}",
                               "cpu_s": f"{found['cpu_s']['scope']:.1f}", "policy": policy}, cell_order)


def run(n_seeds, tasks, kinds, algorithms):
    for seed in range(1, n_seeds + 1):
        for task in tasks:
            for kind in kinds:
                for algorithm in algorithms:
                    lines = [line for line in (algorithm, CHOSEN.get(algorithm)) if line]
                    keys = [{"task": task, "data": kind, "algorithm": line, "seed": str(seed)} for line in lines]
                    if all(is_there(CELLS, key) for key in keys):
                        continue
                    found, checkpoint = train(task, kind, algorithm, seed)
                    note(keys[0], found["evaluation_mean"], found["evaluation_sd"], found)
                    for key in keys[1:]:
                        played = json.loads(ctl("eval", checkpoint, f"--episodes={EPISODES}", "--json", *AS_CHOSEN))
                        note(key, played["return_mean"], played["return_sd"], found)


def of(task, kind, algorithm):
    return {cell["seed"]: float(cell["evaluation"]) for cell in read(CELLS)
            if (cell["task"], cell["data"], cell["algorithm"]) == (task, kind, algorithm)}


def spread(values):
    if len(values) < 3:
        return ", ".join(f"{value:,.0f}" for value in values) or "–"
    low, high = interval(values)
    return f"{mean(values):,.0f} ({low:,.0f} to {high:,.0f})"


def difference(task, kind, one, other):
    """Seed by seed, over those that both have."""
    mine, theirs = of(task, kind, one), of(task, kind, other)
    return spread([mine[seed] - theirs[seed] for seed in mine if seed in theirs])


def returns():
    lines = ["| task | data | policy | seeds | return | less bc, by seeds | CPU, s |", "|---|---|---|--:|---|---|--:|"]
    for task in TASKS:
        for kind in KINDS:
            for algorithm in LINES:
                cells = [cell for cell in read(CELLS) if (cell["task"], cell["data"], cell["algorithm"]) == (task, kind, algorithm)]
                if cells:
                    less = "" if algorithm == "bc" else difference(task, kind, algorithm, "bc")
                    seconds = mean([float(cell["cpu_s"]) for cell in cells])
                    lines.append(f"| {task} | {kind} | {algorithm} | {len(cells)} | {spread(list(of(task, kind, algorithm).values()))} | {less} | "
                                 f"{seconds:.0f} |")
    return "\n".join(lines)


def share(task, kind, one, other):
    """The ratio of means over the seeds that both have; its interval by a bootstrap over these seeds."""
    mine, theirs = of(task, kind, one), of(task, kind, other)
    pairs = [(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
    if len(pairs) < 3:
        return "–"
    low, high = interval(pairs, lambda chosen: sum(a for a, _ in chosen) / sum(b for _, b in chosen))
    return f"{sum(a for a, _ in pairs) / sum(b for _, b in pairs):.3f} ({low:.3f} to {high:.3f})"


def claims():
    lines = ["| task | data | candidates | consistency, of diffusion-ql's return | consistency less td3-bc | less bc |", "|---|---|--:|---|---|---|"]
    for n, names in ((1, {one: one for one in CHOSEN}), (50, CHOSEN)):
        mine, rival = names["consistency"], names["diffusion-ql"]
        for task in TASKS:
            for kind in KINDS:
                if of(task, kind, mine):
                    lines.append(f"| {task} | {kind} | {n} | {share(task, kind, mine, rival)} | {difference(task, kind, mine, 'td3-bc')} | "
                                 f"{difference(task, kind, mine, 'bc')} |")
    return "\n".join(lines)


def data():
    lines = ["| task | data | episodes | steps | return |", "|---|---|--:|--:|--:|"]
    lines += [f"| {row['task']} | {row['data']} | {int(row['episodes']):,} | {int(row['steps']):,} | {float(row['return']):,.0f} |"
              for row in read(DATA)]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else []
    unknown = set(only) - {*TASKS, *KINDS, *ALGORITHMS}
    if unknown:
        parser.error(f"unknown words: {', '.join(sorted(unknown))}")
    if args.what == "run":
        run(args.seeds, *([one for one in all_ if one in only] or all_ for all_ in (TASKS, KINDS, ALGORITHMS)))
    else:
        publish("consistency.md", {"offline-data": data(), "offline-returns": returns(), "offline-claims": claims()}, args.what == "check")


if __name__ == "__main__":
    main()
