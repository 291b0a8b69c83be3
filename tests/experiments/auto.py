#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policy=auto against constant numbers of actors, on six tasks, under five price sheets and three time prices: docs/experiments/auto.md.

auto.py run [TASK...] [--seeds N|FIRST-LAST] [--arms constants|auto|servers] [--slice SECONDS] [--jobs N]
auto.py held-out ...    the same on cells on which auto is not tuned; once, at the end
auto.py table           the cells that are there -> docs/experiments/auto-*.csv and the page's tables
auto.py first-rounds    three rounds of one actor of each task -> docs/experiments/auto-first-rounds.csv and the page's table
auto.py fresh           some constants, and cells of auto, with seeds that the tables do not have -> docs/experiments/auto-fresh.csv and the page's table
auto.py moves TASK      the decisions of auto's cells of a task, and their reasons -> docs/experiments/auto-moves.csv and the page's table
auto.py check           writes nothing; fails if the page's tables are not those of the csv files

run makes the missing cells. It can be stopped (Ctrl-C, or --slice) and started again: a finished cell is not run again. Cells lie in
build/experiments/auto (--results). Constants, and adapt, are run once and billed by every sheet, since no price changes what they do. auto has
runs of its own for each sheet and time price, in a directory named after the newest commit that changed its decision code (--state)."""
import argparse, glob, json, math, os, signal, subprocess, sys, tempfile, time
from statistics import mean, median, pstdev
from auto_cells import (COLD_S, COMMON, CONSTANTS, FRESH_CELLS, FRESH_CONSTANTS, FRESH_SEEDS, FRESH_TASK, HELD_OUT_SHEETS, HELD_OUT_TASKS, SERVER_SHEETS, SHEETS,
                        TASKS, TIME_PRICES)
from intervals import interval
from published import BUILD, ROOT, publish, read, write

PAGE, RUNS, PRICES = "auto.md", "auto-runs.csv", "auto-prices.csv"
FIRST_ROUNDS, FRESH, MOVES = "auto-first-rounds.csv", "auto-fresh.csv", "auto-moves.csv"
ALL_TASKS = {task.name: task for task in (*TASKS, *HELD_OUT_TASKS)}
ALL_SHEETS = SHEETS + HELD_OUT_SHEETS
DECIDED_BY = ["daemon/scheduler", "daemon/bill"]
RUN_COLUMNS = ["task", "arm", "state", "sheet", "time_price", "seed", "reached", "emulated_s", "env_steps", "rounds", "actors", "numbers", "policy",
               *("full_" + sheet for sheet in ALL_SHEETS)]
RUN_KEYS = ["task", "arm", "sheet", "time_price", "seed"]
FIRST_COLUMNS = ["task", "seed", "rows", "surrogate"]
MOVE_COLUMNS = ["task", "sheet", "time_price", "seed", "policy", "noisy", "stays"]
MOVE_KEYS = ["task", "sheet", "time_price", "seed"]
PRICE_KEYS = ["task", "sheet"]
PRICE_COLUMNS = ["task", "sheet", "currency", "learner_second", "actor_second"]
NEVER = math.inf
MARGIN = 1.10


# Running


def state_of_auto():
    return subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", *DECIDED_BY], capture_output=True, text=True, check=True).stdout.strip()


def section(name, lines):
    return [f"[{name}]", *lines, ""]


def seed_range(text):
    """N: 1 to N. FIRST-LAST: those."""
    first, _, last = text.rpartition("-")
    return int(first or 1), int(last)


def experiment(task, seeds, arms, factors, prices):
    """The text of a .exp file. seeds: the first and the last one."""
    first, last = seeds
    lines = section("Experiment", [f"Title=auto.py: {task.name}", f"Job={os.path.join(ROOT, 'examples', task.job + '.conf')}", f"Seeds={first}-{last}",
                                   "Metric=cost time actor_rounds", *([f"Prices={' '.join(prices)}"] if prices else [])])
    # A task's own settings win.
    sets = dict(line.split("=", 1) for line in (*COMMON, *task.sets, f"Job.StopReturn={task.target}", f"Billing.ColdStartSec={COLD_S:g}"))
    lines += section("Set", [f"{key}={value}" for key, value in sets.items()])
    for name, sets in arms.items():
        lines += section(f"Arm {name}", sets)
    for name, levels in factors.items():
        lines += section(f"Factor {name}", levels)
    return "\n".join(lines)


def constants(task, seeds):
    arms = {"adapt": ["Scaling.Policy=adapt"]}
    arms.update({f"c{n}": ["Scaling.Policy=fixed", f"Scaling.Actors={n}"] for n in CONSTANTS})
    return experiment(task, seeds, arms, {}, ALL_SHEETS)


def auto(task, seeds, sheets):
    factors = {"sheet": [f"{sheet}=Billing.PriceSheet={sheet}" for sheet in sheets],
               "time": [f"{name}=Scaling.TimePrice={price}" for name, price in TIME_PRICES.items()]}
    return experiment(task, seeds, {"auto": ["Scaling.Policy=auto"]}, factors, [])


def servers(task):
    """numbers, of a run: the different numbers of actors that it had after its first round."""
    arms = {"auto": ["Scaling.Policy=auto", "Billing.Convention=server"]}
    return experiment(task, (1, 1), arms, {"sheet": [f"{sheet}=Billing.PriceSheet={sheet}" for sheet in SERVER_SHEETS]}, [])


def carry_out(args, name, text, until):
    """False: the slice is over, or the user ended it."""
    path = os.path.join(args.results, name + ".exp")
    os.makedirs(args.results, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    command = [os.path.join(BUILD, "actorctl"), "experiment", path, f"--jobs={args.jobs}", f"--output={os.path.join(args.results, name)}"]
    child = subprocess.Popen(command)
    try:
        child.wait(None if until is None else max(until - time.monotonic(), 0))
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        child.send_signal(signal.SIGINT)
        child.wait()
        return False
    if child.returncode != 0:
        sys.exit(f"{name}: actorctl experiment ended with status {child.returncode}")
    return True


def run(args, tasks, sheets_of):
    until = None if args.slice is None else time.monotonic() + args.slice
    state = args.state or state_of_auto()
    for task in tasks:
        if args.tasks and task.name not in args.tasks:
            continue
        todo = {"constants": (f"{task.name}.constants", constants(task, args.seeds)),
                "auto": (f"{task.name}.auto.{state}", auto(task, args.seeds, sheets_of(task))),
                "servers": (f"{task.name}.servers.{state}", servers(task))}
        for arm, (name, text) in todo.items():
            if arm in args.arms and not carry_out(args, name, text, until):
                sys.exit("stopped; the same command goes on")


# Fresh seeds


def run_fresh(args, state):
    """The constants first; then auto, cell by cell."""
    arms = {f"c{n}": ["Scaling.Policy=fixed", f"Scaling.Actors={n}"] for n in FRESH_CONSTANTS}
    todo = {f"{FRESH_TASK.name}.fresh": experiment(FRESH_TASK, FRESH_SEEDS, arms, {}, sorted(sheet for sheet, _ in FRESH_CELLS))}
    for sheet, name in FRESH_CELLS:
        arms = {"auto": ["Scaling.Policy=auto", f"Billing.PriceSheet={sheet}", f"Scaling.TimePrice={TIME_PRICES[name]}"]}
        todo[f"{FRESH_TASK.name}.fresh.{state}.{sheet}.{name}"] = experiment(FRESH_TASK, FRESH_SEEDS, arms, {}, [])
    until = None if args.slice is None else time.monotonic() + args.slice
    for name, text in todo.items():
        if not carry_out(args, name, text, until):
            sys.exit("stopped; the same command goes on")


def fresh_rows(results, state):
    rows = [run_row(FRESH_TASK.name, "", cell, "", "") for cell in read_cells(os.path.join(results, f"{FRESH_TASK.name}.fresh"))]
    for sheet, name in FRESH_CELLS:
        cells = read_cells(os.path.join(results, f"{FRESH_TASK.name}.fresh.{state}.{sheet}.{name}"))
        rows += [run_row(FRESH_TASK.name, state, cell, sheet, name) for cell in cells]
    return rows


def fresh_text(runs, prices, fresh):
    """auto compared with the constant that is the best with the seeds of the tables: with these seeds, and with seeds by which nothing was chosen."""
    price = {(row["task"], row["sheet"]): row for row in prices}
    lines = ["| prices | TimePrice | best constant of seeds 1 to 3 | its steps | auto's steps | auto over it | other seeds | its steps | auto's steps | auto over it |",
             "|---|--:|--:|--:|--:|--:|---|--:|--:|--:|"]
    for sheet, name in FRESH_CELLS:
        old = Cell(FRESH_TASK, sheet, name, runs, price[FRESH_TASK.name, sheet])
        new = Cell(FRESH_TASK, sheet, name, fresh, price[FRESH_TASK.name, sheet], FRESH_CONSTANTS)
        fields = [sheet, str(TIME_PRICES[name]), str(old.best)]
        for cell, rows in ((old, runs), (new, fresh)):
            if cell is new:
                fields.append(", ".join(sorted(cell.seeds)) or "none")
            if not cell.seeds:
                fields += ["", "", ""]
                continue
            for arm in (f"c{old.best}", "auto"):
                own = [int(row["env_steps"]) for row in rows if row["task"] == FRESH_TASK.name and row["arm"] == arm and row["seed"] in cell.seeds
                       and (row["sheet"], row["time_price"]) in (("", ""), (sheet, name))]
                fields.append(f"{median(own):,.0f}")
            fields.append(times(cell.middle("auto", 2) / (cell.middle(f"c{old.best}", 2) + cell.allowance)))
        lines.append(f"| {' | '.join(fields)} |")
    return "\n".join(lines)


# First rounds

# As daemon/scheduler/auto.c has them.
FURTHEST, USUAL_ROWS, LOOKS = 0.028, 5632, 3
NEWEST, SURE, LOCAL = 15, 5, 8


def first_rounds(task, seed, directory):
    """The rows of a round, and the mean surrogate objective of the first three."""
    sets = dict(line.split("=", 1) for line in (*COMMON, *task.sets, "Scaling.Policy=fixed", "Scaling.Actors=1", "Job.StopReturn=", f"Job.Seed={seed}"))

    def rounds(n_steps):
        words = [f"--set={key}={value}" for key, value in {**sets, "Job.StopSteps": n_steps, "Scaling.MinActors": "", "Scaling.MaxActors": ""}.items()]
        env = dict(os.environ, XDG_STATE_HOME=directory)
        ctl = os.path.join(BUILD, "actorctl")
        run = subprocess.run([ctl, "run", os.path.join(ROOT, "examples", task.job + ".conf"), "--json=short", *words], env=env, capture_output=True, text=True, check=True)
        said = subprocess.run([ctl, "rounds", json.loads(run.stdout)["state_directory"], "--json=short"], env=env, capture_output=True, text=True, check=True)
        return json.loads(said.stdout)

    rows = rounds(1)[0]["env_steps"]
    return rows, sum(max(-row["loss_policy"], 0) for row in rounds(LOOKS * rows)[:LOOKS]) / LOOKS


def first_rounds_text(rows):
    lines = ["| task | rows | limit | surrogate, least to most | law |", "|---|--:|--:|--:|---|"]
    for task in ALL_TASKS.values():
        of = [row for row in rows if row["task"] == task.name]
        if not of:
            continue
        n, surrogates = int(of[0]["rows"]), [float(row["surrogate"]) for row in of]
        limit = FURTHEST * (1 + (USUAL_ROWS / n) ** 2) ** -0.25
        laws = {"noise" if s > limit else "sharp" for s in surrogates}
        lines.append(f"| {task.name}{', held out' if task in HELD_OUT_TASKS else ''} | {n:,} | {limit:.4f} | {min(surrogates):.4f} to {max(surrogates):.4f} | "
                     f"{' or '.join(sorted(laws))} |")
    return "\n".join(lines)


# Moves


def noisy_round(rounds, usual):
    """The first round after which auto's b is at least twice the usual one, because of the noise; "" if there is none."""
    rows = [math.inf if noise is None else max(noise, 0) for noise in rounds["noise_scale"]]
    for n in range(SURE, len(rows) + 1):
        newest = sorted(rows[max(n - NEWEST, 0):n])
        if math.hypot(usual, newest[len(newest) // 2]) >= 2 * usual:
            return n
    return ""


def stays_of(rounds):
    """Rounds of one number of actors after another: (actors, rounds, mean surrogate of the first eight, of the last eight)."""
    stays = []
    for actors, loss in zip(rounds["actors"], rounds["loss_policy"]):
        if not stays or stays[-1][0] != int(actors):
            stays.append((int(actors), []))
        stays[-1][1].append(max(-loss, 0))
    return [(actors, len(own), sum(own[:LOCAL]) / len(own[:LOCAL]), sum(own[-LOCAL:]) / len(own[-LOCAL:])) for actors, own in stays]


def move_row(task, cell):
    stays = " ".join(f"{actors}x{n}:{first:.5f}:{last:.5f}" for actors, n, first, last in stays_of(cell["rounds"]))
    return {"task": task, "sheet": cell["levels"]["sheet"], "time_price": cell["levels"]["time"], "seed": cell["seed"],
            "policy": cell["result"]["policy_sha256"][:12], "noisy": noisy_round(cell["rounds"], USUAL_ROWS), "stays": stays}


def moves_text(rows):
    """One line for each task and time price."""
    lines = ["| task | TimePrice | actors in round 4 | rounds | noise doubles b after round | later moves up | of them undone within 8 rounds | "
             "surrogate after such a move, divided by that before it | waits for cold starts |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for task in ALL_TASKS:
        for name, time_price in TIME_PRICES.items():
            own = [row for row in rows if (row["task"], row["time_price"]) == (task, name)]
            if not own:
                continue
            trains = [[tuple(map(float, stay.replace("x", ":").split(":"))) for stay in row["stays"].split()] for row in own]
            # Of several runs with the same policy one counts.
            distinct = {row["policy"]: stays for row, stays in zip(own, trains)}.values()
            ups = [(before, after, after is not stays[-1]) for stays in distinct for before, after in zip(stays[1:], stays[2:]) if after[0] > before[0]]
            n_starts = [sum(after[0] > max(stay[0] for stay in stays[:i + 1]) for i, after in enumerate(stays[1:])) + 1 for stays in trains]
            undone = sum(after[1] <= LOCAL and left for _, after, left in ups)
            change = median(after[2] / before[3] for before, after, _ in ups if before[3] > 0) if ups else math.nan
            fourth = median(stays[1][0] if len(stays) > 1 else stays[0][0] for stays in trains)
            noisy = [int(row["noisy"]) for row in own if row["noisy"]]
            lines.append(f"| {task} | {time_price} | {fourth:g} | {median(sum(stay[1] for stay in stays) for stays in trains):g} | "
                         f"{f'{median(noisy):g}' if noisy else '–'} | {len(ups)} | {undone} | {change:.2f} | {median(n_starts):g} |")
    return "\n".join(lines)


# Cells


def run_row(task, state, cell, sheet, time_price):
    job, rounds = cell["result"], cell["rounds"]
    bills = cell.get("bills") or {job["cost"]["price_sheet"]: job["cost"]}
    row = {"task": task, "arm": cell["arm"], "state": state, "sheet": sheet, "time_price": time_price, "seed": cell["seed"],
           "reached": int(job["target_reached"]), "emulated_s": f"{job['emulated_s']:.6f}", "env_steps": job["env_steps"], "rounds": job["rounds"],
           "actors": f"{sum(rounds['actors']) / len(rounds['actors']):.2f}", "numbers": len(set(rounds["actors"][1:])), "policy": job["policy_sha256"][:12]}
    return dict(row, **{"full_" + name: f"{bill['full']:.9g}" for name, bill in bills.items()})


def price_rows(task, cell):
    return [{"task": task, "sheet": sheet, "currency": bill["currency"], "learner_second": f"{bill['learner_second']:.9g}",
             "actor_second": f"{bill['actor_second']:.9g}"} for sheet, bill in cell["bills"].items()]


def read_cells(directory):
    cells = []
    for path in glob.glob(os.path.join(directory, "cells", "*.json")):
        with open(path, encoding="utf-8") as f:
            cells.append(json.load(f))
    return cells


def kept(rows, new, keys):
    """The new rows, and those old rows that no new one replaces."""
    found = {tuple(str(row[key]) for key in keys): row for row in (*rows, *new)}
    return list(found.values())


def collect(results, state):
    """For each task, auto's cells of one state only, so that no table mixes two states. Rows whose cells were made elsewhere stay."""
    runs, prices = [], {}
    for task in ALL_TASKS:
        for cell in read_cells(os.path.join(results, f"{task}.constants")):
            runs.append(run_row(task, "", cell, "", ""))
            prices.update({(row["task"], row["sheet"]): row for row in price_rows(task, cell)})
        for cell in read_cells(os.path.join(results, f"{task}.auto.{state}")):
            runs.append(run_row(task, state, cell, cell["levels"]["sheet"], cell["levels"]["time"]))
        for cell in read_cells(os.path.join(results, f"{task}.servers.{state}")):
            runs.append(dict(run_row(task, state, cell, cell["levels"]["sheet"], ""), arm="server"))
    again = {(row["task"], row["arm"]) for row in runs if row["state"]}
    before = [row for row in read(RUNS) if row["state"] in ("", state) or (row["task"], row["arm"]) not in again]
    return kept(before, runs, RUN_KEYS), kept(read(PRICES), prices.values(), PRICE_KEYS)


def write_sorted(name, columns, rows, keys):
    write(name, columns, sorted(rows, key=lambda row: [int(row[key]) if key == "seed" else row[key] for key in keys]))


# Comparing


class Cell:
    """One task, sheet and time price: the cost and time of auto and of each constant, by seed."""

    def __init__(self, task, sheet, time_name, runs, price, constants=None):
        self.task, self.sheet, self.time_name = task, sheet, time_name
        self.time_price = TIME_PRICES[time_name]
        self.second, self.actor_second = float(price["learner_second"]), float(price["actor_second"])
        self.currency = price["currency"]
        rows = {}
        for row in runs:
            if row["task"] == task.name and (row["sheet"], row["time_price"]) in (("", ""), (sheet, time_name)) and row["arm"] != "server":
                rows.setdefault(row["arm"], {})[row["seed"]] = row
        # Seeds that all arms have: medians over others would compare tasks of different difficulty.
        self.seeds = set.intersection(*(set(rows.get(arm, ())) for arm in ("auto", *(f"c{n}" for n in constants or CONSTANTS))))
        self.arms = {arm: {seed: self.value(row) for seed, row in own.items() if seed in self.seeds} for arm, own in rows.items()}
        self.actors = [float(row["actors"]) for seed, row in rows.get("auto", {}).items() if seed in self.seeds]
        self.constants = {n: self.arms[f"c{n}"] for n in CONSTANTS if f"c{n}" in self.arms}

    def value(self, row):
        """Money, seconds, and their sum; a run that did not reach the target has none."""
        if row["reached"] != "1":
            return NEVER, NEVER, NEVER
        money, seconds = float(row["full_" + self.sheet]), float(row["emulated_s"])
        return money, seconds, money + self.time_price * self.second * seconds

    def is_whole(self):
        return len(self.seeds) > 0

    def middle(self, arm, i):
        return median(value[i] for value in self.arms[arm].values())

    @property
    def best(self):
        return min(self.constants, key=lambda n: self.middle(f"c{n}", 2))

    @property
    def allowance(self):
        """Two cold starts: the time of all, and an actor's allocation for as long."""
        return 2 * COLD_S * (self.time_price * self.second + self.actor_second)

    def ratio(self, arm="auto"):
        return self.middle(arm, 2) / self.middle(f"c{self.best}", 2)

    def allowed_ratio(self):
        return self.middle("auto", 2) / (self.middle(f"c{self.best}", 2) + self.allowance)

    def allowed_interval(self):
        """Seeds are drawn in pairs."""
        best = self.arms[f"c{self.best}"]
        pairs = [(value[2], best[seed][2]) for seed, value in sorted(self.arms["auto"].items())]
        if len(pairs) < 3:
            return None
        return interval(pairs, lambda drawn: median(a for a, _ in drawn) / (median(b for _, b in drawn) + self.allowance))

    def beaten_by(self, waited_s=0):
        """Constants that are a tenth better both in money and in time, of which waited_s does not count."""
        money, seconds = self.middle("auto", 0), self.middle("auto", 1) - waited_s
        return [n for n in self.constants if MARGIN * self.middle(f"c{n}", 0) < money and MARGIN * self.middle(f"c{n}", 1) < seconds]

    def max_is_bad(self):
        return self.ratio(f"c{max(CONSTANTS)}") >= 2.5

    def beats_max_twice(self):
        return 2 * self.middle("auto", 2) <= self.middle(f"c{max(CONSTANTS)}", 2)


def cells_of(tasks, sheets_of, runs, prices):
    price = {(row["task"], row["sheet"]): row for row in prices}
    cells = [Cell(task, sheet, name, runs, price[task.name, sheet]) for task in tasks for sheet in sheets_of(task) for name in TIME_PRICES
             if (task.name, sheet) in price]
    return [cell for cell in cells if cell.is_whole()]


def amount(value):
    return "–" if value == NEVER else f"{value:.4g}"


def times(value):
    return "∞" if not math.isfinite(value) else f"{value:.2f}"


def line(cell):
    spread = cell.allowed_interval()
    ratio = times(cell.allowed_ratio()) + (f" ({times(spread[0])} to {times(spread[1])})" if spread else "")
    if cell.allowed_ratio() > 1.25:
        ratio = f"**{ratio}**"
    best = f"c{cell.best}"
    fields = [cell.sheet, str(cell.time_price), f"{median(cell.actors):.1f}", amount(cell.middle("auto", 0)), f"{cell.middle('auto', 1):.2f}", str(cell.best),
              amount(cell.middle(best, 0)), f"{cell.middle(best, 1):.2f}", ratio, " ".join(map(str, cell.beaten_by())) or "none",
              times(cell.ratio("c1")), times(cell.ratio("adapt")) if cell.arms.get("adapt") else "", times(cell.ratio(f"c{max(CONSTANTS)}"))]
    return f"| {' | '.join(fields)} |"


HEAD = ["prices", "TimePrice", "auto: actors", "total", "seconds", "best constant", "total", "seconds", "auto over it", "beaten by", "1 actor", "adapt", "max"]


def task_table(task, cells, runs):
    """One of the six."""
    own = [cell for cell in cells if cell.task.name == task.name]
    n_constant = len({row["seed"] for row in runs if row["task"] == task.name and row["arm"] == "c1"})
    if not own:
        return [f"### {task.name}", "", f"{n_constant} seeds of the constants, and no cell of auto that can be held against them, yet." if n_constant
                else "Not measured yet.", ""]
    counts = [len(cell.seeds) for cell in own]
    seeds = sorted({min(counts), max(counts)})
    state = next(row["state"] for row in runs if row["task"] == task.name and row["arm"] == "auto")
    return [f"### {task.name}, to a mean return of {task.target}", "", f"auto as of commit {state}; {' to '.join(map(str, seeds))} seeds.", "",
            f"| {' | '.join(HEAD)} |", "|---|" + "--:|" * (len(HEAD) - 1), *map(line, own), ""]


def bars(cells):
    """Each bar, and the number of cells that meet it."""
    def count(holds, of=cells):
        return f"{sum(map(holds, of))} of {len(of)}"

    bad = [cell for cell in cells if cell.max_is_bad()]
    worst = max(cells, key=Cell.allowed_ratio)
    return ["| bar | cells that meet it |", "|---|--:|",
            f"| no constant is 10 % better in money and in time at once | {count(lambda c: not c.beaten_by())} |",
            f"| the same, without {COLD_S} s of auto's time, its second cold start | {count(lambda c: not c.beaten_by(COLD_S))} |",
            f"| money plus time within 10 % of the best constant, two cold starts allowed (in most cells) | {count(lambda c: c.allowed_ratio() <= MARGIN)} |",
            f"| never worse than 1.25 × that | {count(lambda c: c.allowed_ratio() <= 1.25)}; "
            f"worst {times(worst.allowed_ratio())}: {worst.task.name}, {worst.sheet}, TimePrice={worst.time_price} |",
            f"| half of what max comes to, where that is at least 2.5 × the best constant | {count(Cell.beats_max_twice, bad)} |", ""]


# Law


def fit(rounds, exponent):
    """rounds: of each number of actors. (error, b) of the best K (1 + (b/A)^exponent)^(1/exponent), by the deviation of logarithms."""
    fits = []
    for i in range(300):
        b = 0.05 * 1.03 ** i
        logs = [math.log(r / (1 + (b / n) ** exponent) ** (1 / exponent)) for n, r in rounds.items()]
        fits.append((pstdev(logs), b))
    return min(fits)


def fewest(rounds, b):
    """The number of actors that is furthest below the sharp law that fits all, and its share of the law's rounds."""
    over = {n: r / math.hypot(1, b / n) for n, r in rounds.items()}
    middle = math.exp(mean(map(math.log, over.values())))
    return min((value / middle, n) for n, value in over.items())


def law_lines(runs):
    """The law that the constants follow, and where it bends."""
    lines = ["### Which law", "", "| task | rows of an actor | rounds of 1, 4, 16, 64 actors | law of noise: b, rows | off by | sharp law: b, rows | off by | "
             "furthest below it: actors, share |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for task in ALL_TASKS.values():
        rounds, rows = {}, 0
        for n in CONSTANTS:
            own = [row for row in runs if row["task"] == task.name and row["arm"] == f"c{n}"]
            if own and all(row["reached"] == "1" for row in own):
                rounds[n] = median(int(row["rounds"]) for row in own)
                rows = int(own[0]["env_steps"]) // int(own[0]["rounds"]) // n
        if len(rounds) < 4:
            continue
        laws = " | ".join(f"{b * rows:,.0f} | {100 * off:.0f} %" for off, b in (fit(rounds, 1), fit(rounds, 2)))
        share, n_actors = fewest(rounds, fit(rounds, 2)[1])
        lines.append(f"| {task.name} | {rows} | {', '.join(f'{rounds[n]:g}' if n in rounds else '-' for n in (1, 4, 16, 64))} | {laws} | "
                     f"{n_actors}, {share:.2f} |")
    return [*lines, ""]


def server_lines(runs):
    own = sorted({(row["task"], row["sheet"], int(row["numbers"]), float(row["actors"])) for row in runs if row["arm"] == "server"})
    if not own:
        return ["Not measured yet.", ""]
    said = [f"| {task} | {sheet} | {f'{actors:g} in each' if n == 1 else f'{n} different numbers, {actors:.1f} on average'} |"
            for task, sheet, n, actors in own]
    return ["| task | prices | actors of a round |", "|---|---|---|", *said, ""]


def page_text(runs, prices):
    tuned = cells_of(TASKS, lambda task: SHEETS, runs, prices)
    held = cells_of([*TASKS, *HELD_OUT_TASKS], held_out_sheets, runs, prices)
    lines = []
    if tuned:
        lines += bars(tuned)
    lines += law_lines(runs)
    for task in TASKS:
        lines += task_table(task, tuned, runs)
    lines += ["### Convention=server", "", *server_lines(runs), "### Held out", ""]
    if not held:
        lines += ["Not run: it is run once, when auto does not change any more.", ""]
    else:
        lines += bars(held)
        for task in (*TASKS, *HELD_OUT_TASKS):
            lines += task_table(task, held, runs)
    return "\n".join(lines).rstrip("\n")


def held_out_sheets(task):
    """Tasks that were tuned on have held-out sheets, those that were not have all."""
    return ALL_SHEETS if task in HELD_OUT_TASKS else HELD_OUT_SHEETS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "held-out", "fresh", "first-rounds", "moves", "table", "check"])
    parser.add_argument("tasks", nargs="*", choices=[*ALL_TASKS, []], metavar="TASK")
    parser.add_argument("--seeds", type=seed_range, default=(1, 10))
    parser.add_argument("--arms", nargs="+", choices=["constants", "auto", "servers"], default=["constants", "auto", "servers"])
    parser.add_argument("--slice", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--state")
    parser.add_argument("--results", default=os.path.join(BUILD, "experiments", "auto"))
    args = parser.parse_args()

    if args.what == "run":
        run(args, TASKS, lambda task: SHEETS)
    elif args.what == "held-out":
        run(args, [*TASKS, *HELD_OUT_TASKS], held_out_sheets)
    if args.what == "fresh":
        run_fresh(args, args.state or state_of_auto())
    if args.what in ("fresh", "table"):
        found = kept(read(FRESH), fresh_rows(args.results, args.state or state_of_auto()), RUN_KEYS)
        write_sorted(FRESH, RUN_COLUMNS, found, RUN_KEYS)
    if args.what == "table":
        runs, prices = collect(args.results, args.state or state_of_auto())
        write_sorted(RUNS, RUN_COLUMNS, runs, RUN_KEYS)
        write_sorted(PRICES, PRICE_COLUMNS, prices, PRICE_KEYS)
    if args.what == "first-rounds":
        with tempfile.TemporaryDirectory() as directory:
            found = [(task, seed, first_rounds(task, seed, directory)) for task in ALL_TASKS.values() for seed in range(args.seeds[0], args.seeds[1] + 1)]
        write(FIRST_ROUNDS, FIRST_COLUMNS, [dict(zip(FIRST_COLUMNS, (task.name, seed, rows, f"{surrogate:.6f}"))) for task, seed, (rows, surrogate) in found])
    if args.what == "moves":
        found = [move_row(task, cell) for task in args.tasks
                 for cell in read_cells(os.path.join(args.results, f"{task}.auto.{args.state or state_of_auto()}"))]
        write_sorted(MOVES, MOVE_COLUMNS, kept(read(MOVES), found, MOVE_KEYS), MOVE_KEYS)
    if args.what != "run" and args.what != "held-out":
        runs, prices = read(RUNS), read(PRICES)
        publish(PAGE, {"table": page_text(runs, prices), "first rounds": first_rounds_text(read(FIRST_ROUNDS)), "moves": moves_text(read(MOVES)),
                       "fresh": fresh_text(runs, prices, read(FRESH))}, args.what == "check", "table")


if __name__ == "__main__":
    main()
