#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that trade CPU weight, real ones: docs/experiments/shares.md. Runs as root in the virtual machine, with the packages installed; `shares.py vm` starts it.

Four jobs begin at the same time, in three arms: equal weights, Shares=simppo:four, and each with Policy=auto and its own deadline. A line "# cell {...}" is one
arm of one repetition. With the word `local` it runs two repetitions on a daemon of its own, where no weight may be set, to try this script."""
import glob, os, shutil, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

DEBS, POLICY = os.path.join(BUILD, "deb"), os.path.join(BUILD, "shares", "four.safetensors")
NAMES = ("actord", "actord-environments")
FOLDER = "/etc/actord/shares"
ARMS = {"equal": [], "simppo": ["Scaling.Shares=simppo:four"], "auto": ["Scaling.Policy=auto"]}
N_JOBS = 4
SPIN_USEC, STEPS_ROUND = 20000, 16  # of CPU time in a step; steps of one actor in a round
UNIT_SEC = 0.5  # a step of the model shares
# As in actor/envs/shares.c, on two CPUs
LENGTHS, SLACKS, DEADLINE_CHANCE = (10, 40), (1.2, 4), 0.75
POLL_SEC, LONGEST_SEC = 3, 600
REPETITIONS_MAX = 40
JOB = f"""[Job]
Environment=./greedy-env.so
[Environment]
Spin={SPIN_USEC}
[Actor]
RolloutSteps={STEPS_ROUND}
TimeoutSec=300
[Learner]
MinibatchSize={STEPS_ROUND}
Epochs=1
"""


class Host:
    """The daemon that is asked, and where the job file is."""

    def __init__(self, place, words, env=None):
        self.place, self.words, self.env = place, words, env
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "job.conf"), "w", encoding="utf-8") as f:
            f.write(JOB)

    def command(self, *words):
        return [*self.words, *map(str, words)]

    def ask(self, *words):
        r = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120 * PATIENCE, env=self.env, stdin=subprocess.DEVNULL)
        assert r.returncode == 0, (words, r.stdout, r.stderr)
        return r.stdout

    def submit(self, jobs):
        """All at once. Their numbers, in the order of `jobs`, each a list of Section.Key=VALUE."""
        path = os.path.join(self.place, "job.conf")
        running = [subprocess.Popen(self.command("submit", path, *(word for one in sets for word in ("--set", one))), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=self.env) for sets in jobs]
        said = [process.communicate(timeout=120 * PATIENCE) for process in running]
        assert all(process.returncode == 0 for process in running), said
        return [int(out.split()[-1]) for out, _ in said]

    def ended(self, numbers):
        """Their statuses, when all have ended."""
        last = time.monotonic() + LONGEST_SEC
        while True:
            time.sleep(POLL_SEC)
            states = {row["job"]: row["state"] for row in json.loads(self.ask("list", "--json"))}
            if all(states[number] == "ended" for number in numbers):
                break
            assert time.monotonic() < last, f"after {LONGEST_SEC} s: {states}"
        found = [json.loads(self.ask("status", number, "--json")) for number in numbers]
        assert all(status["result"] == "finished" for status in found), found
        return found


def seconds_of(status):
    return (status["ended_usec"] - status["started_usec"]) / 1e6


def work(parallel, n_steps):
    return [f"Scaling.Actors={parallel}", f"Job.StopSteps={n_steps}"]


def calibrated(host):
    """{CPUs that a job can use: (seconds to begin and to end, steps a second)}, of jobs that run alone."""
    found = {}
    for parallel in (1, 2):
        lengths = [rounds * STEPS_ROUND * parallel for rounds in (10, 30)]
        short, long = (seconds_of(host.ended(host.submit([work(parallel, n)]))[0]) for n in lengths)
        speed = (lengths[1] - lengths[0]) / (long - short)
        found[parallel] = max(0, short - lengths[0] / speed), speed
    return found


def drawn(repetition):
    """The jobs of a repetition, the same in each arm: (CPUs that it can use, steps, slack or none)."""
    draw = random.Random(repetition)
    jobs = []
    for _ in range(N_JOBS):
        parallel, length, slack = draw.choice((1, 2)), draw.uniform(*LENGTHS), draw.uniform(*SLACKS)
        rounds = round(length * UNIT_SEC * 1e6 / SPIN_USEC / STEPS_ROUND)
        jobs.append((parallel, rounds * STEPS_ROUND * parallel, slack if draw.random() < DEADLINE_CHANCE else None))
    return jobs


def deadline_of(job, speeds):
    parallel, n_steps, slack = job
    begin, speed = speeds[parallel]
    return None if slack is None else round(begin + slack * n_steps / speed, 1)


def sets_of(arm, job, deadline):
    parallel, n_steps, _ = job
    sets = [*work(parallel, n_steps), *ARMS[arm], *([f"Scaling.Deadline={deadline}s"] if deadline and arm != "equal" else [])]
    if arm == "auto":
        sets += [f"Scaling.MaxActors={parallel}", *(["Scaling.Objective=deadline"] if deadline else [])]
        sets.remove(f"Scaling.Actors={parallel}")
    return sets


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))


def one(host, arm, repetition, speeds):
    jobs = drawn(repetition)
    deadlines = [deadline_of(job, speeds) for job in jobs]
    numbers = host.submit([sets_of(arm, job, deadline) for job, deadline in zip(jobs, deadlines)])
    ended = host.ended(numbers)
    times = [seconds_of(status) for status in ended]
    steps = [status["env_steps"] for status in ended]
    whole = (max(status["ended_usec"] for status in ended) - min(status["started_usec"] for status in ended)) / 1e6
    met = [time <= deadline for time, deadline in zip(times, deadlines) if deadline]
    shares = [n * SPIN_USEC / 1e6 / (time * parallel) for n, time, (parallel, _, _) in zip(steps, times, jobs)]
    return {"repetition": repetition, "arm": arm, "seconds": f"{whole:.1f}", "steps": sum(steps), "met": sum(met), "missed": len(met) - sum(met),
            "jain": f"{jain(shares):.4f}", "cpus": " ".join(str(parallel) for parallel, _, _ in jobs), "times": " ".join(f"{time:.1f}" for time in times),
            "deadlines": " ".join(str(deadline) if deadline else "none" for deadline in deadlines),
            "weights": weights_of(numbers), "policies": " ".join(status["policy_sha256"][:8] for status in ended)}


def weights_of(numbers):
    """The least and the highest weight that the journal has of each job; nothing where it has none."""
    said = bash("journalctl --boot --no-pager --unit actord.service --output=cat", check=False).stdout
    seen = {number: [int(weight) for weight in re.findall(rf"Job {number} has CPU weight (\d+)\.", said)] for number in numbers}
    return " ".join(f"{min(weights)}-{max(weights)}" for weights in seen.values() if weights)


def arms_of(repetition):
    names = list(ARMS)
    return names[repetition % len(names):] + names[:repetition % len(names)]


def repeat(host, until, most):
    """Whole repetitions, as many as the clock allows: what they say does not matter."""
    speeds = calibrated(host)
    print(f"# alone: {speeds}", flush=True)
    longest, repetition = 0, 0
    while repetition < most and time.monotonic() + 1.2 * longest < until:
        repetition += 1
        began = time.monotonic()
        for arm in arms_of(repetition):
            print("# cell " + json.dumps(one(host, arm, repetition, speeds)), flush=True)
        longest = max(longest, time.monotonic() - began)
    assert repetition > 0, "no repetition fits"


def install():
    packages = [path for path in glob.glob(f"{sorted(glob.glob(DEBS + '/*'))[0]}/*.deb") if os.path.basename(path).split("_")[0] in NAMES]
    os.makedirs("/etc/actord/actord.conf.d", exist_ok=True)
    os.makedirs(FOLDER, exist_ok=True)
    with open("/etc/actord/actord.conf.d/shares.conf", "w", encoding="utf-8") as f:
        f.write("[Daemon]\nMaxJobs=8\n")
    shutil.copy(POLICY, FOLDER)
    bash("DEBIAN_FRONTEND=noninteractive apt-get --yes -o APT::Sandbox::User=root install " + " ".join(packages), 200 * PATIENCE)


def with_library(place):
    os.makedirs(place, exist_ok=True)
    shutil.copy(os.path.join(BUILD, "tests", "greedy-env.so"), place)
    return place


@story("real jobs on real cgroups, in three arms")
def real():
    until = time.monotonic() + float(os.environ["TEST_DEADLINE"]) - 120
    install()
    repeat(Host(with_library("/opt/shares"), ["actorctl", "--system"]), until, REPETITIONS_MAX)
    said = bash("journalctl --boot --no-pager --unit actord.service", check=False).stdout
    print(f"# {said.count('does not trade CPU weight')} times a job could not trade", flush=True)


def try_it():
    import bus
    with bus.Bus("MaxJobs=8\n") as daemon:
        os.makedirs(daemon.dir + "/config/actord/shares")
        shutil.copy(POLICY, daemon.dir + "/config/actord/shares")
        repeat(Host(with_library(daemon.dir + "/place"), [CTL, "--user"], daemon.env), time.monotonic() + 1000, 2)


if __name__ == "__main__":
    if sys.argv[1:] == ["local"]:
        try_it()
    else:
        tell()
