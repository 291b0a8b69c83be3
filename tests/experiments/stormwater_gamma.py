#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PPO and DDPG on the eleven ponds of stormwater:gamma, beside open valves, a rule and constant openings: docs/experiments/stormwater.md.

stormwater_gamma.py run VENV [--seeds N] [--only ARMS]    what is missing; VENV has swmm-toolkit and pystorms
stormwater_gamma.py table                                 writes the tables into the page
stormwater_gamma.py check                                 fails if the page's tables are not those of the cells

A training is a line of docs/experiments/stormwater-gamma.csv as soon as it is done and has been played; a training that has a line is not
repeated. What is measured, and what counts as reproduced, is in the page: it was written before the first of these trainings.

A cost in the cells is an episode's return without its sign. The weights in it are chosen so that one number tells three apart: how many ponds
are left with water at the end, how many flood steps there are (SWMM's steps in which a pond floods, counted once for each such pond), and how
much flows over 4 cfs."""
import glob, json, os, re, tempfile
from statistics import stdev
import stormwater
from intervals import mean
from published import ROOT
from stormwater import N_CHECKPOINTS, Task, number, numbers, over_both, played, settings, spread, table, text
from trainings import enter, is_there, publish, read

CELLS, PAGE = "stormwater-gamma.csv", "stormwater.md"
COLUMNS = ["arm", "seed", "policy", "cpu_s", "training", "held_out", "larger", "chosen", "chosen_held_out", "chosen_larger"]
FLOOD, LEFT = 10**6, 2**39  # in the cells; the environment adds single-precision numbers, which hold both exactly
PUBLISHED_LEFT = 7e5
TRAINED_LEFT = 10000  # as in the example
WEIGHTS = (1000, 10000, 100000)
SEEDS_OF_CHOICE = (101, 102)
OPENINGS = [tenths / 10 for tenths in range(1, 11)]
MM = 25.4

GAMMA = Task("gamma", (0.163065, 0.272896, 1.900425, 0.953069, 0.26599, 0.181178, 0.013374, 0, 0, 0), 624, f"Environment.FloodWeight={FLOOD}",
             f"Environment.LeftWeight={LEFT}", "Environment.RewardScale=1", least=0.25, most=1)
STORMS = {"training": GAMMA.held_out(61), "held_out": GAMMA.held_out(21), "larger": [GAMMA.storm(41, 1.125), GAMMA.storm(42, 1.25), GAMMA.storm(43, 1.5)]}
CONTROLLERS = ("passive", "rules")


class Cost:
    def __init__(self, cost):
        self.left, rest = divmod(cost, LEFT)
        self.floods, self.over = divmod(rest, FLOOD)
        self.published = self.over + FLOOD * self.floods + PUBLISHED_LEFT * self.left

    def trained(self, weight):
        """The cost as the job counts it."""
        return self.over + weight * self.floods + TRAINED_LEFT * self.left


class Arm:
    """The settings of an arm. An arm with a weight is a trial for the choice of the weight."""

    task = GAMMA

    def __init__(self, name, job, steps, rounds, sets=(), weight=None, seeds_most=None):
        self.name, self.job, self.weight, self.last_fifth, self.seeds_most = name, job, weight, rounds // 5, seeds_most
        self.sets = (f"Job.StopSteps={steps}", "Evaluation.Episodes=0", "Learner.Threads=1", "Actor.TimeoutSec=1h", "Checkpoint.IntervalSec=0",
                     f"Checkpoint.Keep={self.last_fifth}", f"Environment.LeftWeight={TRAINED_LEFT}", *sets)

    def settings(self, seed):
        weight = self.weight or chosen_weight()
        scale = (f"Environment.RewardScale={1 / weight}",) if self.job == "stormwater-ddpg" else ()
        return settings((f"Job.Seed={seed}", *self.sets, f"Environment.FloodWeight={weight}", *scale))


TRIALS = [Arm(f"weight {weight}", "stormwater-gamma", 50000, 41, weight=weight) for weight in WEIGHTS]
PPO = Arm("PPO", "stormwater-gamma", 100000, 81)
# The job of theta with what differs in the example of gamma; as there, a minute of a flood costs 1
DDPG = Arm("DDPG", "stormwater-ddpg", 30000, 49, ("Job.Environment=stormwater:gamma", "Environment.Actions=centred", "Learner.Gamma=0.97"))
# Added when the ten seeds were known
LONG = Arm("long PPO", "stormwater-gamma", 500000, 401, seeds_most=1)
ARMS = [*TRIALS, PPO, DDPG, LONG]


def cells(arm):
    return sorted((row for row in read(CELLS) if row["arm"] == arm), key=lambda row: int(row["seed"]))


def costs(row, column):
    return [Cost(x) for x in numbers(row[column])]


def published(all_costs):
    return mean([cost.published for cost in all_costs])


def chosen_weight():
    """The one with the lowest published cost in the training storms."""
    trials = [[published(costs(row, "training")) for row in cells(arm.name)] for arm in TRIALS]
    if any(len(trial) < len(SEEDS_OF_CHOICE) for trial in trials):
        raise RuntimeError(f"{CELLS}: trials of the weight are missing; run without --only, or with --only weight")
    return min(zip(map(mean, trials), WEIGHTS))[1]


def constant(opening):
    return f"constant {opening}"


def chosen_opening():
    return min(OPENINGS, key=lambda opening: published(costs(cells(constant(opening))[0], "training")))


def order(row):
    names = [*CONTROLLERS, *map(constant, OPENINGS), *(arm.name for arm in ARMS)]
    return names.index(row["arm"]), int(row["seed"])


def played_at(opening, venv, storms):
    """All orifices have this opening throughout."""
    action = json.dumps([opening] * 11) + "\n"
    found = []
    for rain, tide in storms:
        with tempfile.NamedTemporaryFile("w") as state, tempfile.NamedTemporaryFile("w") as actions:
            state.write(json.dumps({"rain": rain, "tide": [tide]}) + "\n")
            actions.write(action * GAMMA.n_steps)
            state.flush()
            actions.flush()
            lines = stormwater.ctl(venv, "env", "rollout", "stormwater:gamma", "--steps", str(GAMMA.n_steps), "--actions", actions.name, "--state",
                                   state.name, *settings(GAMMA.sets))
        found.append(-sum(json.loads(step).get("reward", 0) for step in lines.splitlines()))
    return found


def control(venv):
    """Of the constant openings, all are played on the training storms, and the best one on the others."""
    plays = {controller: lambda storms, name=controller: [stormwater.played_by_controller(GAMMA, venv, name, storm) for storm in storms]
             for controller in CONTROLLERS}
    plays |= {constant(opening): lambda storms, at=opening: played_at(at, venv, storms) for opening in OPENINGS}
    for name, play in plays.items():
        if not is_there(CELLS, {"arm": name}):
            enter(CELLS, COLUMNS, {"arm": name, "seed": 0, **{column: text(play(storms)) for column, storms in STORMS.items()}}, order)


def train(arm, seed, venv):
    with tempfile.TemporaryDirectory() as state:
        job = os.path.join(ROOT, "examples", arm.job + ".conf")
        found = json.loads(stormwater.ctl_in(state, venv, "run", job, "--json", *arm.settings(seed)))
        checkpoints = sorted(glob.glob(os.path.join(found["state_directory"], "jobs", "1", "state", "checkpoint-*.safetensors")),
                             key=lambda path: int(re.search(r"-(\d+)\.", os.path.basename(path))[1]))
        row = {"arm": arm.name, "seed": seed, "policy": found["policy_sha256"][:16], "cpu_s": f"{found['cpu_s']['scope']:.1f}"}
        if arm.weight:
            return {**row, "training": text(played(arm, venv, checkpoints[-1], STORMS["training"]))}
        if len(checkpoints) != arm.last_fifth:
            raise RuntimeError(f"{arm.name}: there are {len(checkpoints)} checkpoints")
        checkpoints = checkpoints[::-(arm.last_fifth // N_CHECKPOINTS)][:N_CHECKPOINTS][::-1]
        training = [played(arm, venv, checkpoint, STORMS["training"]) for checkpoint in checkpoints]
        best = min(range(N_CHECKPOINTS), key=lambda i: published(map(Cost, training[i])))
        row |= {"training": text(cost for one in training for cost in one), "chosen": best + 1}
        for column in ("held_out", "larger"):
            row[column] = text(played(arm, venv, checkpoints[-1], STORMS[column]))
            is_last = best == N_CHECKPOINTS - 1
            row["chosen_" + column] = row[column] if is_last else text(played(arm, venv, checkpoints[best], STORMS[column]))
        return row


def run(venv, n_seeds, pattern):
    control(venv)
    for arm in ARMS:
        for seed in SEEDS_OF_CHOICE if arm.weight else range(1, (arm.seeds_most or n_seeds) + 1):
            if re.search(pattern, arm.name) and not is_there(CELLS, {"arm": arm.name, "seed": str(seed)}):
                row = train(arm, seed, venv)
                print(row, flush=True)
                enter(CELLS, COLUMNS, row, order)


class Policies:
    """What one arm's policies, or a controller, cost: a row for each seed."""

    def __init__(self, name, arm, column=""):
        self.name, self.rows, self.column = name, cells(arm), column

    @property
    def learned(self):
        return len(self.rows) > 1

    def of(self, storms, measure):
        return [[getattr(cost, measure) for cost in costs(row, self.column + storms)] for row in self.rows]


def controls():
    """A constant opening of 1 is not shown again."""
    opening = chosen_opening()
    found = [Policies("all open", "passive"), Policies("rules", "rules")]
    return found if opening == 1 else [*found, Policies(f"all open by {opening}", constant(opening))]


def shown():
    """Whatever there is."""
    learned = [Policies("PPO", "PPO"), Policies("PPO, chosen", "PPO", "chosen_"), Policies("DDPG", "DDPG"), Policies("DDPG, chosen", "DDPG", "chosen_")]
    return controls() + [policies for policies in learned if policies.rows]


def choice():
    lines = []
    for arm in TRIALS:
        found = [published(costs(row, "training")) / 1e6 for row in cells(arm.name)]
        lines.append([arm.weight, *map(number, found), number(mean(found))] if found else [arm.weight, *[""] * (len(SEEDS_OF_CHOICE) + 1)])
    return table(["FloodWeight", *(f"seed {seed}, millions" for seed in SEEDS_OF_CHOICE), "mean"], lines)


def constants():
    lines = [[opening, number(published(costs(cells(constant(opening))[0], "training")) / 1e6)] for opening in OPENINGS]
    return table(["opening", "mean cost, millions"], lines)


def in_millions(cost):
    return [[x / 1e6 for x in row] for row in cost]


def compared():
    lines = []
    for policies in shown():
        floods = policies.of("held_out", "floods")
        lines.append([policies.name, len(policies.rows) if policies.learned else "", spread(*over_both(floods)),
                      f"{sum(x > 0 for row in floods for x in row)} of {sum(map(len, floods))}", number(mean(map(mean, policies.of("held_out", "over")))),
                      f"{mean(map(mean, policies.of('held_out', 'left'))):.2f}", spread(*over_both(in_millions(policies.of("held_out", "published"))))])
    return table(["", "seeds", "flood steps", "episodes with a flood", "flow over 4 cfs", "ponds left", "cost, millions"], lines)


def differences():
    lines = []
    for policies in shown():
        for other in controls() if policies.learned else ():
            fields = [spread(*over_both(stormwater.less(policies.of("held_out", measure), other.of("held_out", measure)[0])))
                      for measure in ("floods", "over")]
            cost = stormwater.less(in_millions(policies.of("held_out", "published")), in_millions(other.of("held_out", "published"))[0])
            lines.append([f"{policies.name}, less {other.name}", *fields, spread(*over_both(cost))])
    return table(["", "flood steps", "flow over 4 cfs", "cost, millions"], lines) if lines else "No seed is trained yet."


def unrest(row):
    """The deviation of the job's own returns over their mean, at the checkpoints of the last fifth."""
    found, weight = costs(row, "training"), chosen_weight()
    n = len(found) // N_CHECKPOINTS
    returns = [mean([cost.trained(weight) for cost in found[i * n:(i + 1) * n]]) for i in range(N_CHECKPOINTS)]
    return stdev(returns) / mean(returns)


def seeds():
    lines = []
    for arm in (PPO.name, LONG.name, DDPG.name):
        for row in cells(arm):
            shown_costs = costs(row, "held_out"), costs(row, "chosen_held_out")
            last, chosen = ([number(mean([cost.floods for cost in found])), number(published(found) / 1e6)] for found in shown_costs)
            lines.append([arm, row["seed"], *last, f"{100 * unrest(row):.1f} %", row["chosen"], *chosen, row["cpu_s"]])
    head = ["", "seed", "flood steps", "cost, millions", "deviation in the last fifth", "chosen", "its flood steps", "its cost, millions", "CPU, s"]
    return table(head, lines) if lines else "No seed is trained yet."


def storm_table(column, first):
    """The mean of the flood steps, and how many policies flood a pond."""
    everything = shown()
    lines = []
    for i, (rain, _) in enumerate(STORMS[column]):
        fields = [first + i, f"{MM * sum(rain):.1f}"]
        for policies in everything:
            floods = [row[i] for row in policies.of(column, "floods")]
            n_floods = sum(x > 0 for x in floods)
            fields.append(number(mean(floods)) + (f", {n_floods} of {len(floods)} flood" if policies.learned and n_floods else ""))
        lines.append(fields)
    return table(["storm", "rain, mm", *(policies.name for policies in everything)], lines)


def larger_differences():
    """Storm by storm, over seeds."""
    lines = []
    for policies in shown():
        for other in controls() if policies.learned else ():
            less = stormwater.less(policies.of("larger", "floods"), other.of("larger", "floods")[0])
            lines.append([f"{policies.name}, less {other.name}", *(spread(*over_both([[row[i]] for row in less])) for i in range(len(less[0])))])
    return table(["flood steps", *(f"storm {41 + i}" for i in range(len(STORMS["larger"])))], lines) if lines else "No seed is trained yet."


def tables(check):
    publish(PAGE, {"gamma choice": choice(), "gamma constants": constants(), "gamma compared": compared(), "gamma differences": differences(),
                   "gamma seeds": seeds(), "gamma storms": storm_table("held_out", 21), "gamma larger": storm_table("larger", 41),
                   "gamma larger differences": larger_differences()}, check)


if __name__ == "__main__":
    stormwater.main(__doc__, run, tables)
