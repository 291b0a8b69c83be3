# SPDX-License-Identifier: LGPL-2.1-or-later
"""Means of few values, and their intervals, for the seeds and storms in the tables of docs/experiments."""
import random
from statistics import fmean as mean

RESAMPLES = 10000


def interquartile_mean(values):
    cut = len(values) // 4
    return mean(sorted(values)[cut:len(values) - cut])


def interval(values, statistic=mean, stream="actord"):
    """95 %, percentile bootstrap. The stream is fixed: equal values have equal intervals."""
    draw = random.Random(stream)
    seen = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return seen[int(0.025 * RESAMPLES)], seen[int(0.975 * RESAMPLES) - 1]


def over_both(rows, resamples=RESAMPLES):
    """The mean of a matrix, a row for each seed, with an interval over seeds and what the columns are, such as storms: both are drawn anew."""
    draw = random.Random("actord")

    def once():
        columns = draw.choices(range(len(rows[0])), k=len(rows[0]))
        return mean([mean([row[column] for column in columns]) for row in draw.choices(rows, k=len(rows))])

    seen = sorted(once() for _ in range(resamples))
    return mean([mean(row) for row in rows]), seen[int(0.025 * resamples)], seen[int(0.975 * resamples) - 1]
