#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that trade CPU weight, in the model and real ones: docs/experiments/shares.md.

shares.py run [--seeds N]       the trainings that are missing, each with its plays
shares.py vm [--seconds N]      real jobs in a virtual machine (tests/vm/run.sh, shares_vm.py), which runs for at most N seconds
shares.py table                 writes the tables into the page
shares.py check                 fails if a table is not that of the cells

A training on a host, or a rule there, is a line of docs/experiments/shares.csv, with a value for each block of 50 episodes. An arm of a repetition in the machine
is a line of shares-vm.csv."""
import argparse, glob, json, os, re, subprocess, sys, tempfile
from intervals import RESAMPLES, interval, mean, over_both
from published import BUILD, ROOT, table
from trainings import enter, is_there, publish, read

CELLS, PAGE = "shares.csv", "shares.md"
MEASURES = ["work", "met", "missed", "jain", "return", "hurried", "patient"]
COLUMNS = ["arm", "jobs", "cores", "seed", "steps", "policy", "episodes", *MEASURES]
PLAY = re.compile(r"play (?P<play>\S+) jobs \d+ episodes \d+ return (?P<return>\S+) work (?P<work>\S+) met (?P<met>\d+) missed (?P<missed>\d+) "
                  r"jain (?P<jain>\S+) hurried (?P<hurried>\S+) patient (?P<patient>\S+)")
TRAINED = (4, 8)
HOSTS = [TRAINED, (2, 8), (8, 8), (8, 16)]  # jobs, CPUs
EPISODES, EPISODE_SEED, SEEDS = 1000, 2000, 20
EQUAL, RULE, SIMPPO, LONGER, PPO = "equal weights", "rule", "SIMPPO", "SIMPPO, longer", "PPO"
ARMS = {SIMPPO: (SEEDS, ["Job.StopSteps=1000000"]), PPO: (SEEDS, ["Job.StopSteps=1000000", "Job.Algorithm=ppo"]),
        LONGER: (SEEDS // 2, ["Job.StopSteps=10000000"])}

VM_CELLS, VM_ARMS = "shares-vm.csv", ["equal", "simppo", "auto"]
VM_COLUMNS = ["repetition", "arm", "seconds", "steps", "met", "missed", "jain", "cpus", "times", "deadlines", "weights", "policies"]
VM_SEC, VM_BOOT_SEC = 2100, 180
POLICY = os.path.join(BUILD, "shares", "four.safetensors")


def host(jobs, cores):
    return [f"Job.Environment=shares:{jobs}", f"Environment.Agents={jobs}", f"Environment.Cores={cores}"]


def call(words, name):
    """Makes one training. Returns its match, and for each host the values of the blocks."""
    command = [os.path.join(BUILD, "bench", "shares"), os.path.join(ROOT, "examples", "shares-simppo.conf"), *host(*TRAINED), "Learner.Threads=1", *words]
    for jobs, cores in HOSTS:
        command += ["--play", f"{name}-{jobs}-{cores}", str(EPISODES), *host(jobs, cores), f"Job.Seed={EPISODE_SEED}"]
    r = subprocess.run(command, capture_output=True, text=True)
    trained = re.search(r"trained (\d+) steps return \S+ policy (\w+)", r.stdout)
    found = {}
    for match in PLAY.finditer(r.stdout):
        found.setdefault(match["play"], []).append(match)
    if r.returncode != 0 or not trained or len(found) != len(HOSTS):
        raise RuntimeError(f"{command}: {r.stderr.strip() or r.stdout.strip()}")
    return trained, [{measure: " ".join(f"{float(block[measure]):.5g}" for block in blocks) for measure in MEASURES} for blocks in found.values()]


def order(row):
    return [EQUAL, RULE, *ARMS].index(row["arm"]), HOSTS.index((int(row["jobs"]), int(row["cores"]))), int(row["seed"])


def note(arm, seed, words, name, is_trained=True):
    if all(is_there(CELLS, {"arm": arm, "jobs": str(jobs), "cores": str(cores), "seed": str(seed)}) for jobs, cores in HOSTS):
        return
    trained, found = call([f"Job.Seed={seed or 1}", *words], name)
    told = {"steps": trained[1], "policy": trained[2]} if is_trained else {}
    for (jobs, cores), values in zip(HOSTS, found):
        enter(CELLS, COLUMNS, {"arm": arm, "jobs": jobs, "cores": cores, "seed": seed, "episodes": EPISODES, **told, **values}, order)
    print(arm, seed, flush=True)


def run(n_seeds):
    note(EQUAL, 0, ["Job.StopSteps=1"], "equal", False)
    note(RULE, 0, ["Job.StopSteps=1"], "rule", False)
    for arm, (n_most, words) in ARMS.items():
        for seed in range(1, min(n_seeds, n_most) + 1):
            note(arm, seed, words, "policy")


def ctl(env, *words):
    r = subprocess.run([os.path.join(BUILD, "actorctl"), *words], capture_output=True, text=True, env=env)
    if r.returncode != 0:
        raise RuntimeError(f"actorctl {' '.join(words)}: {r.stderr.strip()}")
    return r.stdout


def export():
    """The policy of seed 1, which must be that of the cells."""
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state}
        done = json.loads(ctl(env, "run", os.path.join(ROOT, "examples", "shares-simppo.conf"), "--json", "--seed", "1", "--set", "Evaluation.Episodes=0"))
        if not is_there(CELLS, {"arm": SIMPPO, "seed": "1", "policy": done["policy_sha256"][:16]}):
            raise RuntimeError(f"{done['policy_sha256']} is not the policy of the cells")
        checkpoint = max(glob.glob(done["state_directory"] + "/jobs/*/state/checkpoint-*.safetensors"),
                         key=lambda path: int(re.search(r"-(\d+)\.", os.path.basename(path))[1]))
        os.makedirs(os.path.dirname(POLICY), exist_ok=True)
        if os.path.exists(POLICY):
            os.unlink(POLICY)
        ctl(env, "export", checkpoint, "--weights-only", "--output=" + POLICY)


def run_vm(seconds):
    """Runs the jobs in the virtual machine. Its output is also kept in build/shares. A cell is entered as soon as it is printed."""
    if read(VM_CELLS):
        raise RuntimeError(f"{VM_CELLS} is there already: remove it to measure again")
    export()
    env = {**os.environ, "VM_DEADLINE": str(seconds), "TEST_DEADLINE": str(seconds - VM_BOOT_SEC)}
    with open(os.path.join(BUILD, "shares", "vm.log"), "w", encoding="utf-8") as log, \
            subprocess.Popen(["tests/vm/run.sh", "tests/experiments/shares_vm.py"], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as machine:
        for line in machine.stdout:
            log.write(line)
            log.flush()
            print(line, end="", flush=True)
            if "# cell " in line:
                enter(VM_CELLS, VM_COLUMNS, json.loads(line.split("# cell ", 1)[1]), lambda row: (int(row["repetition"]), VM_ARMS.index(row["arm"])))
    if machine.returncode != 0:
        sys.exit(f"the machine ended with {machine.returncode}; cells that were printed are entered")


def numbers(text):
    return [float(word) for word in text.split()]


def matrix(arm, where, measure):
    """A row for each seed, a column for each block. Deadlines: the share of those met."""
    rows = [row for row in read(CELLS) if (row["arm"], int(row["jobs"]), int(row["cores"])) == (arm, *where)]
    if measure != "deadlines":
        return [numbers(row[measure]) for row in rows]
    return [[met / (met + missed) for met, missed in zip(numbers(row["met"]), numbers(row["missed"]))] for row in rows]


def over(rows):
    return over_both(rows, RESAMPLES // 5)


def compared(where, measure, other, with_other, arm=SIMPPO):
    """An arm's values with those of another one, block by block, and seed by seed if the other one has seeds, too."""
    mine, theirs = matrix(arm, where, measure), matrix(other, where, measure)
    if len(theirs) == 1:
        theirs *= len(mine)
    return over([[with_other(x, y) for x, y in zip(row, other_row)] for row, other_row in zip(mine, theirs)])


def less(mine, theirs):
    return mine - theirs


def ratio(mine, theirs):
    return mine / theirs


def verdict(low, high, bar):
    return "met" if low > bar else "missed" if high < bar else "uncertain"


TESTS = [("1. deadlines met, less equal weights", "deadlines", EQUAL, less, 0), ("2. deadlines met, less the rule", "deadlines", RULE, less, 0),
         ("3. work / equal weights", "work", EQUAL, ratio, 0.99), ("4. fairness, less equal weights", "jain", EQUAL, less, 0)]


def spread(middle, low, high, digits=3):
    middle, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in (middle, low, high))
    return f"{middle} ({low} to {high})"


def tests():
    lines = []
    for name, measure, other, with_other, bar in TESTS:
        for jobs, cores in HOSTS:
            found = compared((jobs, cores), measure, other, with_other)
            lines.append([name, jobs, cores, spread(*found), f"above {bar:g}" if measure != "work" else f"at least {bar:g}", verdict(*found[1:], bar)])
    return table(["SIMPPO's", "jobs", "CPUs", "figure", "bar", "verdict"], lines)


CONTROLS = [("SIMPPO less PPO", SIMPPO, PPO), ("SIMPPO, longer, less SIMPPO", LONGER, SIMPPO)]


def controls():
    lines = []
    for name, arm, other in CONTROLS:
        for jobs, cores in HOSTS:
            lines.append([name, jobs, cores, *(spread(*compared((jobs, cores), measure, other, less, arm), digits)
                                               for measure, digits in (("deadlines", 3), ("jain", 3), ("return", 2)))])
    return table(["", "jobs", "CPUs", "deadlines met", "fairness", "return"], lines)


def paid():
    """What jobs with and without a deadline get of the CPUs that they could use."""
    lines = []
    for jobs, cores in HOSTS:
        for arm in (EQUAL, RULE, SIMPPO, PPO):
            lines.append([arm, jobs, cores, *(spread(*over(matrix(arm, (jobs, cores), measure))) for measure in ("hurried", "patient"))])
    return table(["arm", "jobs", "CPUs", "jobs with a deadline", "without"], lines)


def figures():
    lines = []
    for jobs, cores in HOSTS:
        for arm in (EQUAL, RULE, *ARMS):
            shown = [matrix(arm, (jobs, cores), measure) for measure in ("deadlines", "work", "jain", "return")]
            if shown[0]:
                lines.append([arm, jobs, cores, len(shown[0]) if arm in ARMS else "", *(spread(*over(rows), digits)
                                                                                        for rows, digits in zip(shown, (3, 2, 3, 2)))])
    return table(["arm", "jobs", "CPUs", "seeds", "deadlines met", "work", "fairness", "return"], lines)


def machine(arm, measure):
    """{repetition: value} of real jobs. A repetition without deadlines has no share of them."""
    found = {}
    for row in read(VM_CELLS):
        n = int(row["met"]) + int(row["missed"])
        if row["arm"] == arm and (n or measure != "deadlines"):
            found[row["repetition"]] = {"deadlines": int(row["met"]) / n if n else 0, "jain": float(row["jain"]),
                                        "speed": int(row["steps"]) / float(row["seconds"])}[measure]
    return found


def of_repetitions(values, digits=3):
    return spread(mean(values), *interval(values), digits)


def machine_compared(measure, other, with_other):
    mine, theirs = machine("simppo", measure), machine(other, measure)
    return [with_other(mine[repetition], theirs[repetition]) for repetition in mine if repetition in theirs]


VM_TESTS = [("5. deadlines met, less equal", "deadlines", "equal", less, 0), ("6. deadlines met, less auto", "deadlines", "auto", less, 0),
            ("7. steps a second / equal", "speed", "equal", ratio, 0.95), ("8. fairness, less equal", "jain", "equal", less, 0)]


def machine_tests():
    lines = []
    for name, measure, other, with_other, bar in VM_TESTS:
        values = machine_compared(measure, other, with_other)
        lines.append([name, len(values), of_repetitions(values), f"at least {bar:g}" if bar else "above 0", verdict(*interval(values), bar)])
    return table(["simppo's", "repetitions", "figure", "bar", "verdict"], lines)


def machine_figures():
    lines = []
    for arm in VM_ARMS:
        rows = [row for row in read(VM_CELLS) if row["arm"] == arm]
        met, all_ = (sum(int(row[column]) for row in rows for column in columns) for columns in (["met"], ["met", "missed"]))
        lines.append([arm, len(rows), f"{met} of {all_}", *(of_repetitions(list(machine(arm, measure).values()), digits)
                                                            for measure, digits in (("deadlines", 3), ("speed", 1), ("jain", 3)))])
    return table(["arm", "repetitions", "deadlines", "deadlines met", "steps a second", "fairness"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "vm", "table", "check"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=int, default=VM_SEC)
    args = parser.parse_args()
    if args.verb == "run":
        run(args.seeds)
    elif args.verb == "vm":
        run_vm(args.seconds)
    else:
        publish(PAGE, {"tests": tests(), "controls": controls(), "paid": paid(), "figures": figures(),
                       **({"machine tests": machine_tests(), "machine": machine_figures()} if read(VM_CELLS) else {})}, args.verb == "check")


if __name__ == "__main__":
    main()
