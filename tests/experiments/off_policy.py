#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DDPG, TD3 and SAC beside Stable-Baselines3's, by turns, with equal settings: docs/experiments/off-policy.md.

off_policy.py run VENV [--seeds N]     the trainings that are missing; VENV has stable-baselines3 and gymnasium[mujoco]
off_policy.py speed VENV [--turns N]   CPU time of a step with networks of 64 and of 256, by turns
off_policy.py table                    writes the tables into the page
off_policy.py check                    fails if the page's tables are not those of the cells

A training is a line of docs/experiments/off-policy.csv, one of speed a line of off-policy-speed.csv, as soon as it is done; a line that is
there is not done again."""
import argparse, json, os, subprocess
from intervals import interval, mean
from trainings import curve_of, curve_text, enter, is_there, publish, read, train

HERE = os.path.dirname(os.path.abspath(__file__))
CELLS, SPEED, PAGE = "off-policy.csv", "off-policy-speed.csv", "off-policy.md"
US, PEER = "actord", "Stable-Baselines3"
ALGORITHMS = ("ddpg", "td3", "sac")
EVERY, EPISODES = 1000, 10
# Task: environment steps of a training, the return that counts as learned, and how many seeds of Stable-Baselines3.
TASKS = {"Pendulum-v1": (8000, -200, 1)}
# Settings of both sides; all others are Stable-Baselines3's defaults.
SETTINGS = {"rate": 0.001, "batch": 128, "buffer": 20000, "starts": 1000, "tau": 0.005, "noise": 0.1, "hidden": [64, 64]}
GAMMA = {"ddpg": 0.98, "td3": 0.98, "sac": 0.99}
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


def run(venv, n_seeds):
    for task, (steps, _, n_peer_seeds) in TASKS.items():
        for seed in range(1, n_seeds + 1):
            for algorithm in ALGORITHMS:
                for program in (US, PEER) if seed <= n_peer_seeds else (US,):
                    key = {"program": program, "task": task, "algorithm": algorithm, "seed": str(seed)}
                    if is_there(CELLS, key):
                        continue
                    found = cell(program, venv, {**SETTINGS, "task": task, "algorithm": algorithm, "seed": seed, "steps": steps,
                                                 "gamma": GAMMA[algorithm], "every": EVERY, "episodes": EPISODES})
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


def steps_to(row, bar):
    """Of the first evaluation at the bar or above; None: none was."""
    return next(((i + 1) * EVERY for i, value in enumerate(curve_of(row)) if value >= bar), None)


def table_returns(task):
    steps, bar, _ = TASKS[task]
    moments = [k for k in range(2000, steps + 1, 2000 if steps <= 8000 else 3000)]
    if steps not in moments:
        moments.append(steps)
    head = ["algorithm", "program", "seeds", *(f"{k:,}" for k in moments), f"seeds that reach {bar}", "median steps"]
    lines = [f"| {' | '.join(head)} |", "|---|---|" + "--:|" * (len(head) - 2)]
    for algorithm in ALGORITHMS:
        for program in (US, PEER):
            rows = rows_of(program, task, algorithm)
            if not rows:
                continue
            reached = sorted(n for n in (steps_to(row, bar) for row in rows) if n)
            # A seed that never reaches the bar counts as slower than all that do
            middle = reached[len(rows) // 2] if len(reached) > len(rows) // 2 else None
            lines.append("| " + " | ".join([algorithm.upper(), program, str(len(rows)),
                                            *(spread([curve_of(row)[k // EVERY - 1] for row in rows]) for k in moments),
                                            f"{len(reached)} of {len(rows)}", number(middle) if middle else "–"]) + " |")
    return "\n".join(lines)


def speed_line(what, algorithm, turns):
    """turns: {program: ms a step} of each."""
    ratios = ", ".join(f"{turn[PEER] / turn[US]:.1f}" for turn in turns)
    return f"| {what} | {algorithm.upper()} | {mean([turn[US] for turn in turns]):.2f} | {mean([turn[PEER] for turn in turns]):.1f} | {ratios} |"


def turns_of(rows, number_of, steps_of):
    """Where both programs have one: {program: ms a step}."""
    by = {}
    for row in rows:
        by.setdefault(row[number_of], {})[row["program"]] = 1000 * float(row["cpu_s"]) / steps_of(row)
    return [by[turn] for turn in sorted(by, key=int) if len(by[turn]) == 2]


def table_speed():
    lines = ["| networks, minibatch | algorithm | actord, ms a step | Stable-Baselines3, ms a step | times as fast, by turns |", "|---|---|--:|--:|---|"]
    kinds = [(f"64 64, {SETTINGS['batch']}: the trainings above", read(CELLS), "seed", lambda row: TASKS[row["task"]][0])]
    for hidden in (" ".join(map(str, layers)) for layers in SPEED_HIDDEN):
        kinds.append((f"{hidden}, {SPEED_BATCH}", [row for row in read(SPEED) if row["hidden"] == hidden], "turn", lambda row: int(row["steps"])))
    for what, rows, number_of, steps_of in kinds:
        for algorithm in ALGORITHMS:
            turns = turns_of([row for row in rows if row["algorithm"] == algorithm], number_of, steps_of)
            if turns:
                lines.append(speed_line(what, algorithm, turns))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "speed", "table", "check"))
    parser.add_argument("venv", nargs="?")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    if args.what in ("run", "speed") and not args.venv:
        parser.error("name the virtual environment that has stable-baselines3")
    if args.what == "run":
        run(args.venv, args.seeds)
    elif args.what == "speed":
        speed(args.venv, args.turns)
    else:
        publish(PAGE, {**{task: table_returns(task) for task in TASKS}, "speed": table_speed()}, args.what == "check")


if __name__ == "__main__":
    main()
