#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does a metric predict the gain from boosting a round? Reads the lines of `twins`, prints a Markdown table.

usage: twins.py FILE.csv

Metric and gain both change over training, so they are compared within a round, across seeds: both are ranked within their
round, and the correlation of all these ranks is taken (a partial Spearman correlation, the round being held). Intervals: 95 %, bootstrap over
seeds, 2,000 resamples of a fixed stream. Nitro boosts when R is low, so its claim is a negative number."""
import math, random, sys

METRICS = ("R of the objective (Nitro's paper)", "R of the loss (Nitro's code)", "gradient noise scale", "slope of the return")
AFTER = (1, 5, 10)


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in order[i:j]:
            result[k] = (i + j - 1) / 2
        i = j
    middle = (len(values) - 1) / 2
    return [(r - middle) / len(values) for r in result]


def correlation(rows, metric, after):
    x, y = [], []
    for r in sorted({row["round"] for row in rows}):
        here = [row for row in rows if row["round"] == r and math.isfinite(row["metrics"][metric])]
        if len(here) < 3:
            continue
        x += ranks([row["metrics"][metric] for row in here])
        y += ranks([row["gains"][after] for row in here])
    xx, yy = sum(a * a for a in x), sum(b * b for b in y)
    return sum(a * b for a, b in zip(x, y)) / math.sqrt(xx * yy) if xx > 0 and yy > 0 else math.nan


def interval(rows, metric, after):
    stream = random.Random(1)
    seeds = sorted({row["seed"] for row in rows})
    by_seed = {s: [row for row in rows if row["seed"] == s] for s in seeds}
    values = []
    for _ in range(2000):
        sample = [row for s in stream.choices(seeds, k=len(seeds)) for row in by_seed[s]]
        value = correlation(sample, metric, after)
        if math.isfinite(value):
            values.append(value)
    values.sort()
    return (values[int(len(values) * 0.025)], values[int(len(values) * 0.975)]) if values else (math.nan, math.nan)


rows = []
for line in open(sys.argv[1], encoding="utf-8"):
    n = [float(x) for x in line.split(",")]
    rows.append({"seed": int(n[0]), "round": int(n[1]), "metrics": n[2:6], "gains": [n[8 + 2 * i] - n[7 + 2 * i] for i in range(3)]})

print(f"{len(rows)} pairs of twins, {len({r['seed'] for r in rows})} seeds, rounds "
      f"{', '.join(str(r) for r in sorted({r['round'] for r in rows}))}.\n")
print("| gain of the boosted twin after | mean | share above 0 |\n|---|---|---|")
for i, after in enumerate(AFTER):
    gains = [r["gains"][i] for r in rows]
    print(f"| {after} rounds | {sum(gains) / len(gains):+.2f} | {sum(g > 0 for g in gains) / len(gains):.0%} |")
print("\n| metric | finite | " + " | ".join(f"after {a}" for a in AFTER) + " |\n|---|---|" + "---|" * len(AFTER))
for m, name in enumerate(METRICS):
    finite = sum(math.isfinite(r["metrics"][m]) for r in rows)
    cells = []
    for i in range(len(AFTER)):
        low, high = interval(rows, m, i)
        cells.append(f"{correlation(rows, m, i):+.2f} ({low:+.2f} to {high:+.2f})")
    print(f"| {name} | {finite} | " + " | ".join(cells) + " |")
