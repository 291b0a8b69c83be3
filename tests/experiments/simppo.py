#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""S-RL, MA-PPO and SIMPPO on a node that eight functions share: docs/experiments/simppo.md.

simppo.py run [--seeds N]   the trainings that are missing, each with its plays
simppo.py decide            instructions of a decision, by the number of agents, if simppo-decisions.csv lacks them (valgrind)
simppo.py table             writes the tables into the page
simppo.py check             fails if a table is not that of the cells

A play is a line of docs/experiments/simppo.csv; a training that has its plays is not repeated."""
import argparse, os, random, re, subprocess, tempfile
from intervals import RESAMPLES, interval, mean
from published import BUILD, ROOT
from trainings import enter, is_there, publish, read

CELLS, DECISIONS, PAGE = "simppo.csv", "simppo-decisions.csv", "simppo.md"
COLUMNS = ["arm", "cores", "play", "seed", "steps", "policy", "agents", "episodes", "return", "p50", "p95", "p99", "first", "violations", "dropped"]
DECISION_COLUMNS = ["algorithm", "agents", "instructions"]
PLAY = re.compile(r"play (?P<play>\S+) agents (?P<agents>\d+) episodes (?P<episodes>\d+) return (?P<return>\S+) p50 (?P<p50>\S+) p95 (?P<p95>\S+) "
                  r"p99 (?P<p99>\S+) first (?P<first>\S+) violations (?P<violations>\S+) dropped (?P<dropped>\S+)")
STEPS, SEEDS = 200000, 10
NODES = 48, 32  # cores
TENANTS = 8
EPISODES = {"alone": 500, "company": 200, "ninth": 200}
EPISODE_SEED = 1000  # the same seed in all plays, so that they have the same requests
ALONE, BLIND, CENTRAL, MEAN = "S-RL", "PPO in company", "MA-PPO", "SIMPPO"
JOBS = {ALONE: "faas", BLIND: "faas", CENTRAL: "faas-mappo", MEAN: "faas-simppo"}
AGENTS_DECIDING = 2, 32
DECISIONS_COUNTED = 6400


def node(tenants, cores):
    return [f"Job.Environment=faas:{tenants - 1}", f"Environment.Agents={tenants}", f"Environment.Cores={cores}",
            f"Actor.EnvsPerActor={tenants if tenants > TENANTS else TENANTS}"]


def plays(arm, cores):
    """(cores, play) of a policy, which was trained on a node of `cores`."""
    if arm == ALONE:
        return [(cores, "alone"), *((other, "company") for other in NODES)]
    return [(cores, "company"), *([(cores, "ninth")] if arm != CENTRAL else [])]


def play_words(play, cores):
    tenants = {"alone": 1, "company": TENANTS, "ninth": TENANTS + 1}[play]
    return [*node(tenants, cores), f"Job.Seed={EPISODE_SEED}"]


def call(job, words, played):
    command = [os.path.join(BUILD, "bench", "tenants"), os.path.join(ROOT, "examples", job + ".conf"), *words]
    for name, play, cores in played:
        command += ["--play", name, str(EPISODES[play]), *play_words(play, cores)]
    r = subprocess.run(command, capture_output=True, text=True)
    trained = re.search(r"trained (\d+) steps return \S+ policy (\w+)", r.stdout)
    found = [match.groupdict() for match in PLAY.finditer(r.stdout)]
    if r.returncode != 0 or not trained or len(found) != len(played):
        raise RuntimeError(f"{command}: {r.stderr.strip() or r.stdout.strip()}")
    return trained, found


def trainings():
    return [(ALONE, NODES[0]), *((arm, cores) for cores in NODES for arm in (BLIND, CENTRAL, MEAN))]


def order(row):
    return ["rule", *JOBS].index(row["arm"]), -int(row["cores"]), list(EPISODES).index(row["play"]), int(row["seed"])


def run(n_seeds):
    for seed in range(1, n_seeds + 1):
        for arm, cores in trainings():
            wanted = plays(arm, cores)
            if all(is_there(CELLS, {"arm": arm, "cores": str(c), "play": play, "seed": str(seed)}) for c, play in wanted):
                continue
            words = [*node(1 if arm == ALONE else TENANTS, cores), f"Job.StopSteps={STEPS}", "Learner.Threads=1", f"Job.Seed={seed}"]
            trained, found = call(JOBS[arm], words, [(play, play, c) for c, play in wanted])
            for (c, _), row in zip(wanted, found):
                enter(CELLS, COLUMNS, {**row, "arm": arm, "cores": c, "seed": seed, "steps": trained[1], "policy": trained[2]}, order)
            print(arm, cores, seed, [row["p99"] for row in found], flush=True)
    run_rule()


def run_rule():
    wanted = [(NODES[0], "alone"), *((cores, "company") for cores in NODES)]
    if all(is_there(CELLS, {"arm": "rule", "cores": str(c), "play": play}) for c, play in wanted):
        return
    words = [*node(1, NODES[0]), "Job.StopSteps=1", "Learner.Threads=1"]
    for (c, play), row in zip(wanted, call("faas", words, [("rule-" + play, play, c) for c, play in wanted])[1]):
        enter(CELLS, COLUMNS, {**row, "play": play, "arm": "rule", "cores": c, "seed": 1, "steps": 0, "policy": ""}, order)


def instructions(job, agents, decisions):
    with tempfile.NamedTemporaryFile() as file:
        r = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={file.name}", os.path.join(BUILD, "bench", "tenants"), "--decide",
                            str(agents), str(decisions), os.path.join(ROOT, "examples", job + ".conf")], capture_output=True, text=True)
        found = re.search(rb"(?m)^(?:summary|totals): (\d+)", file.read())
    if r.returncode != 0 or not found:
        raise RuntimeError(f"{job}: {r.stderr.strip()}")
    return int(found[1])


def decide():
    def ordered(row):
        return list(JOBS).index(row["algorithm"]), int(row["agents"])

    for arm in (BLIND, CENTRAL, MEAN):
        for agents in AGENTS_DECIDING:
            if is_there(DECISIONS, {"algorithm": arm, "agents": str(agents)}):
                continue
            more = instructions(JOBS[arm], agents, 2 * DECISIONS_COUNTED) - instructions(JOBS[arm], agents, DECISIONS_COUNTED)
            enter(DECISIONS, DECISION_COLUMNS, {"algorithm": arm, "agents": agents, "instructions": f"{more / DECISIONS_COUNTED:.1f}"}, ordered)


def values(arm, cores, play, column="p99"):
    return [float(row[column]) for row in read(CELLS) if (row["arm"], row["cores"], row["play"]) == (arm, str(cores), play)]


def number(x):
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"


def spread(seen):
    if len(seen) < 2:
        return number(seen[0])
    low, high = interval(seen)
    return f"{number(mean(seen))} ({number(low)} to {number(high)})"


def share(seen):
    return f"{100 * mean(seen):.1f} %"


def figures():
    lines = ["| policy | node | tenants | seeds | p50, s | p95, s | p99, s | violations | dropped, a step | return |",
             "|---|--:|--:|--:|---|---|---|--:|--:|---|"]
    seen = {}
    for row in read(CELLS):
        seen.setdefault((row["arm"], row["cores"], row["play"], row["agents"]), None)
    for arm, cores, play, agents in seen:
        column = {name: values(arm, cores, play, name) for name in ("p50", "p95", "p99", "violations", "dropped", "return")}
        lines.append(f"| {arm} | {cores} | {agents} | {len(column['p99'])} | {spread(column['p50'])} | {spread(column['p95'])} | {spread(column['p99'])} | "
                     f"{share(column['violations'])} | {mean(column['dropped']):.3f} | {spread(column['return'])} |")
    return "\n".join(lines)


def ratio(above, below, paired):
    """The ratio of the means over seeds, with a bootstrap over the seeds. paired: both have the same policies, so their seeds are drawn together."""
    draw = random.Random("actord")

    def once():
        if paired:
            drawn = draw.choices(range(len(above)), k=len(above))
            return mean([above[i] for i in drawn]) / mean([below[i] for i in drawn])
        return mean(draw.choices(above, k=len(above))) / mean(draw.choices(below, k=len(below)))

    seen = sorted(once() for _ in range(RESAMPLES))
    return mean(above) / mean(below), seen[int(0.025 * RESAMPLES)], seen[int(0.975 * RESAMPLES) - 1]


def verdict(low, high, bar, at_most):
    within, beyond = (high <= bar, low > bar) if at_most else (low > bar, high <= bar)
    return "met" if within else "missed" if beyond else "uncertain"


def label(arm):
    return arm if arm == BLIND else f"{arm} in company"


def asked():
    """(test, ratio, bar, whether the bar is an upper one), of each node."""
    alone = values(ALONE, NODES[0], "alone")
    for cores in NODES:
        company = {arm: values(arm, cores, "company") for arm in JOBS}
        yield f"1. S-RL in company / alone, {cores} cores", ratio(company[ALONE], alone, True), 1, False
        for arm in (MEAN, CENTRAL, BLIND):
            yield f"2. {label(arm)} / S-RL alone, {cores} cores", ratio(company[arm], alone, False), 1.092, True
        for arm in (MEAN, CENTRAL, BLIND):
            yield f"3. S-RL in company / {label(arm)}, {cores} cores", ratio(company[ALONE], company[arm], False), 1, False
        for arm in (MEAN, BLIND):
            yield f"4. {label(arm)}, the eight with a ninth / without, {cores} cores", ratio(values(arm, cores, "ninth", "first"), company[arm], True), 1.1, True


def tests():
    lines = ["| of p99 | ratio | bar | verdict |", "|---|---|--:|---|"]
    for name, (middle, low, high), bar, at_most in asked():
        lines.append(f"| {name} | {middle:.2f} ({low:.2f} to {high:.2f}) | {'at most' if at_most else 'above'} {bar:g} | "
                     f"{verdict(low, high, bar, at_most)} |")
    return "\n".join(lines)


def decisions():
    few, many = AGENTS_DECIDING
    lines = [f"| algorithm | instructions, {few} agents | {many} agents | ratio |", "|---|--:|--:|--:|"]
    rows = {(row["algorithm"], int(row["agents"])): float(row["instructions"]) for row in read(DECISIONS)}
    for arm in (BLIND, CENTRAL, MEAN):
        lines.append(f"| {arm} | {rows[arm, few]:,.0f} | {rows[arm, many]:,.0f} | {rows[arm, many] / rows[arm, few]:.3f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "decide", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
    elif args.verb == "decide":
        decide()
    else:
        publish(PAGE, {"figures": figures(), "tests": tests(), "decisions": decisions()}, args.verb == "check")


if __name__ == "__main__":
    main()
