#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Steps and parameters to safety of Phy-DRL: small networks, edited ones, and other algorithms beside the same controller: docs/experiments/phydrl.md.

phydrl_steps.py run [--seeds N]   the trainings that are missing
phydrl_steps.py table             writes the tables into the page
phydrl_steps.py check             fails if the page's tables are not those of the cells

A line of docs/experiments/phydrl-steps.csv has the trainings of one arm and seed: one for each number of steps in LENGTHS, all from the beginning."""
import argparse
from intervals import interval, mean
from phydrl import ALONE, DDPG, P, PPO, train
from published import table
from trainings import enter, is_there, publish, read

CELLS, PAGE = "phydrl-steps.csv", "phydrl.md"
COLUMNS = ["arm", "seed", "kept"]
LENGTHS = (900, 1000, 1200, 1500, 2000, 3000, 5000, 10000)  # learning begins with step 1,000 (ReplayMin=)
LONGER = 100000
MOST = 388  # the other two of 390 starts leave the envelope under any force
FIRST_SEED, SEEDS = 21, 20  # a first look, which chose arms and lengths, had seeds 11 to 15
# A critic reads x, v, theta, omega and the action, and with InputAugmentation=2 their 15 products, in the order of job.conf(5).
N_LINEAR, N_INPUTS = 5, 20


def edited(*inputs):
    return "Learner.InputAugmentation=2", "Learner.LinkEditing=" + " ".join("1" if i in inputs else "0" for i in range(N_INPUTS))


SMALL = ("Learner.HiddenLayers=20 20",)
PRODUCTS = range(N_LINEAR, N_INPUTS)
PUBLISHED = range(14, 20)  # products of theta, omega and the action
OTHERS = (1, 2, 4, 7, 9, 11)  # as many, and none of those: drawn once by random.Random(1).sample(range(14), 6)
# Rounds of 512 steps, so that a training ends at most 511 steps after its length.
PPO_SMALL = (*(word for word in PPO if word.split("=")[0] not in ("Job.StopSteps", "Actor.RolloutSteps", "Learner.HiddenLayers")),
             "Actor.RolloutSteps=64", *SMALL)
# Words after the job's own, the sizes of hidden layers, and how many inputs a critic reads.
ARMS = {
    "phydrl, 128 128 128": ((), (128, 128, 128), N_LINEAR),
    "ddpg, 128 128 128": (DDPG, (128, 128, 128), N_LINEAR),
    "phydrl": (SMALL, (20, 20), N_LINEAR),
    "ddpg": ((*DDPG, *SMALL), (20, 20), N_LINEAR),
    "ppo": (PPO_SMALL, (20, 20), N_LINEAR - 1),
    "phydrl, published mask": ((*SMALL, *edited(*PUBLISHED)), (20, 20), len(PUBLISHED)),
    "phydrl, all products": ((*SMALL, *edited(*PRODUCTS)), (20, 20), len(PRODUCTS)),
    "phydrl, inputs and products": ((*SMALL, *edited(*range(N_INPUTS))), (20, 20), N_INPUTS),
    "phydrl, other mask": ((*SMALL, *edited(*OTHERS)), (20, 20), len(OTHERS)),
    "ddpg, without the controller": ((*DDPG, *ALONE, *SMALL), (20, 20), N_LINEAR),
    "ppo, without the controller": ((*PPO_SMALL, "Learner.ControllerGain=0"), (20, 20), N_LINEAR - 1),
}
COMPARED = [("phydrl, published mask", "phydrl"), ("phydrl, all products", "phydrl"), ("phydrl, inputs and products", "phydrl"),
            ("phydrl, other mask", "phydrl"), ("phydrl, published mask", "phydrl, other mask"), ("phydrl", "ddpg"), ("phydrl", "ppo"),
            ("phydrl, 128 128 128", "phydrl"), ("phydrl, 128 128 128", "ddpg, 128 128 128")]


def parameters(layers, n_critic_inputs):
    """Weights and offsets of the policy and of one critic."""
    def dense(*sizes):
        return sum((n_in + 1) * n_out for n_in, n_out in zip(sizes, sizes[1:]))

    return dense(N_LINEAR - 1, *layers, 1) + dense(n_critic_inputs, *layers, 1)


def lengths_of(arm):
    return (*LENGTHS, LONGER) if "without" in arm else LENGTHS


def order(row):
    return list(ARMS).index(row["arm"]), int(row["seed"])


def run(n_seeds):
    for seed in range(FIRST_SEED, FIRST_SEED + n_seeds):
        for arm, (words, _, _) in ARMS.items():
            key = {"arm": arm, "seed": str(seed)}
            if is_there(CELLS, key):
                continue
            kept = [train(("Evaluation.Episodes=0", "Learner.Threads=1", f"Job.Seed={seed}", *words, f"Job.StopSteps={steps}"), P)["kept"]
                    for steps in lengths_of(arm)]
            enter(CELLS, COLUMNS, {**key, "kept": " ".join(kept)}, order)


def kept_by_seed(arm):
    return {row["seed"]: [int(n) for n in row["kept"].split()] for row in read(CELLS) if row["arm"] == arm}


def steps_to_safety(kept):
    """The least of LENGTHS from which on, as far as LENGTHS go, the most starts are kept; None: not even the last one."""
    steps = None
    for length, n in reversed(list(zip(LENGTHS, kept))):
        if n < MOST:
            break
        steps = length
    return steps


def median_steps(seeds):
    ordered = sorted(steps_to_safety(kept) or LENGTHS[-1] + 1 for kept in seeds)
    middle = ordered[(len(ordered) - 1) // 2]
    return f"{middle:,}" if middle <= LENGTHS[-1] else "–"


def curves():
    lines = []
    for arm, (_, layers, n_inputs) in ARMS.items():
        seeds = list(kept_by_seed(arm).values())
        if seeds:
            lines.append([arm, len(seeds), f"{parameters(layers, n_inputs):,}", *(f"{mean([kept[i] for kept in seeds]):.0f}" for i in range(len(LENGTHS))),
                          sum(steps_to_safety(kept) is not None for kept in seeds), median_steps(seeds)])
    return table(["arm", "seeds", "parameters", *(f"{length:,}" for length in LENGTHS), f"{MOST} in the end", "median steps"], lines)


def while_learning(kept):
    """The mean over the lengths at which there was learning."""
    return mean(kept[1:len(LENGTHS)])


def differences():
    lines = []
    for arm, other in COMPARED:
        mine, theirs = kept_by_seed(arm), kept_by_seed(other)
        values = [while_learning(mine[seed]) - while_learning(theirs[seed]) for seed in mine if seed in theirs]
        if values:
            low, high = interval(values)
            lines.append([f"{arm}, minus {other}", f"{mean(values):.1f} ({low:.1f} to {high:.1f})"])
    return table(["starts kept, mean over the lengths from 1,000", "difference"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
    else:
        publish(PAGE, {"steps": curves(), "differences": differences()}, args.verb == "check")


if __name__ == "__main__":
    main()
