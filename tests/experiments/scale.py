#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a job on nodes scales: rounds of 1 to 64 actors whose steps wait, on 1 to 4 nodes of a Slurm cluster on this host: docs/experiments/scale.md.

tests/slurm/cluster.sh tests/experiments/scale.py run [--seeds N]   the cells that are missing (as root)
scale.py table                                                      writes the tables into the page
scale.py check                                                      fails if the page's tables are not those of the cells

A cell is a line of docs/experiments/scale.csv as soon as it is done; an existing line is not computed again."""
import argparse, configparser, glob, json, os, shutil, sqlite3, subprocess, tempfile
from statistics import median
from published import BUILD, ROOT
from trainings import enter, is_there, publish, read

CELLS, PAGE = "scale.csv", "scale.md"
WAIT_USEC, STEPS, ROUNDS, SEEDS = 100000, 32, 8, 3
WARM = 2  # rounds at the beginning that do not count, since their actors start
NARROW, WIDE = 8, 1024
SIZES = [*((n, actors, NARROW) for n in (4, 2, 1) for actors in (64, 16, 1)), *((n, actors, WIDE) for n in (4, 1) for actors in (64, 16))]
PARTS = ("intake", "advantage", "gradient", "apply", "publish", "metering")
CALM = "1"  # the seed while whose cells were measured least else ran on the host
WORD_OF = {"intake": "validation"}  # in the profile, where it differs from the column's
COLUMNS = ["nodes", "actors", "numbers", "seed", "round_ms", "sent_kb", "received_kb", "control_cpu_ms", *(part + "_ms" for part in PARTS)]
IDEAL_MS = WAIT_USEC * STEPS / 1000
USER = 60100


def install(numbers):
    """Copies the programs to where an ordinary user sees them on the head and on the nodes, with an environment that waits in place of Box2D's."""
    to = os.path.join(os.environ["CLUSTER_DIR"], f"actord-{numbers}")
    if os.path.exists(to):
        return to
    os.mkdir(to)
    for name in os.listdir(BUILD):
        path = os.path.join(BUILD, name)
        if os.path.isfile(path) and (name.startswith("actor") or name.endswith(".so")):
            shutil.copy(path, to)
    shutil.copytree(os.path.join(BUILD, "share"), os.path.join(to, "share"))
    shutil.copy(os.path.join(ROOT, "examples", "cartpole.conf"), to)
    subprocess.run(["cc", "-std=gnu17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-DWAIT_USEC={WAIT_USEC}", f"-DNUMBERS={numbers}", "-I",
                    os.path.join(ROOT, "include"), "-o", os.path.join(to, "env-box2d.so"), os.path.join(ROOT, "tests", "experiments", "waiting.c"), "-lm"],
                   check=True)
    return to


def settings(nodes, actors, seed):
    """The learner's work is small (two epochs), as is usual with slow simulators."""
    return ("Job.Environment=LunarLander-v3", f"Job.Seed={seed}", f"Job.StopSteps={actors * STEPS * ROUNDS}", "Job.StopReturn=", f"Scaling.Actors={actors}",
            "Actor.EnvsPerActor=1", f"Actor.RolloutSteps={STEPS}", "Learner.Epochs=2", f"Learner.MinibatchSize={min(actors * STEPS, 512)}",
            "Distribution.Cluster=slurm", f"Distribution.Nodes={nodes}", "Billing.Clock=model", "Job.Profile=yes")


def measure(nodes, actors, numbers, seed):
    programs = install(numbers)
    state = tempfile.mkdtemp(prefix="scale-", dir=os.environ["CLUSTER_DIR"])
    os.chown(state, USER, USER)
    words = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "env", "HOME=/tmp", f"XDG_STATE_HOME={state}", f"XDG_DATA_HOME={state}",
             os.path.join(programs, "actorctl"), "run", os.path.join(programs, "cartpole.conf"), "--json"]
    for word in settings(nodes, actors, seed):
        words += ["--set", word]
    r = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if r.returncode != 0:
        raise RuntimeError(f"{nodes} nodes, {actors} actors: {r.returncode} {r.stderr[-2000:]}")
    result = json.loads(r.stdout)
    return result, rounds_of(result["state_directory"]), profile_of(result["state_directory"])


def rounds_of(directory):
    """ms of each round that counts: from the end of the round before it."""
    path = glob.glob(os.path.join(directory, "**", "ledger*"), recursive=True)
    db = sqlite3.connect(f"file:{[p for p in path if not p.endswith(('-wal', '-shm'))][0]}?mode=ro", uri=True)
    ends = [row[0] for row in db.execute("SELECT end_nsec FROM records JOIN kinds ON kinds.kind = records.kind WHERE word = 'round' ORDER BY seq")]
    return [(b - a) / 1e6 for a, b in zip(ends, ends[1:])][WARM - 1:]


def profile_of(directory):
    file = configparser.ConfigParser()
    paths = glob.glob(os.path.join(directory, "**", "profile"), recursive=True)
    if not paths or not file.read(paths[0]):
        return {}
    section = file["Profile"]
    n = max(int(section["rounds"]), 1)
    return {part: int(section.get(WORD_OF.get(part, part) + "_nsec", "0")) / 1e6 / n for part in PARTS}


def run(seeds):
    for seed in range(1, seeds + 1):
        for nodes, actors, numbers in SIZES:
            key = {"nodes": str(nodes), "actors": str(actors), "numbers": str(numbers), "seed": str(seed)}
            if is_there(CELLS, key):
                continue
            result, rounds, profile = measure(nodes, actors, numbers, seed)
            row = {**key, "round_ms": f"{median(rounds):.1f}", "sent_kb": f"{result['nodes']['sent_bytes'] / 1024 / ROUNDS:.2f}",
                   "received_kb": f"{result['nodes']['received_bytes'] / 1024 / ROUNDS:.2f}",
                   "control_cpu_ms": f"{1000 * result['cpu_s']['control'] / ROUNDS:.3f}", **{part + "_ms": f"{profile.get(part, 0):.3f}" for part in PARTS}}
            enter(CELLS, COLUMNS, row, lambda r: tuple(int(r[k]) for k in ("numbers", "nodes", "actors", "seed")))
            print(row, flush=True)


def cells(**key):
    return [r for r in read(CELLS) if all(r[k] == str(v) for k, v in key.items())]


def efficiency(row):
    return IDEAL_MS / float(row["round_ms"])


def efficiencies():
    lines = ["| numbers | nodes | 1 actor | 16 actors | 64 actors |", "|--:|--:|---|---|---|"]
    for numbers in (NARROW, WIDE):
        for nodes in sorted({n for n, _, k in SIZES if k == numbers}):
            texts = []
            for actors in (1, 16, 64):
                e = sorted(efficiency(r) for r in cells(nodes=nodes, actors=actors, numbers=numbers))
                texts.append(f"{median(e):.3f} ({e[0]:.3f} to {e[-1]:.3f})" if e else "")
            lines.append(f"| {numbers} | {nodes} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def terms():
    """How much 64 actors on 4 nodes send in a round, and where the learner's process spends its time: medians."""
    lines = ["| numbers | sent KB | received KB | intake ms | advantage ms | gradient ms | apply ms | publish ms | metering ms |", "|--:" * 9 + "|"]
    for numbers in (NARROW, WIDE):
        rows = cells(nodes=4, actors=64, numbers=numbers)
        middle = [median(float(r[k]) for r in rows) for k in ("sent_kb", "received_kb", *(part + "_ms" for part in PARTS))]
        lines.append(f"| {numbers} | " + " | ".join(f"{m:.0f}" if m >= 100 else f"{m:.2f}" for m in middle) + " |")
    return "\n".join(lines)


def head():
    """CPU time of the head's processes beside actors and learner, in a round."""
    lines = ["| numbers | nodes | 1 actor, ms | 16 actors, ms | 64 actors, ms |", "|--:|--:|---|---|---|"]
    for numbers in (NARROW, WIDE):
        for nodes in sorted({n for n, _, k in SIZES if k == numbers}):
            texts = []
            for actors in (1, 16, 64):
                seen = sorted(float(r["control_cpu_ms"]) for r in cells(nodes=nodes, actors=actors, numbers=numbers))
                texts.append(f"{median(seen):.1f} ({seen[0]:.1f} to {seen[-1]:.1f})" if seen else "")
            lines.append(f"| {numbers} | {nodes} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def solve(matrix):
    n = len(matrix)
    for i in range(n):
        matrix[i] = [v / matrix[i][i] for v in matrix[i]]
        for k in range(n):
            if k != i:
                matrix[k] = [v - matrix[k][i] * w for v, w in zip(matrix[k], matrix[i])]
    return [row[n] for row in matrix]


def inputs(row):
    """The terms of the model: a round, its actors, and the MB that come back to the head."""
    return 1.0, float(row["actors"]), float(row["received_kb"]) / 1024


def fit(rows):
    """Least squares of the time that a round takes beyond its steps: ms for each round, actor and MB."""
    xs, ys = [inputs(r) for r in rows], [float(r["round_ms"]) - IDEAL_MS for r in rows]
    return solve([[sum(x[i] * x[j] for x in xs) for j in range(3)] + [sum(x[i] * y for x, y in zip(xs, ys))] for i in range(3)])


def overhead(model, x):
    return sum(c * v for c, v in zip(model, x))


def model_check():
    """The terms of cells with at most 16 actors, and what they predict for 64."""
    model = fit([r for r in read(CELLS) if int(r["actors"]) <= 16])
    lines = [f"Of the cells with 1 and 16 actors: {model[0]:.0f} ms a round, {model[1]:.1f} ms an actor, {model[2]:.0f} ms a MB.", "",
             "| numbers | nodes | 64 actors, predicted ms | measured ms |", "|--:|--:|--:|---|"]
    for numbers in (NARROW, WIDE):
        for nodes in (1, 2, 4):
            rows = cells(nodes=nodes, actors=64, numbers=numbers)
            if rows:
                seen = sorted(float(r["round_ms"]) for r in rows)
                said = IDEAL_MS + median(overhead(model, inputs(r)) for r in rows)
                lines.append(f"| {numbers} | {nodes} | {said:.0f} | {median(seen):.0f} ({seen[0]:.0f} to {seen[-1]:.0f}) |")
    return "\n".join(lines)


def kb_an_actor(numbers):
    """The MB that come from an actor on a node: from the difference of 16 and 64 actors, which the head and four nodes share evenly."""
    many, few = (median(float(r["received_kb"]) for r in cells(nodes=4, actors=n, numbers=numbers)) for n in (64, 16))
    return (many - few) / (0.8 * 48)


def prediction():
    model, calm = fit(read(CELLS)), fit([r for r in read(CELLS) if r["seed"] == CALM])
    lines = [f"All cells: {model[0]:.0f} ms a round, {model[1]:.2f} ms an actor, {model[2]:.0f} ms a MB; seed {CALM}, when the host was calmest: "
             f"{calm[0]:.0f}, {calm[1]:.2f}, {calm[2]:.0f}.", "", "| numbers | a round's steps take | MB home | overhead s | efficiency | 0.9 up to | 0.5 up to |",
             "|--:|--:|--:|---|---|---|---|"]
    for numbers in (NARROW, WIDE):
        mb = kb_an_actor(numbers) / 1024
        for ideal in (IDEAL_MS, 10 * IDEAL_MS, 100 * IDEAL_MS):
            over = [overhead(m, (1, 10000, 10000 * mb)) for m in (calm, model)]
            knees = [[(ideal * (1 / e - 1) - m[0]) / (m[1] + m[2] * mb) for m in (model, calm)] for e in (0.9, 0.5)]
            texts = [f"{low:.0f} to {high:.0f}" for low, high in knees]
            lines.append(f"| {numbers} | {ideal / 1000:.1f} s | {10000 * mb:.0f} | {over[0] / 1000:.1f} to {over[1] / 1000:.1f} | "
                         f"{ideal / (ideal + over[1]):.2f} to {ideal / (ideal + over[0]):.2f} | {texts[0]} | {texts[1]} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
    else:
        tables = {"efficiency": efficiencies(), "terms": terms(), "head": head(), "model": model_check(), "prediction": prediction()}
        publish(PAGE, tables, args.verb == "check")


if __name__ == "__main__":
    main()
