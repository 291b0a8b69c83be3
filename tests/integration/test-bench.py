#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""make bench keeps its figures, shows them beside limits and peers, and compares them with the last run's."""
import json, os, subprocess
from story import *

RUN = os.path.join(ROOT, "tests", "bench", "run.py")
SCRIPTS, KEPT = os.path.join(STATE, "scripts"), os.path.join(STATE, "bench.json")


def script(name, *figures, status=0):
    os.makedirs(SCRIPTS, exist_ok=True)
    path = os.path.join(SCRIPTS, name + ".sh")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + "".join(f"echo '{json.dumps(figure)}' >>\"$BENCH_FIGURES\"\n" for figure in figures) + f"exit {status}\n")
    os.chmod(path, 0o755)


def bench(*names):
    return subprocess.run([RUN, f"--scripts={SCRIPTS}", f"--json={KEPT}", *names], capture_output=True, text=True)


def row(r, name):
    lines = [line for line in r.stdout.splitlines() if line.startswith(name)]
    assert len(lines) == 1, r.stdout
    return lines[0]


def kept():
    with open(KEPT) as f:
        return {figure["name"]: figure["value"] for figure in json.load(f)["figures"]}


@story("a figure stands beside its limit, its peer and the last run's")
def beside():
    script("fast", {"name": "products", "unit": "GFLOP/s", "value": 50, "limit": 100, "peer": "sgemm", "peer_value": 25},
           {"name": "update", "unit": "ms", "value": 4})
    script("loop", {"name": "Hopper-v4, bare loop", "unit": "steps/s", "value": 20000})
    script("whole", {"name": "Hopper-v4, invocations of 1 x 2048", "unit": "steps/s", "value": 18000})
    r = bench()
    equal(r.returncode, 0, r.stderr)
    assert "50% of 100" in row(r, "products") and "2.00 x sgemm" in row(r, "products"), r.stdout
    assert "90% of 20,000" in row(r, "Hopper-v4, invocations"), r.stdout

    script("fast", {"name": "products", "unit": "GFLOP/s", "value": 60}, {"name": "update", "unit": "ms", "value": 5})
    r = bench("fast")
    assert "+20% better" in row(r, "products") and "+25% WORSE" in row(r, "update"), r.stdout
    assert "bare loop" not in r.stdout, "what was not run is not shown"
    equal(kept(), {"products": 60, "update": 5, "Hopper-v4, bare loop": 20000, "Hopper-v4, invocations of 1 x 2048": 18000}, "kept figures")
    assert "as before" in row(bench("fast"), "products")


@story("what fails keeps nothing, and says what failed")
def failing():
    before = kept()
    script("fast", {"name": "products", "unit": "GFLOP/s", "value": 1}, status=3)
    r = bench("fast")
    assert r.returncode != 0 and "fast.sh ended with 3" in r.stderr, r.stderr
    equal(kept(), before, "figures after a failure")
    r = bench("none")
    assert r.returncode != 0 and "none.sh" in r.stderr and "loop" in r.stderr, r.stderr
    with open(KEPT, "w") as f:
        f.write("{}")
    r = bench("loop")
    assert r.returncode != 0 and "remove it" in r.stderr, r.stderr


tell()
