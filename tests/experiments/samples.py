#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Nitro's measurements are by a sample of a round's data, beside all of it: part N3 of docs/experiments/nitro.md.

samples.py run [--seeds N]   the cells that are missing, a line of n3-samples.csv each (about six minutes of a core)
samples.py table             writes the table into the page
samples.py check             fails if the page's table is not that of the cells

R, the ratio of the extreme eigenvalues of the Hessian, is measured on CurvatureRows= rows of a round, and the noise scale on the shares of
NoiseActors= actors. The settings do not change a policy, so the measurements of a seed's runs are of the same policies."""
import argparse, json, os, statistics, subprocess
from published import BUILD, ROOT, table
from trainings import enter, is_there, publish, read

CELLS, PAGE = "n3-samples.csv", "nitro.md"
COLUMNS = ["measured", "limit", "seed", "policy", "values"]
JOB = os.path.join(ROOT, "examples", "experiments", "m2-hopper.conf")
ROWS = 4096  # of a round
OBJECTIVE, LOSS, NOISE = "R of the objective", "R of the whole loss", "noise scale"
ACTORS = 64
LIMITS = {OBJECTIVE: (128, 256, 512, ROWS), LOSS: (128, 256, 512, ROWS), NOISE: (16, 32, ACTORS)}
COLUMN_OF = {OBJECTIVE: "curvature_ratio", LOSS: "curvature_loss", NOISE: "noise_scale"}


def measure(seed, *sets):
    """The rounds of a run, and its policy's hash."""
    words = [word for s in ("Job.StopReturn=", "Evaluation.Episodes=0", "Evaluation.StopReturn=", *sets) for word in ("--set", s)]
    r = subprocess.run([os.path.join(BUILD, "actorctl"), "run", "--json=short", f"--seed={seed}", *words, JOB], stdout=subprocess.PIPE, text=True, check=True)
    job = json.loads(r.stdout)
    r = subprocess.run([os.path.join(BUILD, "actorctl"), "rounds", "--json=short", job["state_directory"]], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(r.stdout), job["policy_sha256"][:12]


def run(seeds):
    jobs = {rows: ((OBJECTIVE, LOSS), ("Scaling.Actors=8", "Actor.RolloutSteps=512", f"Job.StopSteps={21 * ROWS}", "Learner.Curvature=both",
                                       f"Learner.CurvatureRows={rows}")) for rows in LIMITS[LOSS]}
    jobs |= {actors: ((NOISE,), (f"Scaling.Actors={ACTORS}", f"Scaling.MaxActors={ACTORS}", "Actor.RolloutSteps=64", f"Job.StopSteps={40 * ROWS}",
                                 "Learner.NoiseScale=yes", f"Learner.NoiseActors={actors}")) for actors in LIMITS[NOISE]}
    for seed in range(1, seeds + 1):
        for limit, (measured, sets) in jobs.items():
            missing = [m for m in measured if not is_there(CELLS, {"measured": m, "limit": str(limit), "seed": str(seed)})]
            rounds, policy = measure(seed, *sets) if missing else ([], "")
            for m in missing:
                values = " ".join("-" if r[COLUMN_OF[m]] is None else f"{r[COLUMN_OF[m]]:.6g}" for r in rounds)
                enter(CELLS, COLUMNS, {"measured": m, "limit": limit, "seed": seed, "policy": policy, "values": values},
                      lambda r: ([OBJECTIVE, LOSS, NOISE].index(r["measured"]), int(r["limit"]), int(r["seed"])))


def values_of(measured, limit):
    """{seed: a value for each round; None where there is none}"""
    cells = [r for r in read(CELLS) if r["measured"] == measured and int(r["limit"]) == limit]
    return {r["seed"]: [None if v == "-" else float(v) for v in r["values"].split()] for r in cells}


def ranks(values):
    """Measurements are never equal."""
    order = sorted(values)
    return [order.index(v) for v in values]


def line(measured, limit):
    sample, whole = values_of(measured, limit), values_of(measured, max(LIMITS[measured]))
    ratios, correlations, missing = [], [], 0
    for seed, values in sample.items():
        pairs = [(a, b) for a, b in zip(values, whole[seed]) if a is not None and b is not None]
        ratios += [a / b for a, b in pairs]
        correlations.append(statistics.correlation(*map(ranks, zip(*pairs))))
        missing += values.count(None)
    first, middle, last = statistics.quantiles(ratios, n=4)
    return [measured, f"{limit:,}", f"{middle:.2f} ({first:.2f} to {last:.2f})", f"{statistics.median(correlations):.2f}", missing]


def tables():
    cells = read(CELLS)
    kinds = ({OBJECTIVE, LOSS}, {NOISE})
    for kind in kinds:
        for seed in {r["seed"] for r in cells}:
            assert len({r["policy"] for r in cells if r["seed"] == seed and r["measured"] in kind}) == 1, seed
    lines = [line(measured, limit) for measured, limits in LIMITS.items() for limit in limits[:-1]]
    return {"n3-samples": table(["measured", "of", "of that by all, median (quartiles)", "rank correlation", "rounds without a number"], lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    if args.action == "run":
        run(args.seeds)
    else:
        publish(PAGE, tables(), check=args.action == "check")


if __name__ == "__main__":
    main()
