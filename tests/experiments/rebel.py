#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""REBEL beside PPO at equal environment steps, and the effects of Eta= and PairSteps=: runs what is missing, then writes the tables into the page.

rebel.py [--jobs N] [--only PATTERN] [--table|--check]

Each finished run is a line of docs/experiments/rebel.csv, which is the only record of it. A run is a whole job in one process
(build/bench/train-inprocess), which gives the policy of `actorctl run` with the same settings. CPU time and memory are those of that process and
depend on the host; everything else follows from job file and seed. --only: rows whose name matches. --table: run nothing. --check: write nothing, but
fail if a table is not that of the cells."""
import argparse, os, random, re, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from collections import namedtuple
from intervals import RESAMPLES, interquartile_mean, interval, mean
from learning import RESULT, job_file
from published import BUILD, change, publish, read

PAGE, CELLS = "rebel.md", "rebel.csv"
COLUMNS = ["row", "seed", "steps", "return", "evaluation", "cpu_s", "memory_mib", "policy"]
EPISODES = 50
BAR = 0.9

Row = namedtuple("Row", "name job sets seeds")
# least: the lowest possible return, or that of random actions; parameters: of the policy, and of the network that estimates values.
Task = namedtuple("Task", "name least steps parameters rebel ppo")


def dense(*sizes):
    return sum((n_in + 1) * n_out for n_in, n_out in zip(sizes, sizes[1:]))


def networks(n_observation, n_action, deviations=0):
    return dense(n_observation, 64, 64, n_action) + deviations, dense(n_observation, 64, 64, 1)


TASKS = [
    Task("CartPole-v1", 0, 100000, networks(4, 2), ("cartpole-rebel", ()), ("cartpole", ())),
    Task("Acrobot-v1", -500, 200000, networks(6, 3),
         ("cartpole-rebel", ("Actor.EnvsPerActor=16", "Actor.RolloutSteps=256", "Actor.PairSteps=256", "Learner.LearningRate=0.002")), ("acrobot", ())),
    Task("Acrobot-v1, 8 slots", -500, 500000, networks(6, 3), ("cartpole-rebel", ("Actor.RolloutSteps=256", "Actor.PairSteps=256")), ("acrobot", ())),
    Task("InvertedPendulum-v4", 0, 100000, networks(4, 1, 1), ("cartpole-rebel", ("Learner.NormalizeObservations=yes",)), ("hopper", ())),
]
# Of cartpole-rebel.conf; its own are those of the comparison, and run there.
ETAS = {"0.1": "eta 0.1", "0.3": "eta 0.3", "1": "CartPole-v1: rebel", "3": "eta 3", "10": "eta 10"}
HORIZONS = {"8": "H 8", "16": "H 16", "32": "H 32", "64": "CartPole-v1: rebel"}
SEEDS, SEEDS_SWEPT = 20, 10


def row(name, task, job, sets, seeds):
    return Row(name, job, (f"Job.Environment={task.name.split(',')[0]}", f"Job.StopSteps={task.steps}", "Job.StopReturn=", *sets), seeds)


def rows():
    compared = [row(f"{task.name}: {word}", task, *getattr(task, word), SEEDS) for task in TASKS for word in ("rebel", "ppo")]
    names = {r.name for r in compared}
    etas = [row(name, TASKS[0], "cartpole-rebel", (f"Learner.Eta={eta}",), SEEDS_SWEPT) for eta, name in ETAS.items()]
    horizons = [row(name, TASKS[0], "cartpole-rebel", (f"Actor.PairSteps={steps}",), SEEDS_SWEPT) for steps, name in HORIZONS.items()]
    return compared + [r for r in etas + horizons if r.name not in names]


def peak_of(pid):
    """Peak memory in KiB of the program that the process executes now: getrusage(2) would count the process that it was forked from, too."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        found = re.search(r"VmHWM:\s+(\d+) kB", f.read())
    return int(found.group(1)) if found else 0


def run(cell_row, seed):
    command = [os.path.join(BUILD, "bench", "train-inprocess"), job_file(cell_row), *cell_row.sets, "Learner.Threads=1",
               f"Evaluation.Episodes={EPISODES}", f"Job.Seed={seed}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        peak_kib, pid = 0, 0
        while pid == 0:
            peak_kib = max(peak_kib, peak_of(child.pid))
            time.sleep(0.05)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
        said = child.stdout.read()
    found = RESULT.search(said)
    if child.returncode != 0 or not found:
        raise RuntimeError(f"{cell_row.name}, seed {seed}: status {child.returncode}: {said.strip()}")
    print(f"{cell_row.name}, seed {seed}: {found['evaluation']}", file=sys.stderr, flush=True)
    return {"row": cell_row.name, "seed": seed, "steps": found["steps"], "return": found["return"], "evaluation": found["evaluation"],
            "cpu_s": f"{usage.ru_utime + usage.ru_stime:.2f}", "memory_mib": f"{peak_kib / 1024:.1f}", "policy": found["policy"][:16]}


def run_missing(all_rows, n_jobs, pattern):
    order = {r.name: i for i, r in enumerate(all_rows)}

    def cell(one, seed):
        if any((c["row"], c["seed"]) == (one.name, str(seed)) for c in read(CELLS)):
            return
        result = run(one, seed)
        change(CELLS, COLUMNS, lambda: sorted([*(c for c in read(CELLS) if c["row"] in order), result], key=lambda c: (order[c["row"]], int(c["seed"]))))

    # Seed by seed, so that every method has the same number of seeds whenever this is stopped.
    cells = sorted((seed, order[one.name]) for one in all_rows if re.search(pattern, one.name) for seed in range(1, one.seeds + 1))
    with ThreadPoolExecutor(n_jobs) as pool:
        for future in [pool.submit(cell, all_rows[number], seed) for seed, number in cells]:
            future.result()


def of(cells, name, column):
    return [float(c[column]) for c in cells if c["row"] == name and c[column]]


def spread(values):
    low, high = interval(values)
    return f"{mean(values):.1f} ({low:.1f} to {high:.1f})"


def ratio(mine, other, least):
    """The ratio of the two means, both less the least return, with a bootstrap over the seeds of each."""
    draw = random.Random("actord")

    def once(a, b):
        return (mean(a) - least) / (mean(b) - least)

    seen = sorted(once(draw.choices(mine, k=len(mine)), draw.choices(other, k=len(other))) for _ in range(RESAMPLES))
    return once(mine, other), seen[int(0.025 * RESAMPLES)], seen[int(0.975 * RESAMPLES) - 1]


def verdict(low, high, n_seeds):
    word = "met" if low >= BAR else "missed" if high < BAR else "uncertain"
    return word if n_seeds == SEEDS else f"{word}, {n_seeds} of {SEEDS} seeds"


def of_ppo(cells, task, column):
    """REBEL's share of PPO's result, and whether that is enough."""
    mine, other = (of(cells, f"{task.name}: {word}", column) for word in ("rebel", "ppo"))
    value, low, high = ratio(mine, other, task.least)
    return f"{value:.2f} ({low:.2f} to {high:.2f}): {verdict(low, high, min(len(mine), len(other)))}"


def compared(cells):
    lines = ["| task | steps | algorithm | seeds | evaluation | least to most | of PPO's | last 100 in training | of PPO's |",
             "|---|--:|---|--:|---|---|---|---|---|"]
    for task in TASKS:
        for word in ("rebel", "ppo"):
            name = f"{task.name}: {word}"
            values = of(cells, name, "evaluation")
            steps = max(int(c["steps"]) for c in cells if c["row"] == name)
            shares = [of_ppo(cells, task, column) if word == "rebel" else "" for column in ("evaluation", "return")]
            lines.append(f"| {task.name} | {steps:,} | {word} | {len(values)} | {spread(values)} | {min(values):.1f} to {max(values):.1f} | {shares[0]} | "
                         f"{spread(of(cells, name, 'return'))} | {shares[1]} |")
    return "\n".join(lines)


def resources(cells):
    lines = ["| task | algorithm | parameters | CPU, s | memory, MiB |", "|---|---|--:|--:|--:|"]
    for task in TASKS:
        for word, parameters in (("rebel", task.parameters[0]), ("ppo", sum(task.parameters))):
            name = f"{task.name}: {word}"
            lines.append(f"| {task.name} | {word} | {parameters:,} | {mean(of(cells, name, 'cpu_s')):.1f} | {max(of(cells, name, 'memory_mib')):.1f} |")
    return "\n".join(lines)


def swept(cells):
    lines = ["| setting | seeds | evaluation | IQM | least to most | last 100 in training |", "|---|--:|---|--:|---|---|"]
    for setting, name in [(f"Eta={eta}", name) for eta, name in ETAS.items()] + [(f"PairSteps={steps}", name) for steps, name in HORIZONS.items()]:
        values, returns = (of(cells, name, column)[:SEEDS_SWEPT] for column in ("evaluation", "return"))
        lines.append(f"| `{setting}` | {len(values)} | {spread(values)} | {interquartile_mean(values):.1f} | {min(values):.1f} to {max(values):.1f} | "
                     f"{spread(returns)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    if not args.table and not args.check:
        run_missing(rows(), args.jobs, args.only)
    cells = read(CELLS)
    publish(PAGE, {"compared": compared(cells), "resources": resources(cells), "swept": swept(cells)}, args.check, "--table")


if __name__ == "__main__":
    main()
