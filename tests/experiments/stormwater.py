#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PPO and DDPG on the stormwater tasks, beside open valves and a rule: docs/experiments/stormwater.md.

stormwater.py run VENV [--seeds N] [--only ARMS]      the trainings that are missing; VENV has swmm-toolkit
stormwater.py table                                   writes the tables into the page
stormwater.py check                                   fails if the page's tables are not those of the cells

A training is a line of docs/experiments/stormwater.csv as soon as it is done and has been played; a training that has a line is not repeated.

The analysis, written before the first of these trainings.

Cost: the published performance, FloodWeight=1e6, which is an episode's return without its sign. The weight that PPO learns with is one of
three: 100, 1000 and 10000. It is chosen by two seeds each, 101 and 102, that take part in nothing else, after 60,000 steps, and by the mean
cost over 60 storms of the training family alone; the same weight is DDPG's. Then PPO trains for 100,000 steps, and DDPG for 30,000, with the
seeds from 1 on. (200,000 and 100,000 were planned; there was no CPU for them, which was known before the first training of either.) Both are
played on

    held-out     20 storms of 0.5 to 2 times the rain, with the hours of the numbers 21 to 40 of actor/envs/swmm/storm.h's rule. Those of the
                 numbers 1 to 20 are spent: earlier settings were compared on them.
    larger       3 storms of 2.25, 2.5 and 3 times the rain, more than any in training, with the hours of the numbers 41 to 43
    training     20 storms that are drawn as in training, the same for each policy, for four checkpoints of the last fifth

Tests, each for PPO and for DDPG:

    1  no pond floods in a held-out storm, whatever the seed
    2  the mean cost of held-out storms is below that of open valves, and below that of the rule: the interval of the difference, over seeds
       and storms, excludes 0
    3  in each seed the deviation of the job's own returns on the training storms over the last fifth of training is below 0.1 of their mean
    4  no pond floods in a larger storm in which the rule or open valves flood none

A policy is the last one of its training. A second one, the `chosen`, is that checkpoint of the last fifth which costs least on the training
storms: what a user who can afford no flood would take. It has rows of its own, and decides no test."""
import argparse, glob, json, os, re, subprocess, tempfile
from statistics import stdev
from intervals import mean, over_both
from published import BUILD, ROOT, table
from trainings import enter, is_there, publish, read

CELLS, PAGE = "stormwater.csv", "stormwater.md"
COLUMNS = ["arm", "seed", "policy", "cpu_s", "training", "held_out", "larger", "chosen", "chosen_held_out", "chosen_larger"]
CTL = os.path.join(BUILD, "actorctl")
PUBLISHED = 1e6  # the weight of a flooded pond in a cost; all that the stream costs in an episode is less
WEIGHTS = (100, 1000, 10000)
SEEDS_OF_CHOICE = (101, 102)
N_CHOOSING, N_TRAINING = 60, 20  # storms
N_CHECKPOINTS = 4
TRAINING_SEED = 20000  # of the storms of the training family that policies are played on
GOLDEN = 0.6180339887498949
N_HOURS = 10


class Task:
    def __init__(self, name, profile, n_steps, *sets, least=0.5, most=2):
        self.name, self.profile, self.n_steps, self.sets = name, profile, n_steps, sets
        self.least, self.most = least, most  # how much of its rain a storm of the training family has

    def storm(self, number, scale):
        """The storm of this number, as actor/envs/swmm/storm.c makes it."""
        factors = [0.5 + (10 * number + hour) * GOLDEN % 1 for hour in range(N_HOURS)]
        weighed = [rain * factor for rain, factor in zip(self.profile, factors)]
        return [scale * sum(self.profile) * rain / sum(weighed) for rain in weighed], number * GOLDEN % 1

    def held_out(self, first):
        return [self.storm(first + i, self.least + (self.most - self.least) * i / 19) for i in range(20)]


THETA = Task("theta", (0, 1.2, 2.3, 3.2, 3.1, 3.1, 2.1, 1.1, 0.1, 0), 312, f"Environment.FloodWeight={PUBLISHED:g}", "Environment.RewardScale=1")
TIDAL = Task("tidal", (0.02, 0.05, 0.1, 0.25, 0.5, 0.3, 0.13, 0.08, 0.05, 0.02), 96)
HELD_OUT = {THETA: THETA.held_out(21), TIDAL: TIDAL.held_out(1)}
LARGER = {THETA: [THETA.storm(41, 2.25), THETA.storm(42, 2.5), THETA.storm(43, 3)], TIDAL: []}


class Arm:
    """A task and a job; with a weight, a trial of the choice."""

    def __init__(self, name, task, job, steps, rounds, weight=None):
        self.name, self.task, self.job, self.weight = name, task, job, weight
        self.last_fifth = rounds // 5
        self.sets = (f"Job.StopSteps={steps}", "Evaluation.Episodes=0", "Learner.Threads=1", "Actor.TimeoutSec=1h", "Checkpoint.IntervalSec=0",
                     f"Checkpoint.Keep={self.last_fifth}")


TRIALS = [Arm(f"weight {weight}", THETA, "stormwater", 60000, 12, weight) for weight in WEIGHTS]
PPO = Arm("PPO", THETA, "stormwater", 100000, 20)
DDPG = Arm("DDPG", THETA, "stormwater-ddpg", 30000, 48)
TIDAL_PPO = Arm("tidal PPO", TIDAL, "stormwater-tidal", 200000, 65)
ARMS = [*TRIALS, PPO, DDPG, TIDAL_PPO]
CONTROLLERS = ("passive", "rules")


def ctl(venv, *words):
    with tempfile.TemporaryDirectory() as state:
        return ctl_in(state, venv, *words)


def ctl_in(state, venv, *words):
    r = subprocess.run([CTL, *words, "--set", f"Actor.Python={os.path.abspath(venv)}"], capture_output=True, text=True,
                       env={**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state})
    if r.returncode != 0:
        raise RuntimeError(f"actorctl {' '.join(words)}: {r.stderr.strip()}")
    return r.stdout


def settings(sets):
    return [word for one in sets for word in ("--set", one)]


def played_by_controller(task, venv, controller, storm):
    with tempfile.NamedTemporaryFile("w") as state:
        state.write(json.dumps({"rain": storm[0], "tide": [storm[1]]}) + "\n")
        state.flush()
        lines = ctl(venv, "env", "rollout", f"stormwater:{task.name}", "--steps", str(task.n_steps), "--actions", "zero", "--state", state.name,
                    *settings((f"Environment.Controller={controller}", *task.sets)))
    return -sum(json.loads(line).get("reward", 0) for line in lines.splitlines())


def played(arm, venv, checkpoint, storms):
    """The costs of a policy in the storms."""
    return [-json.loads(ctl(venv, "eval", checkpoint, f"--state={','.join(map(repr, [*rain, tide]))}", "--json=short",
                            *settings(arm.task.sets)))["return_mean"] for rain, tide in storms]


def played_in_training(arm, venv, checkpoint, n_storms):
    """The sum of the costs in storms of the training family, which are the same in each call."""
    found = json.loads(ctl(venv, "eval", checkpoint, f"--episodes={n_storms}", "--json=short",
                           *settings((f"Job.Seed={TRAINING_SEED}", *arm.task.sets))))
    return -found["return_mean"] * n_storms


def text(costs):
    return " ".join(f"{cost + 0.0:.2f}" for cost in costs)  # no -0.00


def numbers(words):
    return [float(word) for word in words.split()]


def chosen_weight():
    """None: a trial is missing."""
    trials = [[numbers(row["training"])[0] for row in read(CELLS) if row["arm"] == arm.name] for arm in TRIALS]
    if any(len(trial) < len(SEEDS_OF_CHOICE) for trial in trials):
        return None
    return min(zip(map(mean, trials), WEIGHTS))[1]


def order(row):
    names = [*(f"{task.name} {controller}" for task in (THETA, TIDAL) for controller in CONTROLLERS), *(arm.name for arm in ARMS)]
    return names.index(row["arm"]), int(row["seed"])


def control(venv):
    for task in (THETA, TIDAL):
        for controller in CONTROLLERS:
            key = {"arm": f"{task.name} {controller}", "seed": "0"}
            if not is_there(CELLS, key):
                costs = {name: text([played_by_controller(task, venv, controller, storm) for storm in storms[task]])
                         for name, storms in (("held_out", HELD_OUT), ("larger", LARGER))}
                enter(CELLS, COLUMNS, {**key, **costs}, order)


def train(arm, seed, venv):
    weight = arm.weight or chosen_weight()
    sets = (f"Job.Seed={seed}", *arm.sets, *((f"Environment.FloodWeight={weight}",) if arm.task == THETA else ()))
    with tempfile.TemporaryDirectory() as state:
        found = json.loads(ctl_in(state, venv, "run", os.path.join(ROOT, "examples", arm.job + ".conf"), "--json", *settings(sets)))
        checkpoints = sorted(glob.glob(os.path.join(found["state_directory"], "jobs", "1", "state", "checkpoint-*.safetensors")),
                             key=lambda path: int(re.search(r"-(\d+)\.", os.path.basename(path))[1]))
        row = {"arm": arm.name, "seed": seed, "policy": found["policy_sha256"][:16], "cpu_s": f"{found['cpu_s']['scope']:.1f}"}
        if arm.weight:
            return {**row, "training": text([played_in_training(arm, venv, checkpoints[-1], N_CHOOSING)])}
        if len(checkpoints) != arm.last_fifth:
            raise RuntimeError(f"{arm.name}: there are {len(checkpoints)} checkpoints")
        checkpoints = checkpoints[::-(arm.last_fifth // N_CHECKPOINTS)][:N_CHECKPOINTS][::-1]
        training = [played_in_training(arm, venv, checkpoint, N_TRAINING) for checkpoint in checkpoints]
        best = training.index(min(training))
        row |= {"training": text(training), "chosen": best + 1}
        for name, checkpoint in (("", checkpoints[-1]), ("chosen_", checkpoints[best])):
            row[name + "held_out"] = text(played(arm, venv, checkpoint, HELD_OUT[arm.task]))
            row[name + "larger"] = text(played(arm, venv, checkpoint, LARGER[arm.task]))
        return row


def run(venv, n_seeds, pattern):
    control(venv)
    asked = [arm for arm in ARMS if re.search(pattern, arm.name)]
    for seed in (*SEEDS_OF_CHOICE, *range(1, n_seeds + 1)):
        for arm in asked:
            if (arm.weight is None) == (seed in SEEDS_OF_CHOICE) or is_there(CELLS, {"arm": arm.name, "seed": str(seed)}):
                continue
            row = train(arm, seed, venv)
            print(row, flush=True)
            enter(CELLS, COLUMNS, row, order)


def cells(arm):
    return sorted((row for row in read(CELLS) if row["arm"] == arm), key=lambda row: int(row["seed"]))


def floods(cost):
    """The flood steps in a cost: SWMM's steps, counted once for each pond that floods."""
    return int(cost // PUBLISHED)


def number(x):
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.1f}"


def spread(middle, low, high):
    return f"{number(middle)} ({number(low)} to {number(high)})"


def less(rows, other):
    return [[mine - theirs for mine, theirs in zip(row, other)] for row in rows]


class Policies:
    """What one arm's policies, or a controller, cost: a row for each seed."""

    def __init__(self, name, arm, column=""):
        self.name, self.rows = name, cells(arm)
        self.held_out = [numbers(row[column + "held_out"]) for row in self.rows]
        self.larger = [numbers(row[column + "larger"]) for row in self.rows]


def choice():
    lines = []
    for arm in TRIALS:
        costs = [numbers(row["training"])[0] / N_CHOOSING for row in cells(arm.name)]
        lines.append([arm.weight, *map(number, costs), number(mean(costs))])
    return table(["FloodWeight", *(f"seed {seed}" for seed in SEEDS_OF_CHOICE), "mean"], lines)


def shown():
    """Whatever there is of the six."""
    all_rows = [Policies("all open", "theta passive"), Policies("rules", "theta rules"), Policies("PPO", "PPO"),
                Policies("PPO, chosen", "PPO", "chosen_"), Policies("DDPG", "DDPG"), Policies("DDPG, chosen", "DDPG", "chosen_")]
    return [policies for policies in all_rows if policies.rows]


def flooded(matrix):
    """The episodes in which a pond floods, of how many, and how many of the policies are to blame."""
    episodes = sum(floods(cost) > 0 for row in matrix for cost in row)
    policies = sum(any(map(floods, row)) for row in matrix)
    return f"{episodes} of {sum(map(len, matrix))}" + (f", of {policies} of {len(matrix)} seeds" if episodes and len(matrix) > 1 else "")


def compared():
    passive, rules = (Policies(name, f"theta {name}").held_out[0] for name in CONTROLLERS)
    lines = []
    for policies in shown():
        stream = [[cost % PUBLISHED for cost in row] for row in policies.held_out]
        learned = policies.name not in ("all open", "rules")
        differences = [spread(*over_both(less(costs, other))) for costs in (policies.held_out, stream) for other in (passive, rules)]
        lines.append([policies.name, len(policies.rows) if learned else "", spread(*over_both(policies.held_out)), number(mean(map(mean, stream))),
                      flooded(policies.held_out), *(differences if learned else [""] * len(differences))])
    return table(["", "seeds", "mean cost", "of it the stream's", "episodes with a flood", "less all open", "less the rule",
                  "the stream's, less all open", "the stream's, less the rule"], lines)


def own_returns(row):
    """The job's own returns at the checkpoints of the last fifth, without their sign."""
    return [sum_of % PUBLISHED + chosen_weight() * floods(sum_of) for sum_of in numbers(row["training"])]


def unrest(row):
    """Deviation over mean."""
    returns = own_returns(row)
    return stdev(returns) / mean(returns) if any(returns) else 0


def seeds():
    lines = []
    for arm in ("PPO", "DDPG"):
        for row in cells(arm):
            costs = numbers(row["held_out"])
            picked = numbers(row["chosen_held_out"])
            lines.append([arm, row["seed"], number(mean(costs)), sum(floods(cost) > 0 for cost in costs), f"{100 * unrest(row):.1f} %", row["chosen"],
                          number(mean(picked)), sum(floods(cost) > 0 for cost in picked), row["cpu_s"]])
    if not lines:
        return "No seed is trained yet."
    return table(["", "seed", "mean cost", "storms with a flood", "deviation in the last fifth", "chosen", "its mean cost", "storms with a flood",
                  "CPU, s"], lines)


def storm_table(storms, column, first):
    """What the stream costs, and how many policies flood a pond."""
    everything = shown()
    lines = []
    for i, (rain, _) in enumerate(storms):
        fields = [first + i, f"{sum(rain):.1f}"]
        for policies in everything:
            costs = [row[i] for row in getattr(policies, column)]
            n_floods = sum(floods(cost) > 0 for cost in costs)
            text_of_floods = f", {n_floods} of {len(costs)} flood" if len(costs) > 1 else ", floods"
            fields.append(number(mean([cost % PUBLISHED for cost in costs])) + (text_of_floods if n_floods else ""))
        lines.append(fields)
    return table(["storm", "rain, mm", *(policies.name for policies in everything)], lines)


def tidal():
    passive, rules = (Policies(name, f"tidal {name}").held_out for name in CONTROLLERS)
    lines = [["all open", "", spread(*over_both(passive)), ""], ["rules", "", spread(*over_both(rules)), ""]]
    policies = Policies("PPO", "tidal PPO")
    if policies.rows:
        lines += [["PPO", len(policies.rows), spread(*over_both(policies.held_out)), ", ".join(number(mean(row)) for row in policies.held_out)],
                  *([f"PPO less {name}", "", spread(*over_both(less(policies.held_out, other[0]))), ""]
                    for name, other in (("all open", passive), ("the rule", rules)))]
    return table(["", "seeds", "mean cost", "each seed"], lines)


def tables(check):
    publish(PAGE, {"choice": choice(), "compared": compared(), "seeds": seeds(), "storms": storm_table(HELD_OUT[THETA], "held_out", 21),
                   "larger": storm_table(LARGER[THETA], "larger", 41), "tidal": tidal()}, check)


def main(description, run, tables):
    """run(venv, n_seeds, only) trains what is missing; tables(check) writes or checks the page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("venv")
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--only", default="", metavar="ARMS", help="a regular expression")
    commands.add_parser("table")
    commands.add_parser("check")
    args = parser.parse_args()
    if args.command == "run":
        run(args.venv, args.seeds, args.only)
    else:
        tables(args.command == "check")


if __name__ == "__main__":
    main(__doc__, run, tables)
