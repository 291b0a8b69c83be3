#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Phy-DRL beside its controller alone and beside plain DDPG and PPO with the same reward: docs/experiments/phydrl.md.

phydrl.py run [--seeds N]   the trainings that are missing
phydrl.py table             writes the table into the page
phydrl.py check             fails if the page's table is not that of the cells

A training is a line of docs/experiments/phydrl.csv as soon as it is done; a training that has a line is not repeated."""
import argparse, array, functools, os, re, subprocess, tempfile
import envelope
from intervals import interval, mean
from published import BUILD, ROOT
from trainings import RESULT, enter, is_there, publish, read

CELLS, PAGE = "phydrl.csv", "phydrl.md"
COLUMNS = ["arm", "seed", "steps", "policy", "cpu_s", "kept", "starts"]
STEPS = 5000
SEEDS = 10
SIDE = 40  # starts along each side of the grid over the safety set
P = ((4.6074554, 1.49740096, 5.80266046, 0.99189224), (1.49740096, 0.81703147, 2.61779592, 0.51179642),
     (5.80266046, 2.61779592, 11.29182733, 1.87117709), (0.99189224, 0.51179642, 1.87117709, 0.37041435))

ALONE = ("Learner.ControllerGain=0", "Learner.ResidualScale=1")
DDPG = ("Job.Algorithm=ddpg", "Learner.TargetNoise=", "Learner.NoiseClip=")
PPO = ("Job.Algorithm=ppo", "Job.StopSteps=50000", "Actor.EnvsPerActor=8", "Actor.RolloutSteps=256", "Learner.Epochs=10", "Learner.MinibatchSize=64",
       "Learner.MaxGradNorm=0.5", "Learner.EntropyWeight=0", "Learner.Lambda=0.95", "Learner.HiddenLayers=64 64", "Learner.Activation=tanh",
       "Learner.OrthogonalInit=yes", "Learner.AdamEpsilon=1e-5", "Learner.LogStdInit=0",
       *(f"Learner.{key}=" for key in ("ResidualScale", "TrainRatio", "ReplaySize", "ReplayMin", "Tau", "ActionNoise", "TargetNoise", "NoiseClip",
                                      "PolicyDelay")))
# Words after the job's own, in this order.
ARMS = {
    "controller alone": ("Learner.TrainRatio=0", "Learner.ResidualScale=1e-9", "Job.StopSteps=100"),
    "phydrl": (),
    "ddpg, with the controller": DDPG,
    "ppo, with the controller": PPO,
    "ddpg alone": (*DDPG, *ALONE),
    "ppo alone": (*PPO, "Learner.ControllerGain=0"),
}
# The same with the controller and the envelope of envelope.py.
OWN = ("controller alone", "phydrl")
OWN_PREFIX = "own envelope: "


@functools.cache
def own_keys():
    return envelope.keys()


def starts(p):
    """States at rest inside the envelope, of a grid over |x| <= 0.9, |theta| <= 0.8."""
    at = [2 * i / (SIDE - 1) - 1 for i in range(SIDE)]
    states = [(0.9 * x, 0.0, 0.8 * theta, 0.0) for x in at for theta in at]
    return [s for s in states if sum(s[i] * p[i][k] * s[k] for i in range(4) for k in range(4)) <= 1]


def arms():
    return {**{arm: (words, P) for arm, words in ARMS.items()}, **{OWN_PREFIX + arm: own_arm(ARMS[arm]) for arm in OWN}}


def own_arm(words):
    numbers = [float(x) for x in own_keys()["EnvelopeP"].split()]
    return (*(f"Learner.{key}={value}" for key, value in own_keys().items()), *words), [numbers[i:i + 4] for i in range(0, 16, 4)]


def train(words, p):
    with tempfile.NamedTemporaryFile() as file:
        file.write(array.array("d", [x for state in starts(p) for x in state]).tobytes())
        file.flush()
        command = [os.path.join(BUILD, "bench", "train-inprocess"), f"--starts={file.name}", os.path.join(ROOT, "examples", "phydrl.conf"), *words]
        r = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"kept (\d+) of (\d+) starts(?:.|\n)*after (\d+) steps", r.stdout)
    if r.returncode != 0 or not found:
        raise RuntimeError(f"{words}: {r.stderr.strip() or r.stdout.strip()}")
    times = RESULT.search(r.stdout)
    return {"kept": found[1], "starts": found[2], "steps": found[3], "policy": times["policy"],
            "cpu_s": f"{float(times['act']) + float(times['learn']):.3f}"}


def order(row):
    return row["arm"].startswith(OWN_PREFIX), list(ARMS).index(row["arm"].removeprefix(OWN_PREFIX)), int(row["seed"])


def run(n_seeds):
    for seed in range(1, n_seeds + 1):
        for arm, (words, p) in arms().items():
            key = {"arm": arm, "seed": str(seed)}
            if is_there(CELLS, key) or (arm.endswith("controller alone") and seed > 1):
                continue
            sets = (f"Job.StopSteps={STEPS}", "Evaluation.Episodes=0", "Learner.Threads=1", f"Job.Seed={seed}")
            enter(CELLS, COLUMNS, {**key, **train((*sets, *words), p)}, order)


def row_of(arm):
    rows = [row for row in read(CELLS) if row["arm"] == arm]
    kept = [int(row["kept"]) for row in rows]
    low, high = interval(kept) if len(kept) > 1 else (kept[0], kept[0])
    whole = sum(row["kept"] == row["starts"] for row in rows)
    return [arm, f"{int(rows[0]['steps']):,}", len(rows), f"{mean(kept):.1f} ({low:.1f} to {high:.1f})", f"{min(kept)} to {max(kept)}",
            f"{whole} of {len(rows)}", f"{mean(float(row['cpu_s']) for row in rows):.1f}"]


def table():
    lines = ["| arm | steps | seeds | starts kept | least to most | all kept | CPU s |", "|---|--:|--:|---|---|---|--:|"]
    seen = {row["arm"] for row in read(CELLS)}
    return "\n".join(lines + ["| " + " | ".join(map(str, row_of(arm))) + " |" for arm in (*ARMS, *(OWN_PREFIX + arm for arm in OWN)) if arm in seen])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
    else:
        publish(PAGE, {"kept": table()}, args.verb == "check")


if __name__ == "__main__":
    main()
