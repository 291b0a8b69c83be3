#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that trade CPU weight, in the model: docs/experiments/shares.md.

shares.py run [--seeds N]   the trainings that are missing, each with its plays
shares.py table             writes the tables into the page
shares.py check             fails if a table is not that of the cells

A training on a host, or a rule there, is a line of docs/experiments/shares.csv. A line has a value for each block of 50 episodes."""
import argparse, os, random, re, subprocess
from intervals import RESAMPLES, mean
from learning import BUILD, ROOT
from trainings import enter, is_there, publish, read

CELLS, PAGE = "shares.csv", "shares.md"
MEASURES = ["work", "met", "missed", "jain", "return"]
COLUMNS = ["arm", "jobs", "cores", "seed", "steps", "policy", "episodes", *MEASURES]
PLAY = re.compile(r"play (?P<play>\S+) jobs \d+ episodes \d+ return (?P<return>\S+) work (?P<work>\S+) met (?P<met>\d+) missed (?P<missed>\d+) "
                  r"jain (?P<jain>\S+)")
TRAINED = (4, 8)
HOSTS = [TRAINED, (2, 8), (8, 8), (8, 16)]  # jobs, CPUs
EPISODES, EPISODE_SEED, SEEDS = 1000, 2000, 20
EQUAL, RULE, SIMPPO, LONGER, PPO = "equal weights", "rule", "SIMPPO", "SIMPPO, longer", "PPO"
ARMS = {SIMPPO: (SEEDS, ["Job.StopSteps=1000000"]), PPO: (SEEDS, ["Job.StopSteps=1000000", "Job.Algorithm=ppo"]),
        LONGER: (SEEDS // 2, ["Job.StopSteps=10000000"])}


def host(jobs, cores):
    return [f"Job.Environment=shares:{jobs}", f"Environment.Agents={jobs}", f"Environment.Cores={cores}"]


def call(words, name):
    """Of one training: its match, and on each host the values of the blocks."""
    command = [os.path.join(BUILD, "bench", "shares"), os.path.join(ROOT, "examples", "shares-simppo.conf"), *host(*TRAINED), "Learner.Threads=1", *words]
    for jobs, cores in HOSTS:
        command += ["--play", f"{name}-{jobs}-{cores}", str(EPISODES), *host(jobs, cores), f"Job.Seed={EPISODE_SEED}"]
    r = subprocess.run(command, capture_output=True, text=True)
    trained = re.search(r"trained (\d+) steps return \S+ policy (\w+)", r.stdout)
    found = {}
    for match in PLAY.finditer(r.stdout):
        found.setdefault(match["play"], []).append(match)
    if r.returncode != 0 or not trained or len(found) != len(HOSTS):
        raise RuntimeError(f"{command}: {r.stderr.strip() or r.stdout.strip()}")
    return trained, [{measure: " ".join(f"{float(block[measure]):.5g}" for block in blocks) for measure in MEASURES} for blocks in found.values()]


def order(row):
    return [EQUAL, RULE, *ARMS].index(row["arm"]), HOSTS.index((int(row["jobs"]), int(row["cores"]))), int(row["seed"])


def note(arm, seed, words, name, is_trained=True):
    if all(is_there(CELLS, {"arm": arm, "jobs": str(jobs), "cores": str(cores), "seed": str(seed)}) for jobs, cores in HOSTS):
        return
    trained, found = call([f"Job.Seed={seed or 1}", *words], name)
    told = {"steps": trained[1], "policy": trained[2]} if is_trained else {}
    for (jobs, cores), values in zip(HOSTS, found):
        enter(CELLS, COLUMNS, {"arm": arm, "jobs": jobs, "cores": cores, "seed": seed, "episodes": EPISODES, **told, **values}, order)
    print(arm, seed, flush=True)


def run(n_seeds):
    note(EQUAL, 0, ["Job.StopSteps=1"], "equal", False)
    note(RULE, 0, ["Job.StopSteps=1"], "rule", False)
    for arm, (n_most, words) in ARMS.items():
        for seed in range(1, min(n_seeds, n_most) + 1):
            note(arm, seed, words, "policy")


def numbers(text):
    return [float(word) for word in text.split()]


def matrix(arm, where, measure):
    """A row for each seed, a column for each block. Deadlines: the share of those met."""
    rows = [row for row in read(CELLS) if (row["arm"], int(row["jobs"]), int(row["cores"])) == (arm, *where)]
    if measure != "deadlines":
        return [numbers(row[measure]) for row in rows]
    return [[met / (met + missed) for met, missed in zip(numbers(row["met"]), numbers(row["missed"]))] for row in rows]


def over_both(rows, statistic=lambda means: means):
    """The mean of a matrix with an interval over seeds and blocks: both are drawn anew."""
    draw = random.Random("actord")

    def once():
        columns = draw.choices(range(len(rows[0])), k=len(rows[0]))
        return mean([mean([row[column] for column in columns]) for row in draw.choices(rows, k=len(rows))])

    seen = sorted(once() for _ in range(RESAMPLES // 5))
    return mean([mean(row) for row in rows]), seen[int(0.025 * len(seen))], seen[int(0.975 * len(seen)) - 1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
