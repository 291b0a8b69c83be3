#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""README's table of schedulers, from the cells of examples/experiments/elastic.exp.

readme.py [--check] [RESULTS]

RESULTS: what `actorctl experiment examples/experiments/elastic.exp` wrote; its cells become docs/experiments/elastic.csv. Without it
the table is made from that file. --check: write nothing, but fail if README's table is not that of the cells."""
import argparse, glob, json, os
from statistics import median, quantiles
from published import ROOT, publish, read, write

CELLS = "elastic.csv"
README = os.path.join(ROOT, "README.md")
COLUMNS = ["arm", "seed", "result", "full", "emulated_s", "env_steps", "rounds", "invocations", "currency", "price_sheet", "policy"]
ARMS = {"auto": "`auto`", "adapt": "`adapt`", "one": "1 actor", "two": "2", "four": "4", "eight": "8", "twelve": "12"}


def row_of(cell):
    job = cell["result"]
    return {"arm": cell["arm"], "seed": cell["seed"], "result": job["result"], "full": f"{job['cost']['full']:.9f}",
            "emulated_s": f"{job['emulated_s']:.3f}", "env_steps": job["env_steps"], "rounds": job["rounds"],
            "invocations": job["invocations"]["total"], "currency": job["cost"]["currency"], "price_sheet": job["cost"]["price_sheet"],
            "policy": job["policy_sha256"][:16]}


def write_cells(results):
    cells = []
    for path in glob.glob(os.path.join(results, "cells", "*.json")):
        with open(path, encoding="utf-8") as f:
            cells.append(row_of(json.load(f)))
    write(CELLS, COLUMNS, sorted(cells, key=lambda r: (list(ARMS).index(r["arm"]), int(r["seed"]))))


def middle(rows, column, form):
    """Median, and between which two values half of the seeds lie."""
    values = [float(r[column]) for r in rows]
    low, _, high = quantiles(values, n=4)
    return f"{form.format(median(values))} ({form.format(low)} to {form.format(high)})"


def table(rows):
    lines = ["| actors a round | seeds | full total, USD | emulated time, s | environment steps |", "|---|--:|--:|--:|--:|"]
    for arm, name in ARMS.items():
        own = [r for r in rows if r["arm"] == arm]
        lines.append(f"| {name} | {len(own)} | {middle(own, 'full', '{:.6f}')} | {middle(own, 'emulated_s', '{:.1f}')} | "
                     f"{middle(own, 'env_steps', '{:,.0f}')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    if args.results and not args.check:
        write_cells(args.results)
    publish(README, {"table": table(read(CELLS))}, args.check, "")


if __name__ == "__main__":
    main()
