#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does a metric predict the gain from boosting a round? Makes the tables of N1 in docs/experiments/nitro.md from the lines of `twins`.

twins.py NAME FOLDER            print the tables; FOLDER has a file of such lines for each circumstance, named CIRCUMSTANCE.csv
twins.py NAME FOLDER --publish  the pairs become docs/experiments/NAME.csv, and the tables go into the page, between their two marks
twins.py --check                write nothing, but fail if a published table is not that of its pairs

Metric and gain both change over training, so they are compared within a round, across seeds: both are ranked within their round, and the correlation
of all these ranks is taken (a partial Spearman correlation, with the round held constant). Intervals: 95 %, bootstrap over seeds, 2,000 resamples of
a fixed stream; one that excludes zero is bold. Nitro boosts when R is low, so its claim is a negative number."""
import argparse, csv, glob, math, os, random, sys
from collections import Counter
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "experiments"))
from published import put, read, write
from tables import line

PAGE = "nitro.md"
PUBLISHED = ("n1-cartpole", "n1-hopper")
METRICS = {"objective": "R of the objective (Nitro's paper)", "loss": "R of the loss (Nitro's code)", "noise_scale": "gradient noise scale",
           "slope": "slope of the return"}
AFTER = (1, 5, 10)
GAINS = [f"gain_{after}" for after in AFTER]
RESAMPLES = 2000


def pairs_of_runs(folder):
    """What `twins` printed: seed, round, four metrics, the return of now, and for each of AFTER the return of the usual twin and of the boosted one."""
    pairs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.csv"))):
        with open(path, encoding="utf-8") as f:
            for fields in csv.reader(f):
                x = [float(field) for field in fields]
                numbers = dict(zip([*METRICS, *GAINS], [*x[2:6], *(x[8 + 2 * i] - x[7 + 2 * i] for i in range(len(AFTER)))]))
                pairs.append({"circumstance": os.path.basename(path)[:-4], "seed": fields[0], "round": fields[1],
                              **{name: f"{value:.6g}" if math.isfinite(value) else "" for name, value in numbers.items()}})
    return pairs


def ranks(groups, times):
    """Middle ranks around zero, as shares; groups: seeds with equal values, in the order of these; a seed counts times[seed] times."""
    total = sum(times[s] for group in groups for s in group)
    below, found = -total / 2, []
    for group in groups:
        equal = times[group[0]] if len(group) == 1 else sum(times[s] for s in group)
        found += [(s, (below + equal / 2) / total) for s in group if times[s]]
        below += equal
    return dict(found)


def groups_of_equals(values):
    found = {}
    for seed, value in values.items():
        found.setdefault(value, []).append(seed)
    return [found[value] for value in sorted(found)]


class Correlation:
    """The correlation of one metric with the gains, over the rounds in which at least three seeds have a number for the metric."""

    def __init__(self, pairs, metric):
        self.rounds = []
        for r in sorted({pair["round"] for pair in pairs}, key=int):
            here = [pair for pair in pairs if pair["round"] == r and pair[metric]]
            self.rounds.append([groups_of_equals({pair["seed"]: float(pair[name]) for pair in here}) for name in (metric, *GAINS)])

    def of(self, seeds):
        """One for each gain, of these seeds, each as often as it is there. NaN: there is none."""
        times = dict.fromkeys({s for columns in self.rounds for group in columns[0] for s in group}, 0) | Counter(seeds)
        xx, yy, xy = 0, [0] * len(GAINS), [0] * len(GAINS)
        for columns in self.rounds:
            if sum(times[s] for group in columns[0] for s in group) < 3:
                continue
            x, *ys = [ranks(groups, times) for groups in columns]
            weighted = [(s, times[s] * rank) for s, rank in x.items()]
            xx += sum(x[s] * rank for s, rank in weighted)
            for i, y in enumerate(ys):
                yy[i] += sum(times[s] * rank * rank for s, rank in y.items())
                xy[i] += sum(rank * y[s] for s, rank in weighted)
        return [xy[i] / math.sqrt(xx * yy[i]) if xx > 0 and yy[i] > 0 else math.nan for i in range(len(GAINS))]


def middle_and_interval(pairs, metric):
    """One (correlation, low, high) for each gain."""
    seeds = sorted({pair["seed"] for pair in pairs}, key=int)
    correlation, stream = Correlation(pairs, metric), random.Random(1)
    drawn = [correlation.of(stream.choices(seeds, k=len(seeds))) for _ in range(RESAMPLES)]
    found = []
    for middle, values in zip(correlation.of(seeds), zip(*drawn)):
        finite = sorted(filter(math.isfinite, values))
        found.append((middle, *(finite[int(len(finite) * share)] if finite else math.nan for share in (0.025, 0.975))))
    return found


def shown(middle, low, high):
    text = f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"
    return f"**{text}**" if low > 0 or high < 0 else text


def tables(pairs):
    """Returns the tables of the gains, and of the correlations with them."""
    circumstances = {}
    for pair in pairs:
        circumstances.setdefault(pair["circumstance"], []).append(pair)
    gains = [line(["circumstance", "pairs", "seeds", *(f"mean gain after {a}, share above 0" for a in AFTER)]), "|---|" + "--:|" * (2 + len(AFTER))]
    found = [line(["circumstance", "metric", "finite", *(f"after {a}" for a in AFTER)]), "|---|---|" + "--:|" * (1 + len(AFTER))]
    for name, own in circumstances.items():
        columns = [[float(pair[gain]) for pair in own] for gain in GAINS]
        gains.append(line([name, str(len(own)), str(len({pair["seed"] for pair in own})),
                           *(f"{sum(c) / len(c):+.2f}, {sum(g > 0 for g in c) / len(c):.0%}" for c in columns)]))
        for metric, words in METRICS.items():
            finite = sum(bool(pair[metric]) for pair in own)
            found.append(line([name, words, str(finite), *(shown(*three) for three in middle_and_interval(own, metric))]))
    return "\n".join(gains) + "\n\n" + "\n".join(found)


def publish(name, write_it):
    """False: the page has other tables."""
    return put(PAGE, {f"table {name}": tables(read(name + ".csv"))}, write_it)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=PUBLISHED)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    if args.check:
        wrong = [name for name in PUBLISHED if not publish(name, False)]
        sys.exit(f"docs/experiments/{PAGE}: tables that are not those of their pairs: {', '.join(wrong)}" if wrong else 0)
    if not args.name or not args.folder:
        parser.error("name an experiment and the folder of its runs")
    pairs = pairs_of_runs(args.folder)
    if not pairs:
        parser.error(f"{args.folder} has no CSV: run build/bench/twins first, as docs/experiments/{PAGE} says")
    if args.publish:
        write(args.name + ".csv", list(pairs[0]), pairs)
        publish(args.name, True)
    else:
        print(tables(pairs))


if __name__ == "__main__":
    main()
