#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What would be gained if Policy=auto continued with the running actors while new ones start, instead of waiting for these: docs/experiments/auto.md.

auto_starts.py run [TASK...] [--seeds N|FIRST-LAST] [--jobs N]    the runs that are missing, in build/experiments/auto (--results)
auto_starts.py table                                  the runs that are there -> docs/experiments/auto-starts.csv and the page's tables
auto_starts.py check                                  writes nothing; fails if the page's tables are not those of the csv files

auto begins with one actor, and moves once in most cells, after three rounds. Two lists of numbers ([Scaling] Policy=schedule) do the same with
one number for each task, the usual one of auto: the first moves after three rounds and waits for the cold start; the second has as many more
rounds of one actor as a cold start lasts, and the cold start's time is taken off afterwards. No price changes what a list does, so each run is
billed by every sheet. The other table corrects auto's own cells by the rounds, costs and times of the constants."""
import argparse, math, os, sys
from statistics import median
import auto
from auto import ALL_SHEETS, ALL_TASKS, LOOKS, MARGIN, PAGE, PRICES, RUNS, Cell, times, write_sorted
from auto_cells import COLD_S, CONSTANTS, MOVES_TO, SHEETS, TASKS, TIME_PRICES
from intervals import interval
from published import BUILD, publish, read

STARTS = "auto-starts.csv"
COLUMNS = ["task", "arm", "seed", "reached", "emulated_s", "env_steps", "rounds", "policy", *("full_" + sheet for sheet in ALL_SHEETS)]
KEYS = ["task", "arm", "seed"]
SEEDS_ENOUGH = 10
MOVED = 1.3  # actors on average from which a run has moved
SHOWN = ["aws-lambda-x86", "azure-aci", "ec2-nitro"]


class Constants:
    """Rounds, seconds and money of a round, by the number of actors: medians of the constants' runs, and between them on a straight line of
    logarithms."""

    def __init__(self, task, runs):
        own = {n: [row for row in runs if row["task"] == task.name and row["arm"] == f"c{n}"] for n in CONSTANTS}
        self.needed = {n: median(int(row["rounds"]) for row in rows) for n, rows in own.items()}
        self.seconds = {n: median((float(row["emulated_s"]) - COLD_S) / int(row["rounds"]) for row in rows) for n, rows in own.items()}
        self.money = {sheet: {n: median(float(row["full_" + sheet]) / int(row["rounds"]) for row in rows) for n, rows in own.items()}
                      for sheet in ALL_SHEETS}
        self.rounds_of_start = math.ceil(COLD_S / self.seconds[1])

    @staticmethod
    def at(values, n):
        below, above = max(k for k in values if k <= n), min(k for k in values if k >= n)
        if below == above:
            return values[below]
        share = math.log(n / below) / math.log(above / below)
        return values[below] ** (1 - share) * values[above] ** share

    def change(self, n, sheet=SHEETS[0]):
        """How much more a run takes, in seconds and in money, if rounds of one actor continue during the start, and replace some of n actors."""
        k = self.rounds_of_start
        replaced = k * self.at(self.needed, n) / self.needed[1]
        return (k * self.seconds[1] - replaced * self.at(self.seconds, n) - COLD_S,
                k * self.money[sheet][1] - replaced * self.at(self.money[sheet], n))


# Lists of numbers


def lists(task, seeds, runs):
    k = Constants(task, runs).rounds_of_start
    arms = {"waits": LOOKS, "goes-on": LOOKS + k}
    return auto.experiment(task, seeds, {name: ["Scaling.Policy=schedule", f"Scaling.Schedule=1*{n} {MOVES_TO[task.name]}"] for name, n in arms.items()},
                           {}, ALL_SHEETS)


def start_rows(results):
    """goes-on: the new actors have started beside its rounds, so that its clock does not count their start. Only seeds that both lists have."""
    rows = []
    for task in TASKS:
        cells = auto.read_cells(os.path.join(results, f"{task.name}.starts"))
        both = set.intersection(*({cell["seed"] for cell in cells if cell["arm"] == arm} for arm in ("waits", "goes-on")))
        for cell in cells:
            if cell["seed"] not in both:
                continue
            row = auto.run_row(task.name, "", cell, "", "")
            if cell["arm"] == "goes-on" and len(set(cell["rounds"]["actors"])) > 1:
                row["emulated_s"] = f"{float(row['emulated_s']) - COLD_S:.6f}"
            rows.append({key: row[key] for key in COLUMNS})
    return rows


def ratio(pairs):
    return median(b for _, b in pairs) / median(a for a, _ in pairs)


def ratio_words(pairs):
    low, high = interval(pairs, ratio)
    return f"{ratio(pairs):.2f} ({low:.2f} to {high:.2f})"


def pairs_of(task, starts, column):
    """For each seed: what the list that waits took, and what the list that continues took."""
    arms = {arm: {row["seed"]: row for row in starts if (row["task"], row["arm"]) == (task.name, arm)} for arm in ("waits", "goes-on")}
    return [tuple(float(arms[arm][seed][column]) for arm in arms) for seed in sorted(set(arms["waits"]) & set(arms["goes-on"]))]


def lists_text(starts, runs):
    lines = ["| task | seeds | actors | rounds of one actor that a start lasts | seconds saved, by the constants | seconds: waits | goes on | "
             "goes on over waits: seconds | "
             f"{' | '.join('total, ' + sheet for sheet in SHOWN)} |", "|---|" + "--:|" * (7 + len(SHOWN))]
    for task in TASKS:
        seconds = pairs_of(task, starts, "emulated_s")
        if not seconds:
            continue
        constants, n = Constants(task, runs), MOVES_TO[task.name]
        totals = " | ".join(ratio_words(pairs_of(task, starts, "full_" + sheet)) for sheet in SHOWN)
        lines.append(f"| {task.name} | {len(seconds)} | {n} | {constants.rounds_of_start} | {-constants.change(n)[0]:.2f} | "
                     f"{median(a for a, _ in seconds):.2f} | {median(b for _, b in seconds):.2f} | {ratio_words(seconds)} | {totals} |")
    return "\n".join(lines)


# auto's cells, corrected


def changed(row, sheet, seconds, money):
    return dict(row, emulated_s=float(row["emulated_s"]) + seconds, **{"full_" + sheet: float(row["full_" + sheet]) + money})


def number_after(row):
    """The mean number of actors after the first rounds."""
    n_rounds = int(row["rounds"])
    return max((float(row["actors"]) * n_rounds - LOOKS) / max(n_rounds - LOOKS, 1), 1)


def ratios_of(starts):
    """The ratios by task and column, if there are enough seeds: a ratio of three seeds of Swimmer says nothing."""
    pairs = {(task.name, column): pairs_of(task, starts, column) for task in TASKS for column in ("emulated_s", *("full_" + sheet for sheet in SHEETS))}
    return {key: ratio(own) for key, own in pairs.items() if len(own) >= SEEDS_ENOUGH}


def as_listed(row, sheet, ratios):
    """Corrects a cell by the ratios of the lists. A cell of a task without lists stays as it is."""
    if number_after(row) < MOVED:
        return row
    return dict(row, **{column: float(row[column]) * ratios.get((row["task"], column), 1) for column in ("emulated_s", "full_" + sheet)})


def goes_on(row, sheet, constants, second, weighs):
    """The rounds of one actor during the start take the place of some later ones. weighs: only where that makes money and time together less."""
    n = number_after(row)
    if n < MOVED:
        return row
    seconds, money = constants.change(n, sheet)
    return row if weighs and money + second * seconds >= 0 else changed(row, sheet, seconds, money)


def cells_where(runs, prices, change):
    price = {(row["task"], row["sheet"]): row for row in prices}
    cells = []
    for task in TASKS:
        constants = Constants(task, runs)
        for sheet in SHEETS:
            for name, time_price in TIME_PRICES.items():
                second = time_price * float(price[task.name, sheet]["learner_second"])
                rows = [change(row, sheet, constants, second) if row["arm"] == "auto" and row["task"] == task.name and
                        (row["sheet"], row["time_price"]) == (sheet, name) else row for row in runs]
                cells.append(Cell(task, sheet, name, rows, price[task.name, sheet]))
    return cells


def cells_text(runs, prices, starts):
    ratios = ratios_of(starts)
    ways = {"they wait (auto as it is)": lambda row, *_: row,
            "the actors that run go on, by the constants' figures": lambda *given: goes_on(*given, weighs=False),
            "the same, where it makes money plus time less": lambda *given: goes_on(*given, weighs=True),
            "they go on, by the ratios of the lists below with ten seeds or more": lambda row, sheet, *_: as_listed(row, sheet, ratios),
            "the start takes no time at all": lambda row, sheet, *_: changed(row, sheet, -COLD_S, 0) if number_after(row) >= MOVED else row}
    lines = ["| while new actors start | no constant is 10 % better in both | within 10 % of the best constant | never worse than 1.25 |", "|---|--:|--:|--:|"]
    for name, change in ways.items():
        cells = cells_where(runs, prices, change)
        counts = [sum(not cell.beaten_by() for cell in cells), sum(cell.allowed_ratio() <= MARGIN for cell in cells)]
        worst = max(cell.allowed_ratio() for cell in cells)
        lines.append(f"| {name} | {' | '.join(f'{n} of {len(cells)}' for n in counts)} | {sum(cell.allowed_ratio() <= 1.25 for cell in cells)} of {len(cells)}; "
                     f"worst {times(worst)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "check"])
    parser.add_argument("tasks", nargs="*", choices=[*ALL_TASKS, []], metavar="TASK")
    parser.add_argument("--seeds", type=auto.seed_range, default=(1, 10))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", default=os.path.join(BUILD, "experiments", "auto"))
    args = parser.parse_args()
    runs, prices = read(RUNS), read(PRICES)

    if args.what == "run":
        for task in TASKS:
            if (not args.tasks or task.name in args.tasks) and not auto.carry_out(args, f"{task.name}.starts", lists(task, args.seeds, runs), None):
                sys.exit("stopped; the same command goes on")
        return
    if args.what == "table":
        write_sorted(STARTS, COLUMNS, auto.kept(read(STARTS), start_rows(args.results), KEYS), KEYS)
    starts = read(STARTS)
    publish(PAGE, {"starts": cells_text(runs, prices, starts), "lists": lists_text(starts, runs)}, args.what == "check", "table")


if __name__ == "__main__":
    main()
