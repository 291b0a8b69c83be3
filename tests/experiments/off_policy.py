#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DDPG, TD3 and SAC beside Stable-Baselines3's, by turns, with equal settings: docs/experiments/off-policy.md.

off_policy.py run VENV [--seeds N] [--only WORD,...]   the trainings that are missing; VENV has stable-baselines3 and gymnasium[mujoco]
off_policy.py speed VENV [--turns N]                   CPU time of a step with networks of 64 and of 256, by turns
off_policy.py table                                    writes the tables into the page, of tasks that both programs have trained on
off_policy.py check                                    fails if the page's tables are not those of the cells

A training is a line of docs/experiments/off-policy.csv, one of speed a line of off-policy-speed.csv, as soon as it is done; an existing line is not
computed again."""
import argparse, json, os, subprocess
from typing import NamedTuple
from intervals import interval, mean
from trainings import curve_of, curve_text, enter, is_there, publish, read, train

HERE = os.path.dirname(os.path.abspath(__file__))
CELLS, SPEED, PAGE = "off-policy.csv", "off-policy-speed.csv", "off-policy.md"
US, PEER = "actord", "Stable-Baselines3"
ALGORITHMS = ("ddpg", "td3", "sac")
EPISODES = 10


class Task(NamedTuple):
    """How a task is trained by both programs."""

    steps: int  # of the environment, in one training
    bar: int  # the return that counts as learned
    seeds: int
    every: int  # steps from one evaluation to the next
    shown: int  # steps from one column of the table to the next
    own: dict  # settings that differ from SETTINGS; one that differs between algorithms is a dictionary by algorithm

    def settings(self, algorithm):
        own = {key: value[algorithm] if isinstance(value, dict) else value for key, value in self.own.items()}
        return {**SETTINGS, "gamma": GAMMA[algorithm], **own, "algorithm": algorithm, "steps": self.steps, "every": self.every, "episodes": EPISODES}


# Settings of both sides; all others are Stable-Baselines3's defaults.
SETTINGS = {"rate": 0.001, "batch": 128, "buffer": 20000, "starts": 1000, "tau": 0.005, "noise": 0.1, "hidden": [64, 64]}
GAMMA = {"ddpg": 0.98, "td3": 0.98, "sac": 0.99}
# RL Zoo's for MuJoCo's tasks, but for the networks and the minibatch.
LOCOMOTION = {"buffer": 1000000, "starts": 10000, "gamma": 0.99, "rate": {"ddpg": 0.001, "td3": 0.001, "sac": 0.0003}}
TASKS = {
    "Pendulum-v1": Task(8000, -200, 10, 1000, 2000, {}),
    "InvertedPendulum-v4": Task(10000, 950, 10, 1000, 2000, {"gamma": 0.99}),
    "Hopper-v4": Task(300000, 2000, 5, 10000, 60000, LOCOMOTION),
    "HalfCheetah-v4": Task(300000, 4000, 5, 10000, 60000, LOCOMOTION),
}
SPEED_STEPS, SPEED_BATCH, SPEED_HIDDEN = 600, 256, ([64, 64], [256, 256])
COLUMNS = ["program", "task", "algorithm", "seed", "policy", "cpu_s", "curve"]
SPEED_COLUMNS = ["program", "algorithm", "hidden", "turn", "steps", "cpu_s"]


def ours(x):
    words = [f"Job.Environment={x['task']}", f"Job.StopSteps={x['steps']}", f"Job.Seed={x['seed']}", "Actor.RolloutSteps=1", "Learner.Threads=1",
             f"Learner.LearningRate={x['rate']}", f"Learner.MinibatchSize={x['batch']}", f"Learner.Gamma={x['gamma']}",
             f"Learner.ReplaySize={x['buffer']}", f"Learner.ReplayMin={x['starts']}", f"Learner.Tau={x['tau']}",
             f"Learner.HiddenLayers={' '.join(map(str, x['hidden']))}", f"Evaluation.Episodes={x['episodes']}",
             f"Evaluation.EveryRounds={x['every'] or ''}"]
    if x["algorithm"] != "sac":
        words.append(f"Learner.ActionNoise={x['noise']}")
    return train(f"pendulum-{x['algorithm']}", words)


def peers(venv, x):
    command = [os.path.join(venv, "bin", "python"), os.path.join(HERE, "off_policy_peer.py"), json.dumps(x)]
    r = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    found = json.loads(r.stdout)
    return {**found, "curve": {int(steps): value for steps, value in found["curve"].items()}, "policy": ""}


def cell(program, venv, x):
    print(program, x["task"], x["algorithm"], x["seed"], x["hidden"], flush=True)
    return ours(x) if program == US else peers(venv, x)


def cell_order(row):
    return row["program"], list(TASKS).index(row["task"]), ALGORITHMS.index(row["algorithm"]), int(row["seed"])


def run(venv, programs, tasks, algorithms, n_seeds):
    for task in tasks:
        how = TASKS[task]
        for seed in range(1, min(how.seeds, n_seeds) + 1):
            for algorithm in algorithms:
                for program in programs:
                    key = {"program": program, "task": task, "algorithm": algorithm, "seed": str(seed)}
                    if is_there(CELLS, key):
                        continue
                    found = cell(program, venv, {**how.settings(algorithm), "task": task, "seed": seed})
                    enter(CELLS, COLUMNS, {**key, "policy": found["policy"], "cpu_s": f"{found['cpu_s']:.2f}", "curve": curve_text(found["curve"])},
                          cell_order)


def speed_order(row):
    return [" ".join(map(str, hidden)) for hidden in SPEED_HIDDEN].index(row["hidden"]), ALGORITHMS.index(row["algorithm"]), row["program"], \
        int(row["turn"])


def speed(venv, n_turns):
    for turn in range(1, n_turns + 1):
        for hidden in SPEED_HIDDEN:
            for algorithm in ALGORITHMS:
                for program in (US, PEER):
                    key = {"program": program, "algorithm": algorithm, "hidden": " ".join(map(str, hidden)), "turn": str(turn)}
                    if is_there(SPEED, key):
                        continue
                    # Learning begins with the first minibatch
                    found = cell(program, venv, {**SETTINGS, "task": "Pendulum-v1", "algorithm": algorithm, "seed": turn, "steps": SPEED_STEPS,
                                                 "gamma": GAMMA[algorithm], "hidden": hidden, "batch": SPEED_BATCH, "starts": SPEED_BATCH,
                                                 "every": 0, "episodes": 0})
                    enter(SPEED, SPEED_COLUMNS, {**key, "steps": SPEED_STEPS, "cpu_s": f"{found['cpu_s']:.3f}"}, speed_order)


def rows_of(program, task, algorithm):
    return [row for row in read(CELLS) if (row["program"], row["task"], row["algorithm"]) == (program, task, algorithm)]


def number(x):
    return f"{x:,.0f}"


def spread(values):
    if len(values) < 3:
        return f"{number(mean(values))} ({', '.join(map(number, values))})"
    low, high = interval(values)
    return f"{number(mean(values))} ({number(low)} to {number(high)})"


def steps_to(row, how):
    """The environment steps to the first evaluation that reaches the bar; None: none did."""
    return next(((i + 1) * how.every for i, value in enumerate(curve_of(row)) if value >= how.bar), None)


def table_returns(task):
    how = TASKS[task]
    moments = [k for k in range(how.shown, how.steps + 1, how.shown)]
    head = ["algorithm", "program", "seeds", *(f"{k:,}" for k in moments), f"seeds that reach {how.bar:,}", "median steps"]
    lines = [f"| {' | '.join(head)} |", "|---|---|" + "--:|" * (len(head) - 2)]
    for algorithm in ALGORITHMS:
        for program in (US, PEER):
            rows = rows_of(program, task, algorithm)
            if not rows:
                continue
            reached = sorted(n for n in (steps_to(row, how) for row in rows) if n)
            # A seed that never reaches the bar counts as slower than all that do
            middle = reached[len(rows) // 2] if len(reached) > len(rows) // 2 else None
            lines.append("| " + " | ".join([algorithm.upper(), program, str(len(rows)),
                                            *(spread([curve_of(row)[k // how.every - 1] for row in rows]) for k in moments),
                                            f"{len(reached)} of {len(rows)}", number(middle) if middle else "–"]) + " |")
    return "\n".join(lines)


def speed_line(what, algorithm, turns):
    """turns: {program: ms a step} of each."""
    ratios = ", ".join(f"{turn[PEER] / turn[US]:.1f}" for turn in turns)
    return f"| {what} | {algorithm.upper()} | {mean([turn[US] for turn in turns]):.2f} | {mean([turn[PEER] for turn in turns]):.1f} | {ratios} |"


def turns_of(rows):
    """Where both programs have one: {program: ms a step}."""
    by = {}
    for row in rows:
        by.setdefault(row["turn"], {})[row["program"]] = 1000 * float(row["cpu_s"]) / int(row["steps"])
    return [by[turn] for turn in sorted(by, key=int) if len(by[turn]) == 2]


def table_speed():
    lines = ["| networks, minibatch | algorithm | actord, ms a step | Stable-Baselines3, ms a step | times as fast, by turns |", "|---|---|--:|--:|---|"]
    for hidden in (" ".join(map(str, layers)) for layers in SPEED_HIDDEN):
        for algorithm in ALGORITHMS:
            turns = turns_of([row for row in read(SPEED) if (row["hidden"], row["algorithm"]) == (hidden, algorithm)])
            if turns:
                lines.append(speed_line(f"{hidden}, {SPEED_BATCH}", algorithm, turns))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "speed", "table", "check"))
    parser.add_argument("venv", nargs="?")
    parser.add_argument("--seeds", type=int, default=10, help="at most so many of each task")
    parser.add_argument("--only", default="", help="words that choose among programs, tasks and algorithms, such as actord,Hopper-v4")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    if args.what in ("run", "speed") and not args.venv:
        parser.error("name the virtual environment that has stable-baselines3")
    if args.what == "run":
        only = args.only.split(",")
        run(args.venv, *([x for x in all_ if x in only] or all_ for all_ in ((US, PEER), TASKS, ALGORITHMS)), args.seeds)
    elif args.what == "speed":
        speed(args.venv, args.turns)
    else:
        shown = [task for task in TASKS if {row["program"] for row in read(CELLS) if row["task"] == task} == {US, PEER}]
        publish(PAGE, {**{task: table_returns(task) for task in shown}, "speed": table_speed()}, args.what == "check")


if __name__ == "__main__":
    main()
