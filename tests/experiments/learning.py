#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether algorithms reach the scores that others have published: runs what is missing, then writes the table into its page.

learning.py ppo|algorithms [--seeds N] [--jobs N] [--only PATTERN] [--table|--check]

--seeds: so many of each row. --only: rows whose name matches. --table: run nothing. --check: run and write nothing, but fail if the page's table is
not that of the results. Each finished run is a line of docs/experiments/TABLE.csv at once, which is the only record of it: a run whose settings and
arithmetic are still the same is never repeated. After a change of the arithmetic, a row of the table stays that of the earlier one until as many of
its seeds have run again. A run is a whole job in one process (build/bench/train-inprocess), which gives the policy of
`actorctl run` with the same settings; environments in Python run in their sandbox, with examples/venv."""
import argparse, functools, hashlib, json, math, os, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from cells import AT_RANDOM, BEST, EVALUATION, NO_TARGET, RETURN, TABLES
from intervals import interquartile_mean, interval, mean
from published import BUILD, ROOT, change, publish, read

COLUMNS = ["row", "seed", "steps", "return", "evaluation", "best", "policy", "settings"]
RESULT = re.compile(r"evaluation (?P<evaluation>\S+) of .*\n(best (?P<best>\S+)\n)?"
                    r"seed (?P<seed>\d+): return (?P<return>\S+) after (?P<steps>\d+) steps.*policy (?P<policy>\w+)")
EPISODES = {RETURN: "last 100 in training", EVALUATION: "evaluation of {}", BEST: "best evaluation of {}"}


def overrides(row):
    return [*row.sets, "Learner.Threads=1", f"Evaluation.Episodes={row.episodes}"]


def job_file(row):
    return os.path.join(ROOT, "examples", row.job + ".conf")


@functools.cache
def arithmetic():
    """The version of today's arithmetic, on which every policy depends."""
    with open(os.path.join(ROOT, "lib", "checkpoint", "checkpoint.h"), encoding="utf-8") as f:
        return int(re.search(r"^#define ARITHMETIC (\d+)u$", f.read(), re.M)[1])


def fingerprint(row, version=None):
    """The hash of everything that a run depends on, under a version of the arithmetic or under today's."""
    version = version or arithmetic()
    with open(job_file(row), encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip() and not line.startswith(("#", "Description=", "Threads=", "PriceSheet="))]
    if version > 1:  # fingerprints of version 1 did not name it
        lines.append(f"#define ARITHMETIC {version}u")
    return hashlib.sha256("\n".join(lines + sorted(overrides(row))).encode()).hexdigest()[:12]


def known(cells, rows):
    """Results of rows that have not changed, under any arithmetic: {row: {version: [result]}}."""
    versions = {(row.name, fingerprint(row, v)): v for row in rows for v in range(1, arithmetic() + 1)}
    results = {row.name: {} for row in rows}
    for r in read(cells):
        if version := versions.get((r["row"], r["settings"])):
            results[r["row"]].setdefault(version, []).append(r)
    return results


def shown(versions):
    """The arithmetic of a row's line in the table: the newest of those with the most seeds."""
    return max(versions, key=lambda v: (len(versions[v]), v))


def current(cells, rows):
    """The results that the table shows."""
    return [r for versions in known(cells, rows).values() if versions for r in versions[shown(versions)]]


def enter(cells, rows, result):
    """Writes the cells in the order of the table, even while other processes write too."""
    order = {row.name: i for i, row in enumerate(rows)}

    def rows_now():
        # Results of an earlier arithmetic stay as long as the table shows them.
        kept = [r for versions in known(cells, rows).values() for v in versions if v in (shown(versions), arithmetic()) for r in versions[v]]
        others = [r for r in kept if (r["row"], r["seed"], r["settings"]) != (result["row"], result["seed"], result["settings"])]
        return sorted([*others, result], key=lambda r: (order[r["row"]], r["settings"], int(r["seed"])))

    change(cells, COLUMNS, rows_now)


def run_in_process(row, seed):
    command = [os.path.join(BUILD, "bench", "train-inprocess"), job_file(row), *overrides(row), f"Job.Seed={seed}"]
    r = subprocess.run(command, capture_output=True, text=True)
    found = RESULT.search(r.stdout)
    if r.returncode != 0 or not found:
        raise RuntimeError(f"{row.name}, seed {seed}: {r.stderr.strip() or r.stdout.strip()}")
    print(f"{row.name}: {' '.join(r.stdout.split())}", file=sys.stderr, flush=True)
    return found.groupdict()


def run_in_sandbox(row, seed):
    sets = [word for setting in overrides(row) for word in ("--set", setting)]
    r = subprocess.run([os.path.join(BUILD, "actorctl"), "run", "--json=short", f"--seed={seed}", *sets, job_file(row)], stdout=subprocess.PIPE, text=True)
    if r.returncode != 0:
        raise RuntimeError(f"{row.name}, seed {seed}: actorctl run ended with status {r.returncode}")
    job = json.loads(r.stdout)
    return {"seed": seed, "steps": job["env_steps"], "return": f"{job['return_mean']:.4f}", "policy": job["policy_sha256"][:16]}


def run(row, seed):
    result = (run_in_sandbox if any("=gym:" in setting for setting in row.sets) else run_in_process)(row, seed)
    return dict({name: result[name] for name in COLUMNS if name in result}, row=row.name, settings=fingerprint(row))


def run_missing(cells, rows, n_seeds, n_jobs, pattern):
    def cell(row, seed):
        if str(seed) not in {r["seed"] for r in known(cells, rows)[row.name].get(arithmetic(), [])}:
            enter(cells, rows, run(row, seed))

    with ThreadPoolExecutor(n_jobs) as pool:
        runs = [pool.submit(cell, row, seed) for row in rows if re.search(pattern, row.name) for seed in range(1, min(n_seeds, row.seeds or n_seeds) + 1)]
        for future in runs:
            future.result()


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def at_random(row):
    """The value for the task in a row's name, which an algorithm may precede and a source follow."""
    return AT_RANDOM.get(row.name.split(": ")[-1].split(" ")[0], -math.inf)


def verdict(row, low, n, n_seeds):
    """A deviation between seeds makes a target; that of one run's episodes does not."""
    if row.target == NO_TARGET or row.target is None and row.runs < 2:
        return NO_TARGET
    target = row.score - row.deviation if row.target is None else row.target
    if target <= at_random(row):
        return f"{number(target)}: cannot be missed"
    if n < n_seeds:
        return f"{number(target)}: {n} of {n_seeds} seeds yet"
    return f"{number(target)}: " + ("met" if low >= target else "**missed**")


def line(row, results, n_seeds):
    values, steps = [float(r[row.metric]) for r in results], [int(r["steps"]) for r in results]
    low, high = interval(values)
    published = "none"
    if row.score is not None:
        published = f"{number(row.score)} ± {number(row.deviation)}, {row.source}" + (", one run" if row.runs == 1 else "")
    return "| " + " | ".join([
        row.name, f"`{row.job}.conf`", " to ".join(f"{n:,}" for n in sorted({min(steps), max(steps)})),
        EPISODES[row.metric].format(row.episodes),
        str(len(values)), number(mean(values)), number(interquartile_mean(values)), f"{number(low)} to {number(high)}" if len(values) > 2 else "",
        f"{number(min(values))} to {number(max(values))}", published, verdict(row, low, len(values), row.seeds or n_seeds)]) + " |"


def table(results, versions, rows, n_seeds):
    """results: those of all rows; versions: the arithmetic of each row that has any."""
    head = ["environment", "job", "steps", "episodes", "seeds", "mean", "IQM", "95 % of the mean", "least to most", "published", "target"]
    lines = [f"| {' | '.join(head)} |", "|---|---|--:|---|--:|--:|--:|---|---|---|---|"]
    missing = []
    for row in rows:
        own = [r for r in results if r["row"] == row.name]
        if own:
            lines.append(line(row, own, n_seeds))
        else:
            missing.append(row.name)
    for version in sorted(set(versions.values()) - {arithmetic()}):
        lines += ["", f"Of arithmetic {version}: {', '.join(name for name, v in versions.items() if v == version)}."]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", dest="table_only", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    rows, n_seeds = TABLES[args.table]
    cells = args.table + ".csv"
    if not args.table_only and not args.check:
        run_missing(cells, rows, args.seeds or n_seeds, args.jobs, args.only)
    versions = {name: shown(of) for name, of in known(cells, rows).items() if of}
    publish(args.table + ".md", {"table": table(current(cells, rows), versions, rows, n_seeds)}, args.check, f"{args.table} --table")


if __name__ == "__main__":
    main()
