#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of docs/experiments from the cells of an experiment, in one form for all of examples/experiments.

tables.py NAME RESULTS            print the tables of examples/experiments/NAME.exp; RESULTS: what `actorctl experiment` wrote for it
tables.py NAME RESULTS --publish  its cells become docs/experiments/NAME.csv, and its tables go into the page, between their two marks
tables.py --check                 write nothing, but fail if a published table is not that of its cells

A row is an arm under one level of each factor. Each metric of Metric= (or of SHOWN) has its interquartile mean over seeds and a 95 % interval
(bootstrap over seeds), and beside the arm of Baseline= a ratio, if the metric is money or time, or a paired difference, if it is a return.
--against=ARM adds the paired differences of one arm to every other one. A seed that missed the target counts with what it took until its end."""
import argparse, math, os, sys
from intervals import interquartile_mean, interval, mean
from published import ROOT, put, read, write

EXPERIMENTS = os.path.join(ROOT, "examples", "experiments")
# Which page shows the tables of which cells.
PUBLISHED = {"m1-motivation": "minionsrl.md", "m1-short": "minionsrl.md", "m2-cartpole": "minionsrl.md", "m2-hopper-sweep": "minionsrl.md",
             "m2-hopper": "minionsrl.md", "m2-halfcheetah-sweep": "minionsrl.md", "m2-halfcheetah": "minionsrl.md",
             "m2-humanoid": "minionsrl.md", "m2-humanoid-untrained": "minionsrl.md", "n2-short": "nitro.md", "n2-nitro": "nitro.md",
             "n2-hopper": "nitro.md", "n2-hopper-updates": "nitro.md", "n2-walker2d": "nitro.md", "n2-humanoid": "nitro.md",
             "n4-nitro": "nitro.md", "async": "algorithms.md"}
TO_TARGET = ["cost_to_target", "time_to_target", "cost_plus_time"]
BY_RETURN = ["evaluation_last5", "evaluation_area"]
# The metrics of a page's tables, where they are not those of Metric=.
SHOWN = {"m1-motivation": BY_RETURN, "n2-nitro": ["evaluation_last5"], "n2-hopper": BY_RETURN,
         "n2-hopper-updates": ["evaluation_last5"], "n2-walker2d": BY_RETURN, "n2-humanoid": BY_RETURN,
         "n4-nitro": ["evaluation_last5", "cost"], "m2-cartpole": TO_TARGET,
         "m2-hopper-sweep": TO_TARGET, "m2-hopper": TO_TARGET, "m2-halfcheetah-sweep": TO_TARGET, "m2-halfcheetah": TO_TARGET, "m2-humanoid": TO_TARGET}
# Of these a page has a second table: this arm's paired differences to the others.
AGAINST = {"m1-motivation": "increasing", "n2-nitro": "nitro", "n2-hopper": "nitro", "n2-hopper-updates": "nitro", "n2-walker2d": "nitro",
           "n2-humanoid": "nitro", "m1-short": "increasing", "m2-cartpole": "auto", "m2-hopper": "auto",
           "m2-halfcheetah": "auto", "m2-humanoid": "auto"}
# Of these a page has a table of functions against servers: these arms as functions, and the baseline as both.
AS_FUNCTIONS = {"m2-hopper": ["minions-1", "minions-2", "minions-3"], "m2-halfcheetah": ["minions-1", "minions-2", "minions-3"]}
# USD an hour: packaging/price/ec2-minionsrl.sheet, and one of its four servers of actors.
SERVERS = {"the paper's cluster": 3.06 + 4 * 0.68, "one c5.4xlarge": 0.68}
# Columns of cells.csv that a file of docs/experiments keeps beside the factors and the metrics of its tables, and those with a target.
KEPT = {"arm", "seed", "result", "rounds", "policy_sha256", "actor_rounds"}
KEPT_TO_TARGET = {"env_steps", "evaluation_last", "cost", "cost_paper", "cost_scheduler", "time"}
# Digits of a policy's hash that it keeps: enough to tell policies apart.
HASH_DIGITS = 12
HEADINGS = {"evaluation_last": "last evaluation", "evaluation_last5": "last five evaluations", "evaluation_area": "area of evaluations",
            "return_last": "last return", "return_last5": "last five returns", "return_area": "area of returns", "cost": "cost, thousandths",
            "cost_paper": "paper total, thousandths", "time": "emulated s", "cost_to_target": "cost, thousandths", "time_to_target": "emulated s",
            "cost_plus_time": "cost plus time"}
# For a seed that missed its target: the column with its whole cost or time.
UNTIL_END = {"cost_to_target": "cost", "time_to_target": "time"}
MONEY = {"cost", "cost_paper", "cost_to_target"}
RATIOS = MONEY | {"time", "time_to_target", "cost_plus_time"}
# Thousandths of a USD a second: what Policy=auto takes a second to be worth at TimePrice=1, which is the learner's price (1,769 MiB of
# packaging/price/aws-lambda-x86.sheet).
TIME_PRICE = 1769 / 1024 * 0.0166667


class Experiment:
    """What the tables need of a .exp file: sections in their order, and four keys."""

    def __init__(self, name):
        self.name, self.sections, self.keys = name, [], {}
        with open(os.path.join(EXPERIMENTS, name + ".exp"), encoding="utf-8") as f:
            for line in map(str.strip, f):
                if line.startswith("["):
                    self.sections.append(line.strip("[]").split(" "))
                elif self.sections == [["Experiment"]] and "=" in line and not line.startswith("#"):
                    key, value = line.split("=", 1)
                    self.keys[key] = value

    def named(self, kind):
        return [words[1] for words in self.sections if words[0] == kind]

    @property
    def metrics(self):
        """With a target the metrics are what it took to reach it; the returns are then those of the target."""
        if self.name in SHOWN:
            return SHOWN[self.name]
        named = [word for word in self.keys["Metric"].split() if word in HEADINGS]
        return [word for word in named if word in RATIOS] if any(word in UNTIL_END for word in named) else named


def value(cell, metric):
    """NaN: there is none, in any seed."""
    if metric == "cost_plus_time":
        return value(cell, "cost_to_target") + TIME_PRICE * value(cell, "time_to_target")
    text = cell[metric] or cell[UNTIL_END.get(metric, metric)]
    return float(text) * (1000 if metric in MONEY else 1) if text else math.nan


def values(rows, metric):
    return [value(cell, metric) for cell in rows]


def number(x):
    if not math.isfinite(x):
        return "–"
    text = f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.1f}" if abs(x) >= 100 else f"{x:.2f}" if abs(x) >= 1 else f"{x:.3f}"
    return "0.000" if text == "-0.000" else text


def spread(pair):
    return f"{number(pair[0])} to {number(pair[1])}"


def difference(own, other, metric):
    """Over the seeds that both have: (of the interquartile means, its interval)."""
    others = {cell["seed"]: cell for cell in other}
    pairs = [(value(cell, metric), value(others[cell["seed"]], metric)) for cell in own if cell["seed"] in others]

    def of(drawn):
        return interquartile_mean([a for a, _ in drawn]) - interquartile_mean([b for _, b in drawn])

    return of(pairs), interval(pairs, of)


def groups(experiment, cells):
    """[(levels, {arm: cells})], in the order of the file."""
    found, order = {}, experiment.named("Arm")
    for cell in cells:
        found.setdefault(tuple(cell[factor] for factor in experiment.named("Factor")), {}).setdefault(cell["arm"], []).append(cell)
    return [(levels, {arm: arms[arm] for arm in order if arm in arms}) for levels, arms in found.items()]


def columns(own, baseline, metric):
    shown = values(own, metric)
    fields = [number(interquartile_mean(shown)), spread(interval(shown, interquartile_mean)) if len(shown) > 1 else ""]
    if baseline is None:
        return fields
    if own is baseline:
        return [*fields, "1" if metric in RATIOS else ""]
    if metric in RATIOS:
        return [*fields, f"{interquartile_mean(shown) / interquartile_mean(values(baseline, metric)):.2f}"]
    middle, pair = difference(own, baseline, metric)
    return [*fields, f"{number(middle)} ({spread(pair)})"]


def line(fields):
    return f"| {' | '.join(fields)} |"


def table(experiment, cells):
    to_target = any(metric in UNTIL_END for metric in experiment.metrics)
    baseline = experiment.keys.get("Baseline")
    head = [*experiment.named("Factor"), "arm", "seeds", *(["reach the target"] if to_target else []), "mean actors"]
    for metric in experiment.metrics:
        head += [HEADINGS[metric], "95 %", *([f"/ {baseline}" if metric in RATIOS else f"less {baseline}"] if baseline else [])]
    lines = [line(head), f"|{'---|' * (len(experiment.named('Factor')) + 1)}{'--:|' * (len(head) - len(experiment.named('Factor')) - 1)}"]
    for levels, arms in groups(experiment, cells):
        for arm, own in arms.items():
            reached = [str(sum(bool(cell[metric]) for cell in own)) for metric in experiment.metrics if metric in UNTIL_END][:1]
            actors = mean([float(cell["actor_rounds"]) / float(cell["rounds"]) for cell in own])
            shown = [field for metric in experiment.metrics for field in columns(own, arms.get(baseline), metric)]
            lines.append(line([*levels, arm, str(len(own)), *reached, f"{actors:.1f}", *shown]))
    return "\n".join(lines)


def against(experiment, cells, arm):
    """One arm's paired differences to every other one."""
    head = [*experiment.named("Factor"), f"{arm} less", *(HEADINGS[metric] for metric in experiment.metrics)]
    lines = [line(head), f"|{'---|' * (len(experiment.named('Factor')) + 1)}{'--:|' * len(experiment.metrics)}"]
    for levels, arms in groups(experiment, cells):
        for other in arms:
            if other != arm:
                found = [difference(arms[arm], arms[other], metric) for metric in experiment.metrics]
                lines.append(line([*levels, other, *(f"{number(middle)} ({spread(pair)})" for middle, pair in found)]))
    return "\n".join(lines)


def servers(experiment, cells):
    """The baseline on servers that run as long as it does, and as functions by their paper total; and other arms as functions."""
    baseline = experiment.keys["Baseline"]
    [(_, arms)] = groups(experiment, cells)
    seconds = interquartile_mean(values(arms[baseline], "time_to_target"))
    rows = [(baseline, where, seconds * hour / 3.6, seconds) for where, hour in SERVERS.items()]
    rows += [(arm, "functions", interquartile_mean(values(arms[arm], "cost_paper")), interquartile_mean(values(arms[arm], "time_to_target")))
             for arm in (baseline, *AS_FUNCTIONS[experiment.name])]
    _, last, of_last, _ = rows[len(SERVERS) - 1]
    lines = [line(["arm", "on", "cost, thousandths", "emulated s", f"cost / {last}", f"time / {baseline}"]), "|---|---|--:|--:|--:|--:|"]
    return "\n".join([*lines, *(line([arm, where, number(cost), number(time), f"{cost / of_last:.2f}", f"{time / seconds:.2f}"])
                                for arm, where, cost, time in rows)])


def tables(name, cells):
    """{mark: table}, of all tables that a page shows of these cells."""
    experiment = Experiment(name)
    found = {f"table {name}": table(experiment, cells)}
    if name in AGAINST:
        found[f"table {name}, {AGAINST[name]} against the others"] = against(experiment, cells, AGAINST[name])
    if name in AS_FUNCTIONS:
        found[f"table {name}, functions against servers"] = servers(experiment, cells)
    return found


def keep(experiment, cells):
    wanted = KEPT | {*experiment.named("Factor"), *experiment.metrics} | (KEPT_TO_TARGET if UNTIL_END.keys() & {*experiment.metrics} else set())
    kept = [column for column in cells[0] if column in wanted and any(cell[column] for cell in cells)]
    rows = [{column: cell[column] for column in kept} for cell in cells]
    write(experiment.name + ".csv", kept, [{**row, "policy_sha256": row["policy_sha256"][:HASH_DIGITS]} for row in rows])


def publish(name, write_it):
    """False: the page has another table."""
    return put(PUBLISHED[name], tables(name, read(name + ".csv")), write_it)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--against", metavar="ARM")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    if args.check:
        wrong = [name for name in PUBLISHED if not publish(name, False)]
        sys.exit(f"docs/experiments: tables that are not those of their cells: {', '.join(wrong)}" if wrong else 0)
    if not args.name or not args.results:
        parser.error("name an experiment and its results")
    if not os.path.exists(os.path.join(EXPERIMENTS, args.name + ".exp")):
        parser.error(f"there is no examples/experiments/{args.name}.exp")
    cells_path = os.path.join(args.results, "cells.csv")
    if not os.path.exists(cells_path):
        parser.error(f"{args.results} has no cells.csv: run actorctl experiment first")
    experiment, cells = Experiment(args.name), read(os.path.abspath(cells_path))
    if args.against and args.against not in experiment.named("Arm"):
        parser.error(f"{args.name}.exp has no [Arm {args.against}]")
    if args.publish and args.name not in PUBLISHED:
        parser.error(f"no page shows {args.name}: name one in PUBLISHED")
    if args.publish:
        keep(experiment, cells)
        publish(args.name, True)
    print(table(experiment, cells))
    if args.against:
        print("\n" + against(experiment, cells, args.against))


if __name__ == "__main__":
    main()
