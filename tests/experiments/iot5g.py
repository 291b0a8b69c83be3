#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PPO against DDPG and against DQN on the two iot5g tasks: docs/experiments/iot5g.md.

iot5g.py search [--episodes N]   the returns of random moves and of a search (build/bench/iot5g-search), if iot5g-search.csv lacks them
iot5g.py run [--seeds N]         the trainings that are missing
iot5g.py table                   writes the tables into the page
iot5g.py check                   fails if the page's tables are not those of the cells

A training is a line of docs/experiments/iot5g.csv as soon as it is done; a training that has a line is not repeated."""
import argparse, array, os, re, subprocess, tempfile
from intervals import interquartile_mean, interval, mean
from published import BUILD
from trainings import curve_of, curve_text, enter, is_there, publish, read, train

CELLS, SEARCH, PAGE = "iot5g.csv", "iot5g-search.csv", "iot5g.md"
COLUMNS = ["task", "arm", "seed", "policy", "cpu_s", "early", "late", "early_link", "late_link", "curve"]
SEARCH_COLUMNS = ["task", "controller", "episodes", "mean", "deviation"]
EVERY = 2048  # steps, near enough, from one evaluation to the next
EPISODES = 40
EARLY, LATE = 10000, 40000  # steps in which cells are counted
# The numbers of an observation, and how many cells each has: tenths, except decades for the error rate. The first three are the link's.
CELLS_OF = ((9, -1, 0), (10, 0, 1), (10, 0, 1), (10, 0, 1), (10, -1, 1))
N_LINK = 3
SHARE = 0.9  # the share of the way from random moves to the search

SMALL_ROUNDS = ("Actor.RolloutSteps=64", "Learner.LearningRate=0.001")
CONTINUOUS, DISCRETE = "iot5g-continuous", "iot5g-discrete"


class Arm:
    """A job, what differs from it, its steps, and how many rounds from one evaluation to the next."""

    def __init__(self, task, name, job, steps, rounds, *sets):
        self.task, self.name, self.job = task, name, job
        self.words = [f"Job.Environment={task}", f"Job.StopSteps={steps}", f"Evaluation.EveryRounds={rounds}", f"Evaluation.Episodes={EPISODES}",
                      "Learner.Threads=1", *sets]


ARMS = [
    Arm(CONTINUOUS, "PPO", "iot5g", 102400, 1),
    Arm(CONTINUOUS, "PPO, small rounds", "iot5g", 102400, 4, *SMALL_ROUNDS),
    Arm(CONTINUOUS, "DDPG", "iot5g-ddpg", 41000, 205),
    Arm(CONTINUOUS, "random moves", "iot5g-ddpg", 41000, 205, "Learner.ReplaySize=50000", "Learner.ReplayMin=50000"),
    Arm(DISCRETE, "PPO", "iot5g", 102400, 1),
    Arm(DISCRETE, "PPO, small rounds", "iot5g", 102400, 4, *SMALL_ROUNDS),
    Arm(DISCRETE, "DQN", "iot5g-dqn", 41000, 205),
    Arm(DISCRETE, "DQN, few updates", "iot5g-dqn", 41000, 205, "Learner.TrainRatio=0.25"),
    Arm(DISCRETE, "random moves", "iot5g-dqn", 41000, 205, "Learner.TrainRatio=0", "Learner.EpsilonEnd=1"),
]
RIVALS = {CONTINUOUS: "DDPG", DISCRETE: "DQN"}


def cell(observation):
    return tuple(min(n - 1, max(0, int((x - low) / (high - low) * n))) for x, (n, low, high) in zip(observation, CELLS_OF))


def visited(path, n_steps):
    """Distinct cells within the first steps: of the whole observation, and of the link's numbers."""
    numbers = array.array("f")
    with open(path, "rb") as f:
        numbers.frombytes(f.read(n_steps * len(CELLS_OF) * numbers.itemsize))
    cells = {cell(numbers[i:i + len(CELLS_OF)]) for i in range(0, len(numbers), len(CELLS_OF))}
    return len(cells), len({c[:N_LINK] for c in cells})


def order(row):
    return [(arm.task, arm.name) for arm in ARMS].index((row["task"], row["arm"])), int(row["seed"])


def run(n_seeds):
    for seed in range(1, n_seeds + 1):
        for arm in ARMS:
            key = {"task": arm.task, "arm": arm.name, "seed": str(seed)}
            if is_there(CELLS, key):
                continue
            with tempfile.NamedTemporaryFile() as observations:
                found = train(arm.job, [*arm.words, f"Job.Seed={seed}"], [f"--observations={observations.name}"])
                early, early_link = visited(observations.name, EARLY)
                late, late_link = visited(observations.name, LATE)
            enter(CELLS, COLUMNS, {**key, "policy": found["policy"], "cpu_s": f"{found['cpu_s']:.3f}", "early": early, "late": late,
                                   "early_link": early_link, "late_link": late_link, "curve": curve_text(found["curve"])}, order)


def search(n_episodes):
    for task in RIVALS:
        if is_there(SEARCH, {"task": task}):
            continue
        r = subprocess.run([os.path.join(BUILD, "bench", "iot5g-search"), task, str(n_episodes)], stdout=subprocess.PIPE, text=True, check=True)
        for controller, value, deviation in re.findall(r"(\w+) (\S+), deviation of the mean (\S+),", r.stdout):
            enter(SEARCH, SEARCH_COLUMNS, {"task": task, "controller": controller, "episodes": n_episodes, "mean": value, "deviation": deviation},
                  lambda row: (row["task"], row["controller"]))


def target(task):
    reached = {row["controller"]: float(row["mean"]) for row in read(SEARCH) if row["task"] == task}
    return reached["random"] + SHARE * (reached["search"] - reached["random"])


def rows_of(arm):
    return sorted((row for row in read(CELLS) if (row["task"], row["arm"]) == (arm.task, arm.name)), key=lambda row: int(row["seed"]))


def steps_to(row, bar):
    """(steps until the first evaluation at the bar or above, or all steps if there is none; whether there is one)"""
    curve = curve_of(row)
    for i, value in enumerate(curve):
        if value >= bar:
            return (i + 1) * EVERY, True
    return len(curve) * EVERY, False


def number(x):
    return f"{x:,.0f}"


def spread(values, statistic=mean, shown=number):
    low, high = interval(values, statistic)
    return f"{shown(statistic(values))} ({shown(low)} to {shown(high)})"


def seconds(row, steps):
    return float(row["cpu_s"]) * steps / (len(curve_of(row)) * EVERY)


def arms_of(task):
    return [(arm, rows_of(arm)) for arm in ARMS if arm.task == task]


def table_steps(task):
    bar = target(task)
    lines = [f"| {task}, to {bar:.0f} | seeds | reach it | steps, IQM | CPU s until then, IQM | return at 40,000 steps, mean |",
             "|---|--:|--:|--:|--:|--:|"]
    for arm, rows in arms_of(task):
        if arm.name == "random moves":
            continue
        found = [steps_to(row, bar) for row in rows]
        at_late = [curve_of(row)[LATE // EVERY - 1] for row in rows]
        lines.append(f"| {arm.name} | {len(rows)} | {sum(there for _, there in found)} | {spread([n for n, _ in found], interquartile_mean)} | "
                     f"{spread([seconds(row, n) for row, (n, _) in zip(rows, found)], interquartile_mean, lambda x: f'{x:.2f}')} | "
                     f"{spread(at_late)} |")
    return "\n".join(lines)


def table_visits(task):
    lines = [f"| {task} | cells in {EARLY:,} steps | in {LATE:,} | of the link alone in {EARLY:,} | in {LATE:,} |", "|---|--:|--:|--:|--:|"]
    for arm, rows in arms_of(task):
        lines.append("| " + " | ".join([arm.name, *(spread([int(row[column]) for row in rows]) for column in ("early", "late", "early_link", "late_link"))])
                     + " |")
    return "\n".join(lines)


def differences(task, column):
    """The differences of PPO's two arms to the rival, seed by seed."""
    rival = {row["seed"]: row for arm, rows in arms_of(task) if arm.name == RIVALS[task] for row in rows}
    for arm, rows in arms_of(task):
        if arm.name.startswith("PPO"):
            yield arm.name, [column(row) - column(rival[row["seed"]]) for row in rows if row["seed"] in rival]


def table_differences():
    lines = ["| less the rival, by seeds | task | steps to the target | return at 40,000 steps | cells in 40,000 steps | of the link alone |",
             "|---|---|--:|--:|--:|--:|"]
    for task, rival in RIVALS.items():
        columns = [lambda row, bar=target(task): steps_to(row, bar)[0], lambda row: curve_of(row)[LATE // EVERY - 1], lambda row: int(row["late"]),
                   lambda row: int(row["late_link"])]
        found = [dict(differences(task, column)) for column in columns]
        for name in found[0]:
            lines.append(f"| {name} − {rival} | {task} | " + " | ".join(spread(column[name]) for column in found) + " |")
    return "\n".join(lines)


def table_search():
    lines = ["| task | random moves | search | target: 90 % of the way |", "|---|--:|--:|--:|"]
    for task in RIVALS:
        by = {row["controller"]: f"{float(row['mean']):.0f} ± {float(row['deviation']):.0f}" for row in read(SEARCH) if row["task"] == task}
        lines.append(f"| {task} | {by['random']} | {by['search']} | {target(task):.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("search", "run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=60)
    args = parser.parse_args()
    if args.what == "search":
        search(args.episodes)
    elif args.what == "run":
        run(args.seeds)
    else:
        tables = {"search": table_search(), "differences": table_differences()}
        for task in RIVALS:
            tables.update({f"steps {task}": table_steps(task), f"visits {task}": table_visits(task)})
        publish(PAGE, tables, args.what == "check")


if __name__ == "__main__":
    main()
