# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by iot5g.py and off_policy.py: a training in one process, cells that are lines of a file, tables in a page.

A training is a whole job in one process (build/bench/train-inprocess), which gives the policy of `actorctl run`."""
import os, re, subprocess
import published
from published import BUILD, ROOT, read

RESULT = re.compile(r"act (?P<act>\S+), learn (?P<learn>\S+) .*policy (?P<policy>\w+)")


def train(job, words, options=()):
    """{curve: {steps: mean return}, policy, cpu_s: of acting and learning}"""
    command = [os.path.join(BUILD, "bench", "train-inprocess"), *options, os.path.join(ROOT, "examples", job + ".conf"), *words]
    r = subprocess.run(command, capture_output=True, text=True)
    found = RESULT.search(r.stdout)
    if r.returncode != 0 or not found:
        raise RuntimeError(f"{job}: {r.stderr.strip() or r.stdout.strip()}")
    curve = {int(steps): float(value) for steps, value in re.findall(r"steps (\d+): evaluation (\S+)", r.stdout)}
    return {"curve": curve, "policy": found["policy"], "cpu_s": float(found["act"]) + float(found["learn"])}


def is_there(name, key):
    return any(all(row[column] == value for column, value in key.items()) for row in read(name))


def enter(name, columns, row, order):
    """Adds a line. Several programs may do so at once."""
    published.change(name, columns, lambda: sorted([*read(name), row], key=order))


def curve_text(curve):
    """Only the values are stored; the script knows the steps between them."""
    return " ".join(f"{value:.5g}" for _, value in sorted(curve.items()))


def curve_of(row):
    return [float(value) for value in row["curve"].split()]


def publish(page, tables, check):
    published.publish(page, {f"table {name}": text for name, text in tables.items()}, check, "table")
