#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of many actors: their policies do not depend on how many processes play the actors, and an actor that waits takes little memory."""
import re, resource, statistics
from story import *

TINY = ("Actor.EnvsPerActor=1", "Actor.RolloutSteps=4", "Learner.Epochs=1", "Job.StopReturn=")
FILES_OF_A_PROCESS, FILES_BESIDE = 8, 100
PARKED_KIB_MOST = 300


def need_files(n_actors, n_processes):
    """A descriptor for each actor's memory, and those of its process: actord(8), LIMITS OF THE HOST."""
    needed, most = FILES_BESIDE + n_actors + FILES_OF_A_PROCESS * n_processes, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= most < needed:
        raise Skip(f"{n_actors} actors in {n_processes} processes need {needed} open files, {most} are allowed (ulimit -Hn)")


def words(n_actors, rounds, *more):
    sets = (*TINY, f"Scaling.Actors={n_actors}", f"Learner.MinibatchSize={4 * n_actors}", f"Job.StopSteps={4 * n_actors * rounds}", *more)
    return ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", *(w for s in sets for w in ("--set", s))]


def learned(n_actors, rounds, *more):
    r = ctl(*words(n_actors, rounds, *more))
    equal((r.status, r.json["result"]), (0, "finished"), r.err)
    equal(r.json["env_steps"], 4 * n_actors * rounds, "steps")
    return r.json["policy_sha256"]


@story("1,500 actors in 150 processes learn what one process learns for all of them")
def many():
    need_files(1500, 150)
    equal(learned(1500, 3, "Actor.Processes=150"), learned(1500, 3, "Distribution.Policy=fused", "Learner.Threads=1"), "policies")


@story("10,000 actors in 50 processes end a round, and 10,001 are refused")
def most():
    need_files(10000, 50)
    learned(10000, 1, "Actor.Processes=50")
    r = ctl(*words(10001, 1))
    assert r.status != 0 and "from 1 to 10000" in r.err, r.err


def parked_kib(pid):
    """The proportional memory of each actor below this process; actors that end while they are read are left out."""
    for p in descendants(pid):
        try:
            if not open(f"/proc/{p}/cmdline").read().startswith("actord-actor"):
                continue
            yield int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{p}/smaps_rollup").read(), re.M).group(1))
        except (OSError, AttributeError):
            pass


@story(f"an actor of CartPole takes at most {PARKED_KIB_MOST} KiB")
def parked():
    run = subprocess.Popen([CTL, *words(40, 1000000)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for("40 actors are there", lambda: len(list(parked_kib(run.pid))) == 40)
        kib = statistics.median(parked_kib(run.pid))
    finally:
        run.send_signal(2)
        run.wait()
    assert kib <= PARKED_KIB_MOST, kib


tell()
