# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by iot5g.py and off_policy.py: a training in one process, cells that are lines of a file, tables in a page.

A training is a whole job in one process (build/bench/train-inprocess), which gives the policy of `actorctl run`."""
import csv, fcntl, os, re, subprocess, sys
from learning import BUILD, ROOT
from tables import with_table

DOCS = os.path.join(ROOT, "docs", "experiments")
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


def read(name):
    path = os.path.join(DOCS, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def is_there(name, key):
    return any(all(row[column] == value for column, value in key.items()) for row in read(name))


def enter(name, columns, row, order):
    """Adds a line, whole or not at all. Several programs may do so at once."""
    path = os.path.join(DOCS, name)
    with open(os.path.join(BUILD, name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = sorted([*read(name), row], key=order)
        with open(path + ".new", "w", encoding="utf-8", newline="") as f:
            out = csv.DictWriter(f, columns, lineterminator="\n")
            out.writeheader()
            out.writerows(rows)
        os.rename(path + ".new", path)


def curve_text(curve):
    """Only the values are stored; the script knows the steps between them."""
    return " ".join(f"{value:.5g}" for _, value in sorted(curve.items()))


def curve_of(row):
    return [float(value) for value in row["curve"].split()]


def publish(page, tables, check):
    """Puts {name: text} between the marks of a page; with `check`, ends with a reason if they are not there already."""
    path = os.path.join(DOCS, page)
    with open(path, encoding="utf-8") as f:
        old = f.read()
    new = old
    for name, text in tables.items():
        new = with_table(new, name, text)
    if check:
        sys.exit(f"{page}: run {sys.argv[0]} table" if new != old else 0)
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)
